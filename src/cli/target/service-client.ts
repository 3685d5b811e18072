// A client of a running service, for commands: finds its address in the settings, and issues itself
// a token from the data folder.
import { existsSync } from 'node:fs'
import { issueAdminToken } from '../../app/configuration.ts'
import { type JsonNumbers, parseJson } from '../../kernel/json/json.ts'
import type { Settings } from '../../settings.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { tokenVariable } from '../settings/environment-variables.ts'
import { ownCommand } from '../settings/own-command.ts'
import { sendRequest, unreachable } from './send-request.ts'

/** How long a service may take to answer, in milliseconds: longer than a test of all providers. */
const ANSWER_TIME_MS = 60_000
const TOKEN_LIFETIME_S = 3600

/** A service that cannot be reached, or that cannot answer now. */
export class ServiceUnreachableError extends CliError {
  override readonly name = 'ServiceUnreachableError'
}

/** A response that is not a success. */
export class ServiceRefusalError extends CliError {
  override readonly name = 'ServiceRefusalError'
  readonly status: number
  constructor(status: number, lines: readonly string[]) {
    super(lines)
    this.status = status
  }
}

/** A client of a running service. */
export class ServiceClient {
  /** Base URL without a slash at the end. */
  readonly url: string
  private readonly settings: Settings
  private readonly given: string | null
  private token: string | null = null

  /**
   * `url`: null: where the settings say that the service listens. `given`: a token, which takes precedence over that of the
   * environment; null: none.
   */
  constructor(settings: Settings, url: string | null, given: string | null = null) {
    this.settings = settings
    this.given = given
    this.url = (url ?? addressOf(settings)).replace(/\/+$/, '')
  }

  /**
   * Sends a request to `/configs/v1`. Rejects with ServiceUnreachableError, or ServiceRefusalError for an answer that is not a
   * success. `numbers`: how numbers of the answer are read.
   */
  async call(method: string, path: string, body?: object, numbers: JsonNumbers = 'plain'): Promise<unknown> {
    return this.request(method, `/configs/v1/${path}`, body, numbers)
  }

  /** As `call`, to a path of the service. `headers`: in addition to those of the token and the body. */
  async request(
    method: string,
    target: string,
    body?: object,
    numbers: JsonNumbers = 'plain',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const isFirst = this.token === null
    const send = () => this.send(method, target, body, ANSWER_TIME_MS, headers)
    const response = await send()
    // A command may run longer than its token is valid.
    const isExpired = response.status === 401 && !isFirst && this.ownToken() === null
    if (!isExpired) return read(response, numbers)
    this.token = null
    return read(await send(), numbers)
  }

  /** Reads a JSON document at a path of the service, such as `/audit/v1/tlog?…`. Rejects as `call` does. */
  async get(path: string): Promise<unknown> {
    return read(await this.send('GET', path, undefined), 'plain')
  }

  /** Begins to read a long answer. Rejects as `call` does if it is not a success. */
  async open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const response = await this.send('GET', path, undefined, null, headers)
    if (!response.ok) await read(response, 'plain')
    return response
  }

  /** `timeMs`: for the whole answer; null: no limit. */
  private async send(
    method: string,
    path: string,
    body: object | undefined,
    timeMs: number | null = ANSWER_TIME_MS,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    this.token ??= await this.issueToken()
    const target = `${this.url}${path}`
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...more }
    try {
      return await sendRequest(target, { method, headers, body, timeMs })
    } catch (failure) {
      throw new ServiceUnreachableError([unreachable(this.url, failure)])
    }
  }

  private ownToken(): string | null {
    if (this.given !== null) return this.given
    const own = process.env[tokenVariable]
    return own === undefined || own === '' ? null : own
  }

  private async issueToken(): Promise<string> {
    const own = this.ownToken()
    if (own !== null) return own
    const { dataDir } = this.settings
    if (!isOwnAddress(this.url, this.settings)) {
      throw new UsageError([
        `${this.url} is not the address of the settings, ${addressOf(this.settings)}, so it gets no token of the data folder ${dataDir}: set ${tokenVariable} to a token of a service account of the service, or set VERDIGRAPH_HOST and VERDIGRAPH_PORT to its address if it serves this folder`,
      ])
    }
    if (!existsSync(dataDir)) {
      throw new CliError([
        `${dataDir} does not exist; set ${tokenVariable}, or pass the data folder of the service with --data to \`${ownCommand(['events'])}\``,
      ])
    }
    return (await issueAdminToken(this.settings, TOKEN_LIFETIME_S)).token
  }
}

async function read(response: Response, numbers: JsonNumbers): Promise<unknown> {
  const text = await response.text()
  const answer = parse(text, numbers)
  if (response.ok && answer !== undefined) return answer
  const { message, errors } = (answer ?? {}) as { message?: unknown; errors?: unknown }
  const lines =
    Array.isArray(errors) && errors.length > 0 ? errors.map(String) : [String(message ?? text.slice(0, 200))]
  if (response.status >= 500)
    throw new ServiceUnreachableError([`the service answered ${response.status}: ${lines[0]}`])
  throw new ServiceRefusalError(response.status, lines)
}

/** Undefined: no JSON. */
function parse(text: string, numbers: JsonNumbers): unknown {
  const parsed = parseJson(text, numbers)
  return parsed.ok ? parsed.value : undefined
}

/**
 * True: the URL is of the service that the settings describe, also by another name of this machine. A token of the data folder
 * grants everything there, so no other address may receive one.
 */
function isOwnAddress(url: string, settings: Settings): boolean {
  if (!URL.canParse(url)) return false
  const [asked, own] = [new URL(url), new URL(addressOf(settings))]
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(asked.hostname)
  return asked.origin === own.origin || (isLoopback && portOf(asked) === portOf(own))
}

function portOf({ port, protocol }: URL): string {
  return port !== '' ? port : protocol === 'https:' ? '443' : '80'
}

/** The URL of the service that the settings describe. */
export function addressOf({ host, port, tlsCertificate }: Settings): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = reachable.includes(':') ? `[${reachable}]` : reachable
  return `${tlsCertificate === '' ? 'http' : 'https'}://${name}:${port}`
}
