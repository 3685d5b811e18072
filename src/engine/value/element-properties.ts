// Reads properties of nodes, relationships, maps and temporals by name at run time. `exec/element-access.ts` has a
// faster way for expressions whose slot and key are known when the plan is compiled.
import { ExecutionError } from '../errors.ts'
import type { ElementField, Snapshot } from '../store.ts'
import { isMap } from './compare.ts'
import type { ExpressionContext } from './expression-context.ts'
import {
  type GraphElementKind,
  mayHaveExternal,
  requirePresentValue,
  requirePresentValues,
} from './external-properties.ts'
import { kindName } from './kind-name.ts'
import { getComponent } from './temporal/components.ts'
import { isTemporal } from './temporal/temporal.ts'
import { NodeValue, RelationshipValue, type Value } from './value.ts'

const NODE_FIELDS: ReadonlyMap<string, ElementField> = new Map(
  (['external_id', 'type', 'create_time', 'update_time', 'is_identity'] as const).map((field) => [field, field]),
)

/** The names of the element fields of nodes that a text can read. */
export const nodeFieldNames: readonly string[] = [...NODE_FIELDS.keys()]

/**
 * Returns the element field of a node with that name, such as `external_id`; null if none exists. A field takes
 * precedence over a captured property of the same name (docs/decisions/0004-element-fields-and-values.md).
 */
export function nodeField(key: string): ElementField | null {
  return NODE_FIELDS.get(key) ?? null
}

/**
 * `value.key` for a map, a node, a relationship or a temporal; null if the value is null or has no such property. Throws
 * ExecutionError for other kinds, and for a property that only an external resolver supplies.
 */
export function getProperty(run: ExpressionContext, value: Value, key: string): Value {
  if (value === null) return null
  if (isMap(value)) return value.get(key) ?? null
  if (value instanceof NodeValue) {
    const graph = run.graphs[value.graph]!
    if (key === 'property') return requirePresentValues(graph, 'node', value.id)
    const field = nodeField(key)
    const own = field && graph.nodeField(value.id, field)
    return own ?? readPresent(graph, 'node', value.id, key)
  }
  if (value instanceof RelationshipValue) {
    const graph = run.graphs[value.graph]!
    if (key === 'property') return requirePresentValues(graph, 'relationship', value.id)
    return readPresent(graph, 'relationship', value.id, key)
  }
  if (isTemporal(value)) return getComponent(value, key)
  throw new ExecutionError('type', `${kindName(value)} has no property \`${key}\``, null, 'InvalidArgumentType')
}

function readPresent(graph: Snapshot, kind: GraphElementKind, id: number, key: string): Value {
  const symbol = graph.symbol('property', key)
  const value = kind === 'node' ? graph.nodeProperty(id, symbol) : graph.relationshipProperty(id, symbol)
  return value === null && mayHaveExternal(graph, key) ? requirePresentValue(graph, kind, id, symbol, value) : value
}

/**
 * Returns all captured properties of an element, or the map itself. `caller` is named in the error. Throws ExecutionError
 * for other kinds.
 */
export function getProperties(run: ExpressionContext, caller: string, value: Value): ReadonlyMap<string, Value> {
  if (isMap(value)) return value
  if (value instanceof NodeValue) return requirePresentValues(run.graphs[value.graph]!, 'node', value.id)
  if (value instanceof RelationshipValue)
    return requirePresentValues(run.graphs[value.graph]!, 'relationship', value.id)
  const message = `${caller} takes a node, a relationship or a map, not ${kindName(value)}`
  throw new ExecutionError('type', message, null, 'InvalidArgumentValue')
}
