// Properties whose values come from an external data resolver. Reading a row leaves them null and records them; they
// are resolved when all rows are read. A value that cannot be resolved stays null and adds a warning
// (docs/decisions/0029-external-data-resolvers.md).
import type { Snapshot, StoredProperty } from '../engine/store.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import { NodeValue, type PropertyValue, type RelationshipValue, type Value } from '../engine/value/value.ts'
import type { Resolution } from '../pip/resolution.ts'
import type { PlaceholderLookup } from '../pip/template.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import { nodeFields } from './node-fields.ts'
import type { ResponseBudget } from './response-budget.ts'

/** A property to resolve; its place in the record holds null until then. */
export interface DeferredProperty {
  readonly resolver: string
  readonly property: string
  /** Fields and properties of the element, for placeholders. */
  readonly values: ReadonlyMap<string, PropertyValue | null>
  /** Stores the value. Returns null, or why it cannot be stored, for the caller. */
  assign(value: unknown): string | null
}

/** The inputs of reading a record, and the list of its deferred properties. */
export interface RecordContext {
  readonly snapshot: Snapshot
  readonly deferred: DeferredProperty[]
  readonly budget: ResponseBudget
}

/**
 * Writes the value of a property to `into[key]`: the stored value, or null with a deferred property if a resolver
 * supplies it. Throws ExecutionError if the response budget is exceeded.
 */
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
    // Element fields take precedence over properties of the same name
    // (docs/decisions/0004-element-fields-and-values.md).
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

/**
 * Looks up placeholder values: first in the element, then in the parameters, so that a caller cannot replace what the
 * graph holds.
 */
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
