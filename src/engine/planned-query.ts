// Plans a query, and compiles the plan for the graphs of a run. Compiled plans are kept for each combination of graphs, and are
// replaced when the names or the counts of a graph have changed too much.
import { assertNever } from '../kernel/assert.ts'
import type { BoundQuery, Slot } from './bind/bound.ts'
import { slotsOf } from './bind/expression-tree.ts'
import { Budget, type BudgetLimits } from './budget.ts'
import { ExecutionError } from './errors.ts'
import { compilePlan, type PlanCompilerDeps } from './exec/compile-plan.ts'
import type { DerivedPairs, ExecutionContext } from './exec/execution-context.ts'
import type { KnownGoals } from './exec/known-goals.ts'
import type { PhysicalOperator } from './exec/physical-operator.ts'
import type { Profiler } from './exec/profiler.ts'
import type { OptimizerContext } from './optimize/demand.ts'
import { optimize } from './optimize/optimize.ts'
import {
  buildPlan,
  buildSubquery,
  PlannerSlots,
  type PlanningContext,
  type SubqueryExpression,
} from './plan/build-plan.ts'
import { costOrder, type GraphCounts, textOrder } from './plan/expand-order.ts'
import type { Plan } from './plan/operators.ts'
import { slotFault } from './plan/slot-fault.ts'
import type { PlanUses } from './plan-uses.ts'
import type { GraphVersion, Snapshot } from './store.ts'
import { StatementClock } from './value/expression-context.ts'
import type { Value } from './value/value.ts'

/** How queries are planned. */
export interface EngineOptions {
  /** `off`: plans follow the text step by step. They are slower and have the same rows, so tests compare both. */
  readonly rules: 'on' | 'off'
  /** Names of optimizer rules that do not run even if rules are on. */
  readonly disabledRules?: ReadonlySet<string>
  /**
   * The last hop of an ordered search collects and sorts its nodes up to this number of relationships, and merges sorted lists
   * beyond. Tests set it; the default is that of OrderedExpand.
   */
  readonly collectedMax?: number
}

/** All optimizer rules. */
export const defaultOptions: EngineOptions = { rules: 'on' }

/**
 * The inputs of a plan in addition to the text. `history`: a plan stays until a count has changed by a factor of DRIFT_FACTOR.
 * `graph`: a plan depends only on the graph at each run, so rows come in the same order in every process, whatever ran before.
 */
export type PlanBasis = 'history' | 'graph'

/** The input of one run. */
export interface QueryContext {
  /** The default graph. */
  readonly snapshot: Snapshot
  readonly parameters: ReadonlyMap<string, Value>
  readonly limits: BudgetLimits
  /** A started budget that several runs share. Without it the run has its own budget with `limits`. */
  readonly budget?: Budget
  /** The graph of a logical location, for USE. Throws for an unknown location; the engine passes this error on. */
  readonly locate?: (location: string) => Snapshot
  /** The number of rows that the caller reads at most. Absent: it may read all. */
  readonly rowsMax?: number
  /** Collects the plans that are run. Absent or null: they are not observed. */
  readonly plans?: PlanUses | null
  /** The pairs of definitions that the runs of the context share. Absent: each run derives its own. */
  readonly knownGoals?: KnownGoals
}

/** A compiled plan with the state of its run. Only one run at a time. */
export interface Execution {
  readonly root: PhysicalOperator
  readonly run: ExecutionContext
  /** The plan is a search that returns its nodes ascending by id, starting after the page cursor. */
  readonly isOrdered: boolean
}

/** A plan that can be compiled several times. */
interface PlanningResult {
  readonly plan: Plan
  readonly planning: PlanningContext
  /** The plans of its subqueries, in the order of compilation, which is the same each time. */
  readonly inner: Plan[]
}

interface ProfiledPlan extends PlanningResult {
  readonly environments: readonly object[]
  readonly counts: RecordedCounts
  readonly symbolEpochs: readonly number[]
}

interface CompiledPlan extends Execution {
  readonly plan: Plan
  /** By graph index: the environments for which the plan was compiled. */
  readonly environments: readonly object[]
  readonly symbolEpochs: readonly number[]
  readonly counts: RecordedCounts
  /** The version of the graph with which the counts were last compared. */
  countsCheckedAt: GraphVersion
  /** The budget of runs that do not share one. */
  readonly ownBudget: Budget
  uses: number
}

/** Uses of a plan between two comparisons of its counts with the graph. */
const RECHECK_COUNTS_EVERY = 4096

/** A plan is made again if a count has changed by this factor. */
const DRIFT_FACTOR = 8

