// Remembers which requests were recently too large for the event loop, so that the next ones of the same kind go to a
// lane at once (docs/decisions/0018-lanes.md).

import { LaneRequiredError } from './lane-required.ts'

/** Length of a counting window, milliseconds. */
const WINDOW_MS = 1000
/** Attempts on the loop per kind and window. */
const TRIES_MAX = 3
/** Attempts on the loop per project and window; beyond this, each kind has one attempt. */
const PROJECT_TRIES_MAX = 10

/** Counts requests that were too large, by kind and project. */
export class InlineHistory {
  /** End of the current window; 0: nothing was too large. */
  private untilMs = 0
  private kinds = new WeakMap<object, number>()
  private readonly projects = new Map<string, number>()

  /**
   * Whether to skip the attempt on the loop. `kind`: groups requests that take about the same time, such as those of
   * the same policies.
   */
  isTooLarge(projectId: string, kind: object): boolean {
    if (this.untilMs === 0) return false
    if (performance.now() > this.untilMs) {
      this.untilMs = 0
      this.kinds = new WeakMap()
      this.projects.clear()
      return false
    }
    const tries = this.kinds.get(kind) ?? 0
    return tries >= ((this.projects.get(projectId) ?? 0) >= PROJECT_TRIES_MAX ? 1 : TRIES_MAX)
  }

  /**
   * Runs the work on the loop. Throws LaneRequiredError if requests of that kind were too large, or if the work throws
   * it.
   */
  run<T>(projectId: string, kind: object, work: () => T): T {
    if (this.isTooLarge(projectId, kind)) throw new LaneRequiredError('recent requests')
    try {
      return work()
    } catch (fault) {
      if (fault instanceof LaneRequiredError) this.recordDeferral(projectId, kind)
      throw fault
    }
  }

  /** Records that a request of that kind was aborted on the event loop. */
  recordDeferral(projectId: string, kind: object): void {
    if (this.untilMs === 0) this.untilMs = performance.now() + WINDOW_MS
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1)
    this.projects.set(projectId, (this.projects.get(projectId) ?? 0) + 1)
  }
}
