// Writes the curl command that sends a request of an operation, for the interface reference.
import type { OpenApiDocument, OperationObject, ParameterObject } from '../openapi/objects.ts'
import type { JsonSchema } from '../openapi/schemas.ts'

/** The reader sets this variable once in the shell: `export VERDIGRAPH=http://localhost:8080`. */
const SERVER = '$VERDIGRAPH'

/**
 * Returns a command for a POSIX shell. Credentials come from the environment: `KEY` (agent key), `TOKEN` (service account or
 * user). Path parameters are written in capitals (`$ID`). Query parameters appear only if they are required.
 */
export function curlCommand(
  method: string,
  path: string,
  operation: OperationObject,
  description: OpenApiDocument,
): string {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map((parameter) => `${parameter.name}=${exampleValue(parameter)}`)
    .join('&')
  const body = requestExample(operation, description)
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${SERVER}${target}${query === '' ? '' : `?${query}`}"`,
    ...credentials(operation).map((header) => `-H "${header}"`),
  ]
  if (body !== undefined) {
    parts.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`)
  }
  return parts.join(' \\\n  ')
}

/** The first way to authenticate; more than one header if the operation needs both a key and a user token. */
function credentials({ security }: OperationObject): string[] {
  return Object.keys(security[0] ?? {}).map((scheme) =>
    scheme === 'agentKey' ? 'X-SVC-ClientKey: $KEY' : 'Authorization: Bearer $TOKEN',
  )
}

/** The example of the operation, or the smallest body that its schema describes. */
function requestExample(operation: OperationObject, description: OpenApiDocument): unknown {
  const body = operation.requestBody?.content['application/json']
  if (body === undefined) return undefined
  return body.example ?? sampleOf(body.schema, description, 0)
}

function exampleValue({ name, schema }: ParameterObject): string {
  const first = (schema.enum as readonly string[] | undefined)?.[0]
  return first ?? `$${name.toUpperCase()}`
}

/** Deeper than any schema of the interface; a schema that contains itself stops here. */
const DEPTH_MAX = 8

function sampleOf(schema: JsonSchema, description: OpenApiDocument, depth: number): unknown {
  if (depth > DEPTH_MAX) return null
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return sampleOf(description.components.schemas[name] ?? {}, description, depth + 1)
  }
  const known = [schema.default, schema.const, (schema.enum as readonly unknown[] | undefined)?.[0]]
  const value = known.find((one) => one !== undefined)
  if (value !== undefined) return value
  const choice = ((schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined)?.[0]
  if (choice !== undefined) return sampleOf(choice, description, depth + 1)
  switch (schema.type) {
    case 'object': {
      const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
      const required = (schema.required ?? []) as readonly string[]
      return Object.fromEntries(
        required.map((name) => [name, sampleOf(properties[name] ?? {}, description, depth + 1)]),
      )
    }
    case 'array':
      return schema.minItems === undefined ? [] : [sampleOf((schema.items ?? {}) as JsonSchema, description, depth + 1)]
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    default:
      return 'text'
  }
}
