// The committed answers: counts for each suite and kind of question, and the ids of known gaps with their reasons. A gap that is closed must
// leave the list.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PeerVerdict } from './ask-case.ts'

const path = join(import.meta.dirname, 'baseline.json')

/** The committed answers, by suite. */
export type PeerBaseline = Readonly<Record<string, SuiteBaseline>>

interface SuiteBaseline {
  /** Questions with the answer of the peer, by kind. */
  readonly same: Readonly<Record<string, number>>
  /** The reason of each known gap, by reason the ids of the questions. */
  readonly gaps: Readonly<Record<string, readonly string[]>>
}

/** Reads the committed baseline. */
export function readBaseline(): PeerBaseline {
  return JSON.parse(readFileSync(path, 'utf8')) as PeerBaseline
}

/** Writes the baseline. Known reasons are kept; a new gap has what was answered until a person writes the reason. */
export function writeBaseline(verdicts: ReadonlyMap<string, readonly PeerVerdict[]>): void {
  const known = readBaseline()
  const suites = [...verdicts].map(([suite, all]): [string, SuiteBaseline] => {
    const reasons = reasonsOf(known[suite])
    const open = all.filter(({ why }) => why !== null)
    const gaps = Map.groupBy(open, ({ id, why }) => reasons.get(id) ?? why!)
    const ids = [...gaps].map(([reason, list]): [string, readonly string[]] => [
      reason,
      list.map(({ id }) => id).sort(),
    ])
    // Sorted, so that the file shows what changed.
    const gapsInOrder = Object.fromEntries(ids.sort(([a], [b]) => (a < b ? -1 : 1)))
    return [suite, { same: countsOf(all), gaps: gapsInOrder }]
  })
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(suites), null, 2)}\n`)
}

/** The differences from the baseline, as lines. */
export function againstBaseline(
  suite: string,
  verdicts: readonly PeerVerdict[],
  baseline: PeerBaseline,
): readonly string[] {
  const recorded = baseline[suite] ?? { same: {}, gaps: {} }
  const reasons = reasonsOf(recorded)
  const open = new Map(verdicts.flatMap(({ id, why }) => (why === null ? [] : [[id, why] as const])))
  const lines = [...open].flatMap(([id, why]) => (reasons.has(id) ? [] : [`${suite}: ${id}: ${why}`]))
  for (const id of reasons.keys()) {
    if (!open.has(id))
      lines.push(`${suite}: ${id} is recorded as a gap, and is answered or gone: write the baseline again`)
  }
  const counts = countsOf(verdicts)
  for (const kind of new Set([...Object.keys(counts), ...Object.keys(recorded.same)])) {
    const [is, was] = [counts[kind] ?? 0, recorded.same[kind] ?? 0]
    if (is !== was) lines.push(`${suite}: ${kind}: ${is} answered as the peer does, ${was} are recorded`)
  }
  return lines
}

function reasonsOf(recorded: SuiteBaseline | undefined): ReadonlyMap<string, string> {
  const entries = Object.entries(recorded?.gaps ?? {})
  return new Map(entries.flatMap(([reason, ids]) => ids.map((id) => [id, reason] as const)))
}

function countsOf(verdicts: readonly PeerVerdict[]): Readonly<Record<string, number>> {
  const same = verdicts.filter(({ why }) => why === null)
  return Object.fromEntries([...Map.groupBy(same, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]).sort())
}
