// What the endpoint is made of, and who asks it: shared by the tools, the resources and both revisions.

import type { ConfigSource } from '../config/kind.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import type { CompiledQuery } from '../context-query/query-index.ts'
import type { AgentCaller, UserToken } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import type { RpcError, RpcObject } from './json-rpc.ts'
import type { McpServer } from './servers.ts'

export interface McpDeps {
  readonly documents: ConfigSource
  readonly decisions: DecisionDeps
  readonly contexts: ContextQueryDeps
  readonly queries: { all(projectId: string): readonly CompiledQuery[] }
  /** Entries in one page of a list. */
  readonly pageMax: number
  /** Of the product. */
  readonly version: string
}

export interface McpCaller {
  readonly server: McpServer
  readonly requestId: string
  readonly user: UserToken
  /** The bound agent, asking for the user; null: it is gone. */
  readonly agent: AgentCaller | null
  /** Whether the same request would be let in now: for what outlasts its answer. Rejects where it cannot be told. */
  isAdmitted(): Promise<boolean>
}

/** A stream of events: each piece is asked for when its reader has room. */
export type EventStream = AsyncIterator<string, void>

/** Members of a result that are JSON already, without brackets around them. */
export interface SerializedMembers {
  readonly serialized: string
}

/** What a method answers: a result, an error of the protocol, or a refusal that only HTTP can say. */
export type MethodResult =
  | Result<RpcObject | SerializedMembers, RpcError>
  | { readonly ok: false; readonly refusal: ServiceError; readonly error?: never }

export type McpMethod = (parts: McpDeps, caller: McpCaller, params: RpcObject) => MethodResult | Promise<MethodResult>
