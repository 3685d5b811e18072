// Converts zod schemas to JSON Schema 2020-12, for the OpenAPI description and the tools of MCP.
import { z } from 'zod'

/** A JSON Schema 2020-12 document. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * Converts a schema. `input`: what a caller may send. `output`: what the service returns; objects then have no members
 * but the declared ones.
 */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...schemaWithoutDialect } = z.toJSONSchema(schema, {
    io,
    // Custom checks have no JSON Schema form; their `meta` describes them.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The format is enough; the pattern is an implementation detail of zod.
      if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      // These hold for every object: names are strings, and other members are unrestricted.
      if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
      if (JSON.stringify(jsonSchema.additionalProperties) === '{}') delete jsonSchema.additionalProperties
    },
  })
  return schemaWithoutDialect
}
