// Time enters the process here and nowhere else, so that a test can turn it by hand.

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** A clock that moves only when told to. */
export class HandClock implements Clock {
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
