// TypeScript types of the schemas of an OpenAPI document. Of the constraints of a value, only a choice of constants becomes a type.

/** The part of a JSON schema that a type can express. */
export interface TypeSchema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly TypeSchema[]
  readonly items?: TypeSchema
  readonly properties?: Readonly<Record<string, TypeSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | TypeSchema
}

const head = `// Generated from data/openapi.json by \`npm run golden\`: requests and answers of the HTTP interface, as the authorizer, the client and
// the console have them. Types only, so that the declarations of the package need no other package.

/** The schemas of the document, by name. */
export interface HttpSchemas {
`

/** Returns a module with a type for each schema: `HttpSchemas['Decision']`. One interface, because many names of schemas are also those of types. */
export function typeScriptOf(schemas: Readonly<Record<string, TypeSchema>>): string {
  const members = Object.entries(schemas).map(
    ([name, schema]) => `${commentOf(schema, '  ')}  ${name}: ${shapeOf(schema)}\n`,
  )
  return `${head}${members.join('')}}\n`
}

function shapeOf(schema: TypeSchema): string {
  const { properties, required = [] } = schema
  if (properties === undefined) return typeOf(schema)
  const members = Object.entries(properties).map(([member, value]) => {
    const type = typeOf(value)
    // A member that is undefined is left out of the JSON text.
    const optional = type === 'unknown' ? type : `${type} | undefined`
    const text = required.includes(member) ? `: ${type}` : `?: ${optional}`
    return `${commentOf(value, '    ')}    readonly ${member}${text}\n`
  })
  return `{\n${members.join('')}  }`
}

function commentOf({ description }: TypeSchema, indent: string): string {
  if (description === undefined) return ''
  const sentence = description.replace(/^[a-z]/, (letter) => letter.toUpperCase()).replace(/([^.!?])$/, '$1.')
  return `${indent}/** ${sentence.replaceAll('*/', '*\\/')} */\n`
}

function typeOf(schema: TypeSchema): string {
  const { $ref, type, anyOf, items, properties, additionalProperties } = schema
  if ($ref !== undefined) return `HttpSchemas['${$ref.slice($ref.lastIndexOf('/') + 1)}']`
  if (schema.const !== undefined) return literalOf(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literalOf).join(' | ')
  if (anyOf !== undefined) return unionOf(anyOf.map(typeOf))
  if (Array.isArray(type)) return unionOf(type.map((one) => typeOf({ ...schema, type: one })))
  switch (type) {
    case undefined:
      return 'unknown'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array': {
      const item = items === undefined ? 'unknown' : typeOf(items)
      return `readonly ${item.includes(' ') ? `(${item})` : item}[]`
    }
    case 'object': {
      if (properties !== undefined) throw new Error('an object with members has no name')
      const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'
      return `Readonly<Record<string, ${value}>>`
    }
    default:
      throw new Error(`no TypeScript type for the type ${String(type)}`)
  }
}

/** A value of any type makes the others superfluous. */
function unionOf(types: readonly string[]): string {
  const unique = [...new Set(types)]
  return unique.includes('unknown') ? 'unknown' : unique.join(' | ')
}

/** As the format of the repository writes strings. */
function literalOf(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)
}
