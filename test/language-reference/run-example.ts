// Runs an example of the language page on the sample graph: its result, and the dialects that accept it.
import { positionOf } from '../../grammar/diagnostic.ts'
import { compileCondition, type DialectName } from '../../src/engine/conditions.ts'
import {
  compileRowsQuery,
  type NodeResult,
  type PathResult,
  type RelationshipResult,
  type ResultValue,
} from '../../src/engine/rows-query.ts'
import type { Snapshot } from '../../src/engine/store.ts'
import { numberText } from '../../src/engine/value/arithmetic.ts'
import { isTemporal } from '../../src/engine/value/temporal/temporal.ts'
import { Float } from '../../src/kernel/float.ts'
import { PARAMETERS } from '../generate/condition.ts'
import { engineParameters } from '../support/convert-graph.ts'
import { readGraph } from '../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../support/store-engine.ts'
import { sampleGraph } from './forms.ts'

export interface Shown {
  readonly gives: string
  readonly dialects: string
}

/** The row of the library among the dialects: what it accepts with RETURN, which policies do not allow. */
const POLICY_DIALECTS: readonly DialectName[] = ['2.0-kbac', '3.0-kbac', '1.0-ciq']

const expressionQuery = (expression: string): string => `MATCH p = (n:Vip)-[r:OWNS]->(m) RETURN ${expression} AS value`
const expressionCondition = (expression: string): string =>
  `MATCH p = (subject)-[r:OWNS]->(resource) WITH *, subject AS n, resource AS m WITH subject, resource, ${expression} AS value`

export class Examples {
  private readonly stored: StoredGraph
  private constructor(stored: StoredGraph) {
    this.stored = stored
  }

  static async open(): Promise<Examples> {
    return new Examples(await storeGraph(readGraph(sampleGraph)))
  }

  close(): Promise<void> {
    return this.stored.close()
  }

  form(example: string): Shown {
    const isCondition = /\bresource\b/.test(example)
    if (!isCondition && (/\bRETURN\b/.test(withoutBraces(example)) || /^\{ RETURN\b/.test(example))) {
      return { gives: this.rows(example), dialects: 'library' }
    }
    if (isCondition && /^(MATCH|UNWIND|CALL)\b/.test(example)) {
      return { gives: this.pairs(example), dialects: admitting(example) }
    }
    return this.expression(example)
  }

  expression(example: string): Shown {
    return { gives: this.rows(expressionQuery(example)), dialects: admitting(expressionCondition(example)) }
  }

  aggregate(example: string): Shown {
    const over = 'UNWIND [1, 2, 2, null, 5] AS x'
    const condition = `MATCH (subject)-[:OWNS]->(resource) ${over} WITH subject, resource, ${example} AS value`
    return { gives: this.rows(`${over} RETURN ${example} AS value`), dialects: admitting(condition) }
  }

  private rows(text: string): string {
    const compiled = compileRowsQuery(text)
    if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
    return this.within((snapshot) => {
      const { rows } = compiled.value.run({ ...this.asking(snapshot), locate: () => snapshot })
      return rows.map((row) => row.map((cell) => shown(cell, snapshot)).join(', ')).join(' · ') || 'nothing'
    })
  }

  /** The pairs that a condition grants, `subject→resource`. */
  private pairs(text: string): string {
    const compiled = compileCondition({ text, dialect: 'open', subjectType: 'Person', resourceType: 'Car' })
    if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
    return this.within((snapshot) => {
      const found = ['ann', 'bob', 'cyd'].flatMap((subject) =>
        compiled.value
          .resources(this.asking(snapshot), subject)
          .sort()
          .map((resource) => `${subject}→${resource}`),
      )
      return found.join(' ') || 'nothing'
    })
  }

  private asking(snapshot: Snapshot) {
    return { snapshot, parameters: engineParameters(PARAMETERS), limits: { stepsMax: 100_000, timeMs: 2_000 } }
  }

  private within<T>(ask: (snapshot: Snapshot) => T): T {
    const snapshot = this.stored.environment.snapshot()
    try {
      return ask(snapshot)
    } finally {
      snapshot.close()
    }
  }
}

/** Why the text is refused: the message of the first diagnostic. */
export function refusalOf(text: string, dialect: DialectName): { readonly code: string; readonly message: string } {
  const asRows = dialect === 'open'
  const compiled = asRows
    ? compileRowsQuery(text)
    : compileCondition({ text, dialect, subjectType: 'Person', resourceType: 'Car' })
  if (compiled.ok) throw new Error(`is not refused: ${text}`)
  return compiled.error[0]!
}

function withoutBraces(text: string): string {
  const outer = text.replaceAll(/\{[^{}]*\}/g, '')
  return outer === text ? text : withoutBraces(outer)
}

/** The dialects that accept the text. */
function admitting(text: string): string {
  const admits = POLICY_DIALECTS.filter((dialect) => {
    const compiled = compileCondition({ text, dialect, subjectType: 'Person', resourceType: 'Car' })
    if (compiled.ok) return true
    const [issue] = compiled.error
    // Clauses after one that is not allowed may lack its variables.
    if (issue!.code === 'ForbiddenClause' || issue!.code === 'NondeterministicFunction') return false
    const { line, column } = positionOf(text, issue!.span.start)
    throw new Error(`${text}: ${line}:${column} ${issue!.message}`)
  })
  return admits.length === POLICY_DIALECTS.length ? 'all' : ['library', ...admits].join(', ')
}

/** As Cypher writes the value; elements by their external ids. */
function shown(cell: ResultValue, snapshot: Snapshot): string {
  const inner = (item: unknown): string => shown(item as ResultValue, snapshot)
  if (cell === null || typeof cell === 'boolean') return String(cell)
  if (typeof cell === 'number' || typeof cell === 'bigint' || cell instanceof Float) return numberText(cell)
  if (typeof cell === 'string') return `'${cell}'`
  if (isTemporal(cell)) return String(cell)
  if (Array.isArray(cell)) return `[${cell.map(inner).join(', ')}]`
  if (cell instanceof Map) return `{${[...cell].map(([key, item]) => `${key}: ${inner(item)}`).join(', ')}}`
  const element = cell as NodeResult | RelationshipResult | PathResult
  if (element.kind === 'node') return `(${snapshot.nodeField(element.id, 'external_id')})`
  if (element.kind === 'relationship') return `[:${element.type}]`
  return element.nodes
    .map((node, i) => {
      const next = element.relationships[i]
      if (!next) return inner(node)
      return inner(node) + (next.source === node.id ? `-${inner(next)}->` : `<-${inner(next)}-`)
    })
    .join('')
}
