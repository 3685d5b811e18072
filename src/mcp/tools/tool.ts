// What a tool declares about itself. The list of tools is made of these records, and so is every call.
import type { z } from 'zod'
import { jsonSchemaOf } from '../../config/json-schema.ts'
import type { AgentCaller, ApiPermission } from '../../identity/caller.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { Result } from '../../kernel/result.ts'
import type { McpParts } from '../parts.ts'
import type { Members } from '../rpc.ts'

export interface JsonSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, unknown>>
  readonly [keyword: string]: unknown
}

/** Of the very schema that HTTP has, and as open as that: clients hold each answer against it. */
export function objectSchema(schema: z.ZodObject): JsonSchema {
  return jsonSchemaOf(schema, 'input') as JsonSchema
}

export interface ToolOutcome {
  /** Of the output schema. */
  readonly structured: Members
  /** For the model alone: what it may do next. */
  readonly hint?: string
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** An argument that is not among its properties is refused. */
  readonly inputSchema: JsonSchema
  /** An object at its root: the older revision takes no other. */
  readonly outputSchema: JsonSchema
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  /** What the bound agent must have, as it would over HTTP. */
  readonly permission: ApiPermission
  call(
    parts: McpParts,
    agent: AgentCaller,
    requestId: string,
    given: Members,
  ): Result<ToolOutcome, ServiceError> | Promise<Result<ToolOutcome, ServiceError>>
}
