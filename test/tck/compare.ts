// Compares results with the tagged values of the TCK: equality of results, not Cypher's `=`.

import type {
  NodeResult,
  PathResult,
  QueryResult,
  RelationshipResult,
  ResultValue,
} from '../../src/engine/rows-query.ts'
import { isTemporal } from '../../src/engine/value/temporal/temporal.ts'
import { Float } from '../../src/kernel/float.ts'
import { type Expectation, type Tagged, toValue } from './case.ts'

/** Null if they agree; else the difference, in one line. */
export function difference(rows: QueryResult, expected: Exclude<Expectation, { kind: 'error' }>): string | null {
  if (expected.kind === 'empty') return rows.rows.length === 0 ? null : `expected no rows, got ${rows.rows.length}`
  if (rows.columns.join('\n') !== expected.columns.join('\n')) {
    return `expected columns [${expected.columns.join(', ')}], got [${rows.columns.join(', ')}]`
  }
  const want = expected.rows.map((row) => row.map((cell) => ofTagged(cell, expected.ignoreListOrder)).join(' | '))
  const have = rows.rows.map((row) => row.map((cell) => ofCell(cell, expected.ignoreListOrder)).join(' | '))
  if (!expected.ordered) {
    want.sort()
    have.sort()
  }
  return want.join('\n') === have.join('\n') ? null : `expected ${show(want)}, got ${show(have)}`
}

function show(rows: readonly string[]): string {
  return `${rows.length} rows: ${rows.slice(0, 5).join(' // ')}`
}

function float(value: number): string {
  // 0.0 equals -0.0; NaN equals NaN.
  return `float ${value === 0 ? 0 : value}`
}

function ofTagged(tagged: Tagged, loose: boolean): string {
  switch (tagged.t) {
    case 'null':
      return 'null'
    case 'bool':
      return String(tagged.v)
    case 'int':
      return `int ${tagged.v}`
    case 'float':
      return float(Number(tagged.v))
    case 'string':
      return JSON.stringify(tagged.v)
    case 'list':
      return list(
        tagged.v.map((item) => ofTagged(item, loose)),
        loose,
      )
    case 'map':
      return map(Object.entries(tagged.v).map(([key, value]) => [key, ofTagged(value, loose)]))
    case 'node':
      return node(tagged.labels, present(tagged.props, loose))
    case 'rel':
      return relationship(tagged.type, present(tagged.props, loose))
    case 'path':
      return `<${tagged.nodes
        .map((n, i) => {
          const next = tagged.rels[i]
          return ofTagged(n, loose) + (next ? `${next.dir}${ofTagged(next, loose)}` : '')
        })
        .join('')}>`
    case 'call':
      return JSON.stringify(String(toValue(tagged)))
  }
}

function present(props: Readonly<Record<string, Tagged>>, loose: boolean): [string, string][] {
  return Object.entries(props).flatMap(([key, value]) => (value.t === 'null' ? [] : [[key, ofTagged(value, loose)]]))
}

function ofCell(cell: ResultValue, loose: boolean): string {
  if (cell === null) return 'null'
  if (typeof cell === 'boolean') return String(cell)
  if (typeof cell === 'number' || typeof cell === 'bigint') return `int ${cell}`
  if (typeof cell === 'string') return JSON.stringify(cell)
  if (cell instanceof Float) return float(cell.value)
  // The cases write a temporal value as its text.
  if (isTemporal(cell)) return JSON.stringify(String(cell))
  if (cell instanceof Map) return map([...cell].map(([key, value]) => [key, ofCell(value as ResultValue, loose)]))
  if (Array.isArray(cell))
    return list(
      cell.map((item) => ofCell(item as ResultValue, loose)),
      loose,
    )
  const element = cell as NodeResult | RelationshipResult | PathResult
  if (element.kind === 'node') return node(element.labels, properties(element.properties, loose))
  if (element.kind === 'relationship') return relationship(element.type, properties(element.properties, loose))
  return `<${element.nodes
    .map((n, i) => {
      const next = element.relationships[i]
      const direction = next && next.source === n.id ? 'out' : 'in'
      return ofCell(n, loose) + (next ? direction + ofCell(next, loose) : '')
    })
    .join('')}>`
}

function properties(held: ReadonlyMap<string, unknown>, loose: boolean): [string, string][] {
  return [...held].map(([key, value]) => [key, ofCell(value as ResultValue, loose)])
}

function list(items: string[], loose: boolean): string {
  return `[${(loose ? items.sort() : items).join(', ')}]`
}

function map(entries: [string, string][]): string {
  return `{${entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')}}`
}

function node(labels: readonly string[], props: [string, string][]): string {
  return `(${[...labels].sort().join(':')} ${map(props)})`
}

function relationship(type: string, props: [string, string][]): string {
  return `[:${type} ${map(props)}]`
}
