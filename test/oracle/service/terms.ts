// Terms and conditions of the oracle: the three-valued truth of a filter or a WHERE for a row; null means unknown.

import { isElement, type NaiveCell, type NaiveRelationship, type Scalar } from './graph.ts'
import type { ChainPattern } from './match.ts'

export type Term =
  | { readonly kind: 'literal'; readonly value: Scalar | readonly Scalar[] }
  /** `$name.member`. */
  | { readonly kind: 'parameter'; readonly path: readonly string[] }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'own'; readonly of: string; readonly name: 'external_id' | 'type' }
  | { readonly kind: 'property'; readonly of: string; readonly name: string }
  | { readonly kind: 'metadata'; readonly of: string; readonly name: string; readonly field: string }

export type NaiveComparison =
  | '='
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | 'IN'
  | 'STARTS WITH'
  | 'ENDS WITH'
  | 'CONTAINS'
  | '=~'

export type NaiveCondition =
  | { readonly kind: 'comparison'; readonly operator: NaiveComparison; readonly left: Term; readonly right: Term }
  | { readonly kind: 'null-test'; readonly left: Term; readonly negated: boolean }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly NaiveCondition[] }
  | { readonly kind: 'not'; readonly operand: NaiveCondition }
  /** Whether such a path exists. */
  | { readonly kind: 'path'; readonly chain: ChainPattern }

export type NaiveRow = ReadonlyMap<string, NaiveCell>
export type NaiveParameters = Readonly<Record<string, unknown>>
export type NaiveTruth = boolean | null

/** The oracle does not model this: such a case is skipped. */
export class UnmodelledError extends Error {}

export function termValue(term: Term, row: NaiveRow, parameters: NaiveParameters): NaiveCell {
  switch (term.kind) {
    case 'literal':
      return term.value
    case 'parameter': {
      let at: unknown = parameters
      for (const step of term.path) {
        at = typeof at === 'object' && at !== null ? ((at as Record<string, unknown>)[step] ?? null) : null
      }
      return at as NaiveCell
    }
    case 'variable':
      return row.get(term.name) ?? null
    default: {
      const element = row.get(term.of) ?? null
      if (element === null) return null
      if (!isElement(element)) throw new UnmodelledError('a member of what is no element')
      if (term.kind === 'own') return element.kind === 'node' ? ownOf(element, term.name) : null
      const property = element.properties.get(term.name)
      if (term.kind === 'property') return property?.value ?? null
      return property?.metadata[term.field] ?? null
    }
  }
}

function ownOf(node: { type: string; externalId: string }, name: 'external_id' | 'type'): string {
  return name === 'type' ? node.type : node.externalId
}

export type PathExists = (chain: ChainPattern, row: NaiveRow) => boolean

const noWays: PathExists = () => {
  throw new UnmodelledError('a way in a filter')
}

export function truthOf(
  condition: NaiveCondition,
  row: NaiveRow,
  parameters: NaiveParameters,
  wayExists = noWays,
): NaiveTruth {
  switch (condition.kind) {
    case 'and':
    case 'or': {
      const decisive = condition.kind === 'or'
      const truths = condition.operands.map((operand) => truthOf(operand, row, parameters, wayExists))
      if (truths.includes(decisive)) return decisive
      return truths.includes(null) ? null : !decisive
    }
    case 'not': {
      const truth = truthOf(condition.operand, row, parameters, wayExists)
      return truth === null ? null : !truth
    }
    case 'path':
      return wayExists(condition.chain, row)
    case 'null-test':
      return (termValue(condition.left, row, parameters) === null) !== condition.negated
    case 'comparison':
      return compared(
        condition.operator,
        termValue(condition.left, row, parameters),
        termValue(condition.right, row, parameters),
      )
  }
}

function compared(operator: NaiveComparison, left: NaiveCell, right: NaiveCell): NaiveTruth {
  if (operator === 'IN') {
    if (right === null) return null
    if (!Array.isArray(right)) throw new UnmodelledError('IN takes a list')
    const truths = right.map((item: NaiveCell) => same(left, item))
    if (truths.includes(true)) return true
    return truths.includes(null) ? null : false
  }
  if (left === null || right === null) return null
  switch (operator) {
    case '=':
      return same(left, right)
    case '<>': {
      const truth = same(left, right)
      return truth === null ? null : !truth
    }
    case '<':
      return less(left, right)
    case '>':
      return less(right, left)
    case '<=':
      return notMore(left, right)
    case '>=':
      return notMore(right, left)
    default: {
      if (typeof left !== 'string' || typeof right !== 'string') return null
      if (operator === 'STARTS WITH') return left.startsWith(right)
      if (operator === 'ENDS WITH') return left.endsWith(right)
      if (operator === 'CONTAINS') return left.includes(right)
      return new RegExp(`^(?:${right})$`).test(left)
    }
  }
}

export function same(a: NaiveCell, b: NaiveCell): NaiveTruth {
  if (a === null || b === null) return null
  if (isElement(a) || isElement(b)) return a === b
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  if (a.length !== b.length) return false
  const truths = a.map((item: NaiveCell, i: number) => same(item, b[i] as NaiveCell))
  if (truths.includes(false)) return false
  return truths.includes(null) ? null : true
}

function less(a: NaiveCell, b: NaiveCell): NaiveTruth {
  if (typeof a !== typeof b) return null
  if (typeof a === 'object') throw new UnmodelledError('the order of lists')
  return (a as Scalar) < (b as Scalar)
}

function notMore(a: NaiveCell, b: NaiveCell): NaiveTruth {
  const truth = less(b, a)
  return truth === null ? null : !truth
}

/** One text for values that are equal in Cypher. */
export function identity(cell: NaiveCell): string {
  if (cell === null) return 'null'
  if (Array.isArray(cell)) return `[${cell.map((item: NaiveCell) => identity(item)).join(',')}]`
  if (!isElement(cell)) return JSON.stringify(cell)
  return cell.kind === 'node' ? `(${cell.type}/${cell.externalId})` : relationshipIdentity(cell)
}

function relationshipIdentity({ source, type, target }: NaiveRelationship): string {
  return `[${identity(source)}${type}${identity(target)}]`
}
