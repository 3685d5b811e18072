// Where a text reads parameters, by its syntax tree.
import type { Expression, Query, Span } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { walkTree } from '../../grammar/walk.ts'

/** One reading of a parameter. */
export interface ParameterPlace {
  /** Without `$`. */
  readonly name: string
  readonly span: Span
}

/** The parameters that a query reads, in the order of the text. */
export function parameterPlaces(query: Query): readonly ParameterPlace[] {
  const places: ParameterPlace[] = []
  walkTree(query, (node) => {
    if (node.kind !== 'parameter') return
    places.push({ name: (node as Extract<Expression, { kind: 'parameter' }>).name, span: node.span })
  })
  return places
}

/** The same for a text; none if it does not parse. */
export function parameterPlacesIn(text: string): readonly ParameterPlace[] {
  const parsed = parse(text)
  return parsed.ok ? parameterPlaces(parsed.query) : []
}
