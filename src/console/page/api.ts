// Requests to the public API with the session of the browser. Knows whether the service answers, and whether the session has ended.
import { backoffMs } from '../../kernel/time/backoff.ts'
import { Store } from './store.ts'

/** The session of the browser. */
export interface SessionState {
  readonly csrf_token: string
  readonly expire_time: string
  readonly organization_id: string
  readonly service_account_id: string
  readonly display_name: string
  readonly role: 'all_editor' | 'all_viewer'
}

/** `loading`: not known yet. `signed-out`: `reason`: shown to the user; null: the first visit. */
type SignInState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'signed-out'; readonly reason: string | null }
  | { readonly kind: 'signed-in'; readonly session: SessionState }

/** Whether the service answers. `epoch` grows each time it answers again: views then read their data again. */
export interface Connection {
  readonly isAway: boolean
  readonly epoch: number
}

/** A refusal by the service. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly details: readonly string[]
  constructor(status: number, message: string, details: readonly string[]) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** The service does not answer. */
export class AwayError extends Error {
  override readonly name = 'AwayError'
  constructor() {
    super('The service does not answer. The page tries again by itself.')
  }
}

/** Options of a request. */
interface PageCallOptions {
  /** Sent as JSON. */
  readonly body?: unknown
  /** The project for `X-Project-Id`. */
  readonly project?: string
  readonly signal?: AbortSignal
  /** Reads the JSON of the answer. Default: `JSON.parse`. */
  readonly parse?: (text: string) => unknown
  /** The ETag of the revision that is changed. */
  readonly ifMatch?: string | null
  /** Further headers, with names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer about a configuration document. */
export interface RevisionAnswer<T> {
  readonly value: T
  readonly etag: string | null
  /** From 1; 0: the answer has none. */
  readonly revision: number
}

/** The state of the sign-in. */
export const signIn = new Store<SignInState>({ kind: 'loading' })
/** Whether the service answers. */
export const connection = new Store<Connection>({ isAway: false, epoch: 0 })
/** Of the service. */
export const version = new Store('')

/** Other tabs of this browser share the session. */
const tabs = new BroadcastChannel('verdigraph-console')
tabs.onmessage = () => void readSession()

const retryDelay = { minMs: 500, maxMs: 5000 }

/** Sends a request and returns the JSON of the answer. Rejects with ApiError, AwayError, or an AbortError. */
export async function call<T>(method: string, path: string, options: PageCallOptions = {}): Promise<T> {
  return parseAnswer<T>(await callText(method, path, options), options)
}

/** As `call`, with the revision of a configuration document. */
export async function callForRevision<T>(
  method: string,
  path: string,
  options: PageCallOptions = {},
): Promise<RevisionAnswer<T>> {
  const response = await send(method, path, options)
  const text = await response.text()
  if (!response.ok) throw refusalOf(response.status, text)
  const { headers } = response
  return {
    value: parseAnswer<T>(text, options),
    etag: headers.get('etag'),
    revision: Number(headers.get('x-revision') ?? 0),
  }
}

function parseAnswer<T>(text: string, { parse = JSON.parse }: PageCallOptions): T {
  return (text === '' ? undefined : parse(text)) as T
}

/** As `call`, and returns the text of the answer as it is. */
export async function callText(method: string, path: string, options: PageCallOptions = {}): Promise<string> {
  const response = await send(method, path, options)
  const text = await response.text()
  if (response.ok) return text
  throw refusalOf(response.status, text)
}

/** Reads a response while it arrives, such as server-sent events. Rejects as `call` does. */
export async function openStream(path: string, options: PageCallOptions): Promise<ReadableStream<Uint8Array>> {
  const response = await send('GET', path, options)
  if (response.ok && response.body !== null) return response.body
  throw refusalOf(response.status, await response.text())
}

function refusalOf(status: number, text: string): ApiError {
  const { message, errors } = parseProblem(text)
  if (status === 401 && signIn.value.kind === 'signed-in')
    signIn.set({ kind: 'signed-out', reason: 'Your session has ended. Sign in again to continue.' })
  return new ApiError(status, message ?? `The service answered ${status}.`, errors ?? [])
}

async function send(method: string, path: string, options: PageCallOptions): Promise<Response> {
  const { body, project, signal, ifMatch } = options
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers }
  if (ifMatch != null) headers['if-match'] = ifMatch
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (project !== undefined) headers['x-project-id'] = project
  if (method !== 'GET' && signIn.value.kind === 'signed-in') headers['x-csrf-token'] = signIn.value.session.csrf_token
  try {
    const response = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
    // A proxy answers for a service that restarts.
    if (response.status === 502 || response.status === 504) throw new AwayError()
    return response
  } catch (failure) {
    if ((failure as Error).name === 'AbortError') throw failure
    noteAway()
    throw new AwayError()
  }
}

function parseProblem(text: string): { message?: string; errors?: readonly string[] } {
  try {
    return JSON.parse(text) as { message?: string; errors?: readonly string[] }
  } catch {
    return {}
  }
}

let isWaiting = false

/** Asks for the health of the service until it answers. */
function noteAway(): void {
  if (isWaiting) return
  isWaiting = true
  connection.set({ ...connection.value, isAway: true })
  const retry = async (attempt: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, backoffMs(retryDelay, attempt)))
    const isBack = await fetch('/health', { cache: 'no-store' }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (!isBack) return retry(attempt + 1)
    isWaiting = false
    connection.set({ isAway: false, epoch: connection.value.epoch + 1 })
    await readSession()
  }
  void retry(1)
}

interface ConsoleState {
  readonly version: string
  readonly session: SessionState | null
}

function adopt(state: ConsoleState, reason: string | null): void {
  version.set(state.version)
  const { session } = state
  if (session === null) {
    if (signIn.value.kind !== 'signed-out' || reason !== null) signIn.set({ kind: 'signed-out', reason })
  } else if (signIn.value.kind !== 'signed-in' || signIn.value.session.csrf_token !== session.csrf_token)
    signIn.set({ kind: 'signed-in', session })
}

/** Reads the session, for example because another tab has changed it. */
export async function readSession(): Promise<void> {
  const wasSignedIn = signIn.value.kind === 'signed-in'
  try {
    const state = await call<ConsoleState>('GET', '/console/v1/session')
    adopt(state, wasSignedIn && state.session === null ? 'You are signed out.' : null)
  } catch (failure) {
    if (!(failure instanceof AwayError)) signIn.set({ kind: 'signed-out', reason: (failure as Error).message })
  }
}

/** Signs in with the secret of a link or with a token. Rejects as `call` does. */
export async function openSession(credential: { readonly link: string } | { readonly token: string }): Promise<void> {
  adopt(await call<ConsoleState>('POST', '/console/v1/session', { body: credential }), null)
  tabs.postMessage('changed')
}

/** Signs out in all tabs. */
export async function endSession(): Promise<void> {
  await call('DELETE', '/console/v1/session').catch((failure: unknown) => {
    // The session has ended already.
    if (!(failure instanceof ApiError && failure.status === 401)) throw failure
  })
  signIn.set({ kind: 'signed-out', reason: 'You are signed out.' })
  tabs.postMessage('changed')
}
