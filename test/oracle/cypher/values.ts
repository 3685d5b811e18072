// The values of the reference interpreter, and their equality and order. An INTEGER is a bigint and a FLOAT is a
// number, so the two cannot be confused; nothing here is shared with the engine.

export type ReferenceValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly ReferenceValue[]
  | ReadonlyMap<string, ReferenceValue>
  | ReferenceElement
  | ReferencePath
export type ReferenceElement = GraphNode | GraphRelationship
export type ReferenceTruth = boolean | null

export interface GraphNode {
  readonly kind: 'node'
  readonly externalId: string
  readonly type: string
  readonly labels: readonly string[]
  readonly isIdentity: boolean
  readonly properties: ReadonlyMap<string, ReferenceValue>
}

export interface GraphRelationship {
  readonly kind: 'relationship'
  readonly source: GraphNode
  readonly target: GraphNode
  readonly type: string
  readonly properties: ReadonlyMap<string, ReferenceValue>
  /** A definition derives it: only its own name matches it, and a MATCH may use it several times. */
  readonly isDerived?: true
}

export interface ReferencePath {
  readonly kind: 'path'
  readonly nodes: readonly GraphNode[]
  readonly relationships: readonly GraphRelationship[]
}

export interface ReferenceGraph {
  readonly nodes: readonly GraphNode[]
  readonly relationships: readonly GraphRelationship[]
  /** The names of definitions, also of those without a pair. */
  readonly derivedTypes?: readonly string[]
}

/** The run failed: a type error, a missing parameter, arithmetic out of range. A policy that fails grants nothing. */
export class ReferenceEvaluationError extends Error {
  override readonly name = 'ReferenceFault'
}

/** The text uses a part of the language that this interpreter does not implement. */
export class NotInReference extends Error {
  override readonly name = 'NotInReference'
}

export const isNumber = (value: ReferenceValue): value is bigint | number =>
  typeof value === 'bigint' || typeof value === 'number'
export const isList = (value: ReferenceValue): value is readonly ReferenceValue[] => Array.isArray(value)
export const isMap = (value: ReferenceValue): value is ReadonlyMap<string, ReferenceValue> => value instanceof Map

const kindOf = (value: ReferenceValue): string | null =>
  value !== null && typeof value === 'object' && 'kind' in value ? value.kind : null
export const isNode = (value: ReferenceValue): value is GraphNode => kindOf(value) === 'node'
export const isRelationship = (value: ReferenceValue): value is GraphRelationship => kindOf(value) === 'relationship'
export const isPath = (value: ReferenceValue): value is ReferencePath => kindOf(value) === 'path'

// ---------------------------------------------------------------- three-valued truth

/** False if one is false; else null if one is null. */
export function conjunction(truths: readonly ReferenceTruth[]): ReferenceTruth {
  if (truths.includes(false)) return false
  return truths.includes(null) ? null : true
}

export function disjunction(truths: readonly ReferenceTruth[]): ReferenceTruth {
  if (truths.includes(true)) return true
  return truths.includes(null) ? null : false
}

export const negation = (truth: ReferenceTruth): ReferenceTruth => (truth === null ? null : !truth)

// ---------------------------------------------------------------- equality and comparison

/** JavaScript compares bigint and number by their mathematical values; NaN is neither less nor greater. */
function compareNumbers(a: bigint | number, b: bigint | number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN
  return a < b ? -1 : a > b ? 1 : 0
}

/** The `=` of the language. Values of different types are unequal, not incomparable. */
export function equal(a: ReferenceValue, b: ReferenceValue): ReferenceTruth {
  if (a === null || b === null) return null
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) === 0
  if (isList(a) && isList(b)) {
    if (a.length !== b.length) return false
    return conjunction(a.map((item, index) => equal(item, b[index] as ReferenceValue)))
  }
  if (isMap(a) && isMap(b)) {
    if (a.size !== b.size || [...a.keys()].some((key) => !b.has(key))) return false
    return conjunction([...a].map(([key, item]) => equal(item, b.get(key) as ReferenceValue)))
  }
  if (isPath(a) && isPath(b)) return conjunction([equal(a.nodes, b.nodes), equal(a.relationships, b.relationships)])
  return a === b
}

/** Negative, zero or positive; NaN if no comparison holds; null if the two are incomparable. */
export function compare(a: ReferenceValue, b: ReferenceValue): number | null {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b)
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (isList(a) && isList(b)) {
    for (let index = 0; index < Math.min(a.length, b.length); index++) {
      const order = compare(a[index] as ReferenceValue, b[index] as ReferenceValue)
      if (order !== 0) return order
    }
    return a.length - b.length
  }
  return null
}

/** `item IN list`. */
export function member(item: ReferenceValue, list: readonly ReferenceValue[]): ReferenceTruth {
  return disjunction(list.map((each) => equal(item, each)))
}

// ---------------------------------------------------------------- equivalence (DISTINCT, grouping) and total order

/** Two values are equal for DISTINCT and grouping exactly if their keys are equal texts; null equals null. */
export function equivalenceKey(value: ReferenceValue, identities: Identities): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return Number.isInteger(value) ? `n${BigInt(value)}` : `n${value}`
  if (typeof value === 'bigint') return `n${value}`
  if (typeof value === 'boolean') return `b${value}`
  if (typeof value === 'string') return JSON.stringify(value)
  if (isList(value)) return `[${value.map((item) => equivalenceKey(item, identities)).join(',')}]`
  if (isMap(value)) {
    const keys = [...value.keys()].sort()
    return `{${keys.map((key) => `${JSON.stringify(key)}:${equivalenceKey(value.get(key) as ReferenceValue, identities)}`).join(',')}}`
  }
  if (isPath(value)) {
    return `p(${[...value.nodes, ...value.relationships].map((each) => identities.of(each)).join(',')})`
  }
  return identities.of(value as ReferenceElement)
}

/** Numbers the elements of a graph: an element equals only itself. */
export class Identities {
  private readonly numbers = new Map<ReferenceElement, string>()
  constructor(graph: ReferenceGraph) {
    for (const [index, node] of graph.nodes.entries()) this.numbers.set(node, `@n${index}`)
    for (const [index, relationship] of graph.relationships.entries()) this.numbers.set(relationship, `@r${index}`)
  }
  of(element: ReferenceElement): string {
    const found = this.numbers.get(element)
    if (found === undefined) throw new Error('an element that is not of this graph')
    return found
  }
}

/** ORDER BY, min and max: map < node < relationship < list < path < string < boolean < number < NaN < null. */
function rank(value: ReferenceValue): number {
  if (value === null) return 9
  if (isNumber(value)) return Number.isNaN(value) ? 8 : 7
  if (typeof value === 'boolean') return 6
  if (typeof value === 'string') return 5
  if (isPath(value)) return 4
  if (isList(value)) return 3
  if (isRelationship(value)) return 2
  return isNode(value) ? 1 : 0
}

export function totalOrder(a: ReferenceValue, b: ReferenceValue): number {
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (isList(a) && isList(b)) {
    for (let index = 0; index < Math.min(a.length, b.length); index++) {
      const order = totalOrder(a[index] as ReferenceValue, b[index] as ReferenceValue)
      if (order !== 0) return order
    }
    return a.length - b.length
  }
  return compare(a, b) || 0
}
