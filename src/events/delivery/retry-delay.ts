// How long delivery waits after a failed attempt: exponential backoff with full jitter, so that the providers of many projects do
// not send at the same time after an outage of their receiver.

const FIRST_MS = 200
const MAX_MS = 60_000

/** The wait after the `failures`-th failure in a row, in milliseconds. `random`: from 0 inclusive to 1 exclusive. */
export function retryDelayMs(failures: number, random: number): number {
  return random * Math.min(MAX_MS, FIRST_MS * 2 ** failures)
}
