// Values that an external data resolver supplies: noted while the graph is read, asked for when the reading is over
// (ruling C6). What cannot be supplied stays null, and the answer says why (interface, execute rule 7).
import type { Snapshot, StoredProperty } from '../engine/store.ts'
import { toJson } from '../engine/value/convert.ts'
import { NodeValue, type PropertyValue, type RelationshipValue, type Value } from '../engine/value/value.ts'
import type { Resolution } from '../pip/resolve.ts'
import type { Lookup } from '../pip/template.ts'
import type { AnswerSize } from './answer-size.ts'
import { nodeFields } from './node-fields.ts'
import type { Parameters } from './parameters.ts'

/** A property that a resolver supplies: its place in the record holds null until then. */
export interface Awaited {
  readonly resolver: string
  readonly property: string
  /** Of the element, for placeholders: its own fields and its properties. */
  readonly values: ReadonlyMap<string, PropertyValue | null>
  /** Null; or why it stays out, in words for the caller. */
  fill(value: unknown): string | null
}

/** Where an element is read, and what is noted there. */
export interface Site {
  readonly snapshot: Snapshot
  readonly awaited: Awaited[]
  readonly size: AnswerSize
}

/** Its value now, or null until the resolver is asked. */
export function giveProperty(
  element: NodeValue | RelationshipValue,
  name: string,
  stored: StoredProperty | null,
  { snapshot, awaited, size }: Site,
  into: Record<string, unknown>,
  key: string,
): void {
  const value = stored?.value ?? null
  size.take(value)
  into[key] = value
  const resolver = stored?.externalValue ?? null
  if (resolver === null) return
  const isNode = element instanceof NodeValue
  awaited.push({
    resolver,
    property: name,
    // Own fields win over properties of their name (ruling G4).
    values: isNode
      ? new Map([...snapshot.nodeProperties(element.id), ...nodeFields(element.id, snapshot)])
      : snapshot.relationshipProperties(element.id),
    fill(value) {
      if (!size.admits(value)) return size.refusal
      into[key] = value
      return null
    },
  })
}

/** The element's own first: what a caller sends must not stand for what the graph knows. */
export function lookupIn(values: ReadonlyMap<string, Value>, parameters: Parameters): Lookup {
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
export async function fillAwaited(
  awaited: readonly Awaited[],
  parameters: Parameters,
  resolution: Resolution,
): Promise<string[]> {
  const warnings = new Set<string>()
  await Promise.all(
    awaited.map(async ({ resolver, property, values, fill }) => {
      const resolved = await resolution.resolve(resolver, lookupIn(values, parameters))
      const lack = resolved.ok ? fill(resolved.value.value) : resolved.error.reason
      if (lack !== null) warnings.add(`property \`${property}\`, external data resolver \`${resolver}\`: ${lack}`)
    }),
  )
  const told = [...warnings].slice(0, WARNINGS_MAX)
  return warnings.size > told.length ? [...told, `and ${warnings.size - told.length} more`] : told
}
