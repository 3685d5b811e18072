// Checks that a query's filter compares only what its policy allows to read: a caller who chooses the compared value
// could otherwise recover a hidden property by binary search.
import type { VariableKind } from '../engine/condition-rows.ts'
import type { ContextPolicy } from '../policy/compile-context.ts'
import { type FilterRead, readsOf } from '../policy/context-filter.ts'
import { covers, type ElementPath, parsePath } from '../policy/element-path.ts'
import type { QueryDocument } from './query-document.ts'

/** Returns the issues of the query's filter; each begins with a path from `query`. */
export function filterIssues({ filter }: QueryDocument, policy: ContextPolicy): string[] {
  if (filter === undefined) return []
  return readsOf(filter).flatMap((read) => {
    const [name = ''] = read.text.split('.')
    const kind = policy.variables.get(name)
    if (kind === undefined) return [`query.filter: the policy does not bind \`${name}\``]
    if (mayFilterBy(read, name, kind, policy)) return []
    return [`query.filter${read.at}: the policy does not allow reading \`${read.text}\`, so it cannot be filtered by`]
  })
}

/** Returns whether the filter may use the path. Invalid paths are accepted here, because the compiler reports them. */
function mayFilterBy(
  { text, operator, isBound }: FilterRead,
  name: string,
  kind: VariableKind,
  policy: ContextPolicy,
): boolean {
  // The caller cannot vary its own claims, so comparing them for equality reveals nothing.
  if (isBound && equalityOperators.has(operator)) return true
  const { nodes = [], relationships = [], aggregate_values = [] } = policy.document.allowed_reads ?? {}
  if (kind === 'node' || kind === 'relationship') {
    const requested = parsePath(text, kind)
    if (!requested.ok || isKeyEquality(requested.value, operator)) return true
    const readable = (kind === 'node' ? nodes : relationships).flatMap((one) => {
      const path = parsePath(one, kind)
      return path.ok && path.value.variable === name ? [path.value] : []
    })
    // A bare variable is only tested for existence or identity.
    if (requested.value.kind === 'whole') return readable.length > 0
    // Permission for a bare variable includes all its properties.
    return readable.some((path) => covers(path.kind === 'whole' ? { ...path, kind: 'all' } : path, requested.value))
  }
  return text !== name || aggregate_values.includes(name)
}

/** Comparing the id or type for equality requires the caller to know it already. */
function isKeyEquality(path: ElementPath, operator: string): boolean {
  return (
    path.kind === 'field' && (path.name === 'external_id' || path.name === 'type') && equalityOperators.has(operator)
  )
}

const equalityOperators: ReadonlySet<string> = new Set(['=', 'IN'])
