// How many events a provider received in the last minute. Counts are kept for intervals, so that a few numbers suffice.

/** Events by interval: when it began, in milliseconds since the epoch, and how many were delivered. The oldest is first. */
export type RecentDeliveries = readonly (readonly [startMs: number, events: number])[]

const WINDOW_MS = 60_000
const INTERVAL_MS = 5000

/** Adds events that were delivered at `timeMs`, and forgets those of more than a minute before. */
export function withDelivery(recent: RecentDeliveries, events: number, timeMs: number): RecentDeliveries {
  const start = Math.floor(timeMs / INTERVAL_MS) * INTERVAL_MS
  const kept = recent.filter(([at]) => at >= start - WINDOW_MS && at < start)
  const present = recent.find(([at]) => at === start)?.[1] ?? 0
  return [...kept, [start, present + events]]
}

/** Events per second, on average over the last 55 to 60 s before `nowMs`. */
export function deliveryRate(recent: RecentDeliveries, nowMs: number): number {
  const from = Math.ceil((nowMs - WINDOW_MS) / INTERVAL_MS) * INTERVAL_MS
  const events = recent.reduce((sum, [start, count]) => (start >= from && start <= nowMs ? sum + count : sum), 0)
  return (events * 1000) / (nowMs - from)
}
