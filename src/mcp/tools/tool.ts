// What a tool declares about itself. The list of tools is made of these records, and so is every call.
import type { z } from 'zod'
import { jsonSchemaOf } from '../../config/json-schema.ts'
import type { AgentCaller, ApiPermission } from '../../kernel/caller.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { Result } from '../../kernel/result.ts'
import type { RpcObject } from '../json-rpc.ts'
import type { McpDeps } from '../method.ts'

export interface ObjectSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, unknown>>
  readonly [keyword: string]: unknown
}

/** Of the very schema that HTTP has, and as open as that: clients hold each answer against it. */
export function objectSchema(schema: z.ZodObject): ObjectSchema {
  return jsonSchemaOf(schema, 'input') as ObjectSchema
}

export interface ToolOutput {
  /** Of the output schema. */
  readonly structured: RpcObject
  /** For the model alone: what it may do next. */
  readonly hint?: string
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** An argument that is not among its properties is refused. */
  readonly inputSchema: ObjectSchema
  /** An object at its root: the older revision takes no other. */
  readonly outputSchema: ObjectSchema
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  /** What the bound agent must have, as it would over HTTP. */
  readonly permission: ApiPermission
  call(
    parts: McpDeps,
    agent: AgentCaller,
    requestId: string,
    given: RpcObject,
  ): Result<ToolOutput, ServiceError> | Promise<Result<ToolOutput, ServiceError>>
}
