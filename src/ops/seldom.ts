// Which lines a log needs no second time at once: what damage has to tell, it tells with every request that meets it.
export type Seldom = (text: string) => boolean

/** More places than these are not remembered: what is forgotten is told again. */
const TEXTS_MAX = 1000

/** True where the text was not let through within the last `everyMs`. */
export function seldom(everyMs: number, nowMs: () => number): Seldom {
  const toldAtMs = new Map<string, number>()
  return (text) => {
    const now = nowMs()
    const before = toldAtMs.get(text)
    // A clock that is set back must not silence anything.
    if (before !== undefined && now >= before && now - before < everyMs) return false
    if (toldAtMs.size >= TEXTS_MAX) toldAtMs.clear()
    toldAtMs.set(text, now)
    return true
  }
}
