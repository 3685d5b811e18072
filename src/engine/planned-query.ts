// One plan for one question, compiled lazily for each environment it meets and dropped when names or counts have moved on.
import { assertNever } from '../kernel/assert.ts'
import type { BoundQuery, Slot } from './bind/bound.ts'
import { Budget, type BudgetLimits } from './budget.ts'
import { ExecutionError } from './errors.ts'
import { compilePlan, type PlanCompilerDeps } from './exec/compile-plan.ts'
import type { ExecutionContext } from './exec/execution-context.ts'
import type { PhysicalOperator } from './exec/physical-operator.ts'
import type { Profiler } from './exec/profiler.ts'
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
import type { GraphVersion, Snapshot } from './store.ts'
import { StatementClock } from './value/expression-context.ts'
import type { Value } from './value/value.ts'

/** With rules off a plan is what the text says, step by step: slower, the same rows. For proofs. */
export interface EngineOptions {
  readonly rules: 'on' | 'off'
  /** Rules left out all the same, by name. */
  readonly disabledRules?: ReadonlySet<string>
  /** Up to so many relationships a last hop is gathered and not merged; what it is in service where it is not given. */
  readonly gatheredMax?: number
}

export const defaultOptions: EngineOptions = { rules: 'on' }

/**
 * What a plan depends on beside the text. `history`: the counts that it was made with, while these are about right. `graph`: the
 * graph as it is at each run and nothing else, so that rows come in one order whoever ran it before, in every process.
 */
export type PlanBasis = 'history' | 'graph'

/** What one run is asked with. */
export interface QueryContext {
  /** The default graph. */
  readonly snapshot: Snapshot
  readonly parameters: ReadonlyMap<string, Value>
  readonly limits: BudgetLimits
  /** Started by the caller, who asks several plans one question within one limit; without it `limits` are this run's own. */
  readonly budget?: Budget
  /** The graph of a logical location, for USE; throws what the caller wants to hear of an unknown one. */
  readonly locate?: (location: string) => Snapshot
}

/** A compiled plan and its frame; one run at a time. */
export interface Execution {
  readonly root: PhysicalOperator
  readonly run: ExecutionContext
  /** A search that finds its nodes ascending by id, behind the one from which the run goes on. */
  readonly isOrdered: boolean
}

interface CompiledPlan extends Execution {
  /** By graph index: what the plan was compiled for. */
  readonly environments: readonly object[]
  readonly symbolEpochs: readonly number[]
  readonly counts: RecordedCounts
  /** The state of the graph that the counts were last held against. */
  countsCheckedAt: GraphVersion
  /** For the runs that share none. */
  readonly ownBudget: Budget
  uses: number
}

/** Counts are looked at again once in so many uses, and planning is redone when one has moved by this factor. */
const RECHECK_COUNTS_EVERY = 4096
const DRIFT_FACTOR = 8

/** Combinations of environments that one plan stays compiled for. */
const MAX_COMPILED_PLANS = 64

export class PlannedQuery {
  private readonly query: BoundQuery
  private readonly argumentSlots: readonly Slot[]
  private readonly finish: (plan: Plan) => Plan
  private readonly options: EngineOptions
  private readonly basis: PlanBasis
  /** The one used last stands first. */
  private readonly compiled: CompiledPlan[] = []

  /**
   * `given`: slots that the caller fills in. `finish` puts the question on top of the query's own plan.
   */
  constructor(
    query: BoundQuery,
    given: readonly Slot[],
    finish: (plan: Plan) => Plan,
    options: EngineOptions,
    planOf: PlanBasis = 'history',
  ) {
    this.query = query
    this.argumentSlots = given
    this.finish = finish
    this.options = options
    this.basis = planOf
  }

  plan(counts: GraphCounts): { readonly plan: Plan; readonly site: PlanningContext } {
    const on = this.options.rules === 'on'
    const site: PlanningContext = {
      counts,
      order: on ? costOrder : textOrder,
      extra: new PlannerSlots(this.query.frameSize),
    }
    return { plan: this.finished(this.finish(buildPlan(this.query, this.argumentSlots, site)), site), site }
  }

