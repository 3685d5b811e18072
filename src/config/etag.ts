// The ETag of a document, and the evaluation of If-Match.
import type { StoredDocument } from './kind.ts'

/** The strong ETag of a document, in quotes. Derived from id and revision, so it never repeats. Opaque to clients. */
export function etagOf(document: StoredDocument): string {
  return `"${btoa(`${document.id}.${document.revision}`).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}"`
}

/**
 * Whether an If-Match header matches the document by strong comparison (RFC 9110, section 13.1.1). A missing or empty
 * header matches. A tag without quotes is accepted too, because `?etag=` carries it so.
 */
export function matchesIfMatch(ifMatch: string | null, document: StoredDocument): boolean {
  if (ifMatch === null || ifMatch.trim() === '' || ifMatch.trim() === '*') return true
  const etag = etagOf(document)
  return ifMatch.split(',').some((one) => one.trim() === etag || `"${one.trim()}"` === etag)
}