/**
 * The largest query that is planned on the event loop, in slots. It takes about 10 µs a slot; a pattern of three nodes has
 * five, and one hundred quantified ones have five hundred.
 */
const INLINE_SLOTS_MAX = 384

/** Parts of the planning between two reads of the clock: less than 1 ms. */
const WORK_PER_CLOCK_READ = 256

/** Combinations of environments for which one query keeps a compiled plan. */
const MAX_COMPILED_PLANS = 64

/** The plans of one bound query. */
export class PlannedQuery {
  private readonly query: BoundQuery
  private readonly argumentSlots: readonly Slot[]
  private readonly addRoot: (plan: Plan) => Plan
  private readonly options: EngineOptions
  private readonly basis: PlanBasis
  private readonly columns: readonly Slot[] | null
  /** The plan of the last profiled run, used again for a graph with equal names and counts: planning takes longer than the run. */
  private profiled: ProfiledPlan | null = null
  /** Most recently used first. */
  private readonly compiled: CompiledPlan[] = []

  /**
   * `argumentSlots`: the slots that the caller fills before each run. `addRoot` puts operators on top of the query's plan.
   * `columns`: the slots that the caller reads from each row; null: any.
   */
  constructor(
    query: BoundQuery,
    argumentSlots: readonly Slot[],
    addRoot: (plan: Plan) => Plan,
    options: EngineOptions,
    basis: PlanBasis = 'history',
    columns: readonly Slot[] | null = null,
  ) {
    this.columns = columns
    this.query = query
    this.argumentSlots = argumentSlots
    this.addRoot = addRoot
    this.options = options
    this.basis = basis
  }

  /** The optimized plan for a graph with these counts, and the context in which its subqueries are planned. */
  plan(counts: GraphCounts, onWork?: () => void): { readonly plan: Plan; readonly planning: PlanningContext } {
    const on = this.options.rules === 'on'
    const planning: PlanningContext = {
      counts,
      order: on ? costOrder : textOrder,
      extra: new PlannerSlots(this.query.frameSize),
      ...(onWork ? { onWork } : {}),
    }
    const built = this.addRoot(buildPlan(this.query, this.argumentSlots, planning))
    const plan = this.optimized(built, this.columns ? { ...planning, columns: this.columns } : planning)
    requireSoundSlots(plan, this.argumentSlots, planning)
    return { plan, planning }
  }

  /**
   * An execution with parameters and budget. The caller fills the argument slots and opens it. Throws ExecutionError if a
   * location parameter is missing or is no string, or if planning reaches the time limit, and LaneRequiredError if the query
   * is too large to be planned on the event loop. `derived`: the pairs of the definitions that the query uses with a table.
   */
  prepare(context: QueryContext, derived: DerivedPairs | null = null): Execution & { readonly plan: Plan } {
    const graphs = this.query.graphs.length === 1 ? null : this.locate(context)
    let compiled = this.compiledFor(context.snapshot, graphs)
    if (!compiled || this.isStale(compiled, context.snapshot, graphs)) {
      compiled = this.compileFor(graphs ?? [context.snapshot], this.planningLimit(context))
    }
    if (context.plans != null) context.plans.add(compiled.plan, compiled.uses > 0)
    compiled.uses += 1
    const { run } = compiled
    if (graphs === null) run.graphs[0] = context.snapshot
    else for (let i = 0; i < graphs.length; i++) run.graphs[i] = graphs[i]!
    run.parameters = context.parameters
    run.budget = context.budget ?? startedBudget(compiled.ownBudget, context.limits)
    run.clock.start(context.snapshot.statementMs)
    run.unknownProperty = null
    run.derived = derived
    run.resumeAfter = 0
    run.isIncremental = false
    return compiled
  }

  /** The graphs of a run. Throws ExecutionError if a location parameter is missing or is no string. */
  locate(context: QueryContext): readonly Snapshot[] {
    return this.query.graphs.map((reference) => {
      if (reference.kind === 'default') return context.snapshot
      let location: Value | undefined = reference.name
      if (reference.kind === 'parameter') {
        location = context.parameters.get(reference.name)
        if (location === undefined) {
          throw new ExecutionError('missing-parameter', `parameter \`$${reference.name}\` is not given`, reference.name)
        }
      }
      if (typeof location !== 'string' || !context.locate) {
        throw new ExecutionError('argument', 'USE needs the name of a location', reference.name)
      }
      return context.locate(location)
    })
  }

