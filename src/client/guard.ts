// The decision of a web framework's middleware: ask the service, and refuse the request unless the answer is a permit.
import type { InputParameters, VerdigraphClient } from './client.ts'
import type { EntityReference } from './entity-reference.ts'
import { ClientError } from './errors.ts'

/** The question that a request of the application needs permission for. */
export interface Permission {
  /** Null: the request has no authenticated user. It is refused with status 401. */
  readonly subject: EntityReference | null
  readonly action: string
  readonly resource: EntityReference
  /** Input parameters of the policies. */
  readonly params?: InputParameters | undefined
  /** A user token that is passed on to the service. */
  readonly token?: string | undefined
}

/** The question of a request. A rejection or an exception refuses the request. */
export type PermissionOf<R> = (request: R) => Permission | Promise<Permission>

/** The answer to a refused request. */
export interface Refusal {
  readonly status: 401 | 403 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly message: string }
}

/** Null: permitted. Rejects if the request cannot be asked, for example because the agent key is wrong; it must then be refused. */
export async function refusalOf(client: VerdigraphClient, permission: Permission): Promise<Refusal | null> {
  const { subject, action, resource, params, token } = permission
  if (subject === null) return { status: 401, headers: {}, body: { message: 'authentication is required' } }
  try {
    if (await client.may(subject, action, resource, params, { token })) return null
    return { status: 403, headers: {}, body: { message: 'Forbidden' } }
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const isTemporary = error.status === null || error.status === 429 || error.status >= 500
    // Without the status of the answer, which frameworks would send to the user of the application.
    if (!isTemporary) throw new Error(`the authorization service refused to decide: ${error.message}`, { cause: error })
    const seconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 1000) / 1000))
    const headers = { 'retry-after': String(seconds) }
    return { status: 503, headers, body: { message: 'the authorization service is not available' } }
  }
}
