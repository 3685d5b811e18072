// Requests of the demo's loader, through the same door that the socket uses.
import type { HttpRequest, HttpResponse } from '../http/route.ts'

/** What the loader needs of a running service. */
export interface DemoHost {
  handle(request: HttpRequest): HttpResponse | Promise<HttpResponse>
  readonly organizationId: string
  /** A service-account bearer that may configure. */
  readonly token: string
  readonly dataDir: string
  /** `http://127.0.0.1:8080`, for the lines to paste. */
  readonly address: string
}

export class DemoClient {
  private readonly host: DemoHost
  private readonly configure: Readonly<Record<string, string>>

  constructor(host: DemoHost) {
    this.host = host
    this.configure = { authorization: `Bearer ${host.token}` }
  }

  /** The id of the document of that name, made or found: so a start that was cut off is completed by the next. */
  async ensure(kind: string, scope: string, body: { readonly name: string }): Promise<string> {
    const created = await this.post(kind, body)
    if (created.status === 201) return memberOf(created, 'id')
    if (created.status !== 409) throw requestFailed(`creating the demo's ${kind} ${body.name}`, created)
    return await this.read(`${kind}/${body.name}?${scope}`, 'id')
  }

  post(kind: string, body: object): Promise<HttpResponse> {
    return this.send('POST', `/configs/v1/${kind}`, this.configure, body)
  }

  put(path: string, body: object): Promise<HttpResponse> {
    return this.send('PUT', `/configs/v1/${path}`, this.configure, body)
  }

  async read(path: string, member: string): Promise<string> {
    const answer = await this.send('GET', `/configs/v1/${path}`, this.configure)
    if (answer.status !== 200) throw requestFailed(`reading ${path}`, answer)
    return memberOf(answer, member)
  }

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

export function memberOf(answer: HttpResponse, member: string): string {
  const value = (JSON.parse(answer.body) as Record<string, unknown>)[member]
  if (typeof value !== 'string') throw requestFailed(`reading \`${member}\``, answer)
  return value
}

export function requestFailed(doing: string, { status, body }: HttpResponse): Error {
  return new Error(`${doing} answered ${status}: ${body}`)
}
