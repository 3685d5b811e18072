// Whether a query's filter tells rows apart by nothing but what its policy lets be read: whoever may choose the value that
// a property is compared with finds the property out, a half at a time, without ever reading it.
import type { VariableKind } from '../engine/condition-rows.ts'
import type { ContextPolicy } from '../policy/compile-context.ts'
import { type FilterRead, readsOf } from '../policy/context-filter.ts'
import { covers, type ElementPath, parsePath } from '../policy/element-path.ts'
import type { QueryDocument } from './query-document.ts'

/** Issues name the member by its path from `query`. */
export function filterIssues({ filter }: QueryDocument, policy: ContextPolicy): string[] {
  if (filter === undefined) return []
  return readsOf(filter).flatMap((read) => {
    const [name = ''] = read.text.split('.')
    const kind = policy.variables.get(name)
    if (kind === undefined) return [`query.filter: the policy binds no \`${name}\``]
    if (mayTellApart(read, name, kind, policy)) return []
    return [`query.filter${read.at}: the policy does not let \`${read.text}\` be read, so nothing is filtered by it`]
  })
}

/** What is no path of its variable is left to the compiler, which refuses it. */
function mayTellApart(
  { text, operator, isBound }: FilterRead,
  name: string,
  kind: VariableKind,
  policy: ContextPolicy,
): boolean {
  // Whether a property is what the caller is known by, it does not get to guess.
  if (isBound && pins.has(operator)) return true
  const { nodes = [], relationships = [], aggregate_values = [] } = policy.document.allowed_reads ?? {}
  if (kind === 'node' || kind === 'relationship') {
    const asked = parsePath(text, kind)
    if (!asked.ok || isPinned(asked.value, operator)) return true
    const readable = (kind === 'node' ? nodes : relationships).flatMap((one) => {
      const path = parsePath(one, kind)
      return path.ok && path.value.variable === name ? [path.value] : []
    })
    // Of an element as such is asked whether it is there, or the same as another one.
    if (asked.value.kind === 'whole') return readable.length > 0
    // A bare variable reads back with all its properties.
    return readable.some((path) => covers(path.kind === 'whole' ? { ...path, kind: 'all' } : path, asked.value))
  }
  return text !== name || aggregate_values.includes(name)
}

/** To say which element is meant takes its whole id, which the caller has then. */
function isPinned(path: ElementPath, operator: string): boolean {
  return path.kind === 'own' && (path.name === 'external_id' || path.name === 'type') && pins.has(operator)
}

const pins: ReadonlySet<string> = new Set(['=', 'IN'])
