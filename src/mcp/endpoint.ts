// The MCP endpoint for both protocol versions: finds the server of the project, checks origin and token, and passes the
// message to `session/` or `stateless/` by its protocol version (docs/decisions/0017-mcp.md).
import { projectsKind } from '../config/kind.ts'
import { readCredentials } from '../identity/credentials.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import type { AgentCaller, UserToken } from '../kernel/request/caller.ts'
import type { IdentifiedRequest, RefusedCredentials, RequestCaller } from '../kernel/request/request-audit.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { RestartRequiredError } from '../kernel/request/restart-required.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import {
  errorResponse,
  idIn,
  type McpResult,
  type RpcObject,
  type RpcResponse,
  readMessage,
  rpcCodes,
} from './json-rpc.ts'
import type { McpCaller, McpDeps } from './method.ts'
import type { OriginCheck } from './origins.ts'
import { isStatelessRequest, PROTOCOL_VERSION_HEADER } from './protocol-versions.ts'
import { resourceVersions } from './resources.ts'
import { type McpServer, McpServers } from './servers.ts'
import { answerInSession, endSession, openSessionStream } from './session/session.ts'
import type { SessionIds } from './session/session-ids.ts'
import { answerStateless } from './stateless/stateless.ts'
import { type SubscriptionLimits, Subscriptions } from './subscriptions.ts'
import { tools } from './tools.ts'

/**
 * Collaborators and limits of the endpoint. `contexts` and `queries` are those of end users, for servers without
 * `application_queries`.
 */
export interface McpEndpointDeps extends McpDeps {
  /** For servers with `application_queries`: all queries of the project. */
  readonly applicationQueries: Pick<McpDeps, 'contexts' | 'queries'>
  /** Issues and verifies session ids. */
  readonly sessions: SessionIds
  /** Checks the header `Origin`. */
  readonly isOriginAllowed: OriginCheck
  /**
   * Verifies a user token by the token introspection that the server names. `delegation`: the token of `X-SVC-Token`; null:
   * the header is absent.
   */
  authenticateUser(
    projectId: string,
    token: string,
    delegation: string | null,
    introspectId: string,
    origin: RequestOrigin,
  ): Result<UserToken, ServiceError> | Promise<Result<UserToken, ServiceError>>
  /** The rate limit of application agents, shared with HTTP. Null: no limit. */
  readonly rateLimiter: ((agentId: string) => ServiceError | null) | null
  readonly clock: Clock
  readonly subscriptionLimits: SubscriptionLimits
  /** Called with an unexpected error, for the log. */
  onInternalError(failure: {
    readonly requestId: string | null
    readonly method: string
    readonly error: unknown
  }): void
}

/** An HTTP request as the endpoint reads it. `mcp` does not depend on `http`. */
export interface McpRequest {
  /** The project in the path. */
  readonly projectId: string
  readonly origin: RequestOrigin
  /** Describes the request for the audit trail. The last call counts. */
  identify(request: IdentifiedRequest): void
  /** Called if the credentials were refused. */
  refuseCredentials(refused: RefusedCredentials): void
  /** HEAD request: no stream is opened. */
  readonly headOnly: boolean
  /** The service account that calls instead of a user, with its permissions in a project; null: a user calls. */
  readonly account: AgentCaller | null
  /** Authenticates `account` again. */
  isStillAuthenticated(): Promise<boolean>
  /** URL of the resource metadata, for challenges; null: the public URL of the service is unknown. */
  metadataUrl(): string | null
  header(name: string): string | null
  /** The body as JSON. Errors: `malformed`, `unsupported-media-type`, `unsupported-encoding`. */
  body(): Promise<Result<unknown, ServiceError>>
}

/** Not a JSON-RPC response, so that clients do not take it for the response of an MCP server. */
const noServer: Result<never, ServiceError> = err({ kind: 'not-found', message: 'Not Found' })

/** The MCP servers of all projects. */
export class McpEndpoint {
  private readonly deps: McpEndpointDeps
  private readonly applicationDeps: McpDeps
  private readonly servers: McpServers
  private readonly subscriptions: Subscriptions
  /** Requests that the rate limiter has counted: a request may run again from its start. */
  private readonly counted = new WeakSet<RequestOrigin>()

