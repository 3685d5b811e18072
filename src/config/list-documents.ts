// Selects the documents of a list request: by project or organization, by parent, by the kind's own filters and by
// search text.
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import {
  type ConfigKind,
  type ConfigReader,
  pluralOf,
  projectsKind,
  type StoredDocument,
  scopeFieldOf,
} from './kind.ts'

/** The documents of a list, and whether `full_fetch` was requested. */
export interface DocumentList {
  readonly documents: readonly StoredDocument[]
  readonly full: boolean
}

/**
 * Evaluates the query of a list request. Lists are not paged.
 * Errors: `invalid` with one issue for each unknown, repeated or wrong parameter.
 */
export function listDocuments(
  reader: ConfigReader,
  kind: ConfigKind,
  organizationId: string,
  query: URLSearchParams,
): Result<DocumentList, ServiceError> {
  const inOrganization = kind.inOrganization === true
  const scopeField = scopeFieldOf(kind)
  const parameters = [scopeField, kind.parent.field, 'search', 'full_fetch', ...Object.keys(kind.filters ?? {})]
  const issues: string[] = []
  for (const name of new Set(query.keys())) {
    if (!parameters.includes(name)) issues.push(`query: unknown parameter \`${name}\``)
    else if (query.getAll(name).length > 1) issues.push(`${name}: given more than once`)
  }

  const requestedScope = query.get(scopeField)
  const scopeId = requestedScope ?? (inOrganization ? organizationId : null)
  const parentId = query.get(kind.parent.field)
  const scopeExists =
    scopeId === null ||
    (inOrganization
      ? scopeId === organizationId
      : reader.get(projectsKind, scopeId)?.organization_id === organizationId)
  if (scopeId === null && parentId === null) issues.push(`${scopeField}: required to list ${pluralOf(kind)}`)
  if (!scopeExists) issues.push(`${scopeField}: no ${inOrganization ? 'organization' : 'project'} \`${scopeId}\``)

  const full = query.get('full_fetch') ?? 'false'
  if (full !== 'true' && full !== 'false') issues.push(`full_fetch: expected \`true\` or \`false\`, found \`${full}\``)

  let matches = (_document: StoredDocument): boolean => true
  for (const [name, values] of Object.entries(kind.filters ?? {})) {
    const value = query.get(name)
    if (value === null) continue
    const filter = Object.hasOwn(values, value) ? values[value] : undefined
    if (filter === undefined) {
      const allowed = Object.keys(values).map((one) => `\`${one}\``)
      issues.push(`${name}: expected ${allowed.join(' or ')}, found \`${value}\``)
      continue
    }
    const before = matches
    matches = (document) => before(document) && filter(document)
  }
  if (issues.length > 0) return err({ kind: 'invalid', issues })

  const searchText = (query.get('search') ?? '').toLowerCase()
  const candidates =
    scopeId === null ? reader.children(kind.path, parentId as string) : reader.inScope(kind.path, scopeId)
  return ok({
    full: full === 'true',
    documents: candidates.filter(
      (document) =>
        document.organization_id === organizationId &&
        (parentId === null || document.parent_id === parentId) &&
        matches(document) &&
        matchesSearch(document, searchText),
    ),
  })
}

/** Whether name, display_name or description contains the text, ignoring case. */
function matchesSearch(document: StoredDocument, words: string): boolean {
  return [document.name, document.fields.display_name, document.fields.description].some(
    (text) => typeof text === 'string' && text.toLowerCase().includes(words),
  )
}
