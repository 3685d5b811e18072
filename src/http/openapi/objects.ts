// The objects of an OpenAPI document, as far as this service uses them.
import type { JsonSchema } from './schemas.ts'

/** The versions of OpenAPI that are served. */
export type OpenApiVersion = '3.1.1' | '3.2.0'

/** The root object (OpenAPI Object). */
export interface OpenApiDocument {
  readonly openapi: OpenApiVersion
  readonly info: {
    readonly title: string
    readonly version: string
    readonly summary: string
    readonly description: string
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, ResponseObject>>
  } & Readonly<Record<string, unknown>>
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly [member: string]: unknown
}

/** An operation of a path (Operation Object). */
export interface OperationObject {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly deprecated?: true
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly ParameterObject[]
  readonly requestBody?: { readonly required: true; readonly content: MediaTypeMap }
  readonly responses: Readonly<Record<string, ResponseObject | ReferenceObject>>
}

/** A parameter of an operation (Parameter Object). */
export interface ParameterObject {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

/** A reference to a component (Reference Object). */
export interface ReferenceObject {
  readonly $ref: string
}

/** A response of an operation (Response Object). */
export interface ResponseObject {
  readonly description: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly content?: MediaTypeMap
}

/** Media type → schema and example of a body. */
export type MediaTypeMap = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>

/** The response of an operation with a status, with references resolved; undefined if it has none. */
export function resolveResponse(
  { components }: OpenApiDocument,
  operation: OperationObject,
  status: string | number,
): ResponseObject | undefined {
  const response = operation.responses[status]
  if (response === undefined || !('$ref' in response)) return response
  return components.responses[response.$ref.split('/').at(-1) ?? '']
}
