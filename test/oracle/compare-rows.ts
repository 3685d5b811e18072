// Evaluates one random row query in three ways: rules on, rules off, and the reference interpreter. Rows are compared
// as multisets, and in order where ORDER BY determines it.
import { parse } from '../../grammar/index.ts'
import { ExecutionError } from '../../src/engine/errors.ts'
import { compileRowsQuery } from '../../src/engine/rows-query.ts'
import type { Random } from '../generate/random.ts'
import { BAG, type GeneratedRows, randomRows } from '../generate/rows-query.ts'
import { engineParameters } from '../support/convert-graph.ts'
import { printGraph, printValue } from '../support/graph-notation.ts'
import type { Rules, StoredGraph } from '../support/store-engine.ts'
import type { ComparisonOutcome } from './compare-conditions.ts'
import { Interpreter } from './cypher/interpreter.ts'
import { TooManyRowsError } from './cypher/pattern.ts'
import { ReferenceEvaluationError, type ReferenceGraph } from './cypher/values.ts'
import { cellText, type ElementNames, elementNames, valueText } from './row-text.ts'

/** A row query over a graph. */
export interface RowsCase extends GeneratedRows {
  readonly graph: ReferenceGraph
}

/** Rows as texts, in the order in which they came; or the failure of the run. */
type FoundRows = { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] } | 'a fault'

/** Most random queries have no rows on a small graph, so up to a few are drawn until one has rows. */
export function randomRowsCase(random: Random, graph: ReferenceGraph, drawsMax = 3): RowsCase {
  let drawn: RowsCase = { graph, ...randomRows(random) }
  for (let draw = 1; draw < drawsMax && !hasRows(drawn); draw++) drawn = { graph, ...randomRows(random) }
  return drawn
}

function hasRows(case_: RowsCase): boolean {
  try {
    const found = referenceRows(case_)
    return found !== 'a fault' && found.rows.length > 0
  } catch {
    // Recorded as a refusal or as too large when the case is settled.
    return false
  }
}

/** 1 and 1.0 are one value to DISTINCT, groups and order; which of the two represents both is unspecified. */
const isLoose = (text: string): boolean =>
  /\b(DISTINCT|UNION|ORDER BY|count|sum|avg|min|max|collect|percentile\w+)\b/.test(text)

function referenceRows({ graph, text, parameters }: RowsCase): FoundRows {
  const parsed = parse(text)
  if (!parsed.ok) throw new Error(`does not parse: ${parsed.diagnostics[0]?.message}`)
  try {
    const rows = new Interpreter(graph, parameters).run(parsed.query)
    const columns = [...(rows[0]?.keys() ?? [])]
    const loose = isLoose(text)
    return {
      columns,
      rows: rows.map((row) =>
        columns.map((name) => valueText(row.get(name) ?? null, { loose, bag: name.startsWith(BAG) })),
      ),
    }
  } catch (fault) {
    if (fault instanceof ReferenceEvaluationError) return 'a fault'
    throw fault
  }
}

function engineRows(case_: RowsCase, stored: StoredGraph, rules: Rules): FoundRows | { readonly refused: string } {
  const compiled = compileRowsQuery(case_.text, { rules })
  if (!compiled.ok) return { refused: compiled.error.map(({ code, message }) => `${code}: ${message}`).join('\n') }
  const snapshot = stored.environment.snapshot()
  try {
    const parameters = engineParameters(case_.parameters)
    const { columns, rows } = compiled.value.run({
      snapshot,
      parameters,
      limits: { stepsMax: 5_000_000, timeMs: 30_000 },
    })
    const names: ElementNames = elementNames(snapshot)
    const loose = isLoose(case_.text)
    return {
      columns,
      rows: rows.map((row) => row.map((cell, i) => cellText(cell, { loose, bag: columns[i]!.startsWith(BAG) }, names))),
    }
  } catch (fault) {
    if (fault instanceof ExecutionError && fault.code !== 'budget') return 'a fault'
    throw fault
  } finally {
    snapshot.close()
  }
}

function outcomeOf(case_: RowsCase, stored: StoredGraph): ComparisonOutcome {
  let expected: FoundRows
  try {
    expected = referenceRows(case_)
  } catch (fault) {
    if (fault instanceof TooManyRowsError) return { kind: 'too-large' }
    return { kind: 'refused', why: `the reference: ${(fault as Error).message}` }
  }
  for (const rules of ['off', 'on'] as const) {
    const found = engineRows(case_, stored, rules)
    if (found !== 'a fault' && 'refused' in found) return { kind: 'refused', why: found.refused }
    const why = difference(case_, expected, found)
    if (why) return { kind: 'differ', why: `the engine with rules ${rules}: ${why}` }
  }
  return { kind: 'agree', size: expected === 'a fault' ? 0 : expected.rows.length, answers: 1 }
}

function difference(case_: RowsCase, expected: FoundRows, found: FoundRows): string | null {
  if (expected === 'a fault' || found === 'a fault') {
    return expected === found ? null : `${shown(found)}, the reference ${shown(expected)}`
  }
  if (expected.rows.length !== found.rows.length) return `${shown(found)}, the reference ${shown(expected)}`
  if (expected.rows.length === 0) return null
  const column = (rows: Exclude<FoundRows, 'a fault'>, name: string): number => rows.columns.indexOf(name)
  const inOrder = (rows: Exclude<FoundRows, 'a fault'>, names: readonly string[]): string[] =>
    rows.rows.map((row) => names.map((name) => row[column(rows, name)]).join(' | '))
  const names = expected.columns
  if (found.columns.length !== names.length || found.columns.some((name) => !names.includes(name))) {
    return `columns ${found.columns}, the reference ${names}`
  }
  const bagged = (rows: Exclude<FoundRows, 'a fault'>): string => inOrder(rows, names).sort().join('\n')
  if (bagged(expected) !== bagged(found)) return `${shown(found)}, the reference ${shown(expected)}`
  const { orderedBy } = case_
  if (inOrder(expected, orderedBy).join('\n') !== inOrder(found, orderedBy).join('\n')) {
    return `in another order: ${shown(found)}, the reference ${shown(expected)}`
  }
  return null
}

function shown(found: FoundRows): string {
  if (found === 'a fault') return found
  const rows = found.rows.map((row) => `(${row.join(' | ')})`)
  return `${rows.length} rows ${rows.slice(0, 6).join(' ')}`
}

/** An exception is a difference too. */
export function settledRows(case_: RowsCase, stored: StoredGraph): ComparisonOutcome {
  try {
    return outcomeOf(case_, stored)
  } catch (fault) {
    if (fault instanceof ExecutionError && fault.code === 'budget') return { kind: 'too-large' }
    return { kind: 'differ', why: `it crashed: ${(fault as Error).stack ?? fault}` }
  }
}

/** As the text of a test. */
export function asRowsWorld({ graph, text, parameters }: RowsCase, why: string): string {
  const indent = (lines: string, by: string): string => lines.split('\n').join(`\n${by}`)
  return [
    `# ${indent(why, '# ')}`,
    'graph: |',
    `  ${indent(printGraph(graph), '  ')}`,
    'query: |',
    `  ${indent(text, '  ')}`,
    `# parameters: ${printValue(parameters)}`,
  ].join('\n')
}
