// What a search finds in several graphs: one node may stand in more than one of them, so results are known by their
// external ids alone, all of them are found for every page, and a page is cut from them in the order of the ids.
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import { type Ask, eachGranted, givenId, grants, graphsOf, isAdmitted, mustConfirm } from './candidates.ts'
import { type Cut, isPlaceAmongNames, notThisToken, type Page, pageOfNames } from './page.ts'
import type { DecisionParts } from './parts.ts'

export class FindNames {
  private readonly cut: Cut
  private readonly found = new Set<string>()

  constructor(cut: Cut) {
    this.cut = cut
  }

  get isEmpty(): boolean {
    return this.found.size === 0
  }

  find(ask: Ask): void {
    if (!isAdmitted(ask)) return
    const { policy, reading, sought } = ask
    const { condition } = policy
    const given = givenId(ask)
    const found = sought === 'resource' ? condition.resources(reading, given) : condition.subjects(reading, given)
    const confirms = found.length > 0 && mustConfirm(ask)
    for (const id of confirms ? found.filter((id) => grants(ask, id)) : found) this.found.add(id)
  }

  findEach(ask: Ask): void {
    for (const snapshot of graphsOf(ask)) {
      eachGranted(ask, snapshot, 0, (_, id) => {
        this.found.add(id)
        return true
      })
    }
  }

  page(parts: DecisionParts): Result<Page, ServiceError> {
    return isPlaceAmongNames(this.cut.place) ? ok(pageOfNames(parts, this.cut, this.found)) : notThisToken
  }
}
