// Limits the bytes of request bodies that are in memory: of all callers together, and of each caller.
import type { ServiceError } from '../kernel/errors.ts'

/** Bodies up to this many bytes are always admitted and not counted, so that decisions do not wait for large bodies. */
export const SMALL_BODY_BYTES = 64 * 1024

const RETRY_AFTER_S = 1

export interface BodyBudgetOptions {
  /** Bytes of all bodies under way. */
  readonly totalBytesMax: number
  /** Bytes of the bodies under way of one caller. */
  readonly callerBytesMax: number
}

export class BodyBudget {
  private readonly options: BodyBudgetOptions
  private reserved = 0
  private readonly reservedByCaller = new Map<string, number>()

  constructor(options: BodyBudgetOptions) {
    this.options = options
  }

  /** Bytes that are reserved now. */
  get reservedBytes(): number {
    return this.reserved
  }

  /** For one request. It must be released when the request ends. */
  open(caller: string): BodyReservation {
    return new BodyReservation(this, caller)
  }

  /**
   * Takes `bytes` more for a caller who has `own` bytes for the same body. A body that is the only one under way is
   * admitted whatever its length. Returns null, or why not: `too-many-bytes` for the caller's limit, `unavailable` for that of all.
   */
  reserve(caller: string, own: number, bytes: number): ServiceError | null {
    const { totalBytesMax, callerBytesMax } = this.options
    const before = this.reservedByCaller.get(caller) ?? 0
    if (before > own && before + bytes > callerBytesMax) {
      const message = `body: this caller's bodies under way reach body_caller_bytes_max (${callerBytesMax} bytes)`
      return { kind: 'too-many-bytes', message, retryAfterS: RETRY_AFTER_S }
    }
    if (this.reserved > own && this.reserved + bytes > totalBytesMax) {
      const message = `the bodies of all requests under way reach body_total_bytes_max (${totalBytesMax} bytes)`
      return { kind: 'unavailable', message, retryAfterS: RETRY_AFTER_S }
    }
    this.reservedByCaller.set(caller, before + bytes)
    this.reserved += bytes
    return null
  }

  release(caller: string, bytes: number): void {
    const left = (this.reservedByCaller.get(caller) ?? 0) - bytes
    if (left > 0) this.reservedByCaller.set(caller, left)
    else this.reservedByCaller.delete(caller)
    this.reserved -= bytes
  }
}

/** The bytes of one body. */
export class BodyReservation {
  private readonly budget: BodyBudget
  private readonly caller: string
  private bytes = 0

  constructor(budget: BodyBudget, caller: string) {
    this.budget = budget
    this.caller = caller
  }

  /** Reserves so many bytes in all; small bodies reserve nothing. Null, or why not. */
  growTo(bytes: number): ServiceError | null {
    if (bytes <= SMALL_BODY_BYTES || bytes <= this.bytes) return null
    const refused = this.budget.reserve(this.caller, this.bytes, bytes - this.bytes)
    if (refused === null) this.bytes = bytes
    return refused
  }

  /** Gives back what is reserved. Calling it again has no effect. */
  release(): void {
    if (this.bytes === 0) return
    this.budget.release(this.caller, this.bytes)
    this.bytes = 0
  }
}
