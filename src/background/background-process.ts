// The background process, as its serving process sees it. The process itself is in cli/serve/background.ts. It runs while there is an audit log,
// or a document of a kind that gives it work. Among several workers one is elected to start it (docs/decisions/0035-event-delivery.md).

import type { StoredDocument } from '../config/kind.ts'
import type { ConfigRepository } from '../config/repository.ts'
import { eventSinksKind } from '../events/event-sink.ts'
import type { CommitSignal } from '../kernel/folder/commit-signal.ts'
import { matchRemovalsKind } from '../matching/entity-matching.ts'
import { entityMatchingPipelinesKind } from '../matching/entity-matching-pipeline.ts'
import type { ProcessIdentity } from '../processes/protocol.ts'
import { Supervised, type SupervisedOptions, type SupervisionOverrides } from '../processes/supervised.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import { trustScoreProfilesKind } from '../trust/trust-score-profile.ts'
import { trustScoreRemovalsKind } from '../trust/trust-scoring.ts'

/** Kinds whose documents give the process work. */
const workKinds: ReadonlySet<string> = new Set([
  eventSinksKind,
  trustScoreProfilesKind,
  trustScoreRemovalsKind,
  entityMatchingPipelinesKind,
  matchRemovalsKind,
])

/** The task of the background process, and of the matcher that it starts. */
export interface BackgroundTask {
  readonly settings: unknown
  readonly identity: ProcessIdentity
  /** For tests. */
  readonly supervision?: SupervisionOverrides
}

/** Collaborators of the process. */
interface BackgroundProcessDeps extends Omit<SupervisedOptions<BackgroundTask>, 'kind' | 'isWanted'> {
  readonly dataDir: string
  readonly signal: CommitSignal
  readonly documents: ConfigRepository
  /** Whether there are audit logs, which it seals. */
  readonly isAudited: boolean
}

/** Starts and stops the background process. */
export class BackgroundProcess {
  private readonly documents: ConfigRepository
  private readonly elections: LeaderElection
  private readonly process: Supervised<BackgroundTask>
  private isLeading = false

  constructor({ dataDir, signal, documents, isAudited, ...options }: BackgroundProcessDeps) {
    this.documents = documents
    this.elections = new LeaderElection(dataDir, signal)
    const hasWork = (): boolean => isAudited || [...workKinds].some((kind) => documents.all(kind).length > 0)
    this.process = new Supervised({ ...options, kind: 'background', isWanted: () => this.isLeading && hasWork() })
  }

  /** Starts the process as soon as this process is elected and there is work. */
  start(): void {
    this.documents.subscribe((changes) => {
      if (changes.some(({ before, after }) => workKinds.has(((after ?? before) as StoredDocument).kind)))
        this.process.adjust()
    })
    this.elections.campaign('background', () => {
      this.isLeading = true
      this.process.adjust()
    })
  }

  /** Process id; null: the process is not running. */
  get pid(): number | null {
    return this.process.pid
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.process.checkReaders()
  }

  /** Stops the process. Resolves when it has exited. */
  async close(): Promise<void> {
    await this.process.close()
    this.elections.close()
  }
}
