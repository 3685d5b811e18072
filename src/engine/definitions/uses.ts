// Which definitions a definition uses, and whether more pairs of the used one can only add pairs. If they could also remove pairs, as
// under NOT, in COUNT or in OPTIONAL MATCH, the used definition must be complete before, so it must not depend on its user.
import type { Clause, LabelName, Query } from '../../../grammar/ast.ts'
import { parse } from '../../../grammar/index.ts'
import { hasAggregate } from '../bind/bind-call.ts'
import { labelNames } from '../bind/bind-labels.ts'

/** One place at which a body names another definition. */
export interface DefinitionUse {
  readonly type: LabelName
  /** Whether more pairs of the used definition never remove a pair. */
  readonly isMonotone: boolean
}

/** The first relationship type of a text, among these, that a pattern of it names; null: none, or the text is no query. */
export function typeNamedIn(text: string, types: ReadonlySet<string>): string | null {
  const parsed = parse(text)
  return parsed.ok ? (usesIn(parsed.query, (name) => types.has(name))[0]?.type.name ?? null) : null
}

/** The places at which the body names one of the definitions. */
export function usesIn(body: Query, isDefined: (name: string) => boolean): readonly DefinitionUse[] {
  const uses: DefinitionUse[] = []
  visit(body, true)
  return uses

  function visit(tree: unknown, isMonotone: boolean): void {
    if (tree === null || typeof tree !== 'object') return
    if (Array.isArray(tree)) {
      for (const item of tree) visit(item, isMonotone)
      return
    }
    if (hasClauses(tree)) {
      const last = tree.clauses.findLastIndex(readsWholeRows)
      for (const [at, clause] of tree.clauses.entries()) visit(clause, isMonotone && at > last)
      return
    }
    if (isRelationship(tree) && tree.types !== null) {
      for (const type of labelNames(tree.types)) if (isDefined(type.name)) uses.push({ type, isMonotone })
    }
    for (const [member, value] of Object.entries(tree)) visit(value, isMonotone && keepsOrder(tree, member))
  }
}

function hasClauses(tree: object): tree is { readonly clauses: readonly Clause[] } {
  return 'clauses' in tree
}

/** Whether a row of the clause depends on other rows before it: with more of them, it may be another row, or not there. */
function readsWholeRows(clause: Clause): boolean {
  if (clause.kind !== 'with' && clause.kind !== 'return') return false
  const { items, orderBy, skip, limit } = clause
  // What RETURN cuts off nothing reads: EXISTS only asks for a row.
  if (clause.kind === 'with' && (skip !== null || limit !== null)) return true
  return [...items, ...orderBy].some(({ expression }) => hasAggregate(expression))
}

function isRelationship(tree: object): tree is { readonly types: Parameters<typeof labelNames>[0] | null } {
  return 'kind' in tree && tree.kind === 'relationship'
}

/** Whether more rows of the member give more rows of the node, or the same. */
function keepsOrder(node: object, member: string): boolean {
  if (!('kind' in node)) return true
  switch (node.kind) {
    case 'path': {
      // With more candidates a selector may keep other paths, and drop the nodes of those that it kept.
      const { selector, shortest } = node as { selector?: unknown; shortest?: unknown }
      return selector === null && shortest === null
    }
    case 'query':
    case 'node':
    case 'relationship':
    case 'quantified-path':
    case 'pattern-predicate':
    case 'exists':
    case 'patterns':
      return true
    case 'match':
      return !(node as { optional?: boolean }).optional
    case 'with':
      return member === 'where'
    case 'binary':
      return ['AND', 'OR'].includes((node as { operator?: string }).operator ?? '')
    default:
      return false
  }
}
