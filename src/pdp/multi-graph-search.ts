// A search over several graphs. The same entity may exist in more than one of them, so results are identified by
// external id. Every page computes all results and is cut from them in the order of the ids.
import type { Budget } from '../engine/conditions.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { DecisionDeps } from './decision-deps.ts'
import { invalidPageToken, isNamePosition, type PageWindow, pageOfNames, type SearchPage } from './search-page.ts'
import {
  confirmation,
  filterAdmits,
  fixedEntityId,
  forEachGranted,
  type SearchTask,
  searchedGraphs,
} from './search-task.ts'

/** Collects the results of all policies of one search. */
export class MultiGraphSearch {
  private readonly budget: Budget
  private readonly window: PageWindow
  private readonly found = new Set<string>()

  constructor(window: PageWindow, budget: Budget) {
    this.budget = budget
    this.window = window
  }

  /** True if nothing was found so far. */
  get isEmpty(): boolean {
    return this.found.size === 0
  }

  /** Adds what one policy grants, with one query per graph. Throws ExecutionError. */
  search(task: SearchTask): void {
    if (!filterAdmits(task)) return
    const { policy, session, target } = task
    const { condition } = policy
    const fixedId = fixedEntityId(task)
    const found = target === 'resource' ? condition.resources(session, fixedId) : condition.subjects(session, fixedId)
    const confirms = found.length > 0 ? confirmation(task, true) : null
    for (const id of confirms === null ? found : found.filter(confirms)) this.found.add(id)
  }

  /** Adds what one policy grants, candidate by candidate. Throws ExecutionError. */
  searchEach(task: SearchTask): void {
    for (const snapshot of searchedGraphs(task)) {
      forEachGranted(task, snapshot, 0, (_, id) => {
        this.found.add(id)
        return true
      })
    }
  }

  /** Returns the requested page. Error: `malformed` if the page token belongs to another result order. */
  page(deps: DecisionDeps): Result<SearchPage, ServiceError> {
    return isNamePosition(this.window.position)
      ? ok(pageOfNames(deps, this.window, this.found, this.budget))
      : invalidPageToken
  }
}
