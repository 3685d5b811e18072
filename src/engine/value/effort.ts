// What work on large values costs. Operators count rows by themselves; copying a list of a million items or comparing two
// long strings happens deep inside an expression, and is counted from there. The engine is synchronous and one run is
// under way at a time, so the budget that started last is the one to charge.

interface Chargeable {
  touch(steps: number): void
}

let underWay: Chargeable | null = null

/** Called when a run starts. */
export function chargeEffortTo(budget: Chargeable): void {
  underWay = budget
}

/** So many items of a list or map were looked at or copied. */
export function effortOnItems(count: number): void {
  underWay?.touch(count)
}

/** Characters are cheap: as many as a cache line holds count as one step. */
const CHARACTERS_PER_STEP = 64

export function effortOnText(length: number): void {
  if (length >= CHARACTERS_PER_STEP) underWay?.touch(Math.ceil(length / CHARACTERS_PER_STEP))
}

/** A search may compare every character of the part at every place of the text. */
export function effortOnSearch(text: string, part: string): void {
  effortOnText(text.length * Math.max(1, part.length))
}
