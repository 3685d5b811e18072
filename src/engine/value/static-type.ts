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
  /** An instant of any kind, or a duration. */
  | 'temporal'

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
  if (kind === 'temporal') return 'a temporal value'
  return kind === 'integer' ? 'an integer' : `a ${kind}`
}

// ---------------------------------------------------------------- arithmetic

function areAll(types: readonly StaticType[], kind: Kind): boolean {
  return types.every((type) => admits([kind], type.kind))
}

export function numberType(...types: readonly StaticType[]): StaticType {
  if (types.some(({ kind }) => kind === 'float')) return typeOf('float')
  return types.every(({ kind }) => kind === 'integer') ? typeOf('integer') : ANY
}

function has(types: readonly StaticType[], ...kinds: readonly Kind[]): boolean {
  return types.some(({ kind }) => kinds.includes(kind))
}

/** What `left + right` can be; null where it can be nothing. */
export function sumType(left: StaticType, right: StaticType): StaticType | null {
  const types = [left, right]
  if (has(types, 'list')) return typeOf('list')
  if (has(types, 'any', 'null')) return ANY
  if (areAll(types, 'number')) return numberType(left, right)
  if (areAll(types, 'temporal')) return typeOf('temporal')
  const isText = has(types, 'string') && types.every(({ kind }) => admits(['string', 'number'], kind))
  return isText ? typeOf('string') : null
}

/** What `-`, `*`, `/` and `%` can be of operands that they take: numbers, temporals and durations scaled by numbers. */
export function arithmeticType(operator: '-' | '*' | '/' | '%', left: StaticType, right: StaticType): StaticType {
  const types = [left, right]
  if (operator !== '%' && has(types, 'temporal')) return typeOf('temporal')
  // Only a number goes with a number, but what a number scales may be a duration.
  if ((operator === '*' || operator === '/') && has(types, 'any', 'null')) return ANY
  return numberType(left, right)
}
