// A request while it is being dispatched. Its handler sees it as a RequestContext.

import type { ServiceError } from '../kernel/errors.ts'
import type { Caller } from '../kernel/request/caller.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import type { IdentifiedRequest, RefusedCredentials } from '../kernel/request/request-audit.ts'
import type { ActiveSpan } from '../kernel/request/tracing.ts'
import type { Result } from '../kernel/result.ts'
import { readJson } from './body.ts'
import { type MaybePromise, whenReady } from './maybe-promise.ts'
import { requestIdOf } from './request-id.ts'
import type { HttpRequest, RequestContext } from './route.ts'
import { noParameters, type RouteMatch } from './router.ts'

const noTokens: readonly string[] = []

/** Returns whether a request with a body of this length must run in a lane. */
export type LanePredicate = (exchange: Exchange, bodyBytes: number) => boolean

/** A request with what the dispatcher has found out about it: route, caller and body. */
export class Exchange implements RequestContext {
  readonly startMs = performance.now()
  readonly request: HttpRequest
  readonly requestId: string
  readonly match: RouteMatch
  /** See `HttpRequest.targetError`. */
  readonly targetError: string | null
  caller: Caller | null = null
  bytes: Uint8Array | null = null
  /** The handler was called: the caller is authenticated, and within its rate limit. */
  isHandled = false
  /** The body as the handler got it, if it has to be called again. */
  parsedBody: unknown = undefined
  /** The tokens whose verification was reported. */
  introspected: readonly string[]
  /** The request has an event of its own type. */
  hasEvent = false
  /** Set: the credentials were refused. */
  refused: RefusedCredentials | null = null
  /** Set by a handler that authenticates. */
  identified: IdentifiedRequest | null = null
  /** The kind of the error in the answer; null: none. */
  errorKind: string | null = null
  /** Null: the request is not traced. */
  trace: ActiveSpan | null = null
  /** The lane that runs it; null: none, or the request is not traced. */
  lane: string | null = null
  /** When the body was complete, as of `performance.now()`. */
  bodyReadMs = this.startMs
  private readonly runsInLane: LanePredicate | null
  private readonly jsonValuesMax: number
  private readonly authenticate: (exchange: Exchange) => MaybePromise<{ readonly ok: boolean }>

  /** `runsInLane`: null if the process has no lanes. `authenticate`: identifies the caller again. */
  constructor(
    request: HttpRequest,
    match: RouteMatch,
    targetError: string | null,
    runsInLane: LanePredicate | null,
    jsonValuesMax: number,
    authenticate: (exchange: Exchange) => MaybePromise<{ readonly ok: boolean }>,
  ) {
    this.request = request
    this.match = match
    this.targetError = targetError
    this.introspected = request.introspected ?? noTokens
    this.runsInLane = runsInLane
    this.jsonValuesMax = jsonValuesMax
    this.authenticate = authenticate
    this.requestId = requestIdOf(request.header('x-request-id'))
  }

  get route(): string {
    return this.match.kind === 'route' ? this.match.route.path : 'none'
  }

  get pathParameters(): Readonly<Record<string, string>> {
    return this.match.kind === 'route' ? this.match.pathParameters : noParameters
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.request.query)
  }

  get headOnly(): boolean {
    return this.request.method === 'HEAD'
  }

  async isStillAuthenticated(): Promise<boolean> {
    return (await this.authenticate(this)).ok
  }

  get address(): string {
    return this.request.clientAddress ?? ''
  }

  noteEvent(): void {
    this.hasEvent = true
  }

  noteCommit(): void {
    this.request.noteCommit?.()
  }

  noteIntrospection(token: string): boolean {
    if (this.introspected.includes(token)) return false
    this.introspected = [...this.introspected, token]
    return true
  }

  identify(request: IdentifiedRequest): void {
    this.identified = request
  }

  refuseCredentials(refused: RefusedCredentials): void {
    this.refused = refused
  }

  /** The project that is charged for the request, or the organization for configuration; may be empty. */
  get projectName(): string {
    const { caller } = this
    if (caller === null) return this.pathParameters.project ?? ''
    return caller.kind === 'agent' ? caller.projectId : caller.organizationId
  }

  /** The id of the agent or service account; empty if the caller is anonymous. */
  get callerName(): string {
    const { caller } = this
    if (caller === null) return ''
    return caller.kind === 'agent' ? caller.agentId : caller.serviceAccountId
  }

  header(name: string): string | null {
    return this.request.header(name)
  }

  /** Keeps the bytes, because a lane may need them. Throws LaneRequiredError if the request must run in a lane. */
  body(caller: string = this.callerName): MaybePromise<Uint8Array> {
    return whenReady(this.bytes ?? this.request.body(caller), (bytes) => {
      if (this.bytes === null) this.bodyReadMs = performance.now()
      this.bytes = bytes
      if (this.runsInLane?.(this, bytes.length) === true) throw new LaneRequiredError('body or share of the loop')
      return bytes
    })
  }

  async json(numbers: 'exact' | 'plain', caller?: string): Promise<Result<unknown, ServiceError>> {
    return readJson(await this.body(caller), numbers, this.jsonValuesMax)
  }
}
