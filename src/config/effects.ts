// What must happen outside the configuration after a change of it: noted in the same transaction as the change, done
// right after, and done at the next start where a crash came in between.
import { mintGid } from '../kernel/ids.ts'
import type { ConfigKind, ConfigOperation, ConfigWriter, DocumentDraft, StoredDocument } from './kind.ts'

const KIND = 'pending-effects'

export class Effects {
  private readonly documents: ConfigWriter
  private readonly kinds: ReadonlyMap<string, ConfigKind>
  private readonly report: (line: string) => void
  /** One at a time: effects happen in the order of the commits. */
  private tail: Promise<unknown> = Promise.resolve()

  constructor(documents: ConfigWriter, kinds: readonly ConfigKind[], report: (line: string) => void) {
    this.documents = documents
    this.kinds = new Map(kinds.map((kind) => [kind.path, kind]))
    this.report = report
  }

  /** To be called within the change itself. */
  note(draft: DocumentDraft, operation: ConfigOperation, document: StoredDocument, nowMs: number): StoredDocument[] {
    if (this.kinds.get(document.kind)?.effects?.[operation] === undefined) return []
    const note: StoredDocument = {
      ...document,
      kind: KIND,
      id: mintGid(nowMs),
      parent_id: '',
      name: '',
      fields: { operation, document },
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

  /** At start. A failure is reported and stays noted; it does not keep the process from starting. */
  async resume(): Promise<void> {
    for (const note of this.documents.all(KIND)) await this.run([note]).catch(() => undefined)
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
