// Generates the OpenAPI document (3.1 or 3.2) from the routes.
import type { Route, Tag } from '../route.ts'
import { examples } from './examples.ts'
import type { OpenApiDocument, OpenApiVersion, OperationObject } from './objects.ts'
import { parameterObjects } from './parameters.ts'
import { errorResponseComponents, headerComponents, responseObjects } from './responses.ts'
import { SchemaComponents } from './schemas.ts'
import { securityRequirements, securitySchemes } from './security.ts'

/** Builds the document. `version`: version of the product. Throws if a tag or a schema id is used with two meanings. */
export function buildOpenApiDocument(
  routes: readonly Route[],
  openapi: OpenApiVersion,
  version: string,
): OpenApiDocument {
  const documented = routes.filter(({ aliasOf }) => aliasOf === undefined)
  const components = new SchemaComponents()
  const paths: Record<string, Record<string, OperationObject>> = {}
  for (const route of documented) {
    paths[route.path] ??= {}
    const operations = paths[route.path] as Record<string, OperationObject>
    operations[route.method.toLowerCase()] = operationObject(route, components)
  }
  const responses = used('responses', errorResponseComponents(components), paths)
  return {
    openapi,
    info: {
      title: 'Verdigraph',
      version,
      summary: 'Graph-based authorization in one process',
      description: introduction,
      ...licence,
    },
    servers: [{ url: '/', description: 'the server of this document' }],
    tags: collectTags(documented),
    paths,
    components: {
      responses,
      schemas: components.all(),
      headers: used('headers', headerComponents, [paths, responses]),
      securitySchemes: usedSchemes(documented),
    },
  }
}

/** The components that `referring` refers to. */
function used<T>(kind: string, all: Readonly<Record<string, T>>, referring: unknown): Record<string, T> {
  const text = JSON.stringify(referring)
  return Object.fromEntries(Object.entries(all).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)))
}

function usedSchemes(routes: readonly Route[]): Record<string, unknown> {
  const names = new Set(routes.flatMap(({ auth }) => securityRequirements(auth).flatMap((one) => Object.keys(one))))
  return Object.fromEntries(Object.entries(securitySchemes).filter(([name]) => names.has(name)))
}

const licence = { license: { name: 'Apache 2.0', identifier: 'Apache-2.0' } }

const introduction = `Capture nodes and relationships, write policies as graph patterns, and evaluate who may do what.

- Bodies are JSON in UTF-8. Duplicate members are refused. Unknown members are refused, except in AuthZEN requests, where
  they are ignored.
- An error response is \`{"message", "errors"}\`: each entry of \`errors\` names a path and what was expected there.
- Every response has an \`X-Request-ID\`: the one of the request, or a new one.
- An unknown path is answered with 404, an unknown method with 405 and \`Allow\`. \`HEAD\` works like \`GET\`, without a body.
- The limits in this document are the settings of this server.`

function operationObject(route: Route, components: SchemaComponents): OperationObject {
  const { operationId, tag, summary, description, auth, request } = route
  const example = route.example ?? examples[operationId]
  return {
    operationId,
    tags: [tag.name],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(route.deprecated && { deprecated: true }),
    security: securityRequirements(auth),
    parameters: parameterObjects(route, components),
    ...(request === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: components.describe(request, 'input'),
                ...(example === undefined ? {} : { example }),
              },
            },
          },
        }),
    responses: responseObjects(route, components),
  }
}

/** All tags, in the order of the routes. Throws if a tag has two descriptions. */
function collectTags(routes: readonly Route[]): Tag[] {
  const tags = new Map<string, Tag>()
  for (const { tag } of routes) {
    const before = tags.get(tag.name)
    if (before !== undefined && before.description !== tag.description) {
      throw new Error(`the tag ${tag.name} has two descriptions`)
    }
    tags.set(tag.name, tag)
  }
  return [...tags.values()]
}
