// The JSON Schemas of the OpenAPI document. A zod schema with an id (`.meta({ id })`) becomes a component and is referenced.
import type { z } from 'zod'
import { type JsonSchema, jsonSchemaOf } from '../../config/json-schema.ts'

export type { JsonSchema } from '../../config/json-schema.ts'

/** Collects the schemas with an id while the document is built. */
export class SchemaComponents {
  private readonly byId = new Map<string, JsonSchema>()

  describe(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const { $defs, ...own } = jsonSchemaOf(schema, io)
    for (const [id, definition] of Object.entries($defs ?? {})) this.register(id, definition as JsonSchema)
    return forOpenApi(own) as JsonSchema
  }

  all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.byId].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  private register(id: string, schema: JsonSchema): void {
    const definition = forOpenApi(schema) as JsonSchema
    const before = this.byId.get(id)
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(definition)) {
      throw new Error(`two different schemas have the id ${id}`)
    }
    this.byId.set(id, definition)
  }
}

/**
 * Rewrites references: zod writes definitions to `$defs`, OpenAPI to `components/schemas`. Numbers get the format `double`,
 * because generators for Go read a number without a format as one of 32 bits, which changes values.
 */
function forOpenApi(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forOpenApi)
  if (typeof value !== 'object' || value === null) return value
  const schema = Object.fromEntries(
    Object.entries(value).map(([key, member]) =>
      key === '$ref' && typeof member === 'string'
        ? [key, member.replace('#/$defs/', '#/components/schemas/')]
        : [key, forOpenApi(member)],
    ),
  )
  return isNumber(schema) ? { ...schema, format: 'double' } : schema
}

/** `type` can also be the schema of a member named `type`. */
function isNumber({ type }: Record<string, unknown>): boolean {
  return type === 'number' || (Array.isArray(type) && type.includes('number'))
}
