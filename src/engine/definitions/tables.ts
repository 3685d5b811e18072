// Evaluates definitions with tables. A goal asks for the pairs of a definition with one end or both ends given. Its alternatives
// run once, and once more for each new answer of a goal that they have read, with that answer given: least fixpoint, also for cycles.
// Goals wait in a list, and none runs inside of another one of its component, so recursion in the data needs no stack.
// The method is tabling (SLG resolution) with semi-naive evaluation for each answer.
import { assert } from '../../kernel/assert.ts'
import type { BoundClause, BoundDerived, Slot, TabledBranch, TabledDefinition } from '../bind/bound.ts'
import { slotsDeclaredBy } from '../bind/expression-tree.ts'
import type { BudgetLimits } from '../budget.ts'
import type { DerivedPairs, ExecutionContext } from '../exec/execution-context.ts'
import { Fixpoint, Goal, type GoalForm, type GoalIndex, KnownGoals } from '../exec/known-goals.ts'
import type { OrderedNodeSet } from '../exec/node-set.ts'
import { Profiler } from '../exec/profiler.ts'
import type { Plan } from '../plan/operators.ts'
import {
  type EngineOptions,
  type Execution,
  type PlanBasis,
  PlannedQuery,
  type QueryContext,
} from '../planned-query.ts'
import type { NodeId, Snapshot } from '../store.ts'

/** A step over a definition of the same component, in one alternative. */
interface Occurrence {
  readonly branch: ProgramBranch
  readonly clause: number
  readonly step: BoundDerived
  readonly source: Slot
  readonly target: Slot
}

/** One alternative with the plans that its goals have needed. */
class ProgramBranch {
  readonly bound: TabledBranch
  readonly occurrences: ReadonlyMap<BoundDerived, Occurrence>
  private readonly options: EngineOptions
  private readonly basis: PlanBasis
  private readonly planned = new Map<string, PlannedQuery>()

  constructor(bound: TabledBranch, options: EngineOptions, basis: PlanBasis) {
    this.bound = bound
    this.options = options
    this.basis = basis
    this.occurrences = occurrencesIn(this)
  }

  /** The plan with the ends of the goal given, and for an occurrence also its two nodes, which are then known to be a pair. */
  plan(form: GoalForm, occurrence: Occurrence | null): PlannedQuery {
    const key = `${form} ${occurrence === null ? '' : `${occurrence.source.index} ${occurrence.target.index} ${occurrence.clause}`}`
    let planned = this.planned.get(key)
    if (planned === undefined) {
      const { bound } = this
      const { source, target } = bound
      const given = new Map<number, Slot>()
      if (form !== 'in') given.set(source.index, source)
      if (form !== 'out') given.set(target.index, target)
      if (occurrence !== null) for (const slot of [occurrence.source, occurrence.target]) given.set(slot.index, slot)
      const found = form === 'in' ? source : target
      const root = (input: Plan): Plan =>
        form === 'pair' ? { op: 'First', input } : { op: 'Distinct', input, slots: [found] }
      const query = occurrence === null ? bound : { ...bound, clauses: withoutStep(bound.clauses, occurrence) }
      planned = new PlannedQuery(query, [...given.values()], root, this.options, this.basis, [found])
      this.planned.set(key, planned)
    }
    return planned
  }
}

/** The steps at which a new pair can resume an alternative: those of its own MATCH clauses, between nodes of such clauses. */
function occurrencesIn(branch: ProgramBranch): ReadonlyMap<BoundDerived, Occurrence> {
  const { clauses, source, target } = branch.bound
  const matched = new Set([source.index, target.index])
  const found = new Map<BoundDerived, Occurrence>()
  clauses.forEach((clause, at) => {
    if (clause.kind !== 'match' || clause.match.optional) return
    const { match } = clause
    for (const slot of slotsDeclaredBy(match)) matched.add(slot.index)
    for (const step of match.derived) {
      if (step.branches !== null) continue
      const [from, to] = [match.nodes[step.source]!.slot, match.nodes[step.target]!.slot]
      if (matched.has(from.index) && matched.has(to.index)) {
        found.set(step, { branch, clause: at, step, source: from, target: to })
      }
    }
  })
  return found
}

function withoutStep(clauses: readonly BoundClause[], { clause, step }: Occurrence): readonly BoundClause[] {
  return clauses.map((one, at) => {
    if (at !== clause || one.kind !== 'match') return one
    return { ...one, match: { ...one.match, derived: one.match.derived.filter((other) => other !== step) } }
  })
}

interface ProgramDefinition {
  readonly tabled: TabledDefinition
  readonly branches: readonly ProgramBranch[]
  /** The parameters that its alternatives read, and those of the definitions that it uses with a table. */
  readonly parameters: readonly string[]
}

