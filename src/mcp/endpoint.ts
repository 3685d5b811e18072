// One endpoint for both revisions: is there a server, may this page ask, whose token is it, which style does the request
// have. Everything after that belongs to one of the two sealed folders.

import { projectsKind } from '../config/kind.ts'
import type { UserToken } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { errorResponse, idIn, type RpcAnswer, readMessage, rpcCodes } from './json-rpc.ts'
import type { McpCaller, McpDeps } from './method.ts'
import type { OriginCheck } from './origins.ts'
import { isStatelessRequest, PROTOCOL_VERSION_HEADER } from './protocol-versions.ts'
import { resourceVersions } from './resources.ts'
import { type McpServer, McpServers } from './servers.ts'
import { answerInSession, endSession, openSessionStream } from './session/session.ts'
import type { SessionIds } from './session/session-ids.ts'
import { answerStateless } from './stateless/stateless.ts'
import { type SubscriptionLimits, Subscriptions } from './subscriptions.ts'

export interface McpEndpointDeps extends McpDeps {
  readonly sessions: SessionIds
  readonly isOriginAllowed: OriginCheck
  /** By the one configuration that the server names; `delegation`: the token of `X-SVC-Token`. */
  authenticateUser(
    projectId: string,
    token: string,
    delegation: string | null,
    introspectId: string,
  ): Result<UserToken, ServiceError> | Promise<Result<UserToken, ServiceError>>
  /** Null: as often as they like. */
  readonly rateLimiter: ((agentId: string) => ServiceError | null) | null
  readonly clock: Clock
  readonly subscriptionLimits: SubscriptionLimits
  /** A promise of our own code was broken: the whole fault, for the log. */
  onInternalError(failure: {
    readonly requestId: string | null
    readonly method: string
    readonly error: unknown
  }): void
}

export interface McpRequest {
  readonly projectId: string
  readonly requestId: string
  /** Only the head of the answer is asked for. */
  readonly headOnly: boolean
  /** Where the metadata of this server are: for challenges. */
  metadataUrl(): string | null
  header(name: string): string | null
  /** JSON, or what is wrong with it. */
  body(): Promise<Result<unknown, ServiceError>>
}

type Answered = Result<RpcAnswer, ServiceError>

/** Without a word of the protocol, so that no client takes it for an answer of a server. */
const noServer: Result<never, ServiceError> = err({ kind: 'not-found', message: 'Not Found' })

const BEARER = /^bearer +/i

export class McpEndpoint {
  private readonly parts: McpEndpointDeps
  private readonly servers: McpServers
  private readonly subscriptions: Subscriptions

  constructor(parts: McpEndpointDeps) {
    const { documents, clock, subscriptionLimits: limits } = parts
    this.parts = parts
    this.servers = new McpServers(documents)
    this.subscriptions = new Subscriptions({
      documents,
      servers: this.servers,
      clock,
      limits,
      resourceVersions: (server) => resourceVersions(parts, server),
      onInternalError: (error) => parts.onInternalError({ requestId: null, method: 'notifications', error }),
    })
  }

  server(projectId: string): McpServer | null {
    return this.servers.find(projectId)
  }

  async post(request: McpRequest): Promise<Answered> {
    const caller = await this.identifyCaller(request)
    if (!caller.ok) return caller
    if ('status' in caller.value) return ok(caller.value)
    const body = await request.body()
    if (!body.ok) {
      if (body.error.kind !== 'malformed') return body
      return ok(errorResponse(400, null, { code: rpcCodes.parse, message: body.error.issues.join('; ') }))
    }
    const message = readMessage(body.value)
    if (!message.ok) return ok(errorResponse(400, idIn(body.value), message.error))
    const header = (name: string): string | null => request.header(name)
    const { method = null, params = {} } = message.value.kind === 'response' ? {} : message.value
    const revision = header(PROTOCOL_VERSION_HEADER)?.trim() ?? null
    let answered: Answered
    try {
      answered = isStatelessRequest(revision, method, params)
        ? await answerStateless(this.parts, this.subscriptions, caller.value, header, revision, message.value)
        : await answerInSession(this.parts, this.parts.sessions, caller.value, header, revision, message.value)
    } catch (error) {
      // What the service itself gives up on has its own answer, whatever the protocol; what is too large goes to a lane.
      if (error instanceof ThrownServiceError || error instanceof LaneRequiredError) throw error
      this.parts.onInternalError({ requestId: request.requestId, method: method ?? '', error })
      return ok(errorResponse(500, idIn(body.value), { code: rpcCodes.internal, message: 'Internal error' }))
    }
    if (answered.ok || answered.error.kind !== 'step-up') return answered
    const resourceMetadata = request.metadataUrl()
    return resourceMetadata === null ? answered : err({ ...answered.error, resourceMetadata })
  }

