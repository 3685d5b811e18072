// Sends the requests of commands to a service in this process, through the same handler as the HTTP server.
import type { HttpRequest, HttpResponse } from '../../http/route.ts'

/** A service in this process. */
export interface InProcessHost {
  handle(request: HttpRequest): HttpResponse | Promise<HttpResponse>
  /** A service-account token that can change the configuration. */
  readonly token: string
}

/** A client of the service in the same process. */
export class InProcessClient {
  private readonly host: InProcessHost
  private readonly configure: Readonly<Record<string, string>>

  constructor(host: InProcessHost) {
    this.host = host
    this.configure = { authorization: `Bearer ${host.token}` }
  }

  /**
   * Creates the document, or finds the one of that name, and returns its id. An interrupted start is completed by the
   * next.
   */
  async ensure(kind: string, scope: string, body: { readonly name: string }): Promise<string> {
    const created = await this.post(kind, body)
    if (created.status === 201) return memberOf(created, 'id')
    if (created.status !== 409) throw requestFailed(`creating the demo's ${kind} ${body.name}`, created)
    return await this.read(`${kind}/${body.name}?${scope}`, 'id')
  }

  /** Creates a configuration document. */
  post(kind: string, body: object): Promise<HttpResponse> {
    return this.send('POST', `/configs/v1/${kind}`, this.configure, body)
  }

  /** Updates a configuration document. */
  put(path: string, body: object): Promise<HttpResponse> {
    return this.send('PUT', `/configs/v1/${path}`, this.configure, body)
  }

  /** Reads one string member of a configuration document. */
  async read(path: string, member: string): Promise<string> {
    const answer = await this.send('GET', `/configs/v1/${path}`, this.configure)
    if (answer.status !== 200) throw requestFailed(`reading ${path}`, answer)
    return memberOf(answer, member)
  }

  /** Sends a request. `body`: sent as JSON. */
  async send(
    method: string,
    target: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<HttpResponse> {
    const [path = '', query = ''] = target.split('?')
    const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body))
    const all: Record<string, string> = {
      'content-type': 'application/json',
      'content-length': `${bytes.length}`,
      ...headers,
    }
    return await this.host.handle({
      method,
      path,
      query,
      headers: () => Object.entries(all),
      header: (name) => all[name.toLowerCase()] ?? null,
      body: () => bytes,
    })
  }
}

/** A string member of a JSON response. Throws if none exists. */
export function memberOf(answer: HttpResponse, member: string): string {
  const value = (JSON.parse(answer.body) as Record<string, unknown>)[member]
  if (typeof value !== 'string') throw requestFailed(`reading \`${member}\``, answer)
  return value
}

/** The error for an unexpected response. */
export function requestFailed(operation: string, { status, body }: HttpResponse): Error {
  return new Error(`${operation} failed with status ${status}: ${body}`)
}
