// Resolves the document that a request addresses: by id, or by name within a scope, at a revision. Documents of another
// organization are reported as not found.
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type ConfigKind, type ConfigWriter, type StoredDocument, withArticle } from './kind.ts'

/** Finds a document of the caller's organization by id. Errors: `not-found`. */
export function findById(
  documents: ConfigWriter,
  organizationId: string,
  kind: ConfigKind,
  id: string,
): Result<StoredDocument, ServiceError> {
  const document = documents.get(kind.path, id)
  return document === null || document.organization_id !== organizationId ? err(notFoundError(kind, id)) : ok(document)
}

/**
 * Finds a document of the caller's organization by name. The query parameter `project_id` or `location` names the
 * scope; kinds outside of projects take `organization_id`.
 * Errors: `invalid` if the scope is missing, `not-found`.
 */
export function findByName(
  documents: ConfigWriter,
  organizationId: string,
  kind: ConfigKind,
  name: string,
  query: URLSearchParams,
): Result<StoredDocument, ServiceError> {
  if (!kind.operations.byName) return err(notFoundError(kind, name))
  const inOrganization = kind.inOrganization === true
  const scopeId = inOrganization
    ? (query.get('organization_id') ?? query.get('location') ?? organizationId)
    : (query.get('project_id') ?? query.get('location'))
  if (scopeId === null) {
    return err({ kind: 'invalid', issues: [`project_id: required to read ${withArticle(kind)} by name`] })
  }
  const document = documents.getByName(kind.path, scopeId, name)
  return document === null || document.organization_id !== organizationId
    ? err({ kind: 'not-found', message: `no ${kind.label} named \`${name}\` in \`${scopeId}\`` })
    : ok(document)
}

/**
 * Returns the document at revision `version`; an empty `version` means the current revision.
 * Errors: `invalid` if `version` is not a positive integer, `not-found` if there is no such revision.
 */
export function findRevision(
  documents: ConfigWriter,
  kind: ConfigKind,
  present: StoredDocument,
  version: string,
): Result<StoredDocument, ServiceError> {
  if (version === '') return ok(present)
  const revision = /^[1-9]\d{0,15}$/.test(version) ? Number(version) : null
  if (revision === null) {
    const issue = `version: expected the number of a revision, from 1, found \`${version.slice(0, 64)}\``
    return err({ kind: 'invalid', issues: [issue] })
  }
  if (revision === present.revision) return ok(present)
  const past = documents.pastRevision(kind.path, present.id, revision)
  const message = `the ${kind.label} \`${present.id}\` has no revision ${revision}`
  return past === null ? err({ kind: 'not-found', message }) : ok(past)
}

/** The error for an unknown document. */
export function notFoundError(kind: ConfigKind, key: string): ServiceError {
  return { kind: 'not-found', message: `no ${kind.label} \`${key}\`` }
}
