// Dependencies of the sealer of a data folder on the process that runs it.

import type { CommitSignal } from '../../kernel/folder/commit-signal.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { AuditHeads } from '../../store/audit/audit-heads.ts'
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import type { CustomerSignatures } from './customer-signatures.ts'
import type { LogSealerDeps } from './log-sealer.ts'

/** The data file of a graph. */
export interface GraphFile {
  /** Names the graph among those of the project. */
  readonly part: string
  /** Differs after each commit. */
  readonly stamp: string
  readonly changedMs: number
}

/** The outbox of a graph. */
interface OpenGraphOutbox {
  readonly part: string
  readonly outbox: EventOutbox
}

/** Collaborators of the sealer. */
export interface AuditSealerDeps extends Pick<LogSealerDeps, 'index' | 'keys' | 'sealer' | 'folder' | 'origin'> {
  readonly clock: Clock
  /** The newest states of the logs, in the configuration. */
  readonly heads: AuditHeads
  /** Signatures of keys that customers manage. */
  readonly signatures: CustomerSignatures
  /** The outbox of the configuration. Its streams are named by projects and organizations. */
  readonly configuration: EventOutbox
  /** The outbox of activity; null: nothing was ever recorded. */
  activity(): Promise<EventOutbox | null>
  /** Takes over the changes of other processes. */
  catchUp(): void
  readonly signal: CommitSignal
  /** Differs after any process has committed to an environment with events. */
  commits(): number
  /** Differs after any process has committed to the index. */
  indexCommits(): number
  /** Ids of the projects in the newest configuration. */
  projects(): readonly string[]
  /** Whether an id is that of an organization. */
  isOrganization(id: string): boolean
  /** The name of the folder of a log. */
  logId(owner: string): string
  /** The files of the graphs of a project, without opening them. */
  graphFiles(projectId: string): readonly GraphFile[]
  /** Calls `work` with the outboxes of the graphs of a project, which stay open until it is done. */
  withGraphs<T>(projectId: string, work: (graphs: readonly OpenGraphOutbox[]) => Promise<T>): Promise<T>
  /** Deletes the graphs of a project that was deleted, after its records are sealed. */
  deleteGraphs(projectId: string): Promise<void>
  /** Called when the platform key was replaced because of its age. */
  onRotated(kid: string): void
  /** Days after which the platform key is replaced; 0: never. */
  readonly rotationDays: number
  /** Days after which entries are removed; 0: never. */
  readonly retentionDays: number
  /** The names of the folders of all projects. */
  projectFolders(): readonly string[]
  /** Called several times in a second with the number of records that are not sealed. `isFailing`: some cannot be sealed. */
  onState(unsealed: number, isFailing: boolean): void
  readonly log: (entry: {
    readonly level: 'info' | 'error'
    readonly message: string
    readonly [field: string]: unknown
  }) => void
}
