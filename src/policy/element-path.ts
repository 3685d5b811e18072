// The path language of context policies and knowledge queries: which part of an element a path names, which elements have
// such a part, and which path covers which.
import type { VariableKind } from '../engine/condition-rows.ts'
import type { ElementField } from '../engine/store.ts'
import { assertNever } from '../kernel/assert.ts'
import { protectedNames } from '../kernel/element-rules.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** A parsed path. `variable` is the name that the pattern binds. */
export type ElementPath = { readonly variable: string } & (
  | { readonly kind: 'whole' }
  /**
   * `var.*`: its element fields, all its properties, and the bare variable
   * (docs/decisions/0010-context-query-reads.md).
   */
  | { readonly kind: 'all' }
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'properties' }
  | { readonly kind: 'metadata'; readonly name: string; readonly field: string }
  | { readonly kind: 'score'; readonly name: string }
  | { readonly kind: 'scores' }
)

/** The kind of element that a path is about. */
export type PathElementKind = 'node' | 'relationship'

/** The own fields of an element, in response order (docs/decisions/0004-element-fields-and-values.md). */
export const ownFields = {
  node: ['create_time', 'external_id', 'id', 'is_identity', 'type', 'update_time'],
  relationship: ['create_time', 'id', 'type', 'update_time'],
} as const satisfies Readonly<Record<PathElementKind, readonly ElementField[]>>

/** A part of a path: a word, `*`, or any name in backticks, where two backticks are one of the name. */
const PART = /(?:\*|[\p{L}_][\p{L}\p{M}\p{N}_-]*|`(?:[^`]|``)+`)(?:\.(?=.)|$)/suy
/** What follows a variable in a path: the syntax of PART for schemas. */
export const PATH_PARTS = '(?:\\.(?:[\\p{L}_][\\p{L}\\p{M}\\p{N}_-]*|`(?:[^`]|``)+`))*'

/** The parts of a path without its dots, as they are written; null: it is no path. */
function partsOf(text: string): readonly string[] | null {
  const parts: string[] = []
  for (let at = 0; at < text.length; at = PART.lastIndex) {
    PART.lastIndex = at
    const [part] = PART.exec(text) ?? []
    if (part === undefined) return null
    parts.push(part.endsWith('.') ? part.slice(0, -1) : part)
  }
  return parts
}

/** The name that a part of a path stands for. */
function nameOf(part: string): string {
  return part.startsWith('`') ? part.slice(1, -1).replaceAll('``', '`') : part
}

/**
 * Parses a path. The `property.` before the name is optional for a relationship. Any other name is in backticks. The error is
 * a message for the author.
 */
export function parsePath(text: string, kind: PathElementKind): Result<ElementPath, string> {
  const parts = partsOf(text)
  const [variable = '', first, second, third, fourth, ...rest] = parts ?? []
  const hint = parts === null ? ', with any other name in backticks' : ''
  const error = err(`expected a path such as ${examples[kind]}${hint}, found \`${text.slice(0, 64)}\``)
  if (variable === '' || variable.startsWith('`') || rest.length > 0) return error
  if (first === undefined) return ok({ variable, kind: 'whole' })
  if (first === '*') return second === undefined ? ok({ variable, kind: 'all' }) : error
  if (second === undefined) {
    const name = nameOf(first)
    if (hasField(kind, name)) return ok({ variable, kind: 'field', name })
    return kind === 'relationship' ? property(variable, name, kind) : error
  }
  if (first === 'property') {
    if (second === '*') return third === undefined ? ok({ variable, kind: 'properties' }) : error
    const name = nameOf(second)
    const whole = property(variable, name, kind)
    if (third === undefined || !whole.ok) return whole
    const isField = kind === 'node' && third === 'metadata' && fourth !== undefined && fourth !== '*'
    return isField ? ok({ variable, kind: 'metadata', name, field: nameOf(fourth) }) : error
  }
  if (first === 'trust_score' && kind === 'node' && third === undefined) {
    return ok(second === '*' ? { variable, kind: 'scores' } : { variable, kind: 'score', name: nameOf(second) })
  }
  return error
}

const examples: Readonly<Record<PathElementKind, string>> = {
  node: '`var`, `var.*`, `var.external_id`, `var.property.name` or `var.trust_score.name`',
  relationship: '`rel`, `rel.*`, `rel.type` or `rel.name`',
}

function hasField(kind: PathElementKind, name: string): boolean {
  return (ownFields[kind] as readonly string[]).includes(name)
}

/** No element has a property with a protected name. */
function property(variable: string, name: string, kind: PathElementKind): Result<ElementPath, string> {
  if (!protectedNames.has(name)) return ok({ variable, kind: 'property', name })
  const problem = `no ${kind} has a property \`${name}\`, because the name is protected`
  return err(hasField(kind, name) ? `${problem}; the own field is \`${variable}.${name}\`` : problem)
}

/**
 * Returns why a path of a variable can never have a value, given how the pattern binds the variable; null if it can. The
 * kind of a `value` is only known for each row.
 */
export function unanswerable(path: ElementPath, bound: VariableKind): string | null {
  switch (bound) {
    case 'node':
    case 'value':
      return null
    case 'path':
      return `\`${path.variable}\` is a path, which can only be returned as an aggregate value`
    case 'relationship':
    case 'relationships': {
      const isRelationshipPart = path.kind !== 'metadata' && path.kind !== 'score' && path.kind !== 'scores'
      if (isRelationshipPart && (path.kind !== 'field' || hasField('relationship', path.name))) return null
      const part = path.kind === 'field' ? `\`${path.name}\`` : partNames[path.kind as 'metadata' | 'score' | 'scores']
      return `\`${path.variable}\` is a relationship and has no ${part}`
    }
    default:
      return assertNever(bound)
  }
}

const partNames = { metadata: 'readable metadata', score: 'trust score', scores: 'trust score' } as const

/** Returns whether a variable can be bound to elements of the kind. */
export function canHold(bound: VariableKind | undefined, kind: PathElementKind): boolean {
  switch (bound) {
    case 'value':
      return true
    case 'node':
      return kind === 'node'
    case 'relationship':
    case 'relationships':
      return kind === 'relationship'
    default:
      return false
  }
}

/** Returns why the path can never be deleted; null if it can. */
export function undeletable(path: ElementPath): string | null {
  switch (path.kind) {
    case 'field':
      return 'is a protected name'
    case 'metadata':
    case 'score':
    case 'scores':
      return 'cannot be deleted'
    case 'whole':
    case 'all':
    case 'properties':
    case 'property':
      return null
    default:
      return assertNever(path)
  }
}

/**
 * Returns whether permission for `allowed` includes `requested`. A wildcard does not cover metadata and trust scores; a
 * bare variable covers only itself.
 */
export function covers(allowed: ElementPath, requested: ElementPath): boolean {
  if (allowed.variable !== requested.variable) return false
  switch (allowed.kind) {
    case 'all':
      return ['whole', 'all', 'field', 'property', 'properties'].includes(requested.kind)
    case 'properties':
      return requested.kind === 'properties' || requested.kind === 'property'
    case 'scores':
      return requested.kind === 'scores' || requested.kind === 'score'
    case 'whole':
      return requested.kind === 'whole'
    case 'metadata':
      return requested.kind === 'metadata' && requested.name === allowed.name && requested.field === allowed.field
    case 'field':
    case 'property':
    case 'score':
      return requested.kind === allowed.kind && requested.name === allowed.name
    default:
      return assertNever(allowed)
  }
}
