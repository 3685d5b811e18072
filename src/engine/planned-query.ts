// One plan for one question, compiled lazily for each environment it meets and dropped when names or counts have moved on.
import { unreachable } from '../kernel/assert.ts'
import type { BoundQuery, Slot } from './bind/bound.ts'
import { RunFault } from './errors.ts'
import { type CompileSite, compile } from './exec/compile.ts'
import { Budget, type BudgetLimits, Moment, type Run } from './exec/context.ts'
import type { Operator } from './exec/operator.ts'
import type { Profiler } from './exec/profile.ts'
import { optimize } from './optimize/optimize.ts'
import { buildInner, buildPlan, ExtraSlots, type InnerQuery, type PlanSite } from './plan/build-plan.ts'
import type { Plan } from './plan/operators.ts'
import { type Counts, costOrder, textOrder } from './plan/order-expands.ts'
import type { Snapshot, Stamp } from './store.ts'
import type { Value } from './value/value.ts'

/** With rules off a plan is what the text says, step by step: slower, the same rows. For proofs. */
export interface EngineOptions {
  readonly rules: 'on' | 'off'
  /** Rules left out all the same, by name. */
  readonly except?: ReadonlySet<string>
  /** Up to so many relationships a last hop is gathered and not merged; what it is in service where it is not given. */
  readonly gatheredMax?: number
}

export const defaultOptions: EngineOptions = { rules: 'on' }

/**
 * What a plan depends on beside the text. `history`: the counts that it was made with, while these are about right. `graph`: the
 * graph as it is at each run and nothing else, so that rows come in one order whoever ran it before, in every process.
 */
export type PlanOf = 'history' | 'graph'

/** What one run is asked with. */
export interface Asking {
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
  readonly root: Operator
  readonly run: Run
  /** A search that finds its nodes ascending by id, behind the one from which the run goes on. */
  readonly isInOrder: boolean
}

interface Compiled extends Execution {
  /** By graph index: what the plan was compiled for. */
  readonly environments: readonly object[]
  readonly symbolEpochs: readonly number[]
  readonly counts: RecordedCounts
  /** The state of the graph that the counts were last held against. */
  heldAgainst: Stamp
  /** For the runs that share none. */
  readonly ownBudget: Budget
  uses: number
}

/** Counts are looked at again once in so many uses, and planning is redone when one has moved by this factor. */
const REVIEW_EVERY = 4096
const DRIFT_FACTOR = 8

/** Combinations of environments that one plan stays compiled for. */
const COMPILED_MAX = 64

export class PlannedQuery {
  private readonly query: BoundQuery
  private readonly given: readonly Slot[]
  private readonly finish: (plan: Plan) => Plan
  private readonly options: EngineOptions
  private readonly planOf: PlanOf
  /** The one used last stands first. */
  private readonly compiled: Compiled[] = []

  /**
   * `given`: slots that the caller fills in. `finish` puts the question on top of the query's own plan.
   */
  constructor(
    query: BoundQuery,
    given: readonly Slot[],
    finish: (plan: Plan) => Plan,
    options: EngineOptions,
    planOf: PlanOf = 'history',
  ) {
    this.query = query
    this.given = given
    this.finish = finish
    this.options = options
    this.planOf = planOf
  }

  plan(counts: Counts): { readonly plan: Plan; readonly site: PlanSite } {
    const on = this.options.rules === 'on'
    const site: PlanSite = { counts, order: on ? costOrder : textOrder, extra: new ExtraSlots(this.query.frameSize) }
    return { plan: this.finished(this.finish(buildPlan(this.query, this.given, site)), site), site }
  }

  /** Ready to be opened: parameters and budget are set, the given slots are the caller's to fill in. */
  prepare(asking: Asking): Execution {
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
    run.moment.start()
    run.unknown = null
    run.after = 0
    run.isLazy = false
    return compiled
  }

  private locate(asking: Asking): readonly Snapshot[] {
    return this.query.graphs.map((reference) => {
      if (reference.kind === 'default') return asking.snapshot
      let location: Value | undefined = reference.name
      if (reference.kind === 'parameter') {
        location = asking.parameters.get(reference.name)
        if (location === undefined) {
          throw new RunFault('missing-parameter', `parameter \`$${reference.name}\` is not given`, reference.name)
        }
      }
      if (typeof location !== 'string' || !asking.locate) {
        throw new RunFault('argument', 'USE takes the name of a location', reference.name)
      }
      return asking.locate(location)
    })
  }

  private compiledFor(snapshot: Snapshot, graphs: readonly Snapshot[] | null): Compiled | undefined {
    const last = this.compiled[0]
    if (graphs === null) {
      if (last?.environments[0] === snapshot.environment) return last
      return this.bringForward((compiled) => compiled.environments[0] === snapshot.environment)
    }
    return this.bringForward((compiled) => graphs.every((graph, i) => graph.environment === compiled.environments[i]))
  }

  private bringForward(wanted: (compiled: Compiled) => boolean): Compiled | undefined {
    const at = this.compiled.findIndex(wanted)
    if (at < 0) return undefined
    const [compiled] = this.compiled.splice(at, 1)
    this.compiled.unshift(compiled!)
    return compiled
  }

