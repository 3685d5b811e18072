// The answer of one engine to one query: rows, or an error by phase and kind.
import type { Value } from '../../src/engine/value/value.ts'
import { type JudgedValue, textOf } from './judged-value.ts'

/** When a query was refused: before any data was read, or while it ran. */
export type ErrorPhase = 'compile' | 'run'

/** A failure. `kind` is comparable between the engines; `message` is for people. */
export interface JudgedError {
  readonly phase: ErrorPhase
  /** Of compilation always `syntax`; else `type`, `argument`, `arithmetic`, `missing-parameter`, `entity`, or another name. */
  readonly kind: string
  readonly message: string
}

export type JudgedOutcome =
  | { readonly error: JudgedError }
  | { readonly error: null; readonly columns: readonly string[]; readonly rows: readonly (readonly JudgedValue[])[] }

/** One side has no answer within its limits: nothing is compared. */
export class BeyondLimits extends Error {
  readonly limit: 'too large' | 'timed out'
  constructor(limit: 'too large' | 'timed out', message: string) {
    super(message)
    this.limit = limit
  }
}

export interface JudgedQuery {
  readonly text: string
  readonly parameters: ReadonlyMap<string, Value>
  /** Columns by which the rows are ordered, most significant first. Empty: the order does not count. */
  readonly orderedBy: readonly string[]
  /** Columns in whose lists the order does not count. `all`: in no column. */
  readonly bags: readonly string[] | 'all'
}

/** Null if the answers are equal; else the difference in one line. `ours` and `theirs` name the engines. */
export function differenceOf(query: JudgedQuery, ours: JudgedOutcome, theirs: JudgedOutcome): string | null {
  if (ours.error !== null || theirs.error !== null) {
    if (ours.error?.phase === theirs.error?.phase && ours.error?.kind === theirs.error?.kind) return null
    return `Verdigraph: ${outcomeText(query, ours)}; Neo4j: ${outcomeText(query, theirs)}`
  }
  const column = (outcome: typeof ours, name: string): number => outcome.columns.indexOf(name)
  if ([...ours.columns].sort().join('\n') !== [...theirs.columns].sort().join('\n'))
    return `columns: Verdigraph [${ours.columns.join(', ')}]; Neo4j [${theirs.columns.join(', ')}]`
  const names = ours.columns
  const rowsOf = (outcome: typeof ours, among: readonly string[]): string[] =>
    outcome.rows.map((row) =>
      among
        .map((name) =>
          textOf(row[column(outcome, name)] ?? null, { bag: isBag(query, name), numbers: isLoose(query.text) }),
        )
        .join(' | '),
    )
  const bag = (outcome: typeof ours): string => rowsOf(outcome, names).sort().join('\n')
  if (bag(ours) !== bag(theirs)) return `Verdigraph: ${outcomeText(query, ours)}; Neo4j: ${outcomeText(query, theirs)}`
  const { orderedBy } = query
  if (rowsOf(ours, orderedBy).join('\n') !== rowsOf(theirs, orderedBy).join('\n'))
    return `in another order: Verdigraph: ${outcomeText(query, ours)}; Neo4j: ${outcomeText(query, theirs)}`
  return null
}

/** 1 and 1.0 are one value to DISTINCT, groups and order; which of the two represents both is unspecified. */
const isLoose = (text: string): boolean =>
  /\b(DISTINCT|UNION|ORDER BY|count|sum|avg|min|max|collect|percentile\w+)\b/.test(text)

const isBag = ({ bags }: JudgedQuery, name: string): boolean => bags === 'all' || bags.includes(name)

const ROWS_SHOWN = 8

/** An outcome in one line. */
export function outcomeText(query: JudgedQuery, outcome: JudgedOutcome): string {
  if (outcome.error !== null) {
    const { phase, kind, message } = outcome.error
    return `error at ${phase} (${kind}): ${message.split('\n')[0]}`
  }
  const rows = outcome.rows.map(
    (row) => `(${row.map((cell, index) => textOf(cell, { bag: isBag(query, outcome.columns[index]!) })).join(' | ')})`,
  )
  const shown = query.orderedBy.length > 0 ? rows : [...rows].sort()
  return `${rows.length} rows [${outcome.columns.join(', ')}] ${shown.slice(0, ROWS_SHOWN).join(' ')}${rows.length > ROWS_SHOWN ? ' …' : ''}`
}
