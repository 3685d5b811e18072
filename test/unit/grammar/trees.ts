// Trees without positions, for comparison and printing.
import type { Expression, Query } from '../../../grammar/ast.ts'
import { parse } from '../../../grammar/index.ts'

/**
 * The tree as plain values: no spans, no source text of projection items; -0 and bigints distinct from 0 and numbers.
 */
export function bare(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, function (this: object, key, part) {
      if (key === 'span' || (key === 'text' && 'alias' in this)) return undefined
      if (typeof part === 'bigint') return `${part}n`
      return Object.is(part, -0) ? '-0' : part
    }),
  )
}

export function read(text: string): Query {
  const result = parse(text)
  if (!result.ok) throw new Error(`refused: ${text}\n${result.diagnostics[0]?.message}`)
  return result.query
}

/** The first projected expression of `RETURN …`. */
export function readExpression(text: string): Expression {
  const clause = read(`RETURN ${text}`).parts[0]?.clauses[0]
  if (clause?.kind !== 'return') throw new Error(`not one RETURN: ${text}`)
  return clause.items[0]!.expression
}

export function bareExpression(text: string): unknown {
  return bare(readExpression(text))
}
