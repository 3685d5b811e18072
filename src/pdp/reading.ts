// One reading of a project's graphs: the snapshots that a question (or a batch of them) is asked of, opened when they are
// first needed, closed together, within one turn of the event loop.
import { type Asking, Budget, type BudgetLimits } from '../engine/conditions.ts'
import { RunFault } from '../engine/errors.ts'
import type { ProjectGraphs, Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'

const noParameters: ReadonlyMap<string, Value> = new Map()

/** It is what conditions are asked with: parameters and budget are set anew for each question. */
export class Reading implements Asking {
  readonly graphs: ProjectGraphs
  readonly limits: BudgetLimits
  readonly budget = new Budget()
  parameters: ReadonlyMap<string, Value> = noParameters
  /** The fault that used the budget up: what was asked after it was not answered. */
  spent: RunFault | null = null
  private opened: Snapshot | null = null
  private located: Map<string, Snapshot> | null = null

  constructor(graphs: ProjectGraphs, limits: BudgetLimits) {
    this.graphs = graphs
    this.limits = limits
  }

  get snapshot(): Snapshot {
    this.opened ??= this.graphs.default.snapshot()
    return this.opened
  }

  /**
   * Of locations that a caller names, only those that exist come this far; one that a policy names may have gone since it
   * was stored, and is that policy's fault.
   */
  locate(location: string): Snapshot {
    const known = this.located?.get(location)
    if (known !== undefined) return known
    const graph = this.graphs.at(location)
    if (graph === null) throw new RunFault('argument', `unknown location ${location}`, location)
    const snapshot = graph.snapshot()
    this.located ??= new Map()
    this.located.set(location, snapshot)
    return snapshot
  }

  close(): void {
    this.opened?.close()
    if (this.located !== null) for (const snapshot of this.located.values()) snapshot.close()
  }
}
