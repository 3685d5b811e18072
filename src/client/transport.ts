// Sends the requests of the client with `fetch`, and repeats those that may be repeated.
import { backoffMs } from '../kernel/time/backoff.ts'
import { ClientError, errorOf, UnavailableError, unexpectedAnswer } from './errors.ts'

const RETRIES = 2
const TIMEOUT_MS = 10_000
/** The longest pause before a repetition without `Retry-After`. The pause is random up to that. */
const pauses = { minMs: 100, maxMs: 5000 }
/** A longer `Retry-After` is not waited for: the caller gets the error. */
const RETRY_AFTER_MS_MAX = 30_000

/** A credential, or a function that is called for each request. */
export type Credential = string | (() => string | Promise<string>)

/** Where and how a client sends its requests. */
export interface ClientOptions {
  /** The address of the service, such as `http://127.0.0.1:8080`. A path is kept. */
  readonly url: string
  /** The key of an application agent (`X-SVC-ClientKey`). */
  readonly key: Credential
  /** Repetitions of a request that failed and may be repeated. Default: 2. */
  readonly retries?: number | undefined
  /** Time limit of one attempt, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined
  /** Absent: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

/** Options of a single call. */
export interface RequestOptions {
  /** A user token: the call is made on behalf of its user. */
  readonly token?: string | undefined
  /** A delegation token of the same user (`X-SVC-Token`). */
  readonly delegationToken?: string | undefined
  /** Ends the call, with its repetitions. */
  readonly signal?: AbortSignal | undefined
}

/** Whether a request may be repeated if it is unknown whether it was executed. */
export type RepeatRule = 'always' | 'if-not-executed'

/** Sends requests to one service. */
export class Transport {
  private readonly base: string
  private readonly options: ClientOptions
  private readonly fetch: (url: string, init: RequestInit) => Promise<Response>

  constructor(options: ClientOptions) {
    const url = parseUrl(options.url)
    if (url.search !== '' || url.hash !== '') throw new TypeError(`url: expected no query, found ${options.url}`)
    if (typeof options.key === 'string' && options.key === '')
      throw new TypeError('key: expected an agent key, found ""')
    this.base = url.href.replace(/\/+$/, '')
    this.options = options
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  }

  /** Resolves with the parsed answer. Rejects with a `ClientError`, or with the reason of the signal. */
  async send<T>(path: string, body: object | null, repetition: RepeatRule, options: RequestOptions = {}): Promise<T> {
    const { retries = RETRIES } = this.options
    for (let attempt = 0; ; attempt++) {
      const result = await this.attempt<T>(path, body, options)
      if (!(result instanceof ClientError)) return result.value
      const pauseMs = pauseBefore(result, repetition, attempt)
      if (attempt >= retries || pauseMs === null) throw result
      await pause(pauseMs, options.signal)
    }
  }

  /** Resolves with the body of a stream. The time limit is for its beginning. Rejects as `send` does, without repetitions. */
  async open(
    path: string,
    more: Readonly<Record<string, string>>,
    options: RequestOptions,
  ): Promise<ReadableStream<Uint8Array>> {
    const headers = { ...(await this.headers(false, options)), ...more }
    options.signal?.throwIfAborted()
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), this.options.timeoutMs ?? TIMEOUT_MS)
    const signal = options.signal === undefined ? late.signal : AbortSignal.any([options.signal, late.signal])
    try {
      const response = await this.fetch(`${this.base}${path}`, { headers, signal, redirect: 'manual' })
      if (response.status === 200 && response.body !== null) return response.body
      throw errorOf(response, await response.text())
    } catch (cause) {
      if (cause instanceof ClientError) throw cause
      if (options.signal?.aborted === true) throw options.signal.reason
      const reason = late.signal.aborted ? 'no answer in time' : 'the service cannot be reached'
      const details = { status: null, errors: [], requestId: null, retryAfterMs: null }
      throw new UnavailableError(`${path}: ${reason}`, details, cause)
    } finally {
      clearTimeout(timer)
    }
  }

  private async attempt<T>(
    path: string,
    body: object | null,
    options: RequestOptions,
  ): Promise<{ readonly value: T } | ClientError> {
    const headers = await this.headers(body !== null, options)
    options.signal?.throwIfAborted()
    const timeout = AbortSignal.timeout(this.options.timeoutMs ?? TIMEOUT_MS)
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout])
    let response: Response
    let text: string
    try {
      response = await this.fetch(`${this.base}${path}`, {
        method: body === null ? 'GET' : 'POST',
        headers,
        signal,
        // A redirect could send the credentials to another service.
        redirect: 'manual',
        ...(body !== null && { body: JSON.stringify(body) }),
      })
      text = await response.text()
    } catch (cause) {
      if (options.signal?.aborted === true) throw options.signal.reason
      const reason = timeout.aborted ? 'no answer in time' : 'the service cannot be reached'
      const details = { status: null, errors: [], requestId: null, retryAfterMs: null }
      return new UnavailableError(`${path}: ${reason}`, details, cause)
    }
    if (response.status !== 200) return errorOf(response, text)
    try {
      return { value: JSON.parse(text) as T }
    } catch (cause) {
      return unexpectedAnswer(`${path}: the answer is not JSON`, response.headers.get('x-request-id'), cause)
    }
  }

  private async headers(hasBody: boolean, { token, delegationToken }: RequestOptions): Promise<Record<string, string>> {
    const { key } = this.options
    return {
      accept: 'application/json',
      'x-svc-clientkey': typeof key === 'string' ? key : await key(),
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(delegationToken !== undefined && { 'x-svc-token': delegationToken }),
    }
  }
}

function parseUrl(text: string): URL {
  if (URL.canParse(text)) {
    const url = new URL(text)
    if (url.protocol === 'http:' || url.protocol === 'https:') return url
  }
  throw new TypeError(`url: expected an address with http or https, found ${text}`)
}

/** The time before a repetition; null: the request must not be repeated. */
function pauseBefore(error: ClientError, repetition: RepeatRule, attempt: number): number | null {
  // A request that was refused for its number was not executed.
  const isRepeatable = error.status === 429 || (error instanceof UnavailableError && repetition === 'always')
  // The same request would exceed the same limit, or find the same disk full.
  if (!isRepeatable || error.status === 501 || error.status === 507 || error.status === 408) return null
  if (error.retryAfterMs !== null) return error.retryAfterMs <= RETRY_AFTER_MS_MAX ? error.retryAfterMs : null
  return Math.random() * backoffMs(pauses, attempt + 1)
}

/** Resolves after a time. Rejects with the reason of the signal. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    if (signal?.aborted === true) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}
