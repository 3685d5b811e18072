// Background jobs of a process. Among the processes on a folder, one elected leader provisions and one sweeps; every process
// catches up with the commits of the others, and precompiles its policies and knowledge queries.
import { projectsKind } from '../config/kind.ts'
import type { Provisioning } from '../config/provisioning.ts'
import type { ConfigRepository } from '../config/repository.ts'
import type { ConfigService } from '../config/service.ts'
import type { CommitSignal, CommitSubscription } from '../kernel/folder/commit-signal.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import { listProjectFolders, projectIdOfFolder } from '../store/tenancy/project-folders.ts'

const SWEEP_INTERVAL_MS = 3_600_000

/** How soon a process sees that its instance leads, milliseconds. */
const LEADERSHIP_INTERVAL_MS = 250

/** Length of a precompilation slice, and of the pause after it in which requests run. The first policy takes about 2 ms. */
const COMPILE_SLICE_MS = 2

/** Collaborators of the jobs. */
export interface BackgroundJobsDeps {
  readonly dataDir: string
  readonly signal: CommitSignal
  readonly documents: ConfigRepository
  readonly provisioning: Provisioning
  readonly config: ConfigService
  /** Keeps ended sessions by project outside of the configuration. */
  readonly mcp: { sweep(): Promise<void> }
  /** Keeps events of projects without sink that were written after the sink was deleted. */
  readonly events: { sweep(): Promise<void> }
  /** The indexes to precompile, in this order. */
  readonly indexes: readonly { warming(): Iterator<void, void> }[]
  readonly report: (line: string) => void
  /** No other process serves the folder until `handOver` is called. */
  readonly isSoleProcess: boolean
  /** False: another instance provisions and sweeps what all instances share. Absent: there is no other. */
  readonly isLeading?: () => boolean
}

/** The background jobs of one process. */
export class BackgroundJobs {
  private readonly deps: BackgroundJobsDeps
  private readonly elections: LeaderElection
  private readonly timers: ReturnType<typeof setInterval>[] = []
  private readonly subscriptions: CommitSubscription[] = []
  private swept: Promise<void> = Promise.resolve()
  private isClosing = false
  private isHandedOver = false

  constructor(deps: BackgroundJobsDeps) {
    this.deps = deps
    this.elections = new LeaderElection(deps.dataDir, deps.signal)
  }

  start(): void {
    const { documents, isSoleProcess, isLeading } = this.deps
    this.campaign('provisioning', () => this.lead())
    this.campaign('sweeping', () => {
      this.sweep()
      this.schedule(SWEEP_INTERVAL_MS, () => this.sweep())
      documents.subscribe((changes) => {
        if (changes.some(({ before, after }) => before?.kind === projectsKind && after === null)) this.sweep()
      })
    })
    // Idle processes catch up too: they may be the provisioning leader, or hold the graph of a removed project open.
    if (!isSoleProcess || isLeading !== undefined) this.catchUpAfterCommits()
    this.precompile(chain(this.deps.indexes))
  }

  /** Provisions while this instance leads, and completes then what an instance has left that ended. */
  private lead(): void {
    const { dataDir, provisioning, config, isLeading } = this.deps
    if (isLeading === undefined) {
      provisioning.startLeading()
      return
    }
    provisioning.removeLocal(
      listProjectFolders(dataDir)
        .map(projectIdOfFolder)
        .filter((id) => id !== null),
    )
    let wasLeading = false
    const look = (): void => {
      subscription.lookWithin(LEADERSHIP_INTERVAL_MS)
      const leads = isLeading()
      if (leads === wasLeading) return
      wasLeading = leads
      if (!leads) {
        provisioning.pauseLeading()
        return
      }
      provisioning.startLeading()
      void config.resume('all')
    }
    const subscription = this.deps.signal.subscribe(look)
    this.subscriptions.push(subscription)
    look()
  }

  private catchUpAfterCommits(): void {
    const { signal, documents } = this.deps
    this.subscriptions.push(signal.subscribe(() => documents.catchUp()))
  }

  /**
   * Hands provisioning and sweeping over to other processes of the folder, which start now, and catches up with their commits.
   * Idempotent.
   */
  handOver(): void {
    if (this.isHandedOver) return
    this.isHandedOver = true
    this.stopLooking()
    this.catchUpAfterCommits()
    const { provisioning, report } = this.deps
    Promise.all([this.swept, provisioning.stop()])
      .then(() => this.elections.close())
      .catch((failure: unknown) =>
        report(`provisioning could not be handed over to another process: ${String(failure)}`),
      )
  }

  async close(): Promise<void> {
    this.isClosing = true
    this.stopLooking()
    await this.swept
    await this.deps.provisioning.stop()
    this.elections.close()
  }

  private stopLooking(): void {
    for (const timer of this.timers.splice(0)) clearInterval(timer)
    for (const subscription of this.subscriptions.splice(0)) subscription.close()
  }

  private campaign(task: string, lead: () => void): void {
    this.elections.campaign(task, () => {
      // A closing process that wins an election does nothing; the next one leads after it has exited.
      if (!this.isClosing && !this.isHandedOver) lead()
    })
  }

  private schedule(periodMs: number, run: () => void): void {
    const timer = setInterval(run, periodMs)
    timer.unref()
    this.timers.push(timer)
  }

  private precompile(steps: Iterator<void, void>): void {
    const timer = setTimeout(() => {
      if (this.isClosing) return
      const untilMs = performance.now() + COMPILE_SLICE_MS
      while (performance.now() < untilMs) if (steps.next().done === true) return
      this.precompile(steps)
    }, COMPILE_SLICE_MS)
    timer.unref()
  }

  private sweep(): void {
    const { config, mcp, events, report, isLeading } = this.deps
    if (this.isClosing || this.isHandedOver) return
    const sweepShared = (): Promise<unknown> =>
      isLeading?.() === false ? Promise.resolve() : Promise.all([config.deleteExpiredTombstones(), mcp.sweep()])
    this.swept = this.swept
      .then(() => Promise.all([sweepShared(), events.sweep()]))
      .then(() => undefined)
      .catch((failure: unknown) => report(`sweeping failed: ${String(failure)}`))
  }
}

function* chain(indexes: BackgroundJobsDeps['indexes']): Generator<void, void> {
  for (const index of indexes) {
    const steps = index.warming()
    while (steps.next().done !== true) yield
  }
}