/** The plans of the definitions that one query uses with a table. */
export class DefinitionProgram {
  private readonly definitions: ReadonlyMap<string, ProgramDefinition>

  constructor(tabled: readonly TabledDefinition[], options: EngineOptions, basis: PlanBasis) {
    const byName = new Map(tabled.map((one) => [one.name, one]))
    this.definitions = new Map(
      tabled.map((one) => {
        const branches = one.branches.map((branch) => new ProgramBranch(branch, options, basis))
        return [one.name, { tabled: one, branches, parameters: parametersOf(one, byName) }]
      }),
    )
  }

  /**
   * Tables for one execution, which use what other executions of the context have completed. `derivations`: collects how each pair was
   * first found, so it needs tables of its own; null: that is not needed.
   */
  open(context: QueryContext, derivations: Derivations | null = null): DefinitionTables {
    return new DefinitionTables(this.definitions, context, derivations)
  }
}

function parametersOf(definition: TabledDefinition, byName: ReadonlyMap<string, TabledDefinition>): readonly string[] {
  const reached = new Set([definition])
  // A set can grow while it is read.
  for (const { branches } of reached) {
    for (const name of branches.flatMap(({ uses }) => uses)) {
      const used = byName.get(name)
      if (used !== undefined) reached.add(used)
    }
  }
  const all = [...reached].flatMap(({ branches }) => branches.flatMap(({ parameters }) => parameters))
  return [...new Set(all)].sort()
}

/** A pair of a definition. */
export interface DerivedPair {
  readonly name: string
  readonly source: NodeId
  readonly target: NodeId
}

/** How a pair was first found: the row of an alternative. All pairs of that row were found before. */
export interface Derivation extends DerivedPair {
  readonly snapshot: Snapshot
  /** The number of the alternative in the text, from 1. */
  readonly alternative: number
  readonly plan: Plan
  readonly frame: readonly unknown[]
  /** The pair with which the alternative was resumed, which is no step of the plan; null if it ran from the beginning. */
  readonly resumedWith: DerivedPair | null
}

/** The first derivations of pairs, for an explanation. */
export class Derivations {
  private readonly bySnapshot = new Map<Snapshot, Map<string, Derivation>>()

  /** Keeps the derivation if the pair has none yet. */
  add(derivation: Derivation): void {
    const known = entryOf(this.bySnapshot, derivation.snapshot, () => new Map<string, Derivation>())
    const key = keyOf(derivation)
    if (!known.has(key)) known.set(key, derivation)
  }

  get(snapshot: Snapshot, pair: DerivedPair): Derivation | undefined {
    return this.bySnapshot.get(snapshot)?.get(keyOf(pair))
  }
}

function keyOf({ name, source, target }: DerivedPair): string {
  return `${source} ${target} ${name}`
}

/** An alternative that was run for one question, with the profiler around its operators. */
interface ProfiledAlternative {
  readonly alternative: number
  readonly plan: Plan
  readonly run: ExecutionContext
}

/** A definition on one graph, in one execution. */
interface DefinitionOnGraph {
  readonly definition: ProgramDefinition
  readonly snapshot: Snapshot
  readonly component: ComponentOnGraph
  readonly goals: GoalIndex
}

/** The definitions that use each other, on one graph, in one execution. */
class ComponentOnGraph {
  readonly number: number
  /** What is still to run. */
  readonly runs: GoalRun[] = []
  /** That of the goals that are added until nothing is left to run. */
  fixpoint = new Fixpoint()

  constructor(number: number) {
    this.number = number
  }
}

/** A goal of this execution. */
class OwnGoal extends Goal {
  readonly of: DefinitionOnGraph
  readonly tables: DefinitionTables
  /** The goals that have read the answers, with the steps at which they resume, or the alternatives that begin again. */
  readonly readers = new Map<OwnGoal, (Occurrence | ProgramBranch)[]>()
  /** The alternatives that are to run from the beginning. */
  readonly waiting = new Set<ProgramBranch>()

  constructor(of: DefinitionOnGraph, tables: DefinitionTables, form: GoalForm, source: NodeId, target: NodeId) {
    super(form, source, target, of.component.fixpoint)
    this.of = of
    this.tables = tables
  }
}

/** A run of an alternative for a goal: from the beginning, or from a pair of an occurrence. */
interface GoalRun {
  readonly goal: OwnGoal
  readonly branch: ProgramBranch
  readonly occurrence: Occurrence | null
  readonly source: NodeId
  readonly target: NodeId
}

/** Estimated bytes of a derivation, without its frame. */
const DERIVATION_BYTES = 200

