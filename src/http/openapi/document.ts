// Routes → the interface description. Nothing is said here that a route's record or the way of every request does not
// do; the same function makes the document of OpenAPI 3.1 and of 3.2.
import type { Route, Tag } from '../route.ts'
import type { Description, OpenApiVersion, Operation } from './description.ts'
import { examples } from './examples.ts'
import { parametersOf } from './parameters.ts'
import { headers, refusals, responsesOf } from './responses.ts'
import { SchemaComponents } from './schemas.ts'
import { securityOf, securitySchemes } from './security.ts'

export function describeRoutes(routes: readonly Route[], openapi: OpenApiVersion, version: string): Description {
  const components = new SchemaComponents()
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    const operations = paths[route.path] as Record<string, Operation>
    operations[route.method.toLowerCase()] = operation(route, components)
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
    tags: tagsOf(routes),
    paths,
    components: { responses: refusals(components), schemas: components.all(), headers, securitySchemes },
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

function operation(route: Route, components: SchemaComponents): Operation {
  const { operationId, tag, summary, description, auth, request } = route
  const example = route.example ?? examples[operationId]
  return {
    operationId,
    tags: [tag.name],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(auth),
    parameters: parametersOf(route, components),
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
    responses: responsesOf(route, components),
  }
}

/** In the order of the routes; one name has one description. */
function tagsOf(routes: readonly Route[]): Tag[] {
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
