// What is known of a variable of a text from the declared types of a project: the node types, relationship types or value types that it
// can have, and the properties of those.
import { suggestion } from '../../grammar/suggest.ts'
import type { ValueType, ValueTypeName } from '../../grammar/value-types.ts'
import { UnknownSymbols } from '../engine/unknown-symbols.ts'
import { nodeFieldNames } from '../engine/value/element-properties.ts'
import { valueTypesText } from '../engine/value/value-type.ts'
import { isReservedName } from '../kernel/element-rules.ts'
import type { GraphTypes, NodeTypeDeclaration, RelationshipTypeDeclaration } from './graph-types.ts'

/** What is known of a variable. Null: nothing, also for `types`, which may then be any, also those of the service. */
export type KnownValue =
  | { readonly kind: 'node'; readonly types: ReadonlySet<NodeTypeDeclaration> | null }
  | { readonly kind: 'relationship'; readonly types: readonly RelationshipTypeDeclaration[] | null }
  | { readonly kind: 'value'; readonly types: readonly ValueType[] }
  | null

/** The variables of a text by name, with what is known of each. */
export type KnownVariables = ReadonlyMap<string, KnownValue>

/** The types that a value can have; null: not known. */
export type PossibleTypes = readonly ValueType[] | null

/** Why the model has no such label or relationship type, as a message; null: it has. */
export function nameProblem(kind: 'label' | 'type', name: string, types: GraphTypes): string | null {
  return new UnknownSymbols([types], 'declared').messageFor({ kind, name })
}

/** Why an element cannot have a property, as a message; null: it can, or its types are not known. */
export function propertyProblem(known: KnownValue, name: string, types: GraphTypes): string | null {
  if (isReservedName(name) || known === null || known.kind === 'value') return null
  const unknown = new UnknownSymbols([types], 'declared').messageFor({ kind: 'property', name, element: known.kind })
  return unknown ?? (propertyOf(known, name) === 'absent' ? absentMessage(known, name, types) : null)
}

/** The nodes with a label. */
export function nodesWith(types: GraphTypes, label: string): KnownValue {
  const found = types.nodes.filter(({ labels }) => labels.has(label))
  return { kind: 'node', types: found.length === 0 ? null : new Set(found) }
}

/** The relationships with a type. */
export function relationshipsOf(types: GraphTypes, name: string): KnownValue {
  const found = types.relationshipsNamed(name)
  return { kind: 'relationship', types: found.length === 0 ? null : found }
}

/** The types of a property; null: not known; `absent`: no type of the element declares it. */
export function propertyOf(known: KnownValue, name: string): PossibleTypes | 'absent' {
  if (known === null || known.kind === 'value' || known.types === null) return null
  const declared = [...known.types].flatMap(({ properties }) => properties.get(name) ?? [])
  return declared.length === 0 ? 'absent' : declared.flatMap(({ types }) => types)
}

export function absentMessage(known: KnownValue, name: string, types: GraphTypes): string {
  const candidates = known !== null && known.kind !== 'value' ? [...(known.types ?? [])] : []
  const names = new Set(candidates.flatMap(({ properties }) => [...properties.keys()]))
  const shown = candidates.slice(0, 3).map(({ text }) => `\`${text}\``)
  const rest = candidates.length > shown.length ? ' and others' : ''
  const near = suggestion(name, [...names, ...(known?.kind === 'node' ? nodeFieldNames : [])])
  const owner =
    near === '' ? [...types.nodes, ...types.relationships].find(({ properties }) => properties.has(name)) : undefined
  const hint = owner === undefined ? near : `; \`${owner.text}\` has it`
  return `${shown.join(', ')}${rest} ${candidates.length === 1 ? 'has' : 'have'} no property \`${name}\`${hint}`
}

export function only(name: ValueTypeName): readonly ValueType[] {
  return [{ name, items: null, nullable: true }]
}

/** Kinds of values of which two different ones are never equal, and never ordered. */
export function kindsOf(types: PossibleTypes): ReadonlySet<ValueTypeName> | null {
  if (types === null) return null
  const kinds = new Set<ValueTypeName>()
  for (const { name } of types) {
    if (name === 'ANY' || name === 'PROPERTY VALUE' || name === 'NULL' || name === 'NOTHING') return null
    kinds.add(name === 'FLOAT' ? 'INTEGER' : name)
  }
  return kinds
}

/** Each type once, without NOT NULL. */
export function nullable(types: readonly ValueType[]): readonly ValueType[] {
  const all = types.map((type) => ({ ...type, nullable: true }))
  return [...new Map(all.map((type) => [valueTypesText([type]), type])).values()]
}

export function itemTypes(types: PossibleTypes): PossibleTypes {
  if (types === null || types.some(({ name }) => name !== 'LIST')) return null
  return types.flatMap(({ items }) => items ?? [])
}

export function itemOf(list: PossibleTypes): KnownValue {
  const types = itemTypes(list)
  return types === null ? null : { kind: 'value', types }
}

export function union(a: KnownValue, b: KnownValue): KnownValue {
  if (a?.kind !== 'node' || b?.kind !== 'node') return null
  return { kind: 'node', types: a.types === null || b.types === null ? null : new Set([...a.types, ...b.types]) }
}
