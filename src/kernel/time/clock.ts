// The only source of wall-clock time in the process, so that tests can control it.

/** A source of the current time. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

/** The clock of the system. */
export const systemClock: Clock = { now: () => Date.now() }

/** Whether `nowMs` is within `spanMs` after `fromMs`. False if the clock was set back before `fromMs`. */
export function isWithin(nowMs: number, fromMs: number, spanMs: number): boolean {
  return nowMs >= fromMs && nowMs - fromMs < spanMs
}

/** Formats a time as RFC 3339 with milliseconds, in UTC. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}
