// The delay before something that failed is tried again: it doubles with each failure in a row, up to a maximum.

/** How long to wait after failures. */
export interface Backoff {
  /** After the first failure, milliseconds. */
  readonly minMs: number
  /** The longest delay, milliseconds. Absent: there is no limit, because the number of attempts has one. */
  readonly maxMs?: number
}

/**
 * The delay after the `failures`-th failure in a row, at least 1, in milliseconds. For jitter, multiply it by a random number: processes that
 * failed together must not try again together.
 */
export function backoffMs({ minMs, maxMs = Number.POSITIVE_INFINITY }: Backoff, failures: number): number {
  return Math.min(maxMs, minMs * 2 ** (failures - 1))
}
