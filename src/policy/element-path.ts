// The path language of context policies and knowledge queries: which part of an element a path names, and which path
// covers which.
import { assertNever } from '../kernel/assert.ts'
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

const nodeFields: ReadonlySet<string> = new Set([
  'external_id',
  'type',
  'create_time',
  'update_time',
  'is_identity',
  'id',
])
const WORD = /^[\p{L}_][\p{L}\p{N}_-]*$/u

/**
 * Parses a path. The `property.` before the name is optional for a relationship. The error is a message for the author.
 */
export function parsePath(text: string, kind: PathElementKind): Result<ElementPath, string> {
  const [variable = '', first, second, third, fourth, ...rest] = text.split('.')
  const error = err(`expected a path such as ${examples[kind]}, found \`${text.slice(0, 64)}\``)
  const words = [variable, first, second, third, fourth].filter((word) => word !== undefined && word !== '*')
  if (rest.length > 0 || words.some((word) => !WORD.test(word as string))) return error
  if (first === undefined) return ok({ variable, kind: 'whole' })
  if (first === '*') return second === undefined ? ok({ variable, kind: 'all' }) : error
  if (second === undefined) {
    if (kind === 'relationship') return ok({ variable, kind: 'property', name: first })
    return nodeFields.has(first) ? ok({ variable, kind: 'field', name: first }) : error
  }
  if (first === 'property') {
    if (third === undefined) return ok(second === '*' ? { variable, kind: 'properties' } : property(variable, second))
    const isField = kind === 'node' && second !== '*' && third === 'metadata' && fourth !== undefined && fourth !== '*'
    return isField ? ok({ variable, kind: 'metadata', name: second, field: fourth }) : error
  }
  if (first === 'trust_score' && kind === 'node' && third === undefined) {
    return ok(second === '*' ? { variable, kind: 'scores' } : { variable, kind: 'score', name: second })
  }
  return error
}

const examples: Readonly<Record<PathElementKind, string>> = {
  node: '`var`, `var.*`, `var.external_id`, `var.property.name` or `var.trust_score.name`',
  relationship: '`rel`, `rel.*` or `rel.name`',
}

function property(variable: string, name: string): ElementPath {
  return { variable, kind: 'property', name }
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
