// Finds the streams of audit records in the outboxes of a data folder that have records to seal. The time stamps of a graph's file
// show whether it has changed, so that idle graphs are not opened.
import { AUDIT_STREAM, auditOwnerOf, auditStreamOf } from '../../kernel/folder/audit-stream.ts'
import type { AuditSource } from './audit-sources.ts'
import type { LogOwner } from './log-sealer.ts'
import { type LogWorks, noteStream } from './log-work.ts'
import type { AuditSealerDeps, GraphFile } from './sealer-deps.ts'
import type { SealerErrors } from './sealer-errors.ts'

/** A file that changed in the last moments may change again without another time stamp. */
const STAMP_AGE_MS = 100

const CONFIGURATION = 'configuration'
const ACTIVITY = 'activity'
const GRAPH = 'graph/'

/** Collaborators of the scanner. */
interface StreamScannerDeps
  extends Pick<
    AuditSealerDeps,
    'index' | 'configuration' | 'activity' | 'catchUp' | 'projects' | 'graphFiles' | 'withGraphs' | 'deleteGraphs'
  > {
  readonly works: LogWorks
  readonly errors: SealerErrors
  isClosing(): boolean
}

/** The streams of audit records of a data folder. */
export class StreamScanner {
  /** Whether the last scan has found a file that may change again without another time stamp. */
  hasYoungFile = false
  private readonly deps: StreamScannerDeps
  private readonly works: LogWorks
  private readonly errors: SealerErrors
  /** Files of graphs that were read to their end, by project and part. */
  private readonly stamps: Map<string, string>
  private readonly changedStamps = new Set<string>()

  constructor(deps: StreamScannerDeps) {
    this.deps = deps
    this.works = deps.works
    this.errors = deps.errors
    this.stamps = new Map(deps.index.sources())
  }

  /**
   * Finds out which streams have records that are not sealed. `isFull`: also graphs whose file has not changed.
   * `sinceMs`: time of the call before.
   */
  async scan(isFull: boolean, sinceMs: number): Promise<void> {
    this.hasYoungFile = false
    const { configuration } = this.deps
    const activity = await this.deps.activity()
    for (const [key, outbox] of [
      [CONFIGURATION, configuration],
      [ACTIVITY, activity],
    ] as const) {
      for (const [name, head] of outbox?.heads() ?? []) {
        const owner = auditOwnerOf(name)
        if (owner !== null) noteStream(this.works.of(owner), key, head, sinceMs)
      }
    }
    const projects = new Set(this.deps.projects())
    for (const projectId of this.projectsWithGraphs(projects)) {
      if (this.deps.isClosing()) return
      await this.errors.attempt(projectId, async () => {
        await this.scanGraphs(projectId, isFull || !projects.has(projectId), sinceMs)
        if (!projects.has(projectId)) await this.deleteLeftGraphs(projectId)
      })
    }
  }

  /** The projects of the configuration, and deleted ones whose graphs wait for their records to be sealed. */
  private projectsWithGraphs(projects: ReadonlySet<string>): ReadonlySet<string> {
    const ids = new Set(projects)
    for (const { owner } of this.works.all()) if (owner.kind === 'project') ids.add(owner.owner)
    return ids
  }

  private async scanGraphs(projectId: string, isFull: boolean, sinceMs: number): Promise<void> {
    const files = this.deps.graphFiles(projectId)
    const changed = files.filter(({ part, stamp }) => this.stamps.get(`${projectId} ${part}`) !== stamp)
    if (changed.length === 0 && !(isFull && files.length > 0)) return
    const nowMs = Date.now()
    await this.deps.withGraphs(projectId, async (graphs) => {
      for (const { part, outbox } of graphs) {
        const key = `${GRAPH}${part}`
        const status = outbox.status(AUDIT_STREAM)
        const work = status === null ? this.works.find(projectId) : this.works.of(projectId)
        if (status !== null && work !== undefined) noteStream(work, key, status, sinceMs)
        const file = changed.find((each) => each.part === part)
        const isRead = (work?.pending.get(key) ?? 0) === 0 && !(work?.trims.has(key) ?? false)
        if (file === undefined || !isRead) continue
        if (nowMs - file.changedMs > STAMP_AGE_MS) this.stamp(projectId, file)
        else this.hasYoungFile = true
      }
    })
  }

  /** Deletes the graphs of a deleted project that were left because their records were not sealed. */
  private async deleteLeftGraphs(projectId: string): Promise<void> {
    const { pending, trims } = this.works.of(projectId)
    if (pending.size > 0 || trims.size > 0 || this.deps.graphFiles(projectId).length === 0) return
    // Another process may have created the project since.
    this.deps.catchUp()
    if (!this.deps.projects().includes(projectId)) await this.deps.deleteGraphs(projectId)
  }

  private stamp(projectId: string, { part, stamp }: GraphFile): void {
    const name = `${projectId} ${part}`
    this.stamps.set(name, stamp)
    this.changedStamps.add(name)
  }

  /** Stores which files were read to their end, so that the next start does not open them. */
  async storeStamps(): Promise<void> {
    if (this.changedStamps.size === 0) return
    const changed = [...this.changedStamps]
    this.changedStamps.clear()
    await this.deps.index.write((edits) => {
      for (const name of changed) edits.putSource(name, this.stamps.get(name) ?? null)
    })
  }

  /** Calls `work` with the streams of a log that have these keys, which stay open until it is done. */
  async withSources<T>(
    { kind, owner }: LogOwner,
    keys: ReadonlySet<string>,
    work: (sources: readonly AuditSource[]) => Promise<T>,
  ): Promise<T> {
    const names = {
      ...(kind === 'project' ? { projectId: owner } : { projectId: '', organizationId: owner }),
      isAudit: true,
    }
    const name = auditStreamOf(owner)
    const activity = keys.has(ACTIVITY) ? await this.deps.activity() : null
    const sources: AuditSource[] = []
    if (keys.has(CONFIGURATION)) {
      const stream = { ...names, source: 'configuration' } as const
      sources.push({ stream, key: CONFIGURATION, outbox: this.deps.configuration, name })
    }
    if (activity !== null)
      sources.push({ stream: { ...names, source: 'activity' }, key: ACTIVITY, outbox: activity, name })
    if (![...keys].some((key) => key.startsWith(GRAPH))) return work(sources)
    return this.deps.withGraphs(owner, (graphs) => {
      for (const { part, outbox } of graphs) {
        const key = `${GRAPH}${part}`
        if (keys.has(key)) sources.push({ stream: { ...names, source: 'graph' }, key, outbox, name: AUDIT_STREAM })
      }
      return work(sources)
    })
  }
}
