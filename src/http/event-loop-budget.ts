// How much of the serving loop each project and each agent uses with bodies of medium size. Who uses more than a share is
// answered in lanes until the share has grown again, so that many such requests cannot keep others waiting. The cost is
// estimated by the size of the body and not by a clock: a busy machine must not make light requests look heavy.

/** What it takes to read a body, milliseconds for each byte: measured with many different short keys. */
const MS_PER_BYTE = 0.00006
/** Bodies below this are free: nearly all decisions. */
const EXEMPT_BYTES = 5000
/** Milliseconds of the loop that a project, and each agent, may use in a second. */
const REFILL_MS_PER_SECOND = 100
/** And at once. */
const PROJECT_BURST_MS = 20
const AGENT_BURST_MS = 10
/** Shares that are whole again are forgotten when there are more than this. */
const ALLOWANCES_MAX = 10_000

interface Allowance {
  remainingMs: number
  atMs: number
}

export class EventLoopBudget {
  private readonly projects = new Map<string, Allowance>()
  private readonly agents = new Map<string, Allowance>()

  /**
   * False: the request runs in a lane. Charges a request that runs on the loop.
   * `bodyBytes`: length of its body. `nowMs`: as of `performance.now()`.
   */
  tryCharge(project: string, agent: string, bodyBytes: number, nowMs: number): boolean {
    if (bodyBytes < EXEMPT_BYTES) return true
    // Callers of MCP have no agent here: without the project they would share one allowance over all projects.
    const name = `${project} ${agent}`
    const own = remaining(this.agents, name, AGENT_BURST_MS, nowMs)
    // An agent that uses little does not pay for the others of its project.
    const isSpent =
      own <= 0 || (own < AGENT_BURST_MS / 2 && remaining(this.projects, project, PROJECT_BURST_MS, nowMs) <= 0)
    if (isSpent) return false
    const costMs = bodyBytes * MS_PER_BYTE
    charge(this.projects, project, PROJECT_BURST_MS, costMs, nowMs)
    charge(this.agents, name, AGENT_BURST_MS, costMs, nowMs)
    return true
  }
}

function remaining(shares: Map<string, Allowance>, name: string, wholeMs: number, nowMs: number): number {
  const share = shares.get(name)
  if (share === undefined) return wholeMs
  const grownMs = share.remainingMs + ((nowMs - share.atMs) / 1000) * REFILL_MS_PER_SECOND
  if (grownMs < wholeMs) return grownMs
  shares.delete(name)
  return wholeMs
}

function charge(shares: Map<string, Allowance>, name: string, wholeMs: number, costMs: number, nowMs: number): void {
  shares.set(name, { remainingMs: remaining(shares, name, wholeMs, nowMs) - costMs, atMs: nowMs })
  if (shares.size > ALLOWANCES_MAX) for (const other of shares.keys()) remaining(shares, other, wholeMs, nowMs)
}
