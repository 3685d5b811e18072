// The queue of the lanes: start-time fair queueing over projects, and over the agents within a project, so that a project
// with many or long requests delays only itself (Goyal, Vin, Cheng, SIGCOMM 1996). A request is charged its real running
// time when it ends.

/** Identifies who is charged for a request. */
export interface QueueItem {
  /** The project that is charged for the request, or the organization for configuration. */
  readonly project: string
  /** The caller within the project: the application agent, or the service account. */
  readonly agent: string
}

/** The virtual time that one project or agent has used, milliseconds. */
class FairShare {
  usedMs: number
  constructor(usedMs: number) {
    this.usedMs = usedMs
  }
}

class AgentFairShare<Job> extends FairShare {
  readonly jobs: Job[] = []
}

class ProjectFairShare<Job> extends FairShare {
  readonly agents = new Map<string, AgentFairShare<Job>>()
  /** Virtual start time of the agent served last. A returning agent starts here: idle time earns no credit. */
  virtualMs = 0
  waiting = 0
}

/** With more projects than this, idle ones are dropped. */
const IDLE_PROJECTS_MAX = 10_000

/** A queue of requests, fair by project and by agent. */
export class FairQueue<Job extends QueueItem> {
  private readonly projectMax: number
  private readonly projects = new Map<string, ProjectFairShare<Job>>()
  private virtualMs = 0
  private total = 0

  /** `projectMax`: requests of one project that may wait at a time. */
  constructor(projectMax: number) {
    this.projectMax = projectMax
  }

  get size(): number {
    return this.total
  }

  someOldest(test: (job: Job) => boolean): boolean {
    for (const project of this.projects.values()) {
      if (project.waiting === 0) continue
      for (const { jobs } of project.agents.values()) if (jobs.length > 0 && test(jobs[0] as Job)) return true
    }
    return false
  }

  waitingOf(project: string): number {
    return this.projects.get(project)?.waiting ?? 0
  }

  /** Returns false if the queue of the project is full. */
  enqueue(job: Job): boolean {
    const project = this.projectOf(job.project)
    if (project.waiting >= this.projectMax) return false
    this.agentOf(project, job.agent).jobs.push(job)
    this.countWaiting(project)
    return true
  }

  /** Puts back a request that must run again, in front of all others of its agent. Ignores the limit of the queue. */
  requeue(job: Job): void {
    const project = this.projectOf(job.project)
    this.agentOf(project, job.agent).jobs.unshift(job)
    this.countWaiting(project)
  }

  /** Returns the next request that `admits` accepts, or null. Only the oldest request of each agent is considered. */
  dequeue(admits: (job: Job) => boolean): Job | null {
    let best: { project: ProjectFairShare<Job>; agent: AgentFairShare<Job> } | null = null
    for (const project of this.projects.values()) {
      if (project.waiting === 0 || (best !== null && best.project.usedMs <= project.usedMs)) continue
      const agent = nextAgent(project, admits)
      if (agent !== null) best = { project, agent }
    }
    if (best === null) return null
    const { project, agent } = best
    this.virtualMs = Math.max(this.virtualMs, project.usedMs)
    project.virtualMs = Math.max(project.virtualMs, agent.usedMs)
    const job = agent.jobs.shift() ?? null
    project.waiting -= 1
    this.total -= 1
    return job
  }

  /** Returns false if the request is not in the queue. */
  remove(job: Job): boolean {
    const project = this.projects.get(job.project)
    const jobs = project?.agents.get(job.agent)?.jobs
    const at = jobs?.indexOf(job) ?? -1
    if (project === undefined || jobs === undefined || at < 0) return false
    jobs.splice(at, 1)
    project.waiting -= 1
    this.total -= 1
    return true
  }

  /** Charges the running time of a request, milliseconds, to its project and agent. */
  charge({ project: projectId, agent: agentId }: QueueItem, ms: number): void {
    const project = this.projectOf(projectId)
    project.usedMs += ms
    this.agentOf(project, agentId).usedMs += ms
    if (this.projects.size > IDLE_PROJECTS_MAX) this.dropIdleProjects()
  }

  private countWaiting(project: ProjectFairShare<Job>): void {
    project.waiting += 1
    this.total += 1
  }

  private projectOf(id: string): ProjectFairShare<Job> {
    const share = this.projects.getOrInsertComputed(id, () => new ProjectFairShare<Job>(this.virtualMs))
    if (share.waiting === 0) share.usedMs = Math.max(share.usedMs, this.virtualMs)
    return share
  }

  private agentOf(project: ProjectFairShare<Job>, id: string): AgentFairShare<Job> {
    const share = project.agents.getOrInsertComputed(id, () => new AgentFairShare<Job>(project.virtualMs))
    if (share.jobs.length === 0) share.usedMs = Math.max(share.usedMs, project.virtualMs)
    return share
  }

  /** Drops idle projects that have used no more than the current virtual time: their history has no effect any more. */
  private dropIdleProjects(): void {
    for (const [id, { waiting, usedMs }] of this.projects) {
      if (waiting === 0 && usedMs <= this.virtualMs) this.projects.delete(id)
    }
  }
}

function nextAgent<Job>(project: ProjectFairShare<Job>, admits: (job: Job) => boolean): AgentFairShare<Job> | null {
  let best: AgentFairShare<Job> | null = null
  for (const [id, agent] of project.agents) {
    const [job] = agent.jobs
    if (job === undefined) {
      if (agent.usedMs <= project.virtualMs) project.agents.delete(id)
    } else if ((best === null || agent.usedMs < best.usedMs) && admits(job)) best = agent
  }
  return best
}
