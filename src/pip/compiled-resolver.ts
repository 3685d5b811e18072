// The resolvers of a project, found by name and made ready to be asked.
import type { ConfigReader, Fields, Sealer, StoredDocument } from '../config/kind.ts'
import { openSecret } from '../config/secrets.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { UpstreamRequest } from '../upstream/client.ts'
import { resolversKind } from './resolver.ts'
import { parseSelector, type Selection } from './response-selector.ts'
import { type Fill, readPayloadTemplate, readUrlTemplate } from './template.ts'

export interface CompiledResolver {
  readonly id: string
  readonly name: string
  /** Of the configuration: another one may answer otherwise. */
  readonly revision: number
  readonly method: UpstreamRequest['method']
  readonly headers: UpstreamRequest['headers']
  readonly url: Fill<string>
  readonly payload: Fill<string | null>
  readonly selection: Selection
}

/** By stored document, which is never changed: a new revision is another one. */
const compiled = new WeakMap<StoredDocument, Result<CompiledResolver, string>>()

/** Null: the project has none of that name or id. `sealer` opens the values of its headers. */
export function findResolver(
  documents: Pick<ConfigReader, 'get' | 'getByName'>,
  sealer: Pick<Sealer, 'open'>,
  projectId: string,
  name: string,
): Result<CompiledResolver, string> | null {
  const byId = documents.get(resolversKind, name)
  const document = byId?.project_id === projectId ? byId : documents.getByName(resolversKind, projectId, name)
  if (document === null) return null
  const known = compiled.get(document) ?? compile(document, sealer)
  compiled.set(document, known)
  return known
}

/** The service itself says what it sends and takes. */
const OWN_HEADERS = new Set(['content-type', 'accept'])

function compile(document: StoredDocument, sealer: Pick<Sealer, 'open'>): Result<CompiledResolver, string> {
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
    headers = Object.keys((fields.headers ?? {}) as Fields)
      .filter((header) => !OWN_HEADERS.has(header.toLowerCase()))
      .flatMap((header) => {
        const values = openSecret(document, ['headers', header], sealer) ?? []
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
