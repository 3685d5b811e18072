// The ETag of a document, and whether an If-Match names it.
import type { StoredDocument } from './kind.ts'

/** Opaque to callers: made of id and revision, so that it never repeats. */
export function etagOf(document: StoredDocument): string {
  return `"${btoa(`${document.id}.${document.revision}`).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}"`
}

/**
 * RFC 9110, 13.1.1, strong comparison. No header, or an empty one, asks for nothing. The bare tag without quotes is taken
 * too: it is what `?etag=` carries.
 */
export function matchesIfMatch(ifMatch: string | null, document: StoredDocument): boolean {
  if (ifMatch === null || ifMatch.trim() === '' || ifMatch.trim() === '*') return true
  const etag = etagOf(document)
  return ifMatch.split(',').some((one) => one.trim() === etag || `"${one.trim()}"` === etag)
}