  constructor(deps: McpEndpointDeps) {
    const { documents, clock, subscriptionLimits: limits } = deps
    this.deps = deps
    this.applicationDeps = { ...deps, ...deps.applicationQueries }
    this.servers = new McpServers(documents)
    this.subscriptions = new Subscriptions({
      documents,
      servers: this.servers,
      clock,
      limits,
      resourceVersions: (server) => resourceVersions(this.depsOf(server), server),
      onInternalError: (error) => deps.onInternalError({ requestId: null, method: 'notifications', error }),
    })
  }

  /** The enabled server of a project; null: none. */
  server(projectId: string): McpServer | null {
    return this.servers.find(projectId)
  }

  /**
   * Handles a POST: one JSON-RPC message. Protocol errors are responses; errors that HTTP answers by itself (`not-found`,
   * `unauthenticated`, `forbidden`, `step-up`, `too-many` …) are returned.
   */
  post(request: McpRequest): Promise<McpResult> {
    return this.withCaller(request, 'callMcp', (caller) => this.handleMessage(request, caller))
  }

  /** Handles a DELETE: ends the session of the header `Mcp-Session-Id`. */
  endSession(request: McpRequest): Promise<McpResult> {
    return this.withCaller(request, 'endMcpSession', (caller) =>
      endSession(this.deps.sessions, caller, (name) => request.header(name)),
    )
  }

  /** Handles a GET: opens the notification stream of the session of the header `Mcp-Session-Id`. */
  openSessionStream(request: McpRequest): Promise<McpResult> {
    return this.withCaller(request, 'listenToMcpSession', (caller) =>
      openSessionStream(
        this.deps.sessions,
        this.subscriptions,
        caller,
        (name) => request.header(name),
        request.headOnly,
      ),
    )
  }

  /** Removes what is stored about deleted projects. */
  sweep(): Promise<void> {
    return this.deps.sessions.sweep((projectId) => this.deps.documents.get(projectsKind, projectId) !== null)
  }

  /** Ends all event streams. */
  endAll(): void {
    this.subscriptions.endAll()
  }

  /** Ends all event streams, so that they do not delay a stop. */
  close(): void {
    this.subscriptions.close()
  }

  private async handleMessage(request: McpRequest, caller: McpCaller): Promise<McpResult> {
    const body = await request.body()
    if (!body.ok) {
      if (body.error.kind !== 'malformed') return body
      return ok(errorResponse(400, null, { code: rpcCodes.parse, message: body.error.issues.join('; ') }))
    }
    const message = readMessage(body.value)
    if (!message.ok) return ok(errorResponse(400, idIn(body.value), message.error))
    const header = (name: string): string | null => request.header(name)
    const { method = null, params = {} } = message.value.kind === 'response' ? {} : message.value
    const version = header(PROTOCOL_VERSION_HEADER)?.trim() ?? null
    const deps = this.depsOf(caller.server)
    const identified = identifiedCall(caller, method, params)
    if (identified !== null) request.identify(identified)
    let result: McpResult
    try {
      result = isStatelessRequest(version, method, params)
        ? await answerStateless(deps, this.subscriptions, caller, header, version, message.value)
        : await answerInSession(deps, this.deps.sessions, caller, header, version, message.value)
    } catch (error) {
      // Errors of the service have their own HTTP response, and a request that needs a lane moves there.
      if (error instanceof ThrownServiceError || error instanceof RestartRequiredError) throw error
      this.deps.onInternalError({ requestId: request.origin.requestId, method: method ?? '', error })
      return ok(errorResponse(500, idIn(body.value), { code: rpcCodes.internal, message: 'Internal error' }))
    }
    if (result.ok) {
      const { failure } = result.value
      if (identified !== null && failure !== undefined) request.identify({ ...identified, error: failure })
      return result
    }
    if (result.error.kind !== 'step-up') return result
    const resourceMetadata = request.metadataUrl()
    return resourceMetadata === null ? result : err({ ...result.error, resourceMetadata })
  }

  /** The collaborators of methods, with the queries that the server offers. */
  private depsOf(server: McpServer): McpDeps {
    return server.hasApplicationQueries ? this.applicationDeps : this.deps
  }