  private compiledFor(snapshot: Snapshot, graphs: readonly Snapshot[] | null): CompiledPlan | undefined {
    const last = this.compiled[0]
    if (graphs === null) {
      if (last?.environments[0] === snapshot.environment) return last
      return this.moveToFront((compiled) => compiled.environments[0] === snapshot.environment)
    }
    return this.moveToFront((compiled) => graphs.every((graph, i) => graph.environment === compiled.environments[i]))
  }

  private moveToFront(wanted: (compiled: CompiledPlan) => boolean): CompiledPlan | undefined {
    const at = this.compiled.findIndex(wanted)
    if (at < 0) return undefined
    const [compiled] = this.compiled.splice(at, 1)
    this.compiled.unshift(compiled!)
    return compiled
  }

  private isStale(compiled: CompiledPlan, snapshot: Snapshot, graphs: readonly Snapshot[] | null): boolean {
    if (graphs === null) {
      if (compiled.symbolEpochs[0] !== snapshot.symbolEpoch) return true
    } else if (graphs.some((graph, i) => graph.symbolEpoch !== compiled.symbolEpochs[i])) return true
    if (this.basis === 'history') {
      return compiled.uses % RECHECK_COUNTS_EVERY === RECHECK_COUNTS_EVERY - 1 && compiled.counts.hasDrifted(snapshot)
    }
    const { writer, commit } = snapshot.version
    if (writer === compiled.countsCheckedAt.writer && commit === compiled.countsCheckedAt.commit) return false
    compiled.countsCheckedAt = snapshot.version
    return compiled.counts.hasChanged(snapshot)
  }

  /** An execution as `prepare` returns it, compiled for this run only, with a profiler around every operator. */
  prepareProfiled(
    context: QueryContext,
    profiler: Profiler,
    derived: DerivedPairs | null = null,
  ): Execution & { readonly plan: Plan } {
    const located = this.locate(context)
    const onWork = this.planningLimit(context)
    let { profiled } = this
    const isUnchanged =
      profiled !== null &&
      located.every((graph, i) => graph.environment === profiled!.environments[i]) &&
      located.every((graph, i) => graph.symbolEpoch === profiled!.symbolEpochs[i]) &&
      !profiled.counts.hasChanged(context.snapshot)
    if (profiled === null || !isUnchanged) {
      const counts = new RecordedCounts(context.snapshot, this.basis)
      profiled = {
        ...this.plan(counts, onWork),
        inner: [],
        counts,
        environments: located.map((graph) => graph.environment),
        symbolEpochs: located.map((graph) => graph.symbolEpoch),
      }
    }
    const graphs = located.map((graph) => profiler.countReads(graph))
    const built = this.compile(profiled, graphs, { onWork, observe: profiler.wrap })
    // Only a complete one is kept: what a limit has interrupted would be planned later, with the counts of a closed snapshot.
    this.profiled = profiled
    built.run.parameters = context.parameters
    built.run.derived = derived
    built.run.budget = context.budget ?? startedBudget(built.run.budget, context.limits)
    return built
  }

  /**
   * Returns what to call for each part of the planning. One new name in the graph makes the plans of all policies stale, and
   * planning takes 0.05 ms and more.
   */
  private planningLimit(context: QueryContext): () => void {
    const budget = context.budget ?? startedBudget(new Budget(), context.limits)
    if (this.query.frameSize > INLINE_SLOTS_MAX) budget.requireLane('planning')
    budget.checkTime()
    let left = WORK_PER_CLOCK_READ
    return () => {
      left -= 1
      if (left > 0) return
      left = WORK_PER_CLOCK_READ
      budget.checkTime()
    }
  }

  private compileFor(graphs: readonly Snapshot[], onWork: () => void): CompiledPlan {
    const counts = new RecordedCounts(graphs[0]!, this.basis)
    const { root, run, isOrdered, plan } = this.compile({ ...this.plan(counts, onWork), inner: [] }, graphs, { onWork })
    const compiled: CompiledPlan = {
      root,
      run,
      isOrdered,
      plan,
      environments: graphs.map((graph) => graph.environment),
      symbolEpochs: graphs.map((graph) => graph.symbolEpoch),
      counts,
      countsCheckedAt: graphs[0]!.version,
      ownBudget: run.budget,
      uses: 0,
    }
    const same = this.compiled.findIndex((other) => other.environments.every((e, i) => e === compiled.environments[i]))
    if (same >= 0) this.compiled.splice(same, 1)
    this.compiled.unshift(compiled)
    if (this.compiled.length > MAX_COMPILED_PLANS) this.compiled.pop()
    return compiled
  }

