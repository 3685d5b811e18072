// Static types of expressions: enough to reject at compile time what can never succeed at run time.
/** The kind of a value as far as it is known at compile time. */
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

/** The static type of an expression. */
export interface StaticType {
  readonly kind: StaticKind
  /** The type of the items of a list; null if unknown. */
  readonly item: StaticType | null
}

/** Creates a type; `item` is the type of the items of a list. */
export function staticType(kind: StaticKind, item: StaticType | null = null): StaticType {
  return { kind, item }
}

/** The type of an expression about which nothing is known. */
export const ANY = staticType('any')

/** Whether a value of kind `actual` may be of one of the expected kinds. Null is accepted everywhere. */
export function mayBeOneOf(expected: readonly StaticKind[], actual: StaticKind): boolean {
  if (actual === 'any' || actual === 'null') return true
  const isNumber = actual === 'integer' || actual === 'float' || actual === 'number'
  return expected.some((kind) => {
    if (kind === 'any' || kind === actual) return true
    if (kind === 'number') return isNumber
    return actual === 'number' && (kind === 'integer' || kind === 'float')
  })
}

/** The type of a value that has one of several types. */
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

/** Returns the name of a kind with its article, for error messages. */
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

/** The type of an arithmetic result over numbers: FLOAT if an operand is one. */
export function numberType(...types: readonly StaticType[]): StaticType {
  if (types.some(({ kind }) => kind === 'float')) return staticType('float')
  return types.every(({ kind }) => kind === 'integer') ? staticType('integer') : ANY
}

function hasKind(types: readonly StaticType[], ...kinds: readonly StaticKind[]): boolean {
  return types.some(({ kind }) => kinds.includes(kind))
}

/** The type of `left + right`; null if no operands of these types can be added. */
export function sumType(left: StaticType, right: StaticType): StaticType | null {
  const types = [left, right]
  if (hasKind(types, 'list')) return staticType('list')
  if (hasKind(types, 'any', 'null')) return ANY
  if (areAllOrUnknown(types, 'number')) return numberType(left, right)
  if (areAllOrUnknown(types, 'temporal')) return staticType('temporal')
  const isText = hasKind(types, 'string') && types.every(({ kind }) => mayBeOneOf(['string', 'number'], kind))
  return isText ? staticType('string') : null
}

/**
 * The type of `-`, `*`, `/` or `%` over operands that the operator accepts: numbers, temporals, and durations scaled by
 * numbers.
 */
export function arithmeticType(operator: '-' | '*' | '/' | '%', left: StaticType, right: StaticType): StaticType {
  const types = [left, right]
  if (operator !== '%' && hasKind(types, 'temporal')) return staticType('temporal')
  // The operand of unknown type may be a duration that the number scales.
  if ((operator === '*' || operator === '/') && hasKind(types, 'any', 'null')) return ANY
  return numberType(left, right)
}
