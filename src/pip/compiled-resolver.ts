// Finds the external data resolvers of a project by name or id, and compiles them.
import { type ConfigReader, type DocumentFields, resolversKind, type StoredDocument } from '../config/kind.ts'
import { CompiledOnce } from '../kernel/compiled-once.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { UpstreamRequest } from '../upstream/client.ts'
import { parseSelector, type SelectorPath } from './response-selector.ts'
import { readPayloadTemplate, readUrlTemplate, type TemplateRenderer } from './template.ts'

/** A resolver ready to be called. */
export interface CompiledResolver {
  readonly id: string
  readonly name: string
  /** Revision of the configuration; results of another revision are not reused. */
  readonly revision: number
  readonly method: UpstreamRequest['method']
  readonly headers: UpstreamRequest['headers']
  readonly url: TemplateRenderer<string>
  readonly payload: TemplateRenderer<string | null>
  readonly selection: SelectorPath
}

const resolvers = new CompiledOnce<StoredDocument, Result<CompiledResolver, string>>()

/** Opens the secret at a path of a document; null if none exists. Throws if the master key does not fit. */
export type OpenSecret = (document: StoredDocument, path: readonly string[]) => string | readonly string[] | null

/**
 * Returns the resolver with this name or id; null if the project has none. The error is the reason why it cannot be
 * used. `open` opens its header values.
 */
export function findResolver(
  documents: Pick<ConfigReader, 'get' | 'getByName'>,
  open: OpenSecret,
  projectId: string,
  name: string,
): Result<CompiledResolver, string> | null {
  const byId = documents.get(resolversKind, name)
  const document = byId?.project_id === projectId ? byId : documents.getByName(resolversKind, projectId, name)
  if (document === null) return null
  return resolvers.get(document, () => compile(document, open))
}

/** Headers that the service sets itself. */
const OWN_HEADERS = new Set(['content-type', 'accept'])

function compile(document: StoredDocument, open: OpenSecret): Result<CompiledResolver, string> {
  const { id, name, revision, fields } = document
  const url = readUrlTemplate(fields.url as string)
  if (!url.ok) return err(`its URL is invalid: ${url.error}`)
  const method = fields.method as UpstreamRequest['method']
  // The payload is optional, and an update may remove it.
  const template = method === 'GET' ? '' : ((fields.request_payload ?? '') as string)
  const payload = readPayloadTemplate(template)
  if (!payload.ok) return err(`its payload is invalid: ${payload.error}`)
  const selection = parseSelector(fields.response_selector as string)
  if (!selection.ok) return err(`its selector is invalid: ${selection.error}`)
  let headers: readonly (readonly [string, string])[]
  try {
    headers = Object.keys((fields.headers ?? {}) as DocumentFields)
      .filter((header) => !OWN_HEADERS.has(header.toLowerCase()))
      .flatMap((header) => {
        const values = open(document, ['headers', header]) ?? []
        return [values].flat().map((value) => [header, value] as const)
      })
  } catch {
    return err('its header values cannot be opened with the master key of this service')
  }
  return ok({
    id,
    name,
    revision,
    method,
    headers: [
      ...headers,
      ['Accept', 'application/json'],
      ...(template === '' ? [] : [['Content-Type', 'application/json'] as const]),
    ],
    url: url.value,
    payload: payload.value,
    selection: selection.value,
  })
}
