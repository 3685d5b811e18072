// Sends the HTTP requests of commands. Each is to one address: a redirect is an error, because it would send a credential elsewhere.
import { writeJson } from '../../kernel/json/json.ts'

/** A request of a command. */
interface CommandRequest {
  /** Absent: GET. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object | undefined
  /** For the whole answer, milliseconds; null: no limit. */
  readonly timeMs: number | null
  /** True: any certificate is accepted, for requests to this machine without a credential. */
  readonly anyCertificate?: boolean
}

/** Sends a request. Rejects as `fetch` does if there is no answer. */
export function sendRequest(url: string, request: CommandRequest): Promise<Response> {
  const { method = 'GET', headers = {}, body, timeMs, anyCertificate = false } = request
  return fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body: writeJson(body) }),
    redirect: 'error',
    ...(timeMs !== null && { signal: AbortSignal.timeout(timeMs) }),
    ...(anyCertificate && { tls: { rejectUnauthorized: false } }),
  })
}

/** Why there is no answer, as one line. */
export function unreachable(url: string, failure: unknown): string {
  return `${url} cannot be reached: ${failure instanceof Error ? failure.message : String(failure)}`
}
