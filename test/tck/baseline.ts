// The committed score, which may only improve: counts per category, and the ids of known failures with their reasons.
// The cases themselves are not part of the repository.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Score } from './score.ts'

const path = join(import.meta.dirname, 'baseline.json')

export interface Baseline {
  /** Passed cases of the open half, by category. */
  readonly passed: Readonly<Record<string, number>>
  /** The reason of each known failure. */
  readonly failing: Readonly<Record<string, string>>
}

export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(path, 'utf8')) as Baseline
}

/** Recorded reasons are kept; a new failure has the runner's message until a person replaces it. */
export function writeBaseline(score: Score): void {
  const known = readBaseline().failing
  const passed = [...score.categories].map(([category, tally]) => [category, tally.passed] as const).sort()
  const failing = score.failures.map(({ item, why }) => [item.id, known[item.id] ?? why] as const).sort()
  const baseline: Baseline = { passed: Object.fromEntries(passed), failing: Object.fromEntries(failing) }
  writeFileSync(path, `${JSON.stringify(baseline, null, 2)}\n`)
}

/** Differences from the baseline: what is worse, and what is better and must be recorded; empty if none exist. */
export function againstBaseline(score: Score, baseline: Baseline): string[] {
  const told: string[] = []
  const failing = new Set(score.failures.map(({ item }) => item.id))
  for (const { item, why } of score.failures) {
    if (baseline.failing[item.id] === undefined) told.push(`${item.id} fails: ${why}`)
  }
  for (const id of Object.keys(baseline.failing)) {
    if (!failing.has(id)) told.push(`${id} is recorded as failing, and passes or is gone: write the baseline again`)
  }
  for (const category of new Set([...Object.keys(baseline.passed), ...score.categories.keys()])) {
    const was = baseline.passed[category] ?? 0
    const is = score.categories.get(category)?.passed ?? 0
    if (is < was) told.push(`${category}: ${was} passed once, ${is} do now`)
    if (is > was) told.push(`${category}: ${is} pass, ${was} are recorded: write the baseline again`)
  }
  return told
}
