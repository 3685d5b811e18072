// Turns linear recursion into a walk. A definition that uses itself once in an alternative, with one end unchanged, as in
// `MATCH (d)-[:PARENT]->(f) WHERE (u)-[:can_view]->(f)`, has the pairs of its other alternatives, continued along a quantified path
// pattern. The search for paths of the engine then evaluates it, without a table.
import type {
  Clause,
  DefinitionText,
  Expression,
  LabelExpression,
  MatchClause,
  Name,
  NodePattern,
  PathPattern,
  QuantifiedPath,
  RelationshipPattern,
  WithClause,
} from '../../../grammar/ast.ts'
import { walkTree } from '../../../grammar/walk.ts'
import type { DefinitionBranch } from '../bind/definitions.ts'
import { typeAlternatives } from '../bind/pattern-predicate.ts'
import { plainMatch, plainNode, plainPath, plainStep } from '../bind/plain-patterns.ts'
import { bothLabels } from './branches.ts'

/** One repetition of a walk, from the node of the recursive step to the end that moves. */
interface WalkHop {
  readonly moving: 'source' | 'target'
  readonly nodes: readonly NodePattern[]
  readonly relationships: readonly RelationshipPattern[]
  /** The labels that the alternative demands of the end that stays. */
  readonly still: LabelExpression | null
}

/**
 * The alternatives without recursion; null if the recursion is not linear. `isDerived`: whether a relationship type is one of a
 * definition. `branches`: the alternatives in the form for planning.
 */
export function withoutLinearRecursion(
  { name }: Pick<DefinitionText, 'name'>,
  branches: readonly DefinitionBranch[],
  isDerived: (type: string) => boolean,
): readonly DefinitionBranch[] | null {
  const usesItself = (branch: DefinitionBranch): boolean => usesType(branch.clauses, name.text)
  const bases = branches.filter((branch) => !usesItself(branch))
  // Without another alternative the definition is empty.
  if (bases.length === 0) return null
  const hops = branches.filter(usesItself).map((branch) => hopOf(branch, name.text, isDerived))
  const walk = hops.reduce<WalkHop | null>(
    (joined, hop) => (joined === null ? null : join(joined, hop)),
    hops[0] ?? null,
  )
  if (walk === null || !bases.every((base) => mayContinue(base, walk))) return null
  return bases.map((base) => continued(base, walk))
}

/**
 * The alternatives of the walks of one and more pairs of a definition with these alternatives, without recursion; null if one of them is
 * no plain path of stored relationships.
 */
export function closureWithoutRecursion(
  name: Name,
  branches: readonly DefinitionBranch[],
  isDerived: (type: string) => boolean,
): readonly DefinitionBranch[] | null {
  const { span } = name
  const between = 'node between the pairs'
  const further = branches.map((branch): DefinitionBranch => {
    const nodes = [plainNode(branch.source, span), plainNode(between, span)]
    const pair = plainMatch(plainPath(nodes, [plainStep(name.text, span)], span))
    return { ...branch, clauses: [pair, ...branch.clauses.map((clause) => renamed(clause, branch.source, between))] }
  })
  return withoutLinearRecursion({ name }, [...branches, ...further], isDerived)
}

/** The clause with another name for a node. Conditions are left as they are: no hop has any. */
function renamed(clause: Clause, from: string, to: string): Clause {
  if (clause.kind !== 'match') return clause
  const patterns = clause.patterns.map((pattern) => ({
    ...pattern,
    nodes: pattern.nodes.map((node) => {
      return node.variable?.text === from ? { ...node, variable: { ...node.variable, text: to } } : node
    }),
  }))
  return { ...clause, patterns }
}

function usesType(tree: unknown, type: string): boolean {
  let found = false
  walkTree(tree, (node) => {
    if (node.kind === 'label') found ||= node.name === type
  })
  return found
}

/** The pieces of an alternative: its step over the definition itself, and the paths that are left without it. */
interface Pieces {
  readonly step: { readonly source: NodePattern; readonly target: NodePattern }
  readonly paths: readonly Pick<PathPattern, 'nodes' | 'relationships'>[]
}

/** The hop that a recursive alternative adds to a pair; null if it does more than that. */
function hopOf(branch: DefinitionBranch, name: string, isDerived: (type: string) => boolean): WalkHop | null {
  const pieces = piecesOf(branch, name, isDerived)
  if (pieces === null) return null
  return hopTo('target', branch, pieces) ?? hopTo('source', branch, pieces)
}

