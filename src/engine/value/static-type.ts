// What can be said of a value's kind before there is a value: enough to refuse at compile time what could never run.

export type Kind =
  | 'any'
  | 'null'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'number'
  | 'string'
  | 'list'
  | 'map'
  | 'node'
  | 'relationship'
  | 'path'

export interface StaticType {
  readonly kind: Kind
  /** What is known of the items of a list. */
  readonly item: StaticType | null
}

export function typeOf(kind: Kind, item: StaticType | null = null): StaticType {
  return { kind, item }
}

export const ANY = typeOf('any')

/** False only where the value can be none of the expected kinds; null goes everywhere. */
export function admits(expected: readonly Kind[], actual: Kind): boolean {
  if (actual === 'any' || actual === 'null') return true
  const isNumber = actual === 'integer' || actual === 'float' || actual === 'number'
  return expected.some((kind) => {
    if (kind === 'any' || kind === actual) return true
    if (kind === 'number') return isNumber
    return actual === 'number' && (kind === 'integer' || kind === 'float')
  })
}

/** The type of a value that is one of several. */
export function join(types: readonly StaticType[]): StaticType {
  const known = types.filter((type) => type.kind !== 'null')
  const first = known[0]
  if (!first) return types.length > 0 ? typeOf('null') : ANY
  if (known.every((type) => type.kind === first.kind)) {
    if (first.kind !== 'list') return first
    return typeOf('list', join(known.map((type) => type.item ?? ANY)))
  }
  return known.every((type) => admits(['number'], type.kind) && type.kind !== 'any') ? typeOf('number') : ANY
}

export function kindPhrase(kind: Kind): string {
  if (kind === 'any') return 'any value'
  if (kind === 'null') return 'null'
  return kind === 'integer' ? 'an integer' : `a ${kind}`
}