type PlannedExecution = Execution & { readonly plan: Plan }

/** Estimated bytes of a goal with its readers. */
const GOAL_BYTES = 400

/** The tables of one execution. */
export class DefinitionTables implements DerivedPairs {
  private readonly definitions: ReadonlyMap<string, ProgramDefinition>
  private readonly limits: BudgetLimits
  private readonly known: KnownGoals
  private readonly onGraphs = new Map<Snapshot, Map<string, DefinitionOnGraph>>()
  /** Null: not collected. */
  readonly derivations: Derivations | null
  /** The run in progress. */
  private current: GoalRun | null = null

  constructor(
    definitions: ReadonlyMap<string, ProgramDefinition>,
    { limits, knownGoals }: QueryContext,
    derivations: Derivations | null,
  ) {
    this.definitions = definitions
    this.limits = limits
    this.derivations = derivations
    this.known = (derivations === null ? knownGoals : null) ?? new KnownGoals()
    this.known.begin()
  }

  holds(step: BoundDerived, run: ExecutionContext, graph: number, source: NodeId, target: NodeId): boolean {
    return this.answered(step, run, graph, 'pair', source, target).holds
  }

  nodes(
    step: BoundDerived,
    run: ExecutionContext,
    graph: number,
    direction: 'out' | 'in',
    node: NodeId,
  ): OrderedNodeSet {
    const isOut = direction === 'out'
    return this.answered(step, run, graph, direction, isOut ? node : 0, isOut ? 0 : node).answers
  }

  /** A goal with its answers: all of them, or those known so far if a goal of its component reads it, which is resumed with later ones. */
  private answered(
    step: BoundDerived,
    run: ExecutionContext,
    graph: number,
    form: GoalForm,
    source: NodeId,
    target: NodeId,
  ): Goal {
    const goal = this.goal(step, run, graph, form, source, target)
    if (!goal.isAnswered) this.answer(goal as OwnGoal, step, run)
    return goal
  }

  /** Makes the goal complete; or, if a goal of its component reads it, registers that goal for later answers. */
  private answer(goal: OwnGoal, step: BoundDerived, run: ExecutionContext): void {
    const { current } = this
    if (current !== null && current.goal.of.component === goal.of.component) {
      const at = current.branch.occurrences.get(step) ?? current.branch
      const places = goal.readers.get(current.goal)
      if (places === undefined) goal.readers.set(current.goal, [at])
      else if (!places.includes(at)) places.push(at)
      return
    }
    this.complete(goal, run)
  }

  /** The goal with these ends: a new one if it is neither of this execution nor answered. */
  private goal(
    { name }: BoundDerived,
    run: ExecutionContext,
    graph: number,
    form: GoalForm,
    source: NodeId,
    target: NodeId,
  ): Goal {
    const snapshot = run.graphs[graph]!
    const of = this.onGraphs.get(snapshot)?.get(name) ?? this.addOnGraph(name, run, snapshot)
    const known = of.goals.get(form, source, target)
    if (known !== undefined && (known.isAnswered || (known as OwnGoal).tables === this)) return known
    const goal = new OwnGoal(of, this, form, source, target)
    of.goals.set(goal)
    this.known.count()
    run.budget.retainRow()
    run.budget.retainBytes(GOAL_BYTES)
    this.begin(goal)
    return goal
  }

  private addOnGraph(name: string, { parameters, budget }: ExecutionContext, snapshot: Snapshot): DefinitionOnGraph {
    const definition = this.definitions.get(name)
    assert(definition !== undefined, `${name} has a table`)
    const { tabled, parameters: names } = definition
    const values = names.map((one) => parameters.get(one))
    const goals = this.known.goalsOf(snapshot, tabled, values, budget)
    const ofGraph = entryOf(this.onGraphs, snapshot, () => new Map<string, DefinitionOnGraph>())
    const same = [...ofGraph.values()].find(({ component }) => component.number === tabled.component)
    const added = { definition, snapshot, component: same?.component ?? new ComponentOnGraph(tabled.component), goals }
    ofGraph.set(name, added)
    return added
  }

  /** Has all alternatives of the goal run from the beginning. The first one runs first: the list is read from its end. */
  private begin(goal: OwnGoal): void {
    const other = goal.form === 'in' ? 'source' : 'target'
    for (const branch of goal.of.definition.branches.toReversed()) {
      if (branch.bound.needs !== other) this.beginBranch(goal, branch)
    }
  }

  private beginBranch(goal: OwnGoal, branch: ProgramBranch): void {
    if (goal.waiting.has(branch)) return
    goal.waiting.add(branch)
    goal.of.component.runs.push({ goal, branch, occurrence: null, source: 0, target: 0 })
  }

