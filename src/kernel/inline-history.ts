// Which questions have lately been too large for the serving loop, so that the next ones of the same kind go to a lane at
// once and are not tried on the loop first.

import { LaneRequiredError } from './lane-required.ts'

/** Counts begin again after this time, milliseconds. */
const WINDOW_MS = 1000
/** Tries of one kind in a window. */
const TRIES_MAX = 3
/** Tries of one project in a window; above it, one try of each kind. */
const PROJECT_TRIES_MAX = 10

export class InlineHistory {
  /** 0: nothing was too large in this window. */
  private untilMs = 0
  private kinds = new WeakMap<object, number>()
  private readonly projects = new Map<string, number>()

  /** `kind`: what questions have in common that take about the same time, such as their policies. */
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

  /** Runs the work, unless questions of that kind were too large. Throws LaneRequiredError, as the work does. */
  run<T>(projectId: string, kind: object, work: () => T): T {
    if (this.isTooLarge(projectId, kind)) throw new LaneRequiredError('recent requests')
    try {
      return work()
    } catch (fault) {
      if (fault instanceof LaneRequiredError) this.recordDeferral(projectId, kind)
      throw fault
    }
  }

  /** A question of that kind was given up on the serving loop. */
  recordDeferral(projectId: string, kind: object): void {
    if (this.untilMs === 0) this.untilMs = performance.now() + WINDOW_MS
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1)
    this.projects.set(projectId, (this.projects.get(projectId) ?? 0) + 1)
  }
}