function piecesOf({ clauses }: DefinitionBranch, name: string, isDerived: (type: string) => boolean): Pieces | null {
  const paths: Pick<PathPattern, 'nodes' | 'relationships'>[] = []
  let step: Pieces['step'] | null = null
  for (const clause of clauses) {
    if (clause.kind !== 'match' || clause.optional || clause.mode !== null || clause.where !== null) return null
    for (const { nodes, relationships, variable, shortest, selector, where } of clause.patterns) {
      if (variable !== null || shortest !== null || selector !== null || where !== null) return null
      let from = 0
      for (const [at, relationship] of relationships.entries()) {
        if (relationship.kind !== 'relationship' || !isPlain(relationship)) return null
        const types = typeAlternatives(relationship.types!)!
        if (!types.some(isDerived)) continue
        if (types[0] !== name || types.length > 1 || step !== null || relationship.direction === 'both') return null
        const [left, right] = [nodes[at]!, nodes[at + 1]!]
        step = relationship.direction === 'right' ? { source: left, target: right } : { source: right, target: left }
        paths.push({ nodes: nodes.slice(from, at + 1), relationships: relationships.slice(from, at) })
        from = at + 1
      }
      paths.push({ nodes: nodes.slice(from), relationships: relationships.slice(from) })
    }
  }
  return step === null ? null : { step, paths }
}

/** A relationship of named types without conditions, which does not repeat. */
function isPlain({ variable, types, range, properties, where }: RelationshipPattern): boolean {
  return (
    variable === null &&
    range === null &&
    properties === null &&
    where === null &&
    types !== null &&
    typeAlternatives(types) !== null
  )
}

/** The hop that moves this end of the pair, while the other end stays; null if the alternative has another form. */
function hopTo(moving: 'source' | 'target', branch: DefinitionBranch, { step, paths }: Pieces): WalkHop | null {
  const still = moving === 'target' ? 'source' : 'target'
  const near = step[moving]
  if (step[still].variable?.text !== branch[still]) return null
  const labels = new Map<string, LabelExpression | null>()
  let hop: { readonly nodes: readonly NodePattern[]; readonly relationships: readonly RelationshipPattern[] } | null =
    null
  for (const { nodes, relationships } of paths) {
    if (nodes.some(({ properties, where }) => properties !== null || where !== null)) return null
    if (relationships.length > 0) {
      if (hop !== null) return null
      hop = { nodes, relationships: relationships as readonly RelationshipPattern[] }
      continue
    }
    const [node] = nodes
    // What a node without a name demands must be part of the hop.
    if (node!.variable === null) return null
    labels.set(node!.variable.text, bothLabels(labels.get(node!.variable.text) ?? null, node!.labels))
  }
  if (hop === null) return null
  const isNear = (node: NodePattern): boolean =>
    node === near || (near.variable !== null && node.variable?.text === near.variable.text)
  const isMoving = (node: NodePattern): boolean => node.variable?.text === branch[moving]
  if (!isTrail(hop.relationships)) return null
  const oriented = isNear(hop.nodes[0]!) ? hop : { nodes: hop.nodes.toReversed(), relationships: reversed(hop) }
  const { nodes } = oriented
  const inner = nodes.slice(1, -1)
  if (!isNear(nodes[0]!) || !isMoving(nodes.at(-1)!)) return null
  // Within the hop each name occurs once, and the end that stays does not occur.
  const names = nodes.flatMap(({ variable }) => variable?.text ?? [])
  if (new Set(names).size < names.length || names.includes(branch[still]) || inner.some(isMoving)) return null
  const known = new Set([...names, branch[still], ...(near.variable === null ? [] : [near.variable.text])])
  if ([...labels.keys()].some((name) => !known.has(name))) return null
  const demanded = nodes.map((node, at) => {
    const own = node.variable === null ? null : (labels.get(node.variable.text) ?? null)
    const ofStep = at === 0 && node !== near ? near.labels : null
    return { ...node, labels: bothLabels(bothLabels(node.labels, own), ofStep) }
  })
  // A dynamic label may read a variable, and the nodes of a repetition have none.
  if (demanded.some((node) => node.labels !== null && isDynamic(node.labels))) return null
  return {
    moving,
    nodes: demanded,
    relationships: oriented.relationships,
    still: labels.get(branch[still]) ?? null,
  }
}

/**
 * Whether the walks of such hops reach what their trails reach: a quantified path pattern uses no relationship twice, and a recursion may.
 * A relationship that two hops use at one place of the repetition in one direction can be left out between them; so can one that an
 * undirected hop takes back. A repetition of several relationships must therefore have directions, and a type at one place only.
 */
function isTrail(relationships: readonly RelationshipPattern[]): boolean {
  if (relationships.length === 1) return true
  const types = relationships.map((step) => [...new Set(typeAlternatives(step.types!)!)])
  const all = types.flat()
  return relationships.every(({ direction }) => direction !== 'both') && new Set(all).size === all.length
}

function isDynamic(labels: LabelExpression): boolean {
  let found = false
  walkTree(labels, ({ kind }) => {
    found ||= kind === 'label-dynamic'
  })
  return found
}

function reversed({
  relationships,
}: {
  readonly relationships: readonly RelationshipPattern[]
}): readonly RelationshipPattern[] {
  const opposite = { right: 'left', left: 'right', both: 'both' } as const
  return relationships.toReversed().map((step) => ({ ...step, direction: opposite[step.direction] }))
}

