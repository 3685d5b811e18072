// Which lines a log needs no second time at once: what goes wrong for many requests is told of once in a while, and how often.
/** 0: not now. Else how many times it was asked since it was told, this one included. */
export type LogThrottle = (text: string) => number

/** More texts than these are not remembered: what is forgotten is told again. */
const MESSAGES_MAX = 1000

/** Lets a text through that was not let through within the last `everyMs`. */
export function createLogThrottle(everyMs: number, nowMs: () => number): LogThrottle {
  const told = new Map<string, { atMs: number; since: number }>()
  return (text) => {
    const now = nowMs()
    const before = told.get(text)
    if (before === undefined) {
      if (told.size >= MESSAGES_MAX) told.clear()
      told.set(text, { atMs: now, since: 0 })
      return 1
    }
    before.since += 1
    // A clock that is set back must not silence anything.
    if (now >= before.atMs && now - before.atMs < everyMs) return 0
    const times = before.since
    before.atMs = now
    before.since = 0
    return times
  }
}
