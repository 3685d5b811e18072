// Renders a JSON schema as nested rows: name, type, limits and description of each member.

import type { OpenApiDocument } from '../openapi/objects.ts'
import type { JsonSchema } from '../openapi/schemas.ts'
import { type Html, html, inline } from './markup.ts'

/** Deeper than any schema of the interface; a schema that contains itself stops here. */
const DEPTH_MAX = 8

/** Returns the rows of a schema, or null if it is nested too deeply or has nothing to show at `depth`. */
export function schemaRows(schema: JsonSchema, description: OpenApiDocument, depth = 0): Html | null {
  const resolved = resolve(schema, description)
  if (depth > DEPTH_MAX) return null
  const { properties, items } = resolved as { properties?: Record<string, JsonSchema>; items?: JsonSchema }
  if (properties !== undefined) {
    const required = new Set(resolved.required as readonly string[] | undefined)
    return html`<ul class="schema">${Object.entries(properties).map(
      ([name, member]) =>
        html`<li><code>${name}</code>${required.has(name) ? html`<b title="required">*</b>` : null} ${about(member, description)}${schemaRows(
          withoutNull(resolve(member, description)),
          description,
          depth + 1,
        )}</li>`,
    )}</ul>`
  }
  if (items !== undefined) {
    const inner = schemaRows(withoutNull(resolve(items, description)), description, depth + 1)
    return depth === 0 ? html`<ul class="schema"><li>${about(resolved, description)}${inner}</li></ul>` : inner
  }
  return depth === 0 ? html`<p class="schema">${about(resolved, description)}</p>` : null
}

function about(schema: JsonSchema, description: OpenApiDocument): Html {
  const resolved = resolve(schema, description)
  const meaning = (schema.description ?? resolved.description) as string | undefined
  const limits = limitsOf(withoutNull(resolved))
  return html`<i>${typeText(resolved, description)}</i>${limits === '' ? null : html` <small>${limits}</small>`}${meaning === undefined ? null : html` <span>${inline(meaning)}</span>`}`
}

function resolve(schema: JsonSchema, description: OpenApiDocument): JsonSchema {
  if (typeof schema.$ref !== 'string') return schema
  return description.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}
}

/** Returns the schema X of a schema `X or null`; any other schema unchanged. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const choices = (schema.anyOf as readonly JsonSchema[] | undefined)?.filter(({ type }) => type !== 'null')
  return choices?.length === 1 ? (choices[0] as JsonSchema) : schema
}

function typeText(schema: JsonSchema, description: OpenApiDocument): string {
  const resolved = resolve(schema, description)
  const choices = (resolved.anyOf ?? resolved.oneOf) as readonly JsonSchema[] | undefined
  if (choices !== undefined) return [...new Set(choices.map((one) => typeText(one, description)))].join(' or ')
  const { type, items, format } = resolved
  if (Array.isArray(type)) return type.map((one) => typeText({ ...resolved, type: one }, description)).join(' or ')

  if (type === 'array')
    return `array of ${items === undefined ? 'anything' : typeText(items as JsonSchema, description)}`
  if (format === 'date-time') return 'timestamp'
  if (type === undefined) return resolved.const === undefined && resolved.enum === undefined ? 'anything' : 'value'
  return String(type)
}

function limitsOf(schema: JsonSchema): string {
  const { enum: values, const: only, minLength, maxLength, minItems, maxItems, minimum, maximum, pattern } = schema
  const parts: string[] = []
  if (only !== undefined) parts.push(JSON.stringify(only))
  if (Array.isArray(values)) parts.push(values.map((value) => JSON.stringify(value)).join(' | '))
  const range = (least: unknown, most: unknown, unit: string) => {
    if (least !== undefined && most !== undefined) parts.push(`${least} to ${most}${unit}`)
    else if (least !== undefined) parts.push(`at least ${least}${unit}`)
    else if (most !== undefined) parts.push(`at most ${most}${unit}`)
  }
  range(minLength, maxLength, ' characters')
  range(minItems, maxItems, ' items')
  range(minimum, maximum, '')
  if (typeof pattern === 'string') parts.push(`/${pattern}/`)
  return parts.join(', ')
}