  private complete(goal: OwnGoal, run: ExecutionContext): void {
    const { component } = goal.of
    const { runs } = component
    const outer = this.current
    // The plans are shared with other executions, which may have run since.
    const prepared = new Map<PlannedQuery, PlannedExecution>()
    try {
      while (runs.length > 0 && !goal.holds) {
        const task = runs.pop()!
        if (task.occurrence === null) task.goal.waiting.delete(task.branch)
        if (task.goal.holds) continue
        this.current = task
        this.perform(task, prepared, run)
      }
    } finally {
      this.current = outer
    }
    // A pair that holds may leave runs, which the next goal of the component needs.
    if (runs.length > 0) return
    component.fixpoint.isComplete = true
    component.fixpoint = new Fixpoint()
  }

  private perform(task: GoalRun, prepared: Map<PlannedQuery, PlannedExecution>, outer: ExecutionContext): void {
    const { goal, branch, occurrence } = task
    const { form } = goal
    const { source, target } = branch.bound
    const planned = branch.plan(form, occurrence)
    let execution = prepared.get(planned)
    if (execution === undefined) {
      execution = planned.prepare(this.contextFor(goal.of.snapshot, outer), this)
      execution.run.clock.start(outer.clock.ms)
      prepared.set(planned, execution)
    }
    const { root, run } = execution
    const { frame } = run
    run.budget.chargeSteps(2)
    if (occurrence !== null) {
      frame[occurrence.source.index] = task.source
      frame[occurrence.target.index] = task.target
    }
    if (form !== 'in') frame[source.index] = goal.source
    if (form !== 'out') frame[target.index] = goal.target
    root.open(run)
    const found = form === 'in' ? source.index : target.index
    while (root.next(run)) {
      if (form === 'pair') {
        goal.holds = true
        this.record(task, execution, goal.source, goal.target)
        this.tell(goal, goal.source, goal.target)
        return
      }
      const node = frame[found] as NodeId
      if (!goal.answers.add(node, run.budget)) continue
      this.known.count()
      run.budget.retainRow()
      const [from, to] = form === 'in' ? [node, goal.target] : [goal.source, node]
      this.record(task, execution, from, to)
      this.tell(goal, from, to)
    }
  }

  private contextFor(snapshot: Snapshot, { parameters, budget }: ExecutionContext): QueryContext {
    return { snapshot, parameters, budget, limits: this.limits }
  }

  private record(task: GoalRun, { plan, run }: PlannedExecution, source: NodeId, target: NodeId): void {
    const { derivations } = this
    if (derivations === null) return
    const { goal, branch, occurrence } = task
    const { tabled, branches } = goal.of.definition
    run.budget.chargeSteps(1 + (run.frame.length >> 3))
    run.budget.retainBytes(DERIVATION_BYTES + 8 * run.frame.length)
    derivations.add({
      name: tabled.name,
      source,
      target,
      snapshot: goal.of.snapshot,
      alternative: branches.indexOf(branch) + 1,
      plan,
      frame: [...run.frame],
      resumedWith: occurrence && { name: occurrence.step.name, source: task.source, target: task.target },
    })
  }

  /**
   * Runs each alternative of the definition of a step that has no pair with the given ends (0: not given), with a profiler, and calls
   * `report` for each. All tables are complete before.
   */
  profileAlternatives(
    { name }: BoundDerived,
    run: ExecutionContext,
    snapshot: Snapshot,
    ends: Pick<DerivedPair, 'source' | 'target'>,
    report: (alternative: ProfiledAlternative, profiler: Profiler) => void,
  ): void {
    const form = ends.source === 0 ? 'in' : ends.target === 0 ? 'out' : 'pair'
    this.definitions.get(name)!.branches.forEach((branch, at) => {
      const profiler = new Profiler()
      const execution = branch.plan(form, null).prepareProfiled(this.contextFor(snapshot, run), profiler, this)
      const { frame } = execution.run
      if (form !== 'in') frame[branch.bound.source.index] = ends.source
      if (form !== 'out') frame[branch.bound.target.index] = ends.target
      execution.root.open(execution.run)
      execution.root.next(execution.run)
      report({ alternative: at + 1, plan: execution.plan, run: execution.run }, profiler)
    })
  }

  /** Resumes each goal that has read the answers with a new one. */
  private tell({ readers, of }: OwnGoal, source: NodeId, target: NodeId): void {
    for (const [goal, places] of readers) {
      if (goal.holds) continue
      for (const place of places) {
        if (place instanceof ProgramBranch) this.beginBranch(goal, place)
        else of.component.runs.push({ goal, branch: place.branch, occurrence: place, source, target })
      }
    }
  }
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
