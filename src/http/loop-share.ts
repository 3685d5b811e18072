// How much of the serving loop each project and each agent uses with bodies of medium size. Who uses more than a share is
// answered in lanes until the share has grown again, so that many such requests cannot keep others waiting. The cost is
// estimated by the size of the body and not by a clock: a busy machine must not make light requests look heavy.

/** What it takes to read a body, milliseconds for each byte: measured with many different short keys. */
const MS_PER_BYTE = 0.00006
/** Bodies below this are free: nearly all decisions. */
const FREE_BYTES = 5000
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

  /**
   * False: the request runs in a lane. Charges a request that runs on the loop.
   * `bodyBytes`: length of its body. `nowMs`: as of `performance.now()`.
   */
  admits(project: string, agent: string, bodyBytes: number, nowMs: number): boolean {
    if (bodyBytes < FREE_BYTES) return true
    // Callers of MCP have no agent here: without the project they would share one allowance over all projects.
    const name = `${project} ${agent}`
    const own = left(this.agents, name, AGENT_MS, nowMs)
    // An agent that uses little does not pay for the others of its project.
    const isSpent = own <= 0 || (own < AGENT_MS / 2 && left(this.projects, project, PROJECT_MS, nowMs) <= 0)
    if (isSpent) return false
    const costMs = bodyBytes * MS_PER_BYTE
    take(this.projects, project, PROJECT_MS, costMs, nowMs)
    take(this.agents, name, AGENT_MS, costMs, nowMs)
    return true
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

function take(shares: Map<string, Share>, name: string, wholeMs: number, costMs: number, nowMs: number): void {
  shares.set(name, { leftMs: left(shares, name, wholeMs, nowMs) - costMs, atMs: nowMs })
  if (shares.size > SHARES_MAX) for (const other of shares.keys()) left(shares, other, wholeMs, nowMs)
}
