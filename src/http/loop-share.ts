// How much of the serving loop each project and each agent uses with requests that are answered there. Who uses more than
// a share is answered in lanes until the share has grown again, so that many medium requests cannot keep others waiting.

/** Requests that take less than this are free, milliseconds: nearly all decisions. */
const FREE_MS = 0.3
/** Milliseconds of the loop that a project, and each agent, may use in a second. */
const PER_SECOND_MS = 100
/** And at once. */
const PROJECT_MS = 20
const AGENT_MS = 10
/** Shares that are whole again are forgotten when there are more than this. */
const SHARES_MAX = 10_000

interface Share {
  leftMs: number
  atMs: number
}

export class LoopShare {
  private readonly projects = new Map<string, Share>()
  private readonly agents = new Map<string, Share>()

  /** True: the next request of the agent runs in a lane. `nowMs`: as of `performance.now()`. */
  isSpent(project: string, agent: string, nowMs: number): boolean {
    if (this.projects.size === 0) return false
    const own = left(this.agents, agent, AGENT_MS, nowMs)
    if (own <= 0) return true
    // An agent that uses little does not pay for the others of its project.
    return own < AGENT_MS / 2 && left(this.projects, project, PROJECT_MS, nowMs) <= 0
  }

  /** Charges a request that was answered on the loop. */
  charge(project: string, agent: string, tookMs: number, nowMs: number): void {
    if (tookMs < FREE_MS) return
    take(this.projects, project, PROJECT_MS, tookMs, nowMs)
    take(this.agents, agent, AGENT_MS, tookMs, nowMs)
  }
}

function left(shares: Map<string, Share>, name: string, wholeMs: number, nowMs: number): number {
  const share = shares.get(name)
  if (share === undefined) return wholeMs
  const grownMs = share.leftMs + ((nowMs - share.atMs) / 1000) * PER_SECOND_MS
  if (grownMs < wholeMs) return grownMs
  shares.delete(name)
  return wholeMs
}

function take(shares: Map<string, Share>, name: string, wholeMs: number, tookMs: number, nowMs: number): void {
  const leftMs = left(shares, name, wholeMs, nowMs) - tookMs
  // What one request took beyond the share is paid back in half a second at most.
  shares.set(name, { leftMs: Math.max(leftMs, -PER_SECOND_MS / 2), atMs: nowMs })
  if (shares.size > SHARES_MAX) for (const other of shares.keys()) left(shares, other, wholeMs, nowMs)
}
