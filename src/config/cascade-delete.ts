// What goes with a document that is removed, what of it remains for a while, and which remains are over.
import { mintGid } from '../kernel/ids.ts'
import { type ConfigKind, type ConfigReader, type DocumentDraft, type StoredDocument, tombstoneKind } from './kind.ts'

/** Children before their parents. */
export function withDescendants(
  kinds: readonly ConfigKind[],
  draft: DocumentDraft,
  document: StoredDocument,
): StoredDocument[] {
  const below = kinds
    .filter((kind) => kind.parent.kind === document.kind)
    .flatMap((kind) => draft.children(kind.path, document.id))
  return [...below.flatMap((child) => withDescendants(kinds, draft, child)), document]
}

/** Of a document that goes because `removed` does; null: nothing. */
export function tombstoneOf(
  kinds: readonly ConfigKind[],
  reader: ConfigReader,
  document: StoredDocument,
  removed: StoredDocument,
  nowMs: number,
): StoredDocument | null {
  if (document === removed) return null
  const left = kinds.find(({ path }) => path === document.kind)?.tombstone?.(document, removed, reader)
  if (left === null || left === undefined) return null
  return {
    ...document,
    kind: tombstoneKind(document.kind),
    id: mintGid(nowMs),
    parent_id: '',
    name: '',
    fields: { ...left.fields, until: left.until },
  }
}

export function expiredTombstones(kinds: readonly ConfigKind[], reader: ConfigReader, nowMs: number): StoredDocument[] {
  return kinds
    .flatMap((kind) => reader.all(tombstoneKind(kind.path)))
    .filter(({ fields }) => !(Date.parse(fields.until as string) > nowMs))
}
