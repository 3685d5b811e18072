// The contract of an MCP method: its dependencies, its caller, its parameters and its result.

import type { ConfigSource } from '../config/kind.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import type { QueryLookup } from '../context-query/query-index.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller, UserToken } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import type { Result } from '../kernel/result.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import type { RpcError, RpcObject } from './json-rpc.ts'
import type { ServerInfo } from './server-info.ts'
import type { McpServer } from './servers.ts'

/** The features and settings that methods use. */
export interface McpDeps {
  readonly documents: ConfigSource
  readonly decisions: DecisionDeps
  /** Decides which values an explanation may show. */
  readonly mask: ParameterMask
  /** Runs the queries of `queries`. */
  readonly contexts: ContextQueryDeps
  /** The queries that the server offers. */
  readonly queries: Pick<QueryLookup, 'all' | 'isForApplicationOnly'>
  /** Maximum number of entries in a page of a list. */
  readonly pageMax: number
  readonly serverInfo: ServerInfo
}

/** An authenticated caller of an MCP server. */
export interface McpCaller {
  readonly server: McpServer
  readonly origin: RequestOrigin
  readonly user: UserToken
  /** The configured agent, acting for the user; null: it was deleted. */
  readonly agent: AgentCaller | null
  /** Verifies the credentials again, for streams that outlive their request. Rejects if they cannot be verified now. */
  isStillAuthenticated(): Promise<boolean>
}

/** A stream of events. The next chunk is requested when the reader is ready. */
export type EventStream = AsyncIterator<string, void>

/** Members of a result that are serialized already, without the enclosing braces. */
export interface SerializedMembers {
  readonly serialized: string
}

/** A result, a JSON-RPC error, or an error that is answered with its HTTP status. */
export type MethodResult =
  | Result<RpcObject | SerializedMembers, RpcError>
  | { readonly ok: false; readonly httpError: ServiceError; readonly error?: never }

/** A JSON-RPC method. Returns no promise if nothing has to be awaited. */
export type McpMethod = (deps: McpDeps, caller: McpCaller, params: RpcObject) => MethodResult | Promise<MethodResult>
