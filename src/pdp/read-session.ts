// One reading of a project's graphs: the snapshots that a question (or a batch of them) is asked of, opened when they are
// first needed, closed together, within one turn of the event loop.

import { Budget, type BudgetLimits, type QueryContext } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import type { Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'

const noParameters: ReadonlyMap<string, Value> = new Map()

/** It is what conditions are asked with: parameters and budget are set anew for each question. */
export class ReadSession implements QueryContext {
  readonly graphs: ProjectGraphs
  readonly limits: BudgetLimits
  readonly budget = new Budget()
  private readonly isInline: boolean
  parameters: ReadonlyMap<string, Value> = noParameters
  /** The fault that used the budget up: what was asked after it was not answered. */
  exhausted: ExecutionError | null = null
  /** What is told once the question is answered: until then it may have to be repeated in a lane. */
  private untold: (() => void)[] | null = null
  private opened: Snapshot | null = null
  private located: Map<string, Snapshot> | null = null

  /** `isInline`: it is read on the serving loop, and may be given up there. */
  constructor(graphs: ProjectGraphs, limits: BudgetLimits, isInline = limits.inlineMs !== undefined) {
    this.isInline = isInline
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
    if (graph === null) throw new ExecutionError('argument', `unknown location ${location}`, location)
    const snapshot = graph.snapshot()
    this.located ??= new Map()
    this.located.set(location, snapshot)
    return snapshot
  }

  /** Tells at once, or, on the serving loop, when the question is answered there. */
  report(tell: () => void): void {
    if (!this.isInline) tell()
    else {
      this.untold ??= []
      this.untold.push(tell)
    }
  }

  /** To be called when the question is answered. */
  flushReports(): void {
    if (this.untold === null) return
    for (const tell of this.untold) tell()
    this.untold = null
  }

  close(): void {
    this.budget.end()
    this.opened?.close()
    if (this.located !== null) for (const snapshot of this.located.values()) snapshot.close()
  }
}
