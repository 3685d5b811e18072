// Limits the depth of the syntax tree, because later passes walk it by recursion. A chain such as `a + b + c …` nests
// in the tree although it does not nest in the text.
import type { ModelText, Query, Span } from './ast.ts'

/** Maximum depth of a tree: far above real queries and far below the stack limit of a recursive walk. */
export const maxTreeDepth = 1_000

/** Returns the span of a node deeper than `maxTreeDepth`, or null if none exists. Does not recurse. */
export function findTooDeep(query: Query | ModelText): Span | null {
  const pending: { value: object; depth: number; span: Span }[] = [{ value: query, depth: 1, span: query.span }]
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const { value, depth } = entry
    const span = 'kind' in value && 'span' in value ? (value.span as Span) : entry.span
    if (depth > maxTreeDepth) return span
    // An array holds the children of one node and adds no level of its own.
    const below = Array.isArray(value) ? depth : depth + 1
    for (const part of Object.values(value)) {
      if (typeof part === 'object' && part !== null) pending.push({ value: part, depth: below, span })
    }
  }
  return null
}
