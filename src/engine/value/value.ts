// The values of Cypher and of stored properties.
import type { Float } from '../../kernel/float.ts'
import type { AnyTemporal } from './temporal/temporal.ts'

/**
 * A Cypher value.
 * - INTEGER (64 bits, signed): a `number` if it is a safe integer, else a `bigint`; never a bigint that is a safe integer.
 * - FLOAT: a `Float` box, so that 1 and 1.0 differ.
 * - MAP: a JavaScript `Map`, so that no key can reach a prototype.
 * - DATE, TIME, …, DURATION: the classes of `temporal/temporal.ts`.
 * - NODE, RELATIONSHIP: a handle; properties are read through the snapshot of its graph.
 * `undefined` is never a value.
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

/**
 * The value of a property, or an item of a property that is a list. Captured properties have no temporal values
 * (docs/decisions/0004-element-fields-and-values.md).
 */
export type PropertyScalar = boolean | number | bigint | Float | string | AnyTemporal

/** The value of a stored property. The items of a list have the same scalar kind. */
export type PropertyValue = PropertyScalar | readonly PropertyScalar[]

/** A handle of a node. `graph` is the index of its graph in the execution: 0 unless `USE` names another graph. */
export class NodeValue {
  readonly graph: number
  readonly id: number
  constructor(graph: number, id: number) {
    this.graph = graph
    this.id = id
  }
}

/** A handle of a relationship; `graph` as in NodeValue. */
export class RelationshipValue {
  readonly graph: number
  readonly id: number
  constructor(graph: number, id: number) {
    this.graph = graph
    this.id = id
  }
}

/** A path: `nodes.length === relationships.length + 1`. */
export class PathValue {
  readonly nodes: readonly NodeValue[]
  readonly relationships: readonly RelationshipValue[]
  constructor(nodes: readonly NodeValue[], relationships: readonly RelationshipValue[]) {
    this.nodes = nodes
    this.relationships = relationships
  }
}

/** Three-valued logic: null is unknown. */
export type Truth = boolean | null
