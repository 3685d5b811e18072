// The snapshots that a request or a batch reads. They are opened on first use and closed together, within one turn of
// the event loop.
import { Budget, type BudgetLimits, PlanUses, type QueryContext } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import type { Snapshot } from '../engine/store.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { DecisionDeps } from './decision-deps.ts'

const noParameters: BoundParameters = new Map()

/** The context in which conditions run. Parameters and budget are replaced for each request. */
export class ReadSession implements QueryContext {
  readonly graphs: ProjectGraphs
  readonly limits: BudgetLimits
  readonly budget = new Budget()
  private readonly isInline: boolean
  parameters: BoundParameters = noParameters
  /** The error that exhausted the budget; null while it lasts. */
  exhausted: ExecutionError | null = null
  /** Why a search leaves out candidates that are not denied, by the texts of denials; null: it leaves out none. */
  searchReason: string | null = null
  /** The policy that granted last; null: none did. */
  granting: CompiledPolicy | null = null
  /** The plans that were run; null: they are not observed. */
  plans: PlanUses | null
  /** Reports withheld until the request is answered, because it may have to be repeated in a lane. */
  private withheld: (() => void)[] | null = null
  private defaultSnapshot: Snapshot | null = null
  private located: Map<string, Snapshot> | null = null

  /** `isInline`: may be aborted and repeated: on the event loop in a lane, on a remote graph after a fetch. */
  constructor(
    graphs: ProjectGraphs,
    { limits, observesPlans }: Pick<DecisionDeps, 'limits' | 'observesPlans'>,
    isInline = limits.inlineMs !== undefined,
  ) {
    this.isInline = isInline || graphs.isRemote === true
    this.plans = observesPlans === true ? new PlanUses() : null
    this.graphs = graphs
    this.limits = limits
  }

  /** The snapshot of the default graph. */
  get snapshot(): Snapshot {
    this.defaultSnapshot ??= this.graphs.default.snapshot()
    return this.defaultSnapshot
  }

  /**
   * Returns the snapshot of a location. Throws ExecutionError if it does not exist: invalidLocation rejects such locations of
   * a caller beforehand, but one that a policy names may have been removed since the policy was stored.
   */
  locate(location: string): Snapshot {
    const known = this.located?.get(location)
    if (known !== undefined) return known
    const graph = this.graphs.at(location)
    if (graph === null) throw new ExecutionError('argument', `unknown location ${location}`, location)
    const snapshot = graph.snapshot()
    this.located ??= new Map()
    this.located.set(location, snapshot)
    return snapshot
  }

  /** The plans that were run since the last call; null: they are not observed. */
  takePlans(): PlanUses | null {
    const { plans } = this
    if (plans !== null) this.plans = new PlanUses()
    return plans
  }

  /** The snapshots that the session has opened. */
  *snapshots(): Iterable<Snapshot> {
    if (this.defaultSnapshot !== null) yield this.defaultSnapshot
    if (this.located !== null) yield* this.located.values()
  }

  /** Runs `send` now or, on the event loop, when the request is answered. */
  report(send: () => void): void {
    if (!this.isInline) send()
    else {
      this.withheld ??= []
      this.withheld.push(send)
    }
  }

  /** Runs the withheld reports. Call it when the request is answered. */
  flushReports(): void {
    if (this.withheld === null) return
    for (const send of this.withheld) send()
    this.withheld = null
  }

  /** Ends the budget and closes the snapshots. */
  close(): void {
    this.defaultSnapshot?.close()
    if (this.located !== null) for (const snapshot of this.located.values()) snapshot.close()
  }
}
