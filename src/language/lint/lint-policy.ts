// The rules about one policy or Cypher text.
import type { Span } from '../../../grammar/ast.ts'
import { walkTree } from '../../../grammar/walk.ts'
import type { BoundClause, BoundExpression, BoundMatch, BoundPart } from '../../engine/bind/bound.ts'
import { slotsOf } from '../../engine/bind/expression-tree.ts'
import { impossibleLiterals } from '../../engine/impossible-literals.ts'
import { openExclusions } from '../../engine/open-exclusions.ts'
import { parameterPlaces } from '../../engine/parameter-places.ts'
import type { UnknownSymbols } from '../../engine/unknown-symbols.ts'
import { textProblems } from '../../model/type-problems.ts'
import { callerChoices } from '../../policy/caller-identity.ts'
import type { PolicyFilterNode } from '../../policy/policy-filter.ts'
import { policyTypeIssues } from '../../policy/type-issues.ts'
import type { MemberPath } from '../source/policy-source.ts'
import { type CompiledSource, splitIssue, suggestionIn } from './compile-source.ts'
import type { RawFinding } from './finding.ts'
import { neverTrue } from './never-grants.ts'
import type { LintRuleId } from './rules.ts'

/** Maximum characters of the name of an input parameter: the default of the setting `input_string_max`. */
const PARAMETER_NAME_MAX = 65_536

/** The findings about a source that compiles. `unknown`: null: there is no data schema. */
export function lintPolicy(compiled: CompiledSource, unknown: UnknownSymbols | null): readonly RawFinding[] {
  return [
    ...(unknown === null || compiled.model?.types != null ? [] : unknownNames(compiled, unknown)),
    ...unfitTypes(compiled),
    ...unboundedWalks(compiled),
    ...cartesianProducts(compiled),
    ...unsuppliedParameters(compiled),
    ...callerChosenSubject(compiled),
    ...alwaysFailing(compiled),
    // A policy that forbids holds where a condition is null, which these two analyses take for false.
    ...(compiled.effect === 'forbid' ? [] : [...excludingNothing(compiled), ...neverGranting(compiled)]),
  ]
}

/** What the declared types of the project do not allow. They know more than the data, so unknown names are not looked for in it. */
function unfitTypes({ source, model, subjectType, resourceType, kind, place }: CompiledSource): RawFinding[] {
  const types = model?.types ?? null
  if (types === null) return []
  const { document, policy, cypher } = source
  const named = [
    ['subject', subjectType],
    ['resource', resourceType],
  ] as const
  const labels = named.flatMap(([name, label]) => (label === null ? [] : [[name, label] as const]))
  const ofText = cypher === null ? [] : textProblems(cypher.text, types, new Map(labels)).problems
  const others = kind === 'cypher' ? [] : policyTypeIssues(policy, model).map(splitIssue)
  return [
    ...ofText.map(
      ({ message, span }): RawFinding => ({
        rule: 'undeclared-type',
        document,
        span: place(span),
        message,
        suggestion: suggestionIn(message),
      }),
    ),
    // The issues of the text are above, with their places.
    ...others
      .filter(({ path }) => path.join('.') !== 'condition.cypher')
      .map(
        ({ path, message }): RawFinding => ({
          rule: 'undeclared-type',
          document,
          span: source.spanOf(path),
          message,
          suggestion: suggestionIn(message),
          member: path,
        }),
      ),
  ]
}

const symbolRules = {
  label: 'unknown-label',
  type: 'unknown-relationship-type',
  property: 'unknown-property',
} as const satisfies Record<string, LintRuleId>

function unknownNames(
  { source, bound, subjectType, resourceType, place }: CompiledSource,
  unknown: UnknownSymbols,
): RawFinding[] {
  const { document } = source
  const entities = [
    ['subject', subjectType],
    ['resource', resourceType],
  ] as const
  return [
    ...entities.flatMap(([entity, name]): RawFinding[] => {
      const message = name === null ? null : unknown.messageFor({ kind: 'label', name })
      if (name === null || message === null) return []
      const member = [entity, 'type']
      const span = source.spanOf(member)
      const suggestion = unknown.suggestionFor('label', name)
      return [{ rule: 'unknown-label', document, span, message, suggestion, member }]
    }),
    ...bound.symbols.flatMap((symbol): RawFinding[] => {
      const message = unknown.messageFor(symbol)
      if (message === null) return []
      const { kind, name, span } = symbol
      return [
        {
          rule: symbolRules[kind],
          document,
          span: place(span),
          message,
          suggestion: unknown.suggestionFor(kind, name),
        },
      ]
    }),
  ]
}

