// Prints a MATCH with steps over derived relationships, from the alternatives that the binder has bound to the nodes of each step. A step
// between two known nodes is a condition; another one is a CALL that gives each node at its other end once.
import type {
  BoundClause,
  BoundDerived,
  BoundExpression,
  BoundMatch,
  BoundPart,
  BoundRelationship,
  Slot,
} from '../../engine/bind/bound.ts'
import { slotsDeclaredBy, slotsOf } from '../../engine/bind/expression-tree.ts'
import { printCondition } from './expression.ts'
import { NotPrintable } from './not-printable.ts'
import { printMatch, printWalk } from './pattern.ts'
import { isClosed, type Printing } from './printing.ts'

/** Prints the clauses of an alternative whose imported variables are these. */
type PrintClauses = (part: BoundPart, imported: ReadonlySet<string>) => readonly string[]

/** Whether a MATCH has steps over definitions, or walks that stand for them. */
export function hasDerived({ derived, relationships }: BoundMatch): boolean {
  return derived.length > 0 || relationships.some(({ isIndependent }) => isIndependent === true)
}

/** Whether a MATCH of steps between known nodes alone has a row; null for another MATCH. */
export function printDerivedTest(match: BoundMatch, printClauses: PrintClauses, printing: Printing): string | null {
  const { nodes, relationships, derived, paths, predicates } = match
  const isOther = relationships.length > 0 || paths.length > 0 || derived.length === 0
  if (isOther || !nodes.every(({ bound }) => bound) || !predicates.every(({ kind }) => kind === 'null-test'))
    return null
  return new DerivedMatch(match, new Set(), printClauses, printing).condition()
}

type StoredPatterns = Pick<BoundMatch, 'relationships' | 'paths' | 'casts'>

const none: StoredPatterns = { relationships: [], paths: [], casts: [] }

/** The clauses of a MATCH that is not optional, one per item. `inScope`: the variables that have a value before it. */
export function printDerivedMatch(
  match: BoundMatch,
  inScope: ReadonlySet<string>,
  printClauses: PrintClauses,
  printing: Printing,
): string[] {
  return new DerivedMatch(match, inScope, printClauses, printing).lines()
}

class DerivedMatch {
  private readonly match: BoundMatch
  private readonly inScope: ReadonlySet<string>
  private readonly printClauses: PrintClauses
  private readonly printing: Printing
  /** Indexes of the nodes that have a value. */
  private readonly known = new Set<number>()
  private steps: readonly BoundDerived[]
  /** The walks of recursive definitions. */
  private walks: readonly BoundRelationship[]
  private predicates: readonly BoundExpression[]

  constructor(match: BoundMatch, inScope: ReadonlySet<string>, printClauses: PrintClauses, printing: Printing) {
    this.match = match
    this.inScope = inScope
    this.printClauses = printClauses
    this.printing = printing
    this.steps = match.derived
    this.walks = match.relationships.filter(({ isIndependent }) => isIndependent === true)
    this.predicates = match.predicates
  }

  lines(): string[] {
    const { match, walks } = this
    const { nodes, relationships, derived, paths, casts } = match
    const stored = { relationships: relationships.filter((one) => !walks.includes(one)), paths, casts: [] }
    const inPatterns = new Set([
      ...stored.relationships.flatMap(({ left, right }) => [left, right]),
      ...paths.flatMap((path) => path.nodes),
    ])
    const isOutside = (node: number): boolean => !inPatterns.has(node) && this.hasValue(node)
    const all = [...nodes.keys()]
    // From a node that has a value, a step may reach the stored patterns: then not all of them are matched first.
    const isReachable = all.some((node) => isOutside(node) && this.isReached(node))
    const isOpen = ![...inPatterns].some((node) => this.hasValue(node)) && isConnected(stored.relationships)
    const byWalk = walks.some(({ left, right }) => isOutside(left) !== isOutside(right))
    let isPending = isReachable && stored.relationships.length > 0 && (isOpen || byWalk)
    const anchors = all.filter((node) => isOutside(node) || !(inPatterns.has(node) || this.isReached(node)))
    const begin = isPending ? anchors : [...new Set([...anchors, ...inPatterns])]
    const first = begin.length > 0 ? begin : [derived[0]?.source ?? walks[0]!.left]
    const lines = [this.stored(first, isPending ? { ...none, casts } : { ...stored, casts })]
    while (this.steps.length + this.walks.length > 0 || isPending) {
      // A walk reaches few nodes from the end that moves, such as the folders of a document: then a step may be a test.
      const walk = this.walks.find(({ left, right }) => this.known.has(left) || this.known.has(right))
      const step = this.steps.find(({ source, target }) => this.known.has(source) || this.known.has(target))
      if (isPending && [...inPatterns].some((node) => this.known.has(node))) {
        isPending = false
        lines.push(this.stored([...inPatterns], stored))
      } else if (walk !== undefined) lines.push(...this.walk(walk))
      else if (step !== undefined) lines.push(...this.expand(step))
      else if (isPending) {
        isPending = false
        lines.push(this.stored([...inPatterns], stored))
      } else lines.push(this.stored([this.steps[0]?.source ?? this.walks[0]!.left]))
    }
    return lines
  }