  /** Ready to be opened: parameters and budget are set, the given slots are the caller's to fill in. */
  prepare(asking: QueryContext): Execution {
    const graphs = this.query.graphs.length === 1 ? null : this.locate(asking)
    let compiled = this.compiledFor(asking.snapshot, graphs)
    if (!compiled || this.isStale(compiled, asking.snapshot, graphs)) {
      compiled = this.compileFor(graphs ?? [asking.snapshot])
    }
    compiled.uses += 1
    const { run } = compiled
    if (graphs === null) run.graphs[0] = asking.snapshot
    else for (let i = 0; i < graphs.length; i++) run.graphs[i] = graphs[i]!
    run.parameters = asking.parameters
    run.budget = asking.budget ?? startedBudget(compiled.ownBudget, asking.limits)
    run.clock.start()
    run.unknownProperty = null
    run.resumeAfter = 0
    run.isIncremental = false
    return compiled
  }

  private locate(asking: QueryContext): readonly Snapshot[] {
    return this.query.graphs.map((reference) => {
      if (reference.kind === 'default') return asking.snapshot
      let location: Value | undefined = reference.name
      if (reference.kind === 'parameter') {
        location = asking.parameters.get(reference.name)
        if (location === undefined) {
          throw new ExecutionError('missing-parameter', `parameter \`$${reference.name}\` is not given`, reference.name)
        }
      }
      if (typeof location !== 'string' || !asking.locate) {
        throw new ExecutionError('argument', 'USE needs the name of a location', reference.name)
      }
      return asking.locate(location)
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

  /** Compiled anew for one run, with every operator observed; the parameters and the budget are set. */
  prepareProfiled(asking: QueryContext, profiler: Profiler): Execution & { readonly plan: Plan } {
    const graphs = this.locate(asking).map((graph) => profiler.countReads(graph))
    const built = this.build(graphs, new RecordedCounts(asking.snapshot, this.basis), profiler.wrap)
    built.run.parameters = asking.parameters
    built.run.budget = asking.budget ?? startedBudget(built.run.budget, asking.limits)
    return built
  }

  private compileFor(graphs: readonly Snapshot[]): CompiledPlan {
    const counts = new RecordedCounts(graphs[0]!, this.basis)
    const { root, run, isOrdered } = this.build(graphs, counts)
    const compiled: CompiledPlan = {
      root,
      run,
      isOrdered,
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

  private build(
    graphs: readonly Snapshot[],
    counts: GraphCounts,
    observe?: PlanCompilerDeps['observe'],
  ): Execution & { readonly plan: Plan } {
    const { plan, site } = this.plan(counts)
    const planInner = (expression: SubqueryExpression, firstOnly: boolean): Plan => {
      const inner = buildSubquery(expression, site)
      return this.finished(firstOnly ? { op: 'First', input: inner } : inner, site)
    }
    const { gatheredMax } = this.options
    const root = compilePlan(plan, {
      snapshots: graphs,
      planInner,
      collectedMax: gatheredMax,
      ...(observe ? { observe } : {}),
    })
    const frame: unknown[] = new Array(site.extra.size).fill(null)
    const run: ExecutionContext = {
      frame,
      parameters: new Map(),
      graphs: [...graphs],
      budget: new Budget(),
      clock: new StatementClock(),
      unknownProperty: null,
      resumeAfter: 0,
      isIncremental: false,
    }
    return { root, run, isOrdered: plan.op === 'Distinct' && plan.searchOrder === 'ascending', plan }
  }

  private finished(plan: Plan, site: PlanningContext): Plan {
    return this.options.rules === 'on' ? optimize(plan, site, this.options.disabledRules) : plan
  }
}

function startedBudget(budget: Budget, limits: BudgetLimits): Budget {
  budget.start(limits)
  return budget
}

/** The counts of a snapshot, and which of them a plan was made with. */
class RecordedCounts implements GraphCounts {
  private readonly snapshot: Snapshot
  private readonly basis: PlanBasis
  private readonly recorded = new Map<string, { kind: 'label' | 'type'; name: string | null; count: number }>()

  constructor(snapshot: Snapshot, planOf: PlanBasis) {
    this.snapshot = snapshot
    this.basis = planOf
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

  /** Whether a plan that is made now would see others. */
  hasChanged(snapshot: Snapshot): boolean {
    for (const { kind, name, count } of this.recorded.values())
      if (roundedToPowerOfTwo(countIn(snapshot, kind, name)) !== count) return true
    return false
  }

  private lookUp(kind: 'label' | 'type', name: string | null): number {
    const key = `${kind} ${name ?? ''}`
    const known = this.recorded.get(key)
    if (known) return known.count
    const exact = countIn(this.snapshot, kind, name)
    const count = this.basis === 'graph' ? roundedToPowerOfTwo(exact) : exact
    this.recorded.set(key, { kind, name, count })
    return count
  }
}

/** Down to a power of two: a plan that follows the counts is not made anew with each of them. */
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