/** One hop for two alternatives that differ only in the types of one relationship; null if they differ more. */
function join(a: WalkHop, b: WalkHop | null): WalkHop | null {
  if (b === null) return null
  if (a === b) return a
  const [one, other] = [a.relationships[0], b.relationships[0]]
  if (a.moving !== b.moving || a.relationships.length !== 1 || b.relationships.length !== 1) return null
  if (one!.direction !== other!.direction) return null
  if (labelText(a.still) !== labelText(b.still)) return null
  if (a.nodes.some(({ labels }, at) => labelText(labels) !== labelText(b.nodes[at]!.labels))) return null
  const types: LabelExpression = { kind: 'label-or', operands: [one!.types!, other!.types!], span: one!.span }
  return { ...a, relationships: [{ ...one!, types }] }
}

/** The expression without its places, so that equal ones have equal texts. */
function labelText(labels: LabelExpression | null): string {
  return JSON.stringify(labels, (key, value: unknown) => (key === 'span' ? undefined : value))
}

/** Whether each node with the first labels has the second ones, for the forms that a definition usually has. */
function implies(labels: LabelExpression | null, others: LabelExpression | null): boolean {
  if (others === null) return true
  if (others.kind === 'label-and') return others.operands.every((other) => implies(labels, other))
  if (labels === null) return false
  if (labels.kind === 'label-and') return labels.operands.some((one) => implies(one, others))
  const [has, wanted] = [typeAlternatives(labels), typeAlternatives(others)]
  return has !== null && wanted !== null && has.every((name) => wanted.includes(name))
}

/**
 * Whether hops can follow the rows of the base: the end that moves is in scope after its last clause, and the end that stays has
 * the labels that the recursive alternatives demand of it.
 */
function mayContinue(base: DefinitionBranch, { moving, still }: WalkHop): boolean {
  const keepsEnd = base.clauses.every((clause) => clause.kind !== 'with' || keeps(clause, base[moving]))
  return keepsEnd && implies(demandedLabels(base, base[moving === 'source' ? 'target' : 'source']), still)
}

function keeps({ star, items }: WithClause, name: string): boolean {
  return star || items.some(({ expression, alias }) => isVariable(expression, name) && (alias?.text ?? name) === name)
}

function isVariable(expression: Expression, name: string): boolean {
  return expression.kind === 'variable' && expression.name === name
}

/** The labels that the patterns of an alternative demand of an end. */
function demandedLabels({ clauses }: DefinitionBranch, end: string): LabelExpression | null {
  const plain = clauses.flatMap((clause) => (clause.kind === 'match' && !clause.optional ? clause.patterns : []))
  const nodes = plain.flatMap((pattern) => pattern.nodes)
  return nodes
    .filter(({ variable }) => variable?.text === end)
    .reduce<LabelExpression | null>((labels, node) => bothLabels(labels, node.labels), null)
}

/** A name for the end of a walk that the alternative does not have. */
function freshName(wanted: string, branch: DefinitionBranch): string {
  const taken = new Set<string>()
  walkTree(branch.clauses, (node) => {
    if (node.kind === 'variable') taken.add(node.name)
    else if ('variable' in node && node.variable !== null) taken.add(node.variable.text)
  })
  let name = wanted
  while (taken.has(name)) name += '′'
  return name
}

/** The base, continued by any number of hops at the end that moves. */
function continued(base: DefinitionBranch, { moving, nodes, relationships }: WalkHop): DefinitionBranch {
  const end = base[moving]
  const name = freshName(`${end} of the walk`, base)
  const span = relationships[0]!.span
  // The labels of the end that moves are tested only at the last node if the next hop tests narrower ones at the others. The last
  // node may be that of the base.
  const moved = nodes.at(-1)!.labels
  const isTestedLater = implies(nodes[0]!.labels, moved) && implies(demandedLabels(base, end), moved)
  // Inside of the repetition the names of the base would be other nodes.
  const unnamed = nodes.map((one, at) => ({
    ...one,
    variable: null,
    labels: isTestedLater && at === nodes.length - 1 ? null : one.labels,
  }))
  const repeated: QuantifiedPath = {
    kind: 'quantified-path',
    pattern: plainPath(unnamed, relationships, span),
    where: null,
    range: { min: 0, max: null, form: 'quantifier', span },
    isIndependent: true,
    span,
  }
  const ofWalk = [plainNode(end, span), plainNode(name, span, isTestedLater ? moved : null)]
  const walk = plainPath(ofWalk, [repeated], span)
  const last = base.clauses.at(-1)
  const ends = { source: base.source, target: base.target, needs: base.needs, [moving]: name }
  if (last?.kind === 'match' && mayShareMatch(last)) {
    const clauses = base.clauses.with(-1, { ...last, patterns: [...last.patterns, walk] })
    return { ...ends, clauses }
  }
  return { ...ends, clauses: [...base.clauses, plainMatch(walk)] }
}

/** Whether the walk can be part of the MATCH, so that its plan can begin with the walk. */
function mayShareMatch({ optional, mode, patterns }: MatchClause): boolean {
  if (optional || mode !== null) return false
  return patterns.every(
    ({ selector, shortest, relationships }) =>
      selector === null && shortest === null && relationships.every(({ range }) => range?.form !== 'star'),
  )
}
