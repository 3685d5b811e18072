// What a cell can hold.
import type { Float } from '../../kernel/float.ts'
import type { AnyTemporal } from './temporal/temporal.ts'

/**
 * A Cypher value.
 * - INTEGER (64 bits, signed): `number` when it is a safe integer, `bigint` beyond; never a bigint that fits a safe integer.
 * - FLOAT: a `Float` box, so that 1 and 1.0 stay apart.
 * - MAP: a JavaScript `Map`, so that no key can reach a prototype.
 * - DATE, TIME, …, DURATION: values of `temporal/temporal.ts`.
 * - NODE, RELATIONSHIP: a handle; what it holds is read through the snapshot of its graph.
 * `undefined` never stands for a value.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | Float
  | string
  | readonly Value[]
  | ReadonlyMap<string, Value>
  | AnyTemporal
  | NodeValue
  | RelationshipValue
  | PathValue

/** What one property, or one item of a property that is a list, can hold. Captured ones hold no temporals (ruling G5). */
export type PropertyScalar = boolean | number | bigint | Float | string | AnyTemporal

/** Lists are of one scalar kind. */
export type PropertyValue = PropertyScalar | readonly PropertyScalar[]

/** `graph` is the index of the graph in the execution (0 unless `USE` names others). */
export class NodeValue {
  readonly graph: number
  readonly id: number
  constructor(graph: number, id: number) {
    this.graph = graph
    this.id = id
  }
}

export class RelationshipValue {
  readonly graph: number
  readonly id: number
  constructor(graph: number, id: number) {
    this.graph = graph
    this.id = id
  }
}

/** `nodes.length === relationships.length + 1`. */
export class PathValue {
  readonly nodes: readonly NodeValue[]
  readonly relationships: readonly RelationshipValue[]
  constructor(nodes: readonly NodeValue[], relationships: readonly RelationshipValue[]) {
    this.nodes = nodes
    this.relationships = relationships
  }
}

/** Three-valued truth: null is unknown. */
export type Truth = boolean | null
