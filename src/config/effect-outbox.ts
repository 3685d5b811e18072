// Transactional outbox of the side effects of configuration changes. Each side effect of a change is recorded as an intent in the
// transaction of the change and runs right after the commit. After a crash the successor of the process runs the
// intents that are left.
import { mintGid } from '../kernel/ids.ts'
import type { ConfigKind, ConfigOperation, ConfigWriter, DocumentDraft, StoredDocument } from './kind.ts'

const INTENTS_KIND = 'pending-effects'

/** Records side effects of configuration changes and runs them in commit order. */
export class EffectOutbox {
  private readonly documents: ConfigWriter
  private readonly kinds: ReadonlyMap<string, ConfigKind>
  private readonly report: (line: string) => void
  /**
   * Number of this process among those that serve the data folder. A process that replaces another has the same number.
   */
  private readonly processNumber: number
  /** The instance of this process; null: no other instance shares the configuration. */
  private readonly instance: string | null
  /** Effects run one at a time, in commit order. */
  private tail: Promise<unknown> = Promise.resolve()

  constructor(
    documents: ConfigWriter,
    kinds: readonly ConfigKind[],
    report: (line: string) => void,
    processNumber: number,
    instance: string | null,
  ) {
    this.documents = documents
    this.kinds = new Map(kinds.map((kind) => [kind.path, kind]))
    this.report = report
    this.processNumber = processNumber
    this.instance = instance
  }

  /**
   * Records the effect of `operation` on `document` as an intent. Must be called within the write of the change.
   * Returns the intents to pass to `run`: none if the kind declares no such effect.
   */
  record(draft: DocumentDraft, operation: ConfigOperation, document: StoredDocument, nowMs: number): StoredDocument[] {
    if (this.kinds.get(document.kind)?.effects?.[operation] === undefined) return []
    const intent: StoredDocument = {
      ...document,
      kind: INTENTS_KIND,
      id: mintGid(nowMs),
      parent_id: '',
      name: '',
      fields: {
        operation,
        document,
        place: this.processNumber,
        ...(this.instance !== null && { instance: this.instance }),
      },
    }
    draft.put(intent)
    return [intent]
  }

  /**
   * Runs the effects of these intents after all earlier ones, then deletes the intents.
   * Rejects with the first failure. A failed intent stays stored and runs again at the next start.
   */
  run(intents: readonly StoredDocument[]): Promise<void> {
    if (intents.length === 0) return Promise.resolve()
    const run = this.tail.then(() => this.perform(intents))
    this.tail = run.catch(() => undefined)
    return run
  }

  /**
   * Runs the intents that earlier processes left: those of this process number, those of this instance if no other process serves the
   * data folder, or all. Reports failures and keeps their intents; never rejects.
   */
  async resume(of: 'process' | 'instance' | 'all'): Promise<void> {
    for (const intent of this.documents.all(INTENTS_KIND)) {
      const { place, instance = null } = intent.fields
      // A restored configuration, which no other instance shares, has the intents of the instances that shared it.
      const isOfInstance = this.instance === null || instance === this.instance
      const isOwn = isOfInstance && (of === 'instance' || place === this.processNumber)
      if (of === 'all' || isOwn) await this.run([intent]).catch(() => undefined)
    }
  }

  private async perform(intents: readonly StoredDocument[]): Promise<void> {
    const done: StoredDocument[] = []
    const failures: unknown[] = []
    for (const intent of intents) {
      const { operation, document } = intent.fields as { operation: ConfigOperation; document: StoredDocument }
      try {
        await this.kinds.get(document.kind)?.effects?.[operation]?.(document)
        done.push(intent)
      } catch (failure) {
        const label = this.kinds.get(document.kind)?.label ?? document.kind
        this.report(
          `${label} ${document.id} was ${operation}, but a side effect failed and is retried at the next start: ${String(failure)}`,
        )
        failures.push(failure)
      }
    }
    await this.documents.write((draft) => {
      for (const intent of done) draft.remove(INTENTS_KIND, intent.id)
    })
    if (failures.length > 0) throw failures[0]
  }
}
