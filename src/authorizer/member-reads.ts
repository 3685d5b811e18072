// The members of parameters that documents read, such as `email` of `$token.email`: found in their texts, so that conditions,
// filters and writes are searched alike.
import { isJsonObject } from '../kernel/json-kind.ts'

/** The members of a value that are read. */
export interface MemberReads {
  /** The value is also read as a whole, so any member may be read. */
  isWhole: boolean
  readonly members: Map<string, MemberReads>
}

/** A name, a quoted name, or a text in brackets. Quotes have a backslash where the text of Cypher is within JSON. */
const STEP = /\.(?:([\p{L}\p{N}_-]+)|`([^`]+)`)|\[\s*\\?(?:'([^'"\\]+)'|"([^'"\\]+)\\?")\s*\]/uy

/** Returns the members of the parameter with that name that texts of policies and queries read. */
export function readsOf(name: string, texts: readonly string[]): MemberReads {
  const reads = noReads()
  const reference = new RegExp(`\\$${name}(?![\\p{L}\\p{N}_])`, 'gu')
  for (const text of texts)
    for (const { index, 0: found } of text.matchAll(reference)) add(reads, text, index + found.length)
  return reads
}

/** Returns the members of a value that nothing reads, each with the read names that the value does not have. */
export function unreadMembers(
  { isWhole, members }: MemberReads,
  value: unknown,
): readonly { readonly path: readonly string[]; readonly absent: readonly string[] }[] {
  if (isWhole || !isJsonObject(value)) return []
  const absent = [...members.keys()].filter((name) => !Object.hasOwn(value, name))
  return Object.entries(value).flatMap(([name, member]) => {
    const inner = members.get(name)
    if (inner === undefined) return [{ path: [name], absent }]
    return unreadMembers(inner, member).map((one) => ({ ...one, path: [name, ...one.path] }))
  })
}

/**
 * Returns the members that are read and that the value does not have, as paths. A member that is null is given. Members are read of
 * a map: any other value has none.
 */
export function absentMembers({ members }: MemberReads, value: unknown): readonly (readonly string[])[] {
  if (!isJsonObject(value)) return []
  return [...members].flatMap(([name, inner]) => {
    // In Cypher it is a difference.
    if (name.includes('-')) return []
    const below = Object.hasOwn(value, name) ? absentMembers(inner, value[name]) : [[]]
    return below.map((path) => [name, ...path])
  })
}

function add(reads: MemberReads, text: string, start: number): void {
  let at = start
  let place = reads
  for (;;) {
    STEP.lastIndex = at
    const found = STEP.exec(text)
    if (found === null) break
    at += found[0].length
    const [, plain = '', ...others] = found
    const step = others.find((one) => one !== undefined) ?? plain
    // In Cypher, `$token.a-b` is a difference; in a filter it is one name.
    const [first = ''] = plain.split('-')
    if (first !== plain) memberOf(place, first).isWhole = true
    place = memberOf(place, step)
  }
  place.isWhole = true
}

function memberOf({ members }: MemberReads, name: string): MemberReads {
  const known = members.get(name) ?? noReads()
  members.set(name, known)
  return known
}

function noReads(): MemberReads {
  return { isWhole: false, members: new Map() }
}
