// What must happen outside the configuration after a change of it: noted in the same transaction as the change, done
// right after by the same process, and done by its successor where a crash came in between.
import { mintGid } from '../kernel/ids.ts'
import type { ConfigKind, ConfigOperation, ConfigWriter, DocumentDraft, StoredDocument } from './kind.ts'

const KIND = 'pending-effects'

export class Outbox {
  private readonly documents: ConfigWriter
  private readonly kinds: ReadonlyMap<string, ConfigKind>
  private readonly report: (line: string) => void
  /** Names the place of this process among those on the data folder; a successor has the same one. */
  private readonly processNumber: number
  /** One at a time: effects happen in the order of the commits. */
  private tail: Promise<unknown> = Promise.resolve()

  constructor(documents: ConfigWriter, kinds: readonly ConfigKind[], report: (line: string) => void, place: number) {
    this.documents = documents
    this.kinds = new Map(kinds.map((kind) => [kind.path, kind]))
    this.report = report
    this.processNumber = place
  }

  /** To be called within the change itself. */
  record(draft: DocumentDraft, operation: ConfigOperation, document: StoredDocument, nowMs: number): StoredDocument[] {
    if (this.kinds.get(document.kind)?.effects?.[operation] === undefined) return []
    const note: StoredDocument = {
      ...document,
      kind: KIND,
      id: mintGid(nowMs),
      parent_id: '',
      name: '',
      fields: { operation, document, place: this.processNumber },
    }
    draft.put(note)
    return [note]
  }

  /** Rejects with the first failure; what failed stays noted for the next start. */
  run(notes: readonly StoredDocument[]): Promise<void> {
    if (notes.length === 0) return Promise.resolve()
    const done = this.tail.then(() => this.perform(notes))
    this.tail = done.catch(() => undefined)
    return done
  }

  /**
   * At start: of the predecessor alone, or of all where no other process is at work. A failure is reported and stays
   * noted; it does not keep the process from starting.
   */
  async resume(alone: boolean): Promise<void> {
    for (const note of this.documents.all(KIND)) {
      if (alone || note.fields.place === this.processNumber) await this.run([note]).catch(() => undefined)
    }
  }

  private async perform(notes: readonly StoredDocument[]): Promise<void> {
    const done: StoredDocument[] = []
    const failures: unknown[] = []
    for (const note of notes) {
      const { operation, document } = note.fields as { operation: ConfigOperation; document: StoredDocument }
      try {
        await this.kinds.get(document.kind)?.effects?.[operation]?.(document)
        done.push(note)
      } catch (failure) {
        const label = this.kinds.get(document.kind)?.label ?? document.kind
        this.report(`${label} ${document.id} was ${operation}, but what follows from it failed: ${String(failure)}`)
        failures.push(failure)
      }
    }
    await this.documents.write((draft) => {
      for (const note of done) draft.remove(KIND, note.id)
    })
    if (failures.length > 0) throw failures[0]
  }
}
