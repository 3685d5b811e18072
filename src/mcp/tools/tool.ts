// The descriptor of an MCP tool, from which `tools/list` and `tools/call` are built.
import type { z } from 'zod'
import { inlineJsonSchemaOf } from '../../config/json-schema.ts'
import { CompiledOnce } from '../../kernel/compiled-once.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { AgentCaller, ApiPermission } from '../../kernel/request/caller.ts'
import type { RequestOrigin } from '../../kernel/request/request-origin.ts'
import type { Result } from '../../kernel/result.ts'
import type { RpcObject } from '../json-rpc.ts'
import type { McpDeps } from '../method.ts'

/** A JSON Schema whose root is an object. */
export interface ObjectSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, unknown>>
  readonly [keyword: string]: unknown
}

const objectSchemas = new CompiledOnce<z.ZodObject, ObjectSchema>()

/**
 * Converts a zod schema of the HTTP API to JSON Schema without references, once for each schema. Clients validate results against
 * it. Descriptors call it from a getter, so that a process that serves no MCP request does not convert any.
 */
export function objectSchema(schema: z.ZodObject): ObjectSchema {
  return objectSchemas.get(schema, () => portable(inlineJsonSchemaOf(schema, 'input')) as ObjectSchema)
}

/** A value of any type, which some clients cannot represent without a list of the types. */
const anyValue = { anyOf: ['string', 'number', 'boolean', 'null', 'array', 'object'].map((type) => ({ type })) }

/** Replaces lists of types by branches: clients that map a schema to one type each drop the other types. */
function portable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(portable)
  if (typeof schema !== 'object' || schema === null) return schema
  const { type, properties, ...others } = schema as Readonly<Record<string, unknown>>
  const converted = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, portable(value)]))
  const members =
    typeof properties === 'object' && properties !== null
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, value]) => [name, portableMember(value)]),
          ),
        }
      : {}
  const types = Array.isArray(type) ? { anyOf: type.map((one) => ({ type: one })) } : type === undefined ? {} : { type }
  return { ...types, ...members, ...converted }
}

function portableMember(schema: unknown): unknown {
  const isAny = typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0
  return isAny ? anyValue : portable(schema)
}

/** The successful result of a tool. */
export interface ToolOutput {
  /** The structured result, which conforms to the output schema. */
  readonly structured: RpcObject
  /** A hint for the model about possible next steps. */
  readonly hint?: string
}

/** The descriptor of a tool. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** Arguments outside of its properties are refused. */
  readonly inputSchema: ObjectSchema
  /** Its root is an object, because version 2025-11-25 allows no other. */
  readonly outputSchema: ObjectSchema
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  /** The permission that the configured agent needs, as over HTTP. */
  readonly permission: ApiPermission
  /** A permission that it needs in addition. */
  readonly also?: ApiPermission
  call(
    deps: McpDeps,
    agent: AgentCaller,
    origin: RequestOrigin,
    args: RpcObject,
  ): Result<ToolOutput, ServiceError> | Promise<Result<ToolOutput, ServiceError>>
}
