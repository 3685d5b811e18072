// Values that an external data resolver supplies: noted while the graph is read, asked for when the reading is over
// (ruling C6). What cannot be supplied stays null, and the answer says why (interface, execute rule 7).
import type { Snapshot, StoredProperty } from '../engine/store.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import { NodeValue, type PropertyValue, type RelationshipValue, type Value } from '../engine/value/value.ts'
import type { Resolution } from '../pip/resolution.ts'
import type { PlaceholderLookup } from '../pip/template.ts'
import { nodeFields } from './node-fields.ts'
import type { BoundParameters } from './parameters.ts'
import type { ResponseBudget } from './response-budget.ts'

/** A property that a resolver supplies: its place in the record holds null until then. */
export interface DeferredProperty {
  readonly resolver: string
  readonly property: string
  /** Of the element, for placeholders: its own fields and its properties. */
  readonly values: ReadonlyMap<string, PropertyValue | null>
  /** Null; or why it stays out, in words for the caller. */
  assign(value: unknown): string | null
}

/** Where an element is read, and what is noted there. */
export interface RecordContext {
  readonly snapshot: Snapshot
  readonly deferred: DeferredProperty[]
  readonly budget: ResponseBudget
}

/** Its value now, or null until the resolver is asked. */
export function readProperty(
  element: NodeValue | RelationshipValue,
  name: string,
  stored: StoredProperty | null,
  { snapshot, deferred, budget }: RecordContext,
  into: Record<string, unknown>,
  key: string,
): void {
  const value = stored?.value ?? null
  budget.charge(value)
  into[key] = value
  const resolver = stored?.externalValue ?? null
  if (resolver === null) return
  const isNode = element instanceof NodeValue
  deferred.push({
    resolver,
    property: name,
    // Own fields win over properties of their name (ruling G4).
    values: isNode
      ? new Map([...snapshot.nodeProperties(element.id), ...nodeFields(element.id, snapshot)])
      : snapshot.relationshipProperties(element.id),
    assign(value) {
      if (!budget.tryCharge(value)) return budget.exhaustedMessage
      into[key] = value
      return null
    },
  })
}

/** The element's own first: what a caller sends must not stand for what the graph knows. */
export function placeholderLookup(values: ReadonlyMap<string, Value>, parameters: BoundParameters): PlaceholderLookup {
  return (name) => {
    const own = values.get(name) ?? null
    if (own !== null) return toJson(own, () => null)
    let value = parameters.get(name)
    if (value === undefined) {
      const [first = '', ...path] = name.split('.')
      value = parameters.get(first)
      for (const key of path) value = value instanceof Map ? (value as ReadonlyMap<string, Value>).get(key) : undefined
    }
    return value === undefined ? undefined : toJson(value, () => null)
  }
}

const WARNINGS_MAX = 100

/** Fills what can be filled; answers what is to be told about the rest. */
export async function resolveDeferred(
  awaited: readonly DeferredProperty[],
  parameters: BoundParameters,
  resolution: Resolution,
): Promise<string[]> {
  const warnings = new Set<string>()
  await Promise.all(
    awaited.map(async ({ resolver, property, values, assign }) => {
      const resolved = await resolution.resolve(resolver, placeholderLookup(values, parameters))
      const lack = resolved.ok ? assign(resolved.value.value) : resolved.error.reason
      if (lack !== null) warnings.add(`property \`${property}\`, external data resolver \`${resolver}\`: ${lack}`)
    }),
  )
  const told = [...warnings].slice(0, WARNINGS_MAX)
  return warnings.size > told.length ? [...told, `and ${warnings.size - told.length} more`] : told
}
