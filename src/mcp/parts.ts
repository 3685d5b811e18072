// What the endpoint is made of, and who asks it: shared by the tools, the resources and both revisions.
import type { ContextParts } from '../ciq/execute.ts'
import type { CompiledQuery } from '../ciq/library.ts'
import type { ConfigSource } from '../config/kind.ts'
import type { AgentCaller, UserToken } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'
import type { DecisionParts } from '../pdp/parts.ts'
import type { Members, RpcError } from './rpc.ts'
import type { McpServer } from './servers.ts'

export interface McpParts {
  readonly documents: ConfigSource
  readonly decisions: DecisionParts
  readonly contexts: ContextParts
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
export type Live = AsyncIterator<string, void>

/** Members of a result that are JSON already, without brackets around them. */
export interface WrittenMembers {
  readonly written: string
}

/** What a method answers: a result, an error of the protocol, or a refusal that only HTTP can say. */
export type MethodOutcome =
  | Result<Members | WrittenMembers, RpcError>
  | { readonly ok: false; readonly refusal: ServiceError; readonly error?: never }

export type McpMethod = (parts: McpParts, caller: McpCaller, params: Members) => MethodOutcome | Promise<MethodOutcome>
