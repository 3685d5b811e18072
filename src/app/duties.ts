// What a process does unasked: of several on a folder one provisions and one sweeps, and every one follows what the
// others commit and gets its policies and knowledge queries ready.
import type { Provisioning } from '../config/provisioning.ts'
import type { Repository } from '../config/repository.ts'
import type { ConfigService } from '../config/service.ts'
import { Elections } from '../store/elections.ts'

const SWEEP_MS = 3_600_000

/** How late a worker that gets no requests may learn of what the others commit. Looking costs some nanoseconds. */
const FOLLOW_MS = 25

/** Policies and queries are compiled for so long, and then requests are answered for as long: the first one of all takes some 2 ms. */
const WARMING_MS = 2

export interface DutyParts {
  readonly dataDir: string
  readonly documents: Repository
  readonly provisioning: Provisioning
  readonly config: ConfigService
  /** Holds sessions by project, and is no configuration. */
  readonly mcp: { sweep(): Promise<void> }
  /** What is compiled in the background, in this order. */
  readonly libraries: readonly { warming(): Iterator<void, void> }[]
  readonly report: (line: string) => void
  /** No other process serves the folder, until `share` is called. */
  readonly alone: boolean
}

export class Duties {
  private readonly parts: DutyParts
  private readonly elections: Elections
  private readonly timers: ReturnType<typeof setInterval>[] = []
  private swept: Promise<void> = Promise.resolve()
  private closing = false
  private shared = false

  constructor(parts: DutyParts) {
    this.parts = parts
    this.elections = new Elections(parts.dataDir)
  }

  begin(): void {
    const { documents, provisioning, alone } = this.parts
    this.stand('provisioning', () => provisioning.lead())
    this.stand('sweeping', () => {
      this.sweep()
      this.every(SWEEP_MS, () => this.sweep())
      documents.subscribe((changes) => {
        if (changes.some(({ before, after }) => before?.kind === 'projects' && after === null)) this.sweep()
      })
    })
    // A process that nobody asks anything follows too: it may be the one that provisions, or hold a removed graph open.
    if (!alone) this.every(FOLLOW_MS, () => documents.follow())
    this.warm(oneAfterTheOther(this.parts.libraries))
  }

  /**
   * Leaves provisioning and sweeping to other processes of the folder, which begin now, and follows what these commit.
   * Called again, it does nothing.
   */
  share(): void {
    if (this.shared) return
    this.shared = true
    for (const timer of this.timers.splice(0)) clearInterval(timer)
    this.every(FOLLOW_MS, () => this.parts.documents.follow())
    const { provisioning, report } = this.parts
    Promise.all([this.swept, provisioning.rest()])
      .then(() => this.elections.close())
      .catch((failure: unknown) => report(`provisioning could not be left to another process: ${String(failure)}`))
  }

  async close(): Promise<void> {
    this.closing = true
    for (const timer of this.timers) clearInterval(timer)
    await this.swept
    await this.parts.provisioning.rest()
    this.elections.close()
  }

  private stand(task: string, lead: () => void): void {
    this.elections.stand(task, () => {
      // A task that falls to a process which is on its way out goes to the next one.
      if (!this.closing && !this.shared) lead()
    })
  }

  private every(periodMs: number, run: () => void): void {
    const timer = setInterval(run, periodMs)
    timer.unref()
    this.timers.push(timer)
  }

  private warm(steps: Iterator<void, void>): void {
    const timer = setTimeout(() => {
      if (this.closing) return
      const untilMs = performance.now() + WARMING_MS
      while (performance.now() < untilMs) if (steps.next().done === true) return
      this.warm(steps)
    }, WARMING_MS)
    timer.unref()
  }

  private sweep(): void {
    const { config, mcp, report } = this.parts
    if (this.closing || this.shared) return
    this.swept = this.swept
      .then(() => Promise.all([config.sweep(), mcp.sweep()]))
      .then(() => undefined)
      .catch((failure: unknown) => report(`sweeping failed: ${String(failure)}`))
  }
}

function* oneAfterTheOther(libraries: DutyParts['libraries']): Generator<void, void> {
  for (const library of libraries) {
    const steps = library.warming()
    while (steps.next().done !== true) yield
  }
}