  private async withCaller(
    request: McpRequest,
    operation: string,
    run: (caller: McpCaller) => McpResult | Promise<McpResult>,
  ): Promise<McpResult> {
    const caller = await this.identifyCaller(request)
    if (!caller.ok) return caller
    if ('status' in caller.value) return ok(caller.value)
    const { agent } = caller.value
    const identified = {
      caller: requestCallerOf(caller.value),
      operation,
      target: null,
      isDecision: false,
      error: null,
    }
    request.identify(identified)
    const exceeded = agent === null ? null : this.countRequest(request.origin, agent.agentId)
    if (exceeded !== null) return err(exceeded)
    return run(caller.value)
  }

  private countRequest(request: RequestOrigin, agentId: string): ServiceError | null {
    if (this.deps.rateLimiter === null || this.counted.has(request)) return null
    this.counted.add(request)
    return this.deps.rateLimiter(agentId)
  }

  /** Returns the caller, or the response to a wrong delegation token, whose body has a form of its own. */
  private async identifyCaller(request: McpRequest): Promise<Result<McpCaller | RpcResponse, ServiceError>> {
    const server = this.servers.find(request.projectId)
    if (server === null) return noServer
    const origin = request.header('origin')
    if (origin !== null && !this.deps.isOriginAllowed(origin, request.header('host'))) {
      return err({ kind: 'forbidden', message: 'origin not allowed' })
    }
    if (request.account !== null) return callerOfAccount(request, request.account, server)
    const credentials = readCredentials(request)
    const token = credentials.bearerToken()
    const { projectId, origin: requestOrigin } = request
    const { agent, tokenIntrospectId } = server
    const authenticate = () =>
      token.ok
        ? this.deps.authenticateUser(
            projectId,
            token.value,
            credentials.delegationToken,
            tokenIntrospectId,
            requestOrigin,
          )
        : token
    const verified = authenticate()
    const user = verified instanceof Promise ? await verified : verified
    if (!user.ok) {
      if (user.error.kind !== 'unauthenticated') return user
      const { message, invalidToken } = user.error
      const kind = invalidToken === undefined || !token.ok ? 'none' : 'user-token'
      request.refuseCredentials({ kind, reason: invalidToken ?? message, projectId })
      if (user.error.isDelegation) {
        const text = JSON.stringify({ error: 'invalid_request', error_description: user.error.message })
        return ok({ status: 400, text })
      }
      return withChallenge(user.error, request, server)
    }
    return ok({
      server,
      origin: requestOrigin,
      user: user.value,
      agent: agent === null ? null : { ...agent, user: user.value },
      isStillAuthenticated: async () => (await authenticate()).ok,
    })
  }
}

/** Tools act with the permissions of the account instead of those of the server's agent. It is no subject of a policy. */
function callerOfAccount(
  { projectId, origin, isStillAuthenticated }: McpRequest,
  account: AgentCaller,
  server: McpServer,
): Result<McpCaller, ServiceError> {
  if (account.projectId !== projectId)
    return err({ kind: 'forbidden', message: 'X-Project-Id: expected the project of the path' })
  const user = { nodeType: '', subjectId: account.agentId, claims: {}, delegation: null }
  return ok({ server, origin, user, agent: account, isStillAuthenticated })
}

/** The caller, as the audit trail shows it. */
function requestCallerOf({ server, agent, user }: McpCaller): RequestCaller {
  return agent ?? { kind: 'user', projectId: server.projectId, user }
}

/** The call in a message; null: it has none. */
function identifiedCall(caller: McpCaller, method: string | null, params: RpcObject): IdentifiedRequest | null {
  if (method === null) return null
  const { name, uri } = params
  const target = method === 'tools/call' ? name : method === 'resources/read' ? uri : null
  return {
    caller: requestCallerOf(caller),
    operation: `mcp/${method}`,
    target: typeof target === 'string' ? target : null,
    isDecision:
      method === 'tools/call' && tools.some((tool) => tool.name === name && tool.permission === 'Authorization'),
    error: null,
  }
}

/** Adds the URL of the resource metadata and the scopes to the challenge; unchanged if the URL is unknown. */
function withChallenge(
  error: Extract<ServiceError, { kind: 'unauthenticated' }>,
  request: McpRequest,
  { scopes }: McpServer,
): Result<never, ServiceError> {
  const resourceMetadata = request.metadataUrl()
  const scope = scopes.join(' ')
  return err(resourceMetadata === null ? error : { ...error, challenge: { resourceMetadata, scope } })
}
