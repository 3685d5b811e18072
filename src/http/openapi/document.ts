// Routes → the interface description. Nothing is said here that a route's record or the way of every request does not
// do; the same function makes the document of OpenAPI 3.1 and of 3.2.
import type { Route, Tag } from '../route.ts'
import { examples } from './examples.ts'
import type { OpenApiDocument, OpenApiVersion, OperationObject } from './objects.ts'
import { parameterObjects } from './parameters.ts'
import { errorResponseComponents, headerComponents, responseObjects } from './responses.ts'
import { SchemaComponents } from './schemas.ts'
import { securityRequirements, securitySchemes } from './security.ts'

export function buildOpenApiDocument(
  routes: readonly Route[],
  openapi: OpenApiVersion,
  version: string,
): OpenApiDocument {
  const components = new SchemaComponents()
  const paths: Record<string, Record<string, OperationObject>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    const operations = paths[route.path] as Record<string, OperationObject>
    operations[route.method.toLowerCase()] = operationObject(route, components)
  }
  return {
    openapi,
    info: {
      title: 'Verdigraph',
      version,
      summary: 'Graph-based authorization in one process',
      description: introduction,
      ...licence,
    },
    servers: [{ url: '/', description: 'the server that gives this description' }],
    tags: collectTags(routes),
    paths,
    components: {
      responses: errorResponseComponents(components),
      schemas: components.all(),
      headers: headerComponents,
      securitySchemes,
    },
  }
}

const licence = { license: { name: 'Apache 2.0', identifier: 'Apache-2.0' } }

const introduction = `Capture nodes and relationships, write policies as graph patterns, and ask who may do what.

- Bodies are JSON in UTF-8. A member that is given twice is refused; a member that is not described is refused, but for the
  requests of AuthZEN, where it is ignored.
- A refusal is \`{"message", "errors"}\`: each entry of \`errors\` names the place and what was expected there.
- Every answer carries \`X-Request-ID\`: the caller's own, or a fresh one.
- A path that is not described answers 404, another method 405 with \`Allow\`. \`HEAD\` is answered like \`GET\`, without a body.
- Limits in this document are those that the server was started with.`

function operationObject(route: Route, components: SchemaComponents): OperationObject {
  const { operationId, tag, summary, description, auth, request } = route
  const example = route.example ?? examples[operationId]
  return {
    operationId,
    tags: [tag.name],
    summary,
    ...(description === undefined ? {} : { description }),
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

/** In the order of the routes; one name has one description. */
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
