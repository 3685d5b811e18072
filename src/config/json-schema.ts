// Converts zod schemas to JSON Schema 2020-12, for the OpenAPI document and the tools of MCP. Members that only document a schema are in
// its metadata, `.meta({ … })`:
// - `id`: the name of the component.
// - `alias`: the member, or the alternative of a union, is another spelling of the one named here. It is accepted, and it is
//   not documented. Where an alias makes a member optional, the metadata of the object contains `required`.
// - `contentSchema`: the named zod schema of the document whose JSON text the string is.
// - `documentedAs`: the named zod schema that describes the value, where a parser of its own validates it.
import { z } from 'zod'

/** A JSON Schema 2020-12 document. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** An object with any members. */
export const jsonObject = z
  .record(z.string(), z.unknown())
  .meta({ id: 'JsonObject', description: 'An object with any members.' })

/**
 * Converts a schema. `input`: what a caller may send. `output`: what the service returns; objects then have no members
 * but the declared ones. Schemas with an id are in `$defs` and referenced.
 */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const others: z.ZodType[] = []
  const { $schema: _, ...converted } = z.toJSONSchema(schema, {
    io,
    // Custom checks have no JSON Schema form; their `meta` describes them.
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { contentSchema, documentedAs } = z.globalRegistry.get(zodSchema) ?? {}
      const other = contentSchema ?? documentedAs
      if (!(other instanceof z.ZodType)) return
      others.push(other)
      const id = other.meta()?.id
      const reference = id === undefined ? jsonSchemaOf(other, io) : { $ref: `#/$defs/${id}` }

      if (contentSchema === undefined) {
        for (const keyword of Object.keys(jsonSchema)) if (keyword !== 'description') delete jsonSchema[keyword]
        Object.assign(jsonSchema, reference)
      } else {
        jsonSchema.contentSchema = reference
      }
    },
  })
  const { $defs, ...own } = documented(converted) as JsonSchema
  const definitions = Object.assign({}, $defs, ...others.map((other) => jsonSchemaOf(other, io).$defs))
  return Object.keys(definitions).length === 0 ? own : { ...own, $defs: definitions }
}

/** Converts a schema without references, for readers of a single schema. It must not contain itself. */
export function inlineJsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $defs, ...own } = jsonSchemaOf(schema, io)
  return inlined(own, ($defs ?? {}) as Readonly<Record<string, JsonSchema>>) as JsonSchema
}

function inlined(value: unknown, definitions: Readonly<Record<string, JsonSchema>>): unknown {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions))
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...own } = value as Record<string, unknown>
  const referenced = typeof $ref === 'string' ? definitions[$ref.replace('#/$defs/', '')] : undefined
  return Object.fromEntries(
    Object.entries({ ...referenced, ...own }).map(([key, member]) => [key, inlined(member, definitions)]),
  )
}

/** Removes aliases and implementation details of zod. `value` is a schema, or a part of one. */
function documented(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isAlias(item)).map(documented)
  if (typeof value !== 'object' || value === null) return value
  const schema: Record<string, unknown> = Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (isAlias(member) ? [] : [[key, documented(member)]])),
  )
  // The format is enough; the pattern is an implementation detail of zod.
  if (schema.format === 'date-time' || schema.format === 'date') delete schema.pattern
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  // Names are always strings.
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames
  // Generators read an absent keyword as "no other members", and do not read the empty schema.
  if (JSON.stringify(schema.additionalProperties) === '{}') schema.additionalProperties = true
  return withOneType(withoutSingleChoice(schema))
}

function isAlias(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'alias' in value && typeof value.alias === 'string'
}

/**
 * A union of which only one alternative is documented is that alternative. One of a schema and null is the schema with
 * null among its types, unless the schema is a reference or lists its values.
 */
function withoutSingleChoice(schema: Record<string, unknown>): Record<string, unknown> {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  if (anyOf.length === 1) return { ...anyOf[0], ...rest }
  const [choice, other] = anyOf as Record<string, unknown>[]
  const isNullable = anyOf.length === 2 && other?.type === 'null' && typeof choice?.type === 'string'
  if (!isNullable || 'enum' in choice || 'const' in choice) return schema
  return { ...choice, ...rest, type: [choice.type, 'null'] }
}

/** Writes several types as alternatives, because not all generators read a list of types; `null` may stay in the list. */
function withOneType(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, ...rest } = schema
  if (!Array.isArray(type) || type.filter((one) => one !== 'null').length < 2) return schema
  return { ...rest, anyOf: type.map((one) => ({ type: one })) }
}