  /** As `lines`, if all nodes have a value. */
  condition(): string {
    for (const node of this.match.nodes.keys()) this.known.add(node)
    const conditions = this.match.predicates.map((predicate) => printCondition(predicate, this.printing))
    return `(${[...conditions, ...this.tests()].join(' AND ')})`
  }

  /** Whether an earlier clause has the node, or a condition names its value. */
  private hasValue(node: number): boolean {
    const { nodes, casts, predicates } = this.match
    const { slot, bound } = nodes[node]!
    if (bound || this.isInScope(node) || casts.some(({ to }) => to.index === slot.index)) return true
    return predicates.some((predicate) => isEqualToValue(predicate, slot))
  }

  /** Whether the node is an end of a step or of a walk. */
  private isReached(node: number): boolean {
    return (
      this.match.derived.some(({ source, target }) => source === node || target === node) ||
      this.walks.some(({ left, right }) => left === node || right === node)
    )
  }

  private isInScope(node: number): boolean {
    return this.inScope.has(this.printing.name(this.match.nodes[node]!.slot))
  }

  /** A MATCH of these nodes with stored patterns, and all conditions that can be tested then. */
  private stored(nodes: readonly number[], parts: StoredPatterns = none): string {
    const { match, printing } = this
    const { relationships, paths, casts } = parts
    const index = new Map(nodes.map((node, at) => [node, at]))
    const moved = (node: number): number => index.get(node)!
    const hasValue = new Set(nodes.filter((node) => this.known.has(node) || this.isInScope(node)))
    for (const node of nodes) this.known.add(node)
    const stored: BoundMatch = {
      ...match,
      derived: [],
      nodes: nodes.map((node) => ({ ...match.nodes[node]!, bound: match.nodes[node]!.bound || hasValue.has(node) })),
      relationships: relationships.map((step) => ({ ...step, left: moved(step.left), right: moved(step.right) })),
      paths: paths.map((path) => ({ ...path, nodes: path.nodes.map(moved) })),
      casts,
      predicates: this.readyPredicates(),
    }
    return printMatch(stored, printing, () => this.tests())
  }

  private walk(walk: BoundRelationship): string[] {
    this.walks = this.walks.filter((other) => other !== walk)
    const text = printWalk(this.match, walk, this.printing)
    const [from, to] = this.known.has(walk.left) ? [walk.left, walk.right] : [walk.right, walk.left]
    return this.call(from, to, (last) => [`${text}\n${last}`])
  }

  private expand(step: BoundDerived): string[] {
    this.steps = this.steps.filter((other) => other !== step)
    const { source, target } = step
    const [from, to] = this.known.has(source) ? [source, target] : [target, source]
    return this.call(from, to, (last) => this.branches(step, [this.match.nodes[from]!.slot], last))
  }

  /** Each node `to` once, and the conditions that can be tested then. `branches`: the alternatives with this last line. */
  private call(from: number, to: number, branches: (last: string) => readonly string[]): string[] {
    const { match, printing } = this
    const name = printing.name(match.nodes[to]!.slot)
    const texts = branches(`RETURN DISTINCT ${name} AS ${name}`)
    this.known.add(to)
    const call = `CALL (${printing.name(match.nodes[from]!.slot)}) {\n${texts.join('\nUNION\n')}\n}`
    const conditions = [...this.readyPredicates().map((one) => printCondition(one, printing)), ...this.tests()]
    return conditions.length === 0 ? [call] : [call, `MATCH (${name})\nWHERE ${conditions.join(' AND ')}`]
  }

