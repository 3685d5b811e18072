// Finds conditions that no graph and no request can satisfy (docs/decisions/0045-language-tools.md). An answer is proved; null
// means that the analysis has found no proof.
import type { BoundClause, BoundColumn, BoundPart, BoundQuery } from '../../engine/bind/bound.ts'
import { assertNever } from '../../kernel/assert.ts'
import type { FilterOperand, PolicyFilter, PolicyFilterNode } from '../../policy/policy-filter.ts'
import type { ValueReference } from '../../policy/value-reference.ts'
import { type FactTerm, type Literal, literalOfValue, parameterTerm, RowFacts } from './row-facts.ts'

/** A condition with what a request fixes. */
export interface AnalysedCondition {
  readonly bound: BoundQuery
  /** Null: the policy has none. */
  readonly filter: PolicyFilter | null
  /** The types of the nodes `subject` and, in a decision policy, `resource`. */
  readonly types: ReadonlyMap<string, string>
  readonly isDecision: boolean
}

/** Why the condition never has a row; null: no proof was found. */
export function neverTrue(condition: AnalysedCondition): string | null {
  return factsOf(condition).contradiction
}

/** The facts that hold for each row of a condition that grants. */
export function factsOf({ bound, filter, types, isDecision }: AnalysedCondition): RowFacts {
  const facts = new RowFacts()
  const subjectType = types.get('subject') ?? ''
  // The service fills it for subjects of that type only.
  if (subjectType !== '_Application') facts.setParameter('_appId', null)
  if (isDecision) {
    facts.setParameter('subject_type', subjectType)
    facts.setParameter('resource_type', types.get('resource') ?? '')
  }
  if (filter !== null) assumeFilter(facts, filter.root, true)
  for (const [name, type] of types) {
    const slot = slotOf(bound.columns, name)
    if (slot !== undefined) facts.setType(slot, type)
  }
  return afterClauses(bound, facts)
}

/** The facts after the clauses of a part. `base`: the facts before. */
function afterClauses({ clauses }: BoundPart, base: RowFacts): RowFacts {
  let facts = base.clone()
  for (const clause of clauses) facts = afterClause(clause, facts, base)
  return facts
}

function afterClause(clause: BoundClause, facts: RowFacts, base: RowFacts): RowFacts {
  switch (clause.kind) {
    case 'match':
      if (!clause.match.optional) facts.assumeMatch(clause.match)
      return facts
    case 'projection': {
      const { aggregates, grouping, computed, where, limit } = clause.projection
      const isAggregation = aggregates.length > 0 || grouping !== null
      // An aggregation without keys has a row even if nothing was matched.
      const next = isAggregation && (grouping === null || grouping.length === 0) ? base.clone() : facts
      if (!isAggregation) for (const { slot, expression } of computed) next.setAlias(slot, expression)
      if (limit?.kind === 'constant' && limit.value === 0) next.assume({ kind: 'constant', value: false }, true)
      if (where !== null) next.assume(where, true)
      return next
    }
    case 'unwind': {
      const { list } = clause
      const isEmpty = list.kind === 'list' ? list.items.length === 0 : list.kind === 'constant' && isNothing(list.value)
      if (isEmpty) facts.assume({ kind: 'constant', value: false }, true)
      return facts
    }
    case 'union':
      facts.assumeOne(clause.union.parts.map((part) => (branch) => carry(afterClauses(part, branch), branch)))
      return facts
    case 'call':
      if (!clause.optional) carry(afterClauses(clause.part, facts), facts)
      return facts
    default:
      return assertNever(clause)
  }
}

/** Only the contradiction: the columns of a subquery have other slots. */
function carry(from: RowFacts, to: RowFacts): void {
  to.contradiction ??= from.contradiction
}

function isNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

/** The slot of a column. */
export function slotOf(columns: readonly BoundColumn[], name: string): BoundColumn['slot'] | undefined {
  return columns.find((column) => column.name === name)?.slot
}

/** Adds what a filter says about parameters: the part of it is `wanted`. */
function assumeFilter(facts: RowFacts, node: PolicyFilterNode, wanted: boolean): void {
  switch (node.kind) {
    case 'and':
    case 'or':
      if ((node.kind === 'and') === wanted) for (const operand of node.operands) assumeFilter(facts, operand, wanted)
      else facts.assumeOne(node.operands.map((operand) => (branch) => assumeFilter(branch, operand, wanted)))
      return
    case 'not':
      assumeFilter(facts, node.operand, !wanted)
      return
    case 'leaf':
      assumeLeaf(facts, node, wanted)
      return
    default:
      assertNever(node)
  }
}

function assumeLeaf(
  facts: RowFacts,
  { operator, attribute, operand }: Extract<PolicyFilterNode, { kind: 'leaf' }>,
  wanted: boolean,
): void {
  const term = termOf(attribute)
  switch (operator) {
    case 'IS NULL':
    case 'IS NOT NULL':
      facts.assumeNull(term, (operator === 'IS NULL') === wanted)
      return
    // A comparison of values of two kinds is unknown, also under NOT.
    case 'IN': {
      facts.assumeNull(term, false)
      const literals = operand === null ? null : literalsOf(operand)
      if (literals === null) return
      if (wanted) facts.assumeOneOf(term, literals)
      else for (const literal of literals) facts.compare(term, '<>', literal)
      return
    }
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=': {
      facts.assumeNull(term, false)
      const literal = operand === null ? undefined : literalOf(operand)
      if (literal === undefined) return
      if (wanted) facts.compare(term, operator, literal)
      else if (operator === '=') facts.compare(term, '<>', literal)
      else if (operator === '<>') facts.compare(term, '=', literal)
      return
    }
    case 'STARTS WITH':
    case 'ENDS WITH':
    case 'CONTAINS':
    case '=~':
      facts.assumeNull(term, false)
      return
    default:
      assertNever(operator)
  }
}

function termOf({ root, path }: ValueReference): FactTerm {
  return parameterTerm(root, path)
}

function literalOf(operand: FilterOperand): Literal | undefined {
  return operand.kind === 'literal' ? literalOfValue(operand.value) : undefined
}

function literalsOf(operand: FilterOperand): readonly Literal[] | null {
  if (operand.kind !== 'list') return null
  const literals = operand.items.map(literalOf)
  return literals.every((one) => one !== undefined) ? literals : null
}
