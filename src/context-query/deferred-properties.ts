// Properties whose values come from an external data resolver. Reading a row leaves them null and records them; they
// are resolved when all rows are read. A value that cannot be resolved stays null and adds a warning
// (docs/decisions/0029-external-data-resolvers.md).
import type { Snapshot, StoredProperty } from '../engine/store.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import type { NodeValue, PropertyValue, RelationshipValue, Value } from '../engine/value/value.ts'
import type { Resolution } from '../pip/resolution.ts'
import { type PlaceholderLookup, withheld } from '../pip/template.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import { fieldsAndProperties } from './element-fields.ts'
import { serviceParameters } from './parameters.ts'
import type { DeferredProperty, PlaceholderValues, RecordContext, SharedData } from './record-context.ts'
import type { ElementAccess } from './written-elements.ts'

/** How the properties of an element are read. */
export interface PropertyReading {
  /** Set if other records may share the data. */
  readonly shared: SharedData | null
  /** Null: everything may be returned. */
  readonly access: ElementAccess | null
}

/**
 * Writes the value of a property to `into[key]`: the stored value, or null with a deferred property if a resolver
 * supplies it.
 */
export function readProperty(
  element: NodeValue | RelationshipValue,
  name: string,
  stored: StoredProperty | null,
  { snapshot, deferred, budget }: RecordContext,
  { shared, access }: PropertyReading,
  into: Record<string, unknown>,
  key: string,
): void {
  into[key] = stored?.value ?? null
  const resolver = stored?.externalValue ?? null
  if (resolver === null) return
  // Properties that the policy permits are resolved with the whole element.
  const restricted = access?.property(element, name) === 'written' ? access : null
  deferred.push({
    resolver,
    property: name,
    values: placeholderValues(element, snapshot, restricted),
    assign(value) {
      if (!budget.tryCharge(value, shared?.uses ?? 1)) return budget.exhaustedMessage
      into[key] = value
      return null
    },
  })
}

function placeholderValues(
  element: NodeValue | RelationshipValue,
  snapshot: Snapshot,
  access: ElementAccess | null,
): PlaceholderValues {
  const { fields, properties } = fieldsAndProperties(element, snapshot)
  const own = new Map<string, PropertyValue | null>()
  const hidden = new Set<string>()
  for (const [name, { value }] of properties) {
    if (access?.property(element, name) === 'hidden') hidden.add(name)
    else own.set(name, value)
  }
  // Own fields take precedence over properties of the same name (docs/decisions/0004-element-fields-and-values.md).
  for (const [name, value] of fields) {
    own.set(name, value)
    hidden.delete(name)
  }
  return { own, hidden }
}

/**
 * Looks up placeholder values: first in the element, then in the parameters, so that a caller cannot replace what the
 * graph holds.
 */
export function placeholderLookup({ own, hidden }: PlaceholderValues, parameters: BoundParameters): PlaceholderLookup {
  return (name) => {
    if (hidden.has(name)) return withheld
    const stored = own.get(name) ?? null
    if (stored !== null) return toJson(stored, () => null)
    const [first = '', ...path] = name.split('.')
    // A caller may send a parameter whose name has a dot, but none that stands for a claim of the token.
    let value = serviceParameters.has(first) ? undefined : parameters.get(name)
    if (value === undefined) {
      value = parameters.get(first)
      for (const key of path) value = value instanceof Map ? (value as ReadonlyMap<string, Value>).get(key) : undefined
    }
    return value === undefined ? undefined : toJson(value, () => null)
  }
}

const WARNINGS_MAX = 100

/**
 * Resolves deferred properties. Returns a warning for each that failed, at most 100 and a count of the rest. Never
 * rejects.
 */
export async function resolveDeferred(
  deferred: readonly DeferredProperty[],
  parameters: BoundParameters,
  resolution: Resolution,
): Promise<string[]> {
  const warnings = new Set<string>()
  await Promise.all(
    deferred.map(async ({ resolver, property, values, assign }) => {
      const resolved = await resolution.resolve(resolver, placeholderLookup(values, parameters))
      const failure = resolved.ok ? assign(resolved.value.value) : resolved.error.reason
      if (failure !== null) warnings.add(`property \`${property}\`, external data resolver \`${resolver}\`: ${failure}`)
    }),
  )
  const shown = [...warnings].slice(0, WARNINGS_MAX)
  return warnings.size > shown.length ? [...shown, `and ${warnings.size - shown.length} more`] : shown
}