  /** The steps and walks between known nodes, as conditions. */
  private tests(): string[] {
    const { match, printing } = this
    const isTest = ({ source, target }: BoundDerived): boolean => this.known.has(source) && this.known.has(target)
    const isWalked = ({ left, right }: BoundRelationship): boolean => this.known.has(left) && this.known.has(right)
    const [tests, walks] = [this.steps.filter(isTest), this.walks.filter(isWalked)]
    this.steps = this.steps.filter((step) => !isTest(step))
    this.walks = this.walks.filter((walk) => !isWalked(walk))
    return [
      ...walks.map((walk) => `EXISTS { ${printWalk(match, walk, printing)} }`),
      ...tests.map((step) => {
        const ends = [match.nodes[step.source]!.slot, match.nodes[step.target]!.slot]
        const branches = this.branches(step, ends, `RETURN 1 AS ${printing.fresh()}`)
        return `(${branches.map((branch) => `EXISTS {\n${branch}\n}`).join(' OR ')})`
      }),
    ]
  }

  /** The alternatives of a step. `ends`: those that have a value before. */
  private branches({ branches, source, target }: BoundDerived, ends: readonly Slot[], last: string): string[] {
    const { match, printing, printClauses } = this
    if (branches === null) throw new NotPrintable('a definition with a table')
    const both = [match.nodes[source]!.slot, match.nodes[target]!.slot]
    const imported = new Set(ends.map((slot) => printing.name(slot)))
    printing.subqueryDepth += 1
    const texts = branches.map((branch) => [...printClauses(keepingEnds(branch, both), imported), last].join('\n'))
    printing.subqueryDepth -= 1
    return texts
  }

  /** The predicates that read only what has a value now, each once. */
  private readyPredicates(): readonly BoundExpression[] {
    const open = new Set(this.match.nodes.flatMap(({ slot }, node) => (this.known.has(node) ? [] : [slot.index])))
    const isReady = (predicate: BoundExpression): boolean => slotsOf(predicate).every(({ index }) => !open.has(index))
    const ready = this.predicates.filter(isReady)
    this.predicates = this.predicates.filter((predicate) => !isReady(predicate))
    return ready
  }
}

/** Whether the relationships are one pattern: one MATCH has them all, because none may be used twice. */
function isConnected(relationships: readonly BoundRelationship[]): boolean {
  const [first, ...others] = relationships
  if (first === undefined) return false
  const nodes = new Set([first.left, first.right])
  for (let left = others; left.length > 0; ) {
    const near = left.filter((step) => nodes.has(step.left) || nodes.has(step.right))
    if (near.length === 0) return false
    for (const step of near) nodes.add(step.left).add(step.right)
    left = left.filter((step) => !near.includes(step))
  }
  return true
}

/** Whether the predicate demands that a property of the node has a value that the graph does not contain. */
function isEqualToValue(predicate: BoundExpression, { index }: Slot): boolean {
  if (predicate.kind !== 'comparison' || predicate.operator !== '=') return false
  const { left, right } = predicate
  if (left.kind !== 'element-property' || left.slot.index !== index || left.own === 'type') return false
  return isClosed(right)
}

/** The alternative with its ends among the columns of each WITH: in a definition they stay in scope. */
function keepingEnds(part: BoundPart, ends: readonly Slot[]): BoundPart {
  const declared = new Set<number>()
  const clauses = part.clauses.map((clause): BoundClause => {
    if (clause.kind === 'match') for (const { index } of slotsDeclaredBy(clause.match)) declared.add(index)
    if (clause.kind !== 'projection') return clause
    const { projection } = clause
    const isDropped = ({ index }: Slot): boolean =>
      declared.has(index) && projection.columns.every(({ slot }) => slot.index !== index)
    const kept = ends.filter(isDropped).map((slot) => ({ name: slot.name, slot }))
    return kept.length === 0
      ? clause
      : { kind: 'projection', projection: { ...projection, columns: [...projection.columns, ...kept] } }
  })
  return { ...part, clauses }
}