  private isStale(compiled: Compiled, snapshot: Snapshot, graphs: readonly Snapshot[] | null): boolean {
    if (graphs === null) {
      if (compiled.symbolEpochs[0] !== snapshot.symbolEpoch) return true
    } else if (graphs.some((graph, i) => graph.symbolEpoch !== compiled.symbolEpochs[i])) return true
    if (this.planOf === 'history') {
      return compiled.uses % REVIEW_EVERY === REVIEW_EVERY - 1 && compiled.counts.haveDrifted(snapshot)
    }
    const { writer, commit } = snapshot.stamp
    if (writer === compiled.heldAgainst.writer && commit === compiled.heldAgainst.commit) return false
    compiled.heldAgainst = snapshot.stamp
    return compiled.counts.haveChanged(snapshot)
  }

  /** Compiled anew for one run, with every operator observed; the parameters and the budget are set. */
  prepareObserved(asking: Asking, profiler: Profiler): Execution & { readonly plan: Plan } {
    const graphs = this.locate(asking).map((graph) => profiler.counting(graph))
    const built = this.build(graphs, new RecordedCounts(asking.snapshot, this.planOf), profiler.observe)
    built.run.parameters = asking.parameters
    built.run.budget = asking.budget ?? startedBudget(built.run.budget, asking.limits)
    return built
  }

  private compileFor(graphs: readonly Snapshot[]): Compiled {
    const counts = new RecordedCounts(graphs[0]!, this.planOf)
    const { root, run, isInOrder } = this.build(graphs, counts)
    const compiled: Compiled = {
      root,
      run,
      isInOrder,
      environments: graphs.map((graph) => graph.environment),
      symbolEpochs: graphs.map((graph) => graph.symbolEpoch),
      counts,
      heldAgainst: graphs[0]!.stamp,
      ownBudget: run.budget,
      uses: 0,
    }
    const same = this.compiled.findIndex((other) => other.environments.every((e, i) => e === compiled.environments[i]))
    if (same >= 0) this.compiled.splice(same, 1)
    this.compiled.unshift(compiled)
    if (this.compiled.length > COMPILED_MAX) this.compiled.pop()
    return compiled
  }

  private build(
    graphs: readonly Snapshot[],
    counts: Counts,
    observe?: CompileSite['observe'],
  ): Execution & { readonly plan: Plan } {
    const { plan, site } = this.plan(counts)
    const planInner = (expression: InnerQuery, firstOnly: boolean): Plan => {
      const inner = buildInner(expression, site)
      return this.finished(firstOnly ? { op: 'first', input: inner } : inner, site)
    }
    const { gatheredMax } = this.options
    const root = compile(plan, { snapshots: graphs, planInner, gatheredMax, ...(observe ? { observe } : {}) })
    const frame: unknown[] = new Array(site.extra.size).fill(null)
    const run: Run = {
      frame,
      parameters: new Map(),
      graphs: [...graphs],
      budget: new Budget(),
      moment: new Moment(),
      unknown: null,
      after: 0,
      isLazy: false,
    }
    return { root, run, isInOrder: plan.op === 'distinct' && plan.sought === 'ascending', plan }
  }

  private finished(plan: Plan, site: PlanSite): Plan {
    return this.options.rules === 'on' ? optimize(plan, site, this.options.except) : plan
  }
}

function startedBudget(budget: Budget, limits: BudgetLimits): Budget {
  budget.start(limits)
  return budget
}

/** The counts of a snapshot, and which of them a plan was made with. */
class RecordedCounts implements Counts {
  private readonly snapshot: Snapshot
  private readonly planOf: PlanOf
  private readonly asked = new Map<string, { kind: 'label' | 'type'; name: string | null; count: number }>()

  constructor(snapshot: Snapshot, planOf: PlanOf) {
    this.snapshot = snapshot
    this.planOf = planOf
  }

  nodes(label: string | null): number {
    return this.ask('label', label)
  }

  relationships(type: string | null): number {
    return this.ask('type', type)
  }

  haveDrifted(snapshot: Snapshot): boolean {
    for (const { kind, name, count } of this.asked.values()) {
      const now = read(snapshot, kind, name)
      if (now > DRIFT_FACTOR * (count + 1) || count > DRIFT_FACTOR * (now + 1)) return true
    }
    return false
  }

  /** Whether a plan that is made now would see others. */
  haveChanged(snapshot: Snapshot): boolean {
    for (const { kind, name, count } of this.asked.values())
      if (rounded(read(snapshot, kind, name)) !== count) return true
    return false
  }

  private ask(kind: 'label' | 'type', name: string | null): number {
    const key = `${kind} ${name ?? ''}`
    const known = this.asked.get(key)
    if (known) return known.count
    const exact = read(this.snapshot, kind, name)
    const count = this.planOf === 'graph' ? rounded(exact) : exact
    this.asked.set(key, { kind, name, count })
    return count
  }
}

/** Down to a power of two: a plan that follows the counts is not made anew with each of them. */
function rounded(count: number): number {
  return count === 0 ? 0 : 2 ** Math.floor(Math.log2(count))
}

function read(snapshot: Snapshot, kind: 'label' | 'type', name: string | null): number {
  const symbol = name === null ? null : snapshot.symbol(kind, name)
  if (symbol === 0) return 0
  switch (kind) {
    case 'label':
      return snapshot.nodeCount(symbol)
    case 'type':
      return snapshot.relationshipCount(symbol)
    default:
      return unreachable(kind)
  }
}
