// What nodes and relationships hold, read by name at run time through the snapshot of their graph. Expressions that know
// slot and key when they are compiled have a shorter way; this is the way of all others.
import { RunFault } from '../errors.ts'
import type { Run } from '../exec/context.ts'
import type { OwnField, Snapshot } from '../store.ts'
import { isMap } from './compare.ts'
import { type ElementKind, mayBeExternal, presentValue, presentValues } from './external.ts'
import { kindName } from './kind-name.ts'
import { componentOf } from './temporal/components.ts'
import { isTemporal } from './temporal/temporal.ts'
import { NodeValue, RelationshipValue, type Value } from './value.ts'

const OWN_FIELDS: ReadonlyMap<string, OwnField> = new Map(
  (['external_id', 'type', 'create_time', 'update_time', 'is_identity'] as const).map((field) => [field, field]),
)

/** The own field of a node under that name (ruling G4). */
export function nodeFieldNamed(key: string): OwnField | null {
  return OWN_FIELDS.get(key) ?? null
}

/** `value.key` for a map, a node, a relationship or a temporal; null of null. */
export function propertyOf(run: Run, value: Value, key: string): Value {
  if (value === null) return null
  if (isMap(value)) return value.get(key) ?? null
  if (value instanceof NodeValue) {
    const graph = run.graphs[value.graph]!
    if (key === 'property') return presentValues(graph, 'node', value.id)
    const field = nodeFieldNamed(key)
    const own = field && graph.nodeOwn(value.id, field)
    return own ?? present(graph, 'node', value.id, key)
  }
  if (value instanceof RelationshipValue) {
    const graph = run.graphs[value.graph]!
    if (key === 'property') return presentValues(graph, 'relationship', value.id)
    return present(graph, 'relationship', value.id, key)
  }
  if (isTemporal(value)) return componentOf(value, key)
  throw new RunFault('type', `${kindName(value)} has no property \`${key}\``, null, 'InvalidArgumentType')
}

function present(graph: Snapshot, kind: ElementKind, id: number, key: string): Value {
  const symbol = graph.symbol('property', key)
  const value = kind === 'node' ? graph.nodeProperty(id, symbol) : graph.relationshipProperty(id, symbol)
  return value === null && mayBeExternal(graph, key) ? presentValue(graph, kind, id, symbol, value) : value
}

/** All captured properties, or the map itself. */
export function propertiesOf(run: Run, asker: string, value: Value): ReadonlyMap<string, Value> {
  if (isMap(value)) return value
  if (value instanceof NodeValue) return presentValues(run.graphs[value.graph]!, 'node', value.id)
  if (value instanceof RelationshipValue) return presentValues(run.graphs[value.graph]!, 'relationship', value.id)
  const message = `${asker} takes a node, a relationship or a map, not ${kindName(value)}`
  throw new RunFault('type', message, null, 'InvalidArgumentValue')
}
