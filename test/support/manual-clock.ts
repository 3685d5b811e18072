// A clock that tests set by hand.
import type { Clock } from '../../src/kernel/time/clock.ts'

/** Stands still until it is advanced. */
export class ManualClock implements Clock {
  private ms: number

  /** `startMs`: milliseconds since the Unix epoch. */
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
