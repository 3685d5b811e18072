// The committed quality of entity matching, which may only improve: figures of public data sets, which are not part of the repository.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const path = join(import.meta.dirname, 'matching-baseline.json')

/** The figures of one data set at the default cutoff. */
export interface SetQuality {
  /** To four digits: smaller differences have no meaning. */
  readonly f1: number
  /** Matches with a score above 0.95 whose labels say that they are right, and wrong. */
  readonly sureRight: number
  readonly sureWrong: number
}

/** The figures by data set. */
export type QualityBaseline = Readonly<Record<string, SetQuality>>

export function readQualityBaseline(): QualityBaseline {
  return JSON.parse(readFileSync(path, 'utf8')) as QualityBaseline
}

export function writeQualityBaseline(baseline: QualityBaseline): void {
  const sorted = Object.fromEntries(Object.entries(baseline).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(path, `${JSON.stringify(sorted, null, 2)}\n`)
}

const stale = 'write the baseline again with --write-baseline'

/** Differences from the baseline: what is worse, and what is better and must be recorded; empty if none exist. */
export function againstQualityBaseline(measured: QualityBaseline, baseline: QualityBaseline): string[] {
  const told: string[] = []
  for (const set of new Set([...Object.keys(baseline), ...Object.keys(measured)])) {
    const was = baseline[set]
    const is = measured[set]
    if (was === undefined) told.push(`${set} is not recorded: ${stale}`)
    else if (is === undefined) told.push(`${set} is recorded, and was not measured: ${stale}`)
    else {
      const compare = (name: string, before: number, now: number, isBetter: boolean) => {
        if (before === now) return
        told.push(`${set}: ${name} was ${before} and is ${now}${isBetter ? `: ${stale}` : ''}`)
      }
      compare('F1', was.f1, is.f1, is.f1 > was.f1)
      compare('right matches above 0.95', was.sureRight, is.sureRight, is.sureRight > was.sureRight)
      compare('wrong matches above 0.95', was.sureWrong, is.sureWrong, is.sureWrong < was.sureWrong)
    }
  }
  return told
}
