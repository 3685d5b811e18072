// The values of a result, and how they are read from the frame of a run: elements with their labels and properties.
import { assertNever } from '../kernel/assert.ts'
import { Float } from '../kernel/float.ts'
import type { Slot } from './bind/bound.ts'
import type { ExecutionContext } from './exec/execution-context.ts'
import { type AnyTemporal, isTemporal } from './value/temporal/temporal.ts'
import { NodeValue, PathValue, type PropertyValue, RelationshipValue, type Value } from './value/value.ts'

/** A node of a result, with its properties. */
export interface NodeResult {
  readonly kind: 'node'
  readonly id: number
  readonly labels: readonly string[]
  readonly properties: ReadonlyMap<string, PropertyValue>
}

/** A relationship of a result. `source` and `target` are node ids. */
export interface RelationshipResult {
  readonly kind: 'relationship'
  readonly id: number
  readonly type: string
  readonly source: number
  readonly target: number
  readonly properties: ReadonlyMap<string, PropertyValue>
}

/** A path of a result. */
export interface PathResult {
  readonly kind: 'path'
  readonly nodes: readonly NodeResult[]
  readonly relationships: readonly RelationshipResult[]
}

/**
 * A value of a result. Elements are read, so it stays valid after the snapshot is closed. Integers are numbers or bigints,
 * floats are Float.
 *
 * @example
 * const isFloat = (value: ResultValue): boolean => value instanceof Float
 */
export type ResultValue =
  | null
  | boolean
  | number
  | bigint
  | Float
  | string
  | readonly ResultValue[]
  | ReadonlyMap<string, ResultValue>
  | AnyTemporal
  | NodeResult
  | RelationshipResult
  | PathResult

/** The content of a slot in the current row of a run. Throws ExecutionError if the budget is used up. */
export function readSlot(slot: Slot, run: ExecutionContext): ResultValue {
  const content = run.frame[slot.index]
  switch (slot.kind) {
    case 'node':
      return content === 0 ? null : readNode(run, slot.graph, content as number)
    case 'relationship':
      return content === 0 ? null : readRelationship(run, slot.graph, content as number)
    case 'relationships':
      return content === null ? null : (content as number[]).map((id) => readRelationship(run, slot.graph, id))
    case 'path':
    case 'value':
      return readValue(run, content as Value)
    default:
      return assertNever(slot.kind)
  }
}

function readValue(run: ExecutionContext, value: Value): ResultValue {
  if (value instanceof NodeValue) return readNode(run, value.graph, value.id)
  if (value instanceof RelationshipValue) return readRelationship(run, value.graph, value.id)
  if (value instanceof PathValue) {
    return {
      kind: 'path',
      nodes: value.nodes.map(({ graph, id }) => readNode(run, graph, id)),
      relationships: value.relationships.map(({ graph, id }) => readRelationship(run, graph, id)),
    }
  }
  if (value === null || typeof value !== 'object' || value instanceof Float || isTemporal(value)) return value
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, readValue(run, item as Value)]))
  return (value as readonly Value[]).map((item) => readValue(run, item))
}

/** To read an element with its properties takes some microseconds. */
const STEPS_PER_ELEMENT_READ = 4

function readNode(run: ExecutionContext, graph: number, id: number): NodeResult {
  run.budget.chargeSteps(STEPS_PER_ELEMENT_READ)
  const snapshot = run.graphs[graph]!
  const labels = snapshot.labels(id).map((label) => snapshot.symbolName('label', label))
  return { kind: 'node', id, labels, properties: snapshot.nodeProperties(id) }
}

function readRelationship(run: ExecutionContext, graph: number, id: number): RelationshipResult {
  run.budget.chargeSteps(STEPS_PER_ELEMENT_READ)
  const snapshot = run.graphs[graph]!
  return {
    kind: 'relationship',
    id,
    type: snapshot.symbolName('type', snapshot.relationshipType(id)),
    source: snapshot.relationshipSource(id),
    target: snapshot.relationshipTarget(id),
    properties: snapshot.relationshipProperties(id),
  }
}
