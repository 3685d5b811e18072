// Time enters the process here and nowhere else, so that a test can turn it by hand.

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** What was found at `fromMs` still does for `spanMs`. From a clock that was set back nobody knows, so it does not. */
export function isWithin(nowMs: number, fromMs: number, spanMs: number): boolean {
  return nowMs >= fromMs && nowMs - fromMs < spanMs
}

/** A clock that moves only when told to. */
export class ManualClock implements Clock {
  private ms: number
  constructor(startMs: number) {
    this.ms = startMs
  }
  now(): number {
    return this.ms
  }
  advance(ms: number): void {
    this.ms += ms
  }
}

/** RFC 3339 with milliseconds, UTC. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}