  private compile(
    { plan, planning, inner }: PlanningResult,
    graphs: readonly Snapshot[],
    { onWork, observe }: Pick<PlanCompilerDeps, 'observe'> & Required<Pick<PlanningContext, 'onWork'>>,
  ): Execution & { readonly plan: Plan } {
    // A plan that is compiled again was made with the limit of an earlier run.
    const limited = { ...planning, onWork }
    let innerCount = 0
    const planInner = (expression: SubqueryExpression, firstOnly: boolean): Plan => {
      const at = innerCount++
      inner[at] ??= this.planSubquery(expression, firstOnly, limited)
      return inner[at]
    }
    const { collectedMax } = this.options
    const root = compilePlan(plan, {
      snapshots: graphs,
      planInner,
      collectedMax,
      onWork,
      ...(observe ? { observe } : {}),
    })
    const frame: unknown[] = new Array(planning.extra.size).fill(null)
    const run: ExecutionContext = {
      frame,
      parameters: new Map(),
      graphs: [...graphs],
      budget: new Budget(),
      clock: new StatementClock(),
      unknownProperty: null,
      derived: null,
      resumeAfter: 0,
      isIncremental: false,
    }
    return { root, run, isOrdered: plan.op === 'Distinct' && plan.searchOrder === 'ascending', plan }
  }

  private planSubquery(expression: SubqueryExpression, firstOnly: boolean, planning: PlanningContext): Plan {
    const plan = buildSubquery(expression, planning)
    const optimized = this.optimized(firstOnly ? { op: 'First', input: plan } : plan, planning)
    requireSoundSlots(optimized, slotsOf(expression), planning)
    return optimized
  }

  private optimized(plan: Plan, planning: OptimizerContext): Plan {
    return this.options.rules === 'on' ? optimize(plan, planning, this.options.disabledRules) : plan
  }
}

/** Throws ExecutionError for a plan that breaks the invariant of slots: its rows would be wrong. */
function requireSoundSlots(plan: Plan, given: readonly Slot[], { onWork }: PlanningContext): void {
  const fault = slotFault(plan, given, onWork)
  if (fault !== null) throw new ExecutionError('plan', `the plan of the query is refused, please report it: ${fault}`)
}

function startedBudget(budget: Budget, limits: BudgetLimits): Budget {
  budget.start(limits)
  return budget
}

/** The counts of a snapshot. Records those with which a plan is made. */
class RecordedCounts implements GraphCounts {
  private readonly snapshot: Snapshot
  private readonly basis: PlanBasis
  private readonly recorded = new Map<string, { kind: 'label' | 'type'; name: string | null; count: number }>()

  constructor(snapshot: Snapshot, basis: PlanBasis) {
    this.snapshot = snapshot
    this.basis = basis
  }

  nodes(label: string | null): number {
    return this.lookUp('label', label)
  }

  relationships(type: string | null): number {
    return this.lookUp('type', type)
  }

  hasDrifted(snapshot: Snapshot): boolean {
    for (const { kind, name, count } of this.recorded.values()) {
      const now = countIn(snapshot, kind, name)
      if (now > DRIFT_FACTOR * (count + 1) || count > DRIFT_FACTOR * (now + 1)) return true
    }
    return false
  }

  /** Whether a plan that is made now would use other counts. */
  hasChanged(snapshot: Snapshot): boolean {
    for (const { kind, name, count } of this.recorded.values())
      if (this.asPlanned(countIn(snapshot, kind, name)) !== count) return true
    return false
  }

  private lookUp(kind: 'label' | 'type', name: string | null): number {
    const key = `${kind} ${name ?? ''}`
    const known = this.recorded.get(key)
    if (known) return known.count
    const count = this.asPlanned(countIn(this.snapshot, kind, name))
    this.recorded.set(key, { kind, name, count })
    return count
  }

  private asPlanned(count: number): number {
    return this.basis === 'graph' ? roundedToPowerOfTwo(count) : count
  }
}

/** The next lower power of two, so that a plan that depends on counts is not made again after every change. */
function roundedToPowerOfTwo(count: number): number {
  return count === 0 ? 0 : 2 ** Math.floor(Math.log2(count))
}

function countIn(snapshot: Snapshot, kind: 'label' | 'type', name: string | null): number {
  const symbol = name === null ? null : snapshot.symbol(kind, name)
  if (symbol === 0) return 0
  switch (kind) {
    case 'label':
      return snapshot.nodeCount(symbol)
    case 'type':
      return snapshot.relationshipCount(symbol)
    default:
      return assertNever(kind)
  }
}
