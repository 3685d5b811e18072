// The members of parameters that documents read, such as `email` of `$token.email`: in their Cypher, and in the references of their
// filters and writes.
import {
  type MemberReads,
  noReads,
  type ParameterReads,
  parameterReadsIn,
  readPath,
} from '../engine/parameter-members.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { readReference } from '../policy/value-reference.ts'

export type { MemberReads, ParameterReads } from '../engine/parameter-members.ts'

/** The steps to a part of a value: names of members, and indices of lists. */
type ValuePath = readonly (string | number)[]

/** Documents do not change, and each is read for many requests. */
const known = new WeakMap<object, ParameterReads>()

/** Returns what a document reads: a policy or a knowledge query. Texts without a meaning, such as advice, read nothing. */
export function readsOfDocument(document: object): ParameterReads {
  const found = known.get(document)
  if (found !== undefined) return found
  const { condition } = document as { readonly condition?: { readonly cypher?: unknown } }
  const reads = typeof condition?.cypher === 'string' ? parameterReadsIn(condition.cypher) : new Map()
  addReferences(reads, document)
  known.set(document, reads)
  return reads
}

/** The same for a document that is stored as JSON text. `owner`: the object that has the text. */
export function readsOfText(owner: object, text: string): ParameterReads {
  const found = known.get(owner)
  if (found !== undefined) return found
  const document = parsed(text)
  const reads: ParameterReads = isJsonObject(document) ? readsOfDocument(document) : new Map()
  known.set(owner, reads)
  return reads
}

/** Returns what any of the documents reads of the parameter with that name. */
export function readsOf(name: string, documents: readonly ParameterReads[]): MemberReads {
  return together(documents.flatMap((reads) => reads.get(name) ?? []))
}

/** Returns the members of a value that nothing reads, each with the read names that its map does not have. */
export function unreadMembers(
  reads: MemberReads,
  value: unknown,
): readonly { readonly path: ValuePath; readonly absent: readonly string[] }[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      unreadMembers(readsOfItem(reads, index, value.length), item).map((one) => ({
        ...one,
        path: [index, ...one.path],
      })),
    )
  }
  if (!isJsonObject(value)) return []
  const absent = [...reads.members.keys()].filter((name) => !Object.hasOwn(value, name))
  return Object.entries(value).flatMap(([name, member]) => {
    const inner = reads.members.get(name)
    if (inner === undefined) return [{ path: [name], absent }]
    return unreadMembers(inner, member).map((one) => ({ ...one, path: [name, ...one.path] }))
  })
}

/**
 * Returns the members that are read and that the value does not have, as paths. A member that is null is given. Members are read of
 * a map: any other value has none.
 */
export function absentMembers(reads: MemberReads, value: unknown): readonly ValuePath[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      absentMembers(readsOfItem(reads, index, value.length), item).map((path) => [index, ...path]),
    )
  }
  if (!isJsonObject(value)) return []
  return [...reads.members].flatMap(([name, inner]) => {
    if (Object.hasOwn(value, name)) return absentMembers(inner, value[name]).map((path) => [name, ...path])
    return inner.isRead ? [[name]] : []
  })
}

function readsOfItem({ items }: MemberReads, index: number, length: number): MemberReads {
  return together([index, index - length, null].flatMap((key) => items.get(key) ?? []))
}

function together(places: readonly MemberReads[]): MemberReads {
  const [only] = places
  if (only !== undefined && places.length === 1) return only
  const all = noReads()
  for (const { isRead, members, items } of places) {
    all.isRead ||= isRead
    addTo(all.members, members)
    addTo(all.items, items)
  }
  return all
}

function addTo<K>(all: Map<K, MemberReads>, places: ReadonlyMap<K, MemberReads>): void {
  for (const [key, place] of places) {
    const before = all.get(key)
    all.set(key, before === undefined ? place : together([before, place]))
  }
}

/** A text that begins with `$` is a reference, except in advice, which a caller reads. */
function addReferences(reads: ParameterReads, value: unknown): void {
  if (typeof value === 'string') {
    const reference = value.startsWith('$') ? readReference(value) : null
    if (reference?.ok) readPath(reads, reference.value.root, reference.value.path)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) if (name !== 'advice') addReferences(reads, member)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A draft may be anything.
    return null
  }
}
