// What a process does unasked: of several on a folder one provisions and one sweeps, and every one follows what the
// others commit and gets its policies and knowledge queries ready.

import { projectsKind } from '../config/kind.ts'
import type { Provisioning } from '../config/provisioning.ts'
import type { ConfigRepository } from '../config/repository.ts'
import type { ConfigService } from '../config/service.ts'
import { LeaderElection } from '../store/process/leader-election.ts'

const SWEEP_INTERVAL_MS = 3_600_000

/** How late a worker that gets no requests may learn of what the others commit. Looking costs some nanoseconds. */
const CATCH_UP_INTERVAL_MS = 25

/** Policies and queries are compiled for so long, and then requests are answered for as long: the first one of all takes some 2 ms. */
const COMPILE_SLICE_MS = 2

export interface BackgroundJobsDeps {
  readonly dataDir: string
  readonly documents: ConfigRepository
  readonly provisioning: Provisioning
  readonly config: ConfigService
  /** Holds sessions by project, and is no configuration. */
  readonly mcp: { sweep(): Promise<void> }
  /** What is compiled in the background, in this order. */
  readonly libraries: readonly { warming(): Iterator<void, void> }[]
  readonly report: (line: string) => void
  /** No other process serves the folder, until `share` is called. */
  readonly isSoleProcess: boolean
}

export class BackgroundJobs {
  private readonly parts: BackgroundJobsDeps
  private readonly elections: LeaderElection
  private readonly timers: ReturnType<typeof setInterval>[] = []
  private swept: Promise<void> = Promise.resolve()
  private isClosing = false
  private isHandedOver = false

  constructor(parts: BackgroundJobsDeps) {
    this.parts = parts
    this.elections = new LeaderElection(parts.dataDir)
  }

  start(): void {
    const { documents, provisioning, isSoleProcess } = this.parts
    this.campaign('provisioning', () => provisioning.startLeading())
    this.campaign('sweeping', () => {
      this.sweep()
      this.schedule(SWEEP_INTERVAL_MS, () => this.sweep())
      documents.subscribe((changes) => {
        if (changes.some(({ before, after }) => before?.kind === projectsKind && after === null)) this.sweep()
      })
    })
    // A process that nobody asks anything follows too: it may be the one that provisions, or hold a removed graph open.
    if (!isSoleProcess) this.schedule(CATCH_UP_INTERVAL_MS, () => documents.catchUp())
    this.precompile(chain(this.parts.libraries))
  }

  /**
   * Leaves provisioning and sweeping to other processes of the folder, which begin now, and follows what these commit.
   * Called again, it does nothing.
   */
  handOver(): void {
    if (this.isHandedOver) return
    this.isHandedOver = true
    for (const timer of this.timers.splice(0)) clearInterval(timer)
    this.schedule(CATCH_UP_INTERVAL_MS, () => this.parts.documents.catchUp())
    const { provisioning, report } = this.parts
    Promise.all([this.swept, provisioning.stop()])
      .then(() => this.elections.close())
      .catch((failure: unknown) => report(`provisioning could not be left to another process: ${String(failure)}`))
  }

  async close(): Promise<void> {
    this.isClosing = true
    for (const timer of this.timers) clearInterval(timer)
    await this.swept
    await this.parts.provisioning.stop()
    this.elections.close()
  }

  private campaign(task: string, lead: () => void): void {
    this.elections.campaign(task, () => {
      // A task that falls to a process which is on its way out goes to the next one.
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
    const { config, mcp, report } = this.parts
    if (this.isClosing || this.isHandedOver) return
    this.swept = this.swept
      .then(() => Promise.all([config.deleteExpiredTombstones(), mcp.sweep()]))
      .then(() => undefined)
      .catch((failure: unknown) => report(`sweeping failed: ${String(failure)}`))
  }
}

function* chain(libraries: BackgroundJobsDeps['libraries']): Generator<void, void> {
  for (const library of libraries) {
    const steps = library.warming()
    while (steps.next().done !== true) yield
  }
}
