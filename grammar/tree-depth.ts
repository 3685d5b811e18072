// How deep a tree is. A chain such as `a + b + c …` nests in the tree although it does not nest in the text,
// and whoever walks the tree by recursion needs a bound.
import type { Query, Span } from './ast.ts'

/** Far above what people write; far below what a recursive walk can bear. */
export const maxTreeDepth = 1_000

/** The span of a node that lies deeper than the limit, or null. Walks without recursion. */
export function findTooDeep(query: Query): Span | null {
  const pending: { value: object; depth: number; span: Span }[] = [{ value: query, depth: 1, span: query.span }]
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const { value, depth } = entry
    const span = 'kind' in value && 'span' in value ? (value.span as Span) : entry.span
    if (depth > maxTreeDepth) return span
    // Arrays hold the parts of one node; they add no level of their own.
    const below = Array.isArray(value) ? depth : depth + 1
    for (const part of Object.values(value)) {
      if (typeof part === 'object' && part !== null) pending.push({ value: part, depth: below, span })
    }
  }
  return null
}
