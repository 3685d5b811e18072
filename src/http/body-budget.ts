// Limits the bytes of request bodies in memory, in total and per caller.
import type { ServiceError } from '../kernel/errors.ts'

/** Bodies up to this size are always admitted and not counted, so that decisions do not wait for large bodies. */
export const SMALL_BODY_BYTES = 64 * 1024

const RETRY_AFTER_S = 1

/** Limits of a budget. */
interface BodyBudgetOptions {
  /** Limit for all bodies in memory, bytes. */
  readonly totalBytesMax: number
  /** Limit for the bodies of one caller, bytes. */
  readonly callerBytesMax: number
}

/** The request bodies in memory of one server. */
export class BodyBudget {
  private readonly options: BodyBudgetOptions
  private reserved = 0
  private readonly reservedByCaller = new Map<string, number>()

  constructor(options: BodyBudgetOptions) {
    this.options = options
  }

  /** Bytes that are reserved at present. */
  get reservedBytes(): number {
    return this.reserved
  }

  /** Creates an empty reservation for one request, which must be released when the request ends. */
  open(caller: string): BodyReservation {
    return new BodyReservation(this, caller)
  }

  /**
   * Reserves `bytes` more for a caller that already has `own` bytes for the same body. A single body in memory is always
   * admitted. Returns null, or the error: `too-many-bytes` for the limit of the caller, `unavailable` for the total.
   */
  reserve(caller: string, own: number, bytes: number): ServiceError | null {
    const { totalBytesMax, callerBytesMax } = this.options
    const before = this.reservedByCaller.get(caller) ?? 0
    if (before > own && before + bytes > callerBytesMax) {
      const message = `body: the bodies of this caller exceed its share of body_total_bytes_max (${callerBytesMax} bytes)`
      return { kind: 'too-many-bytes', message, retryAfterS: RETRY_AFTER_S }
    }
    if (this.reserved > own && this.reserved + bytes > totalBytesMax) {
      const message = `the bodies of all running requests exceed body_total_bytes_max (${totalBytesMax} bytes)`
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

/** The reservation of one body. */
export class BodyReservation {
  private readonly budget: BodyBudget
  private readonly caller: string
  private bytes = 0

  constructor(budget: BodyBudget, caller: string) {
    this.budget = budget
    this.caller = caller
  }

  /** Grows the reservation to `bytes` in total; small bodies reserve nothing. Returns null, or the error of `reserve`. */
  growTo(bytes: number): ServiceError | null {
    if (bytes <= SMALL_BODY_BYTES || bytes <= this.bytes) return null
    const refused = this.budget.reserve(this.caller, this.bytes, bytes - this.bytes)
    if (refused === null) this.bytes = bytes
    return refused
  }

  /** Releases the reservation. Idempotent. */
  release(): void {
    if (this.bytes === 0) return
    this.budget.release(this.caller, this.bytes)
    this.bytes = 0
  }
}
