// The requests of the steps: as they are sent, as a curl command, and with the field that a refusal is about.
import { ApiError, call } from '../api.ts'
import { shellQuoted } from '../shell-text.ts'

/** A request of a step. */
export interface StepRequest {
  readonly path: string
  readonly body: object
  /** For `X-Project-Id`; absent: the request is about the configuration. */
  readonly projectId?: string
}

/** A request that was answered. */
export interface AnsweredStep {
  readonly request: StepRequest
  readonly status: number
  /** JSON text; secrets are masked. */
  readonly answer: string
}

const STATUS_BY_PATH: Readonly<Record<string, number>> = {
  '/capture/v1/nodes': 200,
  '/capture/v1/relationships': 200,
  '/access/v1/evaluation': 200,
}

/** The request as a curl command; it expects the token of a service account in `TOKEN`. */
export function curlOfStep({ path, body, projectId }: StepRequest, origin: string): string {
  return [
    `curl ${shellQuoted(`${origin}${path}`)} \\`,
    `  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\`,
    ...(projectId === undefined ? [] : [`  -H ${shellQuoted(`X-Project-Id: ${projectId}`)} \\`]),
    `  -d ${shellQuoted(JSON.stringify(body))}`,
  ].join('\n')
}

/** Sends a request. Rejects as `call` does. */
export async function sendStep<T extends object>(
  request: StepRequest,
): Promise<{ readonly value: T; readonly answered: AnsweredStep }> {
  const { path, body, projectId } = request
  const value = await call<T>('POST', path, { body, ...(projectId !== undefined && { project: projectId }) })
  const answer = JSON.stringify(masked(value), null, 2)
  return { value, answered: { request, status: STATUS_BY_PATH[path] ?? 201, answer } }
}

/** Members of an answer that are secrets. */
const SECRETS = new Set(['api_key', 'privateKeyJWK', 'token'])

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, SECRETS.has(name) ? 'shown once' : masked(member)]),
  )
}

/** The complaints of a refusal by field, and those about none of the fields. */
export interface FieldFaults {
  readonly byField: Readonly<Record<string, string>>
  readonly others: readonly string[]
}

/**
 * Finds the fields that a refusal is about. `paths`: by field, the beginnings of the paths of the body that it fills, such as
 * `name` or `policy`. `conflict`: the field of a name that is taken.
 */
export function faultsOf(
  error: Error,
  paths: Readonly<Record<string, readonly string[]>>,
  conflict: string,
): FieldFaults {
  if (!(error instanceof ApiError)) return { byField: {}, others: [error.message] }
  if (error.status === 409) return { byField: { [conflict]: sentence(error.message) }, others: [] }
  if (error.details.length === 0) return { byField: {}, others: [sentence(error.message)] }
  const byField: Record<string, string> = {}
  const others: string[] = []
  for (const detail of error.details) {
    const [field] = Object.entries(paths).find(([, starts]) => starts.some((start) => isAbout(detail, start))) ?? []
    if (field === undefined) others.push(sentence(detail))
    else byField[field] = [byField[field], sentence(detail.replace(/^[^\s:]+: /, ''))].filter(Boolean).join(' ')
  }
  return { byField, others }
}

/** `policy.subject: …` is about `policy`. */
function isAbout(detail: string, path: string): boolean {
  return detail.startsWith(path) && /^[.:[ ]/.test(detail.slice(path.length))
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
