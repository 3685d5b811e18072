// What a search finds in several graphs: one node may stand in more than one of them, so results are known by their
// external ids alone, all of them are found for every page, and a page is cut from them in the order of the ids.
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { DecisionDeps } from './decision-deps.ts'
import { invalidPageToken, isNamePosition, type PageWindow, pageOfNames, type SearchPage } from './search-page.ts'
import {
  filterAdmits,
  fixedEntityId,
  forEachGranted,
  isGranted,
  needsConfirmation,
  type SearchTask,
  searchedGraphs,
} from './search-task.ts'

export class MultiGraphSearch {
  private readonly cut: PageWindow
  private readonly found = new Set<string>()

  constructor(cut: PageWindow) {
    this.cut = cut
  }

  get isEmpty(): boolean {
    return this.found.size === 0
  }

  search(ask: SearchTask): void {
    if (!filterAdmits(ask)) return
    const { policy, session, target } = ask
    const { condition } = policy
    const given = fixedEntityId(ask)
    const found = target === 'resource' ? condition.resources(session, given) : condition.subjects(session, given)
    const confirms = found.length > 0 && needsConfirmation(ask)
    for (const id of confirms ? found.filter((id) => isGranted(ask, id)) : found) this.found.add(id)
  }

  searchEach(ask: SearchTask): void {
    for (const snapshot of searchedGraphs(ask)) {
      forEachGranted(ask, snapshot, 0, (_, id) => {
        this.found.add(id)
        return true
      })
    }
  }

  page(parts: DecisionDeps): Result<SearchPage, ServiceError> {
    return isNamePosition(this.cut.position) ? ok(pageOfNames(parts, this.cut, this.found)) : invalidPageToken
  }
}
