// zod schemas → JSON Schema 2020-12 for the interface description. A schema that names itself (`.meta({ id })`) becomes
// a component, told once and referred to from everywhere.
import { z } from 'zod'

export type JsonSchema = Readonly<Record<string, unknown>>

export class SchemaComponents {
  private readonly named = new Map<string, JsonSchema>()

  /** `input`: what a caller may send. `output`: what we answer, which has no members but those that are told. */
  describe(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const {
      $schema: _,
      $defs,
      ...own
    } = z.toJSONSchema(schema, {
      io,
      // What zod cannot tell (a custom check) has its words in its own meta.
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        // The format says it; the pattern is how zod checks it.
        if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      },
    })
    for (const [id, definition] of Object.entries($defs ?? {})) this.keep(id, definition as JsonSchema)
    return referring(own) as JsonSchema
  }

  all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.named].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  private keep(id: string, given: JsonSchema): void {
    const definition = referring(given) as JsonSchema
    const before = this.named.get(id)
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(definition)) {
      throw new Error(`two schemas are named ${id}`)
    }
    this.named.set(id, definition)
  }
}

/** zod keeps its definitions beside the schema, a description in its components. */
function referring(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referring)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) =>
      key === '$ref' && typeof member === 'string'
        ? [key, member.replace('#/$defs/', '#/components/schemas/')]
        : [key, referring(member)],
    ),
  )
}
