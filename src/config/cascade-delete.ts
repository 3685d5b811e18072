// Deletes of documents with their descendants, and the tombstones that some kinds leave behind.
import { mintGid } from '../kernel/ids.ts'
import { type ConfigKind, type ConfigReader, type DocumentDraft, type StoredDocument, tombstoneKind } from './kind.ts'

/** The document and all documents below it, children before parents. */
function withDescendants(
  kinds: readonly ConfigKind[],
  draft: DocumentDraft,
  document: StoredDocument,
): StoredDocument[] {
  const children = kinds
    .filter((kind) => kind.parent.kind === document.kind)
    .flatMap((kind) => draft.children(kind.path, document.id))
  return [...children.flatMap((child) => withDescendants(kinds, draft, child)), document]
}

/** Removes a document and all documents below it, and returns them, children before parents. */
export function removeDocument(
  kinds: readonly ConfigKind[],
  draft: DocumentDraft,
  removed: StoredDocument,
  nowMs: number,
): readonly StoredDocument[] {
  const documents = withDescendants(kinds, draft, removed)
  for (const document of documents) {
    draft.remove(document.kind, document.id)
    const tombstone = tombstoneOf(kinds, draft, document, removed, nowMs)
    if (tombstone !== null) draft.put(tombstone)
  }
  return documents
}

/**
 * Returns the tombstone of a document that is deleted because `removed`, one of its ancestors, is deleted; null if its
 * kind leaves none.
 */
function tombstoneOf(
  kinds: readonly ConfigKind[],
  reader: ConfigReader,
  document: StoredDocument,
  removed: StoredDocument,
  nowMs: number,
): StoredDocument | null {
  if (document === removed) return null
  const tombstone = kinds.find(({ path }) => path === document.kind)?.tombstone?.(document, removed, reader)
  if (tombstone === null || tombstone === undefined) return null
  return {
    ...document,
    kind: tombstoneKind(document.kind),
    id: mintGid(nowMs),
    parent_id: '',
    name: '',
    fields: { ...tombstone.fields, until: tombstone.until },
  }
}

/** The tombstones whose `until` has passed. */
export function expiredTombstones(kinds: readonly ConfigKind[], reader: ConfigReader, nowMs: number): StoredDocument[] {
  return kinds
    .flatMap((kind) => reader.all(tombstoneKind(kind.path)))
    .filter(({ fields }) => !(Date.parse(fields.until as string) > nowMs))
}
