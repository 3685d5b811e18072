// zod schemas → JSON Schema 2020-12, as the interface description and the tools of MCP show them.
import { z } from 'zod'

export type JsonSchema = Readonly<Record<string, unknown>>

/** `input`: what a caller may send, or what is open. `output`: what we answer, which has no members but those that are told. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...told } = z.toJSONSchema(schema, {
    io,
    // What zod cannot tell (a custom check) has its words in its own meta.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The format says it; the pattern is how zod checks it.
      if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      // What every object has anyway: names that are strings, and members of which nothing is said.
      if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
      if (JSON.stringify(jsonSchema.additionalProperties) === '{}') delete jsonSchema.additionalProperties
    },
  })
  return told
}
