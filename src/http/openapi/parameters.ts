// The parameters of an operation: path, query and headers.
import type { z } from 'zod'
import type { Auth, Route } from '../route.ts'
import type { ParameterObject } from './objects.ts'
import type { SchemaComponents } from './schemas.ts'

/** Returns the parameters of a route; registers their schemas in `components`. */
export function parameterObjects(route: Route, components: SchemaComponents): ParameterObject[] {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const inPath = names.map(
    (name): ParameterObject => ({
      name,
      in: 'path',
      required: true,
      ...optionalDescription(route.pathParameters?.[name]),
      schema: { type: 'string', minLength: 1 },
    }),
  )
  const inQuery = Object.entries(route.query?.shape ?? {}).map(([name, schema]): ParameterObject => {
    const type = schema as z.ZodType
    const { description, ...own } = components.describe(type, 'input')
    return {
      name,
      in: 'query',
      required: !type.safeParse(undefined).success,
      ...optionalDescription(description as string | undefined),
      schema: own,
    }
  })
  const inHeader = Object.entries({ ...delegationHeader(route.auth), ...route.requestHeaders }).map(
    ([name, description]): ParameterObject => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    }),
  )
  return [...inPath, ...inQuery, ...inHeader]
}

function delegationHeader(auth: Auth): Record<string, string> {
  if (auth.kind !== 'agent' || auth.user === 'ignored') return {}
  return { 'X-SVC-Token': 'A delegation token of the same user, in addition to the user token.' }
}

function optionalDescription(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description }
}
