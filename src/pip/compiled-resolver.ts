// The resolvers of a project, found by name and made ready to be asked.
import type { ConfigReader, DocumentFields, StoredDocument } from '../config/kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { UpstreamRequest } from '../upstream/client.ts'
import { resolversKind } from './external-data-resolver.ts'
import { parseSelector, type SelectorPath } from './response-selector.ts'
import { readPayloadTemplate, readUrlTemplate, type TemplateRenderer } from './template.ts'

export interface CompiledResolver {
  readonly id: string
  readonly name: string
  /** Of the configuration: another one may answer otherwise. */
  readonly revision: number
  readonly method: UpstreamRequest['method']
  readonly headers: UpstreamRequest['headers']
  readonly url: TemplateRenderer<string>
  readonly payload: TemplateRenderer<string | null>
  readonly selection: SelectorPath
}

/** By stored document, which is never changed: a new revision is another one. */
const compiled = new WeakMap<StoredDocument, Result<CompiledResolver, string>>()

/** The secret of a document at a path, in the clear; null where it has none. Throws where it does not open. */
export type OpenSecret = (document: StoredDocument, path: readonly string[]) => string | readonly string[] | null

/** Null: the project has none of that name or id. `open` is for the values of its headers. */
export function findResolver(
  documents: Pick<ConfigReader, 'get' | 'getByName'>,
  open: OpenSecret,
  projectId: string,
  name: string,
): Result<CompiledResolver, string> | null {
  const byId = documents.get(resolversKind, name)
  const document = byId?.project_id === projectId ? byId : documents.getByName(resolversKind, projectId, name)
  if (document === null) return null
  const known = compiled.get(document) ?? compile(document, open)
  compiled.set(document, known)
  return known
}

/** The service itself says what it sends and takes. */
const OWN_HEADERS = new Set(['content-type', 'accept'])

function compile(document: StoredDocument, open: OpenSecret): Result<CompiledResolver, string> {
  const { id, name, revision, fields } = document
  const url = readUrlTemplate(fields.url as string)
  if (!url.ok) return err(`its URL cannot be used: ${url.error}`)
  const method = fields.method as UpstreamRequest['method']
  // Neither need be given, and an update may take the payload away.
  const template = method === 'GET' ? '' : ((fields.request_payload ?? '') as string)
  const payload = readPayloadTemplate(template)
  if (!payload.ok) return err(`its payload cannot be used: ${payload.error}`)
  const selection = parseSelector(fields.response_selector as string)
  if (!selection.ok) return err(`its selector cannot be used: ${selection.error}`)
  let headers: readonly (readonly [string, string])[]
  try {
    headers = Object.keys((fields.headers ?? {}) as DocumentFields)
      .filter((header) => !OWN_HEADERS.has(header.toLowerCase()))
      .flatMap((header) => {
        const values = open(document, ['headers', header]) ?? []
        return [values].flat().map((value) => [header, value] as const)
      })
  } catch {
    return err('the values of its headers do not open with the master key of this service')
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