function unboundedWalks({ source, query, place }: CompiledSource): RawFinding[] {
  const findings: RawFinding[] = []
  walkTree(query, (node) => {
    // A shortest path reads each node once.
    if (node.kind !== 'path' || node.shortest !== null || (node.selector !== null && node.selector.keep !== 'all'))
      return
    for (const { range } of node.relationships) {
      if (range === null || range.max !== null) continue
      findings.push({
        rule: 'unbounded-walk',
        document: source.document,
        span: place(range.span),
        message: 'the walk has no upper bound',
        suggestion: range.form === 'star' ? `*${range.min ?? 1}..5` : `{${range.min ?? 0},5}`,
      })
    }
  })
  return findings
}

function cartesianProducts(compiled: CompiledSource): RawFinding[] {
  const findings: RawFinding[] = []
  const fixed = new Set<number>()
  for (const { name, slot } of compiled.bound.columns) {
    const isFixed = name === 'subject' ? compiled.subjectType : name === 'resource' ? compiled.resourceType : null
    if (isFixed !== null) fixed.add(slot.index)
  }
  const visit = (part: BoundPart, hasRows: boolean): void => {
    let isFirst = !hasRows
    for (const clause of part.clauses) {
      for (const inner of partsOf(clause)) visit(inner, clause.kind === 'call' && !isFirst)
      if (clause.kind === 'match') {
        for (const name of unconnectedParts(clause.match, fixed, isFirst)) {
          const span = declarationOf(compiled, name) ?? compiled.query.span
          const shown = name.startsWith('anon_') ? 'a part of the pattern' : `the part of the pattern with \`${name}\``
          findings.push({
            rule: 'cartesian-product',
            document: compiled.source.document,
            span: compiled.place(span),
            message: `${shown} is not connected with the rest`,
          })
        }
      }
      isFirst = false
    }
  }
  visit(compiled.bound, false)
  return findings
}

function partsOf(clause: BoundClause): readonly BoundPart[] {
  if (clause.kind === 'call') return [clause.part]
  return clause.kind === 'union' ? clause.union.parts : []
}

/** The name of one node of each part without a node that is known before, has a key, or is compared with another part. */
function unconnectedParts(match: BoundMatch, fixed: ReadonlySet<number>, isFirst: boolean): string[] {
  const { nodes, relationships, derived, predicates } = match
  const groups = new Map<number, Set<number>>()
  for (const { slot } of nodes) groups.set(slot.index, new Set([slot.index]))
  const join = (left: number, right: number): void => {
    const [one, other] = [groups.get(left), groups.get(right)]
    if (one === undefined || other === undefined || one === other) return
    for (const slot of other) {
      one.add(slot)
      groups.set(slot, one)
    }
  }
  for (const { left, right } of relationships) join(nodes[left]!.slot.index, nodes[right]!.slot.index)
  for (const { source, target } of derived) join(nodes[source]!.slot.index, nodes[target]!.slot.index)
  const known = new Set(nodes.filter(({ slot, bound }) => bound || fixed.has(slot.index)).map(({ slot }) => slot.index))
  const visit = (predicate: BoundExpression): void => {
    if (predicate.kind === 'and') predicate.operands.forEach(visit)
    if (predicate.kind !== 'comparison' || predicate.operator !== '=') return
    const [left, right] = [slotsOf(predicate.left), slotsOf(predicate.right)]
    for (const one of left) for (const other of right) join(one.index, other.index)
    // Compared with a value, or with a variable of an earlier clause.
    const isFree = (side: BoundExpression): boolean => slotsOf(side).every(({ index }) => !groups.has(index))
    for (const [side, other] of [
      [predicate.left, predicate.right] as const,
      [predicate.right, predicate.left] as const,
    ]) {
      if (side.kind !== 'element-property' || !isFree(other)) continue
      if (side.key === 'external_id' || slotsOf(other).length > 0) known.add(side.slot.index)
    }
  }
  predicates.forEach(visit)
  const parts = [...new Set(groups.values())]
  const loose = parts.filter((part) => ![...part].some((slot) => known.has(slot)))
  // The first part of the first MATCH of a query has nothing to be combined with.
  const others = isFirst && loose.length === parts.length ? loose.slice(1) : loose
  return others.map((part) => {
    const slots = nodes.filter(({ slot }) => part.has(slot.index)).map(({ slot }) => slot.name)
    return slots.find((name) => !name.startsWith('anon_')) ?? slots[0]!
  })
}

