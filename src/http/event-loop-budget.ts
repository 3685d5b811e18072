// Limits the time that bodies of medium size take on the event loop, per project and per agent. Requests beyond the
// budget run in lanes until it has refilled, so that they cannot delay other callers. The cost is estimated from the size of
// the body instead of measured: on a busy machine, measured times would overcharge small requests.

/** Cost of parsing a body, milliseconds per byte; measured with many different short keys. */
const MS_PER_BYTE = 0.00006
/** Bodies below this size are not charged: nearly all decisions. */
const EXEMPT_BYTES = 5000
/** Refill rate of a project, and of each agent: milliseconds of the event loop per second. */
const REFILL_MS_PER_SECOND = 100
/** Maximum that can be used at once, milliseconds. */
const PROJECT_BURST_MS = 20
const AGENT_BURST_MS = 10
/** With more allowances than this, full ones are dropped. */
const ALLOWANCES_MAX = 10_000

interface Allowance {
  remainingMs: number
  atMs: number
}

/** The budget of the event loop of one process, as token buckets of milliseconds. */
export class EventLoopBudget {
  private readonly projects = new Map<string, Allowance>()
  private readonly agents = new Map<string, Allowance>()

  /**
   * Charges a request to the event loop. Returns false if the budget is used up and the request must run in a lane.
   * @param agent The agent within the project; empty for callers of MCP.
   * @param bodyBytes Length of the body.
   * @param nowMs The time as of `performance.now()`.
   */
  tryCharge(project: string, agent: string, bodyBytes: number, nowMs: number): boolean {
    if (bodyBytes < EXEMPT_BYTES) return true
    // Callers of MCP have no agent here. Without the project they would share one allowance over all projects.
    const name = `${project} ${agent}`
    const own = remaining(this.agents, name, AGENT_BURST_MS, nowMs)
    // An agent with more than half of its allowance left is not affected by the other agents of its project.
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
