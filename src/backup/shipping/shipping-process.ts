// The process that ships changes to a place of backups, as its serving process sees it. Among several workers one is elected to start
// it (docs/decisions/0060-shipping.md).
import type { CommitSignal } from '../../kernel/folder/commit-signal.ts'
import { Supervised, type SupervisedOptions } from '../../processes/supervised.ts'
import { LeaderElection } from '../../store/process/leader-election.ts'

/** The task of the process. */
export interface ShippingTask {
  readonly settings: unknown
  readonly organizationId: string
}

/** Collaborators of the process. */
interface ShippingProcessDeps extends Omit<SupervisedOptions<ShippingTask>, 'kind' | 'isWanted'> {
  readonly dataDir: string
  readonly signal: CommitSignal
}

/** Starts and stops the process. */
export class ShippingProcess {
  private readonly elections: LeaderElection
  private readonly process: Supervised<ShippingTask>

  constructor({ dataDir, signal, ...options }: ShippingProcessDeps) {
    this.elections = new LeaderElection(dataDir, signal)
    this.process = new Supervised({ ...options, kind: 'shipper', isWanted: () => true })
  }

  /** Starts the process as soon as this process is elected. */
  start(): void {
    this.elections.campaign('shipping', () => this.process.adjust())
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.process.checkReaders()
  }

  /** Lets the process ship the last changes, and stops it. */
  async close(): Promise<void> {
    await this.process.close()
    this.elections.close()
  }
}