  async endSession(request: McpRequest): Promise<Answered> {
    const caller = await this.identifyCaller(request)
    if (!caller.ok) return caller
    if ('status' in caller.value) return ok(caller.value)
    return endSession(this.parts.sessions, caller.value, (name) => request.header(name))
  }

  async openSessionStream(request: McpRequest): Promise<Answered> {
    const caller = await this.identifyCaller(request)
    if (!caller.ok) return caller
    if ('status' in caller.value) return ok(caller.value)
    const header = (name: string): string | null => request.header(name)
    return openSessionStream(this.parts.sessions, this.subscriptions, caller.value, header, request.headOnly)
  }

  /** Forgets what is kept of projects that are gone. */
  sweep(): Promise<void> {
    return this.parts.sessions.sweep((projectId) => this.parts.documents.get(projectsKind, projectId) !== null)
  }

  /** Ends the streams of all listeners, so that none holds up a stop. */
  close(): void {
    this.subscriptions.close()
  }

  /** An answer where the delegation token is wrong: it has a form of its own (facts 1.6.5). */
  private async identifyCaller(request: McpRequest): Promise<Result<McpCaller | RpcAnswer, ServiceError>> {
    const server = this.servers.find(request.projectId)
    if (server === null) return noServer
    const origin = request.header('origin')
    if (origin !== null && !this.parts.isOriginAllowed(origin, request.header('host'))) {
      return err({ kind: 'forbidden', message: 'pages of this origin may not ask' })
    }
    const authorization = request.header('authorization')
    if (authorization === null) {
      return withChallenge({ kind: 'unauthenticated', message: 'end-user token is required' }, request, server)
    }
    const [bearer] = BEARER.exec(authorization) ?? []
    if (bearer === undefined) {
      const message = 'Invalid token in Authorization header'
      return withChallenge(
        { kind: 'unauthenticated', message, invalidToken: 'expected a bearer token' },
        request,
        server,
      )
    }
    const token = authorization.slice(bearer.length).trim()
    const delegation = request.header('x-svc-token')?.replace(BEARER, '').trim() ?? null
    const { projectId } = request
    const authenticate = () => this.parts.authenticateUser(projectId, token, delegation, server.tokenIntrospectId)
    const asked = authenticate()
    const user = asked instanceof Promise ? await asked : asked
    if (!user.ok) {
      if (user.error.kind !== 'unauthenticated') return user
      if (user.error.isDelegation) {
        const text = JSON.stringify({ error: 'invalid_request', error_description: user.error.message })
        return ok({ status: 400, text })
      }
      return withChallenge(user.error, request, server)
    }
    const { agent } = server
    if (agent !== null) {
      const tooMany = this.parts.rateLimiter?.(agent.agentId) ?? null
      if (tooMany !== null) return err(tooMany)
    }
    const { requestId } = request
    const acting = agent === null ? null : { ...agent, user: user.value }
    return ok({ server, requestId, user: user.value, agent: acting, isAdmitted: async () => (await authenticate()).ok })
  }
}

/** Where the host is no name there is no address to give. */
function withChallenge(
  error: Extract<ServiceError, { kind: 'unauthenticated' }>,
  request: McpRequest,
  { scopes }: McpServer,
): Result<never, ServiceError> {
  const resourceMetadata = request.metadataUrl()
  const scope = scopes.join(' ')
  return err(resourceMetadata === null ? error : { ...error, challenge: { resourceMetadata, scope } })
}
