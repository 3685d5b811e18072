// Throttles repeated log messages: an error of many requests is logged once per interval, with a count.
import { LRUCache } from 'lru-cache'

/**
 * Returns 0 if the message must not be logged now. Otherwise returns how often it occurred since it was last logged,
 * including this time.
 */
export type LogThrottle = (text: string) => number

/** Messages that are remembered. A forgotten message is logged again. */
const MESSAGES_MAX = 1000

/** Creates a throttle that passes each message once per `everyMs` milliseconds. */
export function createLogThrottle(everyMs: number, nowMs: () => number): LogThrottle {
  /** When each message last passed, and how often it occurred since. */
  const passed = new LRUCache<string, { atMs: number; since: number }>({ max: MESSAGES_MAX })
  return (text) => {
    const now = nowMs()
    const before = passed.get(text)
    if (before === undefined) {
      passed.set(text, { atMs: now, since: 0 })
      return 1
    }
    before.since += 1
    // A clock that was set back must not suppress messages.
    if (now >= before.atMs && now - before.atMs < everyMs) return 0
    const times = before.since
    before.atMs = now
    before.since = 0
    return times
  }
}