/** The span of the first node pattern with that variable. */
function declarationOf({ query }: CompiledSource, name: string): Span | null {
  let found: Span | null = null
  walkTree(query, (node) => {
    if (node.kind === 'node' && node.variable?.text === name) found ??= node.span
  })
  return found
}

function unsuppliedParameters(compiled: CompiledSource): RawFinding[] {
  const { source, query, kind, subjectType, filter, place } = compiled
  if (kind === 'cypher') return []
  const findings: RawFinding[] = []
  const visit = (name: string, span: Span, member?: MemberPath): void => {
    const found = { document: source.document, span, ...(member !== undefined && { member }) }
    if (name === '_appId' && subjectType !== '_Application') {
      const message = `\`$_appId\` has a value for subjects of the type \`_Application\` only, and the subject is a \`${subjectType}\``
      findings.push({ rule: 'unsupplied-parameter', ...found, message })
    } else if (name.length > PARAMETER_NAME_MAX) {
      const message = `no caller can send a parameter whose name has more than ${PARAMETER_NAME_MAX} characters`
      findings.push({ rule: 'unsupplied-parameter', ...found, message })
    }
  }
  for (const { name, span } of parameterPlaces(query)) visit(name, place(span))
  if (filter !== null) {
    visitLeaves(filter.root, (name, path) => {
      const member = pathOf(path)
      visit(name, source.spanOf(member), member)
    })
  }
  return findings
}

/** The places by which the caller of a context query chooses the subject. */
function callerChosenSubject({ source, contextPolicy, place }: CompiledSource): RawFinding[] {
  if (contextPolicy === null) return []
  return callerChoices(contextPolicy).map(({ at, message }) => {
    const found = { rule: 'caller-chosen-identity', document: source.document, message } as const
    if (at.kind === 'cypher') return { ...found, span: place(at.span) }
    return { ...found, span: source.spanOf(at.member), member: at.member }
  })
}

function excludingNothing({ source, query, kind, place }: CompiledSource): RawFinding[] {
  if (kind === 'cypher') return []
  return openExclusions(query, source.cypher?.text ?? '').map(({ span, message, suggestion }) => ({
    rule: 'open-exclusion',
    document: source.document,
    span: place(span),
    message,
    suggestion,
  }))
}

function alwaysFailing({ source, query, place }: CompiledSource): RawFinding[] {
  return impossibleLiterals(query).map(({ span, message }) => ({
    rule: 'impossible-literal',
    document: source.document,
    span: place(span),
    message,
  }))
}

function visitLeaves(node: PolicyFilterNode, visit: (parameter: string, path: string) => void): void {
  if (node.kind === 'not') visitLeaves(node.operand, visit)
  else if (node.kind !== 'leaf') for (const operand of node.operands) visitLeaves(operand, visit)
  else {
    visit(node.attribute.root, `${node.path}.attribute`)
    if (node.operand?.kind === 'reference') visit(node.operand.reference.root, `${node.path}.value`)
  }
}

/** The steps of the path of a filter, such as `policy.condition.filter.operands[0]`. */
function pathOf(path: string): MemberPath {
  return [...path.slice('policy'.length).matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)].map(
    ([, name, index]) => name ?? Number(index),
  )
}

function neverGranting(compiled: CompiledSource): RawFinding[] {
  const reason = neverTrue(analysed(compiled))
  if (reason === null) return []
  const { source, query, kind } = compiled
  const effect = kind === 'cypher' ? 'the query never has a row' : 'the policy never grants'
  return [
    {
      rule: 'never-grants',
      document: source.document,
      span: compiled.place(firstLine(compiled, query.span)),
      message: `${effect}: ${reason}`,
    },
  ]
}

function firstLine({ source }: CompiledSource, { start, end }: Span): Span {
  const line = source.cypher?.text.indexOf('\n', start) ?? -1
  return { start, end: line < 0 ? end : Math.min(line, end) }
}

/** The condition as the analyses read it. */
export function analysed({
  bound,
  filter,
  subjectType,
  resourceType,
  kind,
}: CompiledSource): Parameters<typeof neverTrue>[0] {
  const types = new Map<string, string>()
  if (subjectType !== null) types.set('subject', subjectType)
  if (resourceType !== null) types.set('resource', resourceType)
  return { bound, filter, types, isDecision: kind === 'decision' }
}
