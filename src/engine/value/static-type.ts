// What can be said of a value's kind before there is a value: enough to refuse at compile time what could never run.

export type StaticKind =
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
  readonly kind: StaticKind
  /** What is known of the items of a list. */
  readonly item: StaticType | null
}

export function staticType(kind: StaticKind, item: StaticType | null = null): StaticType {
  return { kind, item }
}

export const ANY = staticType('any')

/** False only where the value can be none of the expected kinds; null goes everywhere. */
export function mayBeOneOf(expected: readonly StaticKind[], actual: StaticKind): boolean {
  if (actual === 'any' || actual === 'null') return true
  const isNumber = actual === 'integer' || actual === 'float' || actual === 'number'
  return expected.some((kind) => {
    if (kind === 'any' || kind === actual) return true
    if (kind === 'number') return isNumber
    return actual === 'number' && (kind === 'integer' || kind === 'float')
  })
}

/** The type of a value that is one of several. */
export function unionType(types: readonly StaticType[]): StaticType {
  const known = types.filter((type) => type.kind !== 'null')
  const first = known[0]
  if (!first) return types.length > 0 ? staticType('null') : ANY
  if (known.every((type) => type.kind === first.kind)) {
    if (first.kind !== 'list') return first
    return staticType('list', unionType(known.map((type) => type.item ?? ANY)))
  }
  return known.every((type) => mayBeOneOf(['number'], type.kind) && type.kind !== 'any') ? staticType('number') : ANY
}

export function kindWithArticle(kind: StaticKind): string {
  if (kind === 'any') return 'any value'
  if (kind === 'null') return 'null'
  if (kind === 'temporal') return 'a temporal value'
  return kind === 'integer' ? 'an integer' : `a ${kind}`
}

// ---------------------------------------------------------------- arithmetic

function areAllOrUnknown(types: readonly StaticType[], kind: StaticKind): boolean {
  return types.every((type) => mayBeOneOf([kind], type.kind))
}

export function numberType(...types: readonly StaticType[]): StaticType {
  if (types.some(({ kind }) => kind === 'float')) return staticType('float')
  return types.every(({ kind }) => kind === 'integer') ? staticType('integer') : ANY
}

function hasKind(types: readonly StaticType[], ...kinds: readonly StaticKind[]): boolean {
  return types.some(({ kind }) => kinds.includes(kind))
}

/** What `left + right` can be; null where it can be nothing. */
export function sumType(left: StaticType, right: StaticType): StaticType | null {
  const types = [left, right]
  if (hasKind(types, 'list')) return staticType('list')
  if (hasKind(types, 'any', 'null')) return ANY
  if (areAllOrUnknown(types, 'number')) return numberType(left, right)
  if (areAllOrUnknown(types, 'temporal')) return staticType('temporal')
  const isText = hasKind(types, 'string') && types.every(({ kind }) => mayBeOneOf(['string', 'number'], kind))
  return isText ? staticType('string') : null
}

/** What `-`, `*`, `/` and `%` can be of operands that they take: numbers, temporals and durations scaled by numbers. */
export function arithmeticType(operator: '-' | '*' | '/' | '%', left: StaticType, right: StaticType): StaticType {
  const types = [left, right]
  if (operator !== '%' && hasKind(types, 'temporal')) return staticType('temporal')
  // Only a number goes with a number, but what a number scales may be a duration.
  if ((operator === '*' || operator === '/') && hasKind(types, 'any', 'null')) return ANY
  return numberType(left, right)
}
