// The look of a request or a batch at the graphs of a project. Snapshots are opened on first use and closed together. Reports are
// sent when the look has ended, because it may be run again in a lane, or after data was fetched.
import { Budget, type BudgetLimits, KnownGoals, PlanUses, type QueryContext } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { readGraphsNow, type Views } from '../engine/read-graph.ts'
import type { LookResult, Snapshot } from '../engine/store.ts'
import { RestartRequiredError } from '../kernel/request/restart-required.ts'
import type { GrantingPolicy, PolicyName } from '../policy/compile-policy.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { DecisionDeps } from './decision-deps.ts'

const noParameters: BoundParameters = new Map()

/**
 * Runs a look at the graphs of a project, then sends its reports, also if it throws. Throws what the look throws; if that is
 * RestartRequiredError, nothing is sent.
 */
export function readInSession<T extends LookResult>(
  graphs: ProjectGraphs,
  deps: Pick<DecisionDeps, 'limits' | 'observesPlans'>,
  look: (session: ReadSession) => T,
): T {
  const reports: (() => void)[] = []
  return withReports(reports, () => readGraphsNow((views) => look(new ReadSession(graphs, views, deps, reports))))
}

/** Runs `work`, then sends what it has added to `reports`, also if it throws; not if it must be run again. */
export function withReports<T>(reports: readonly (() => void)[], work: () => T): T {
  let mustRestart = false
  try {
    return work()
  } catch (error) {
    mustRestart = error instanceof RestartRequiredError
    throw error
  } finally {
    if (!mustRestart) for (const send of reports) send()
  }
}

/** The context in which conditions run. Parameters and budget are replaced for each request. */
export class ReadSession implements QueryContext {
  readonly graphs: ProjectGraphs
  readonly limits: BudgetLimits
  readonly budget = new Budget()
  /** All policies and all requests of a batch read the same snapshots. */
  readonly knownGoals = new KnownGoals()
  parameters: BoundParameters = noParameters
  /** The error that exhausted the budget; null while it lasts. */
  exhausted: ExecutionError | null = null
  /** Why a search leaves out candidates that are not denied, by the texts of denials; null: it leaves out none. */
  searchReason: string | null = null
  /** The policy that granted last; null: none did. */
  granting: GrantingPolicy | null = null
  /** The policy that denied last what another one grants; null: none did. */
  forbidding: PolicyName | null = null
  /** The plans that were run; null: they are not observed. */
  plans: PlanUses | null
  private readonly reports: (() => void)[]
  private readonly views: Views
  private defaultSnapshot: Snapshot | null = null
  private located: Map<string, Snapshot> | null = null

  /** `reports`: gets what the session reports. */
  constructor(
    graphs: ProjectGraphs,
    views: Views,
    { limits, observesPlans }: Pick<DecisionDeps, 'limits' | 'observesPlans'>,
    reports: (() => void)[],
  ) {
    this.views = views
    this.reports = reports
    this.plans = observesPlans === true ? new PlanUses() : null
    this.graphs = graphs
    this.limits = limits
  }

  /** The snapshot of the default graph. */
  get snapshot(): Snapshot {
    this.defaultSnapshot ??= this.views.of(this.graphs.default)
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
    const snapshot = this.views.of(graph)
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

  /** Calls `send` when the look has ended. */
  report(send: () => void): void {
    this.reports.push(send)
  }
}
