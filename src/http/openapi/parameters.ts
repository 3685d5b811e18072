// The parameters of an operation: of its path, of its query, and the headers that it reads.
import type { z } from 'zod'
import type { Auth, Route } from '../route.ts'
import type { Parameter } from './description.ts'
import type { SchemaComponents } from './schemas.ts'

export function parametersOf(route: Route, components: SchemaComponents): Parameter[] {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const inPath = names.map(
    (name): Parameter => ({
      name,
      in: 'path',
      required: true,
      ...described(route.pathParameters?.[name]),
      schema: { type: 'string', minLength: 1 },
    }),
  )
  const inQuery = Object.entries(route.query?.shape ?? {}).map(([name, schema]): Parameter => {
    const given = schema as z.ZodType
    const { description, ...own } = components.describe(given, 'input')
    return {
      name,
      in: 'query',
      required: !given.safeParse(undefined).success,
      ...described(description as string | undefined),
      schema: own,
    }
  })
  const inHeader = Object.entries({ ...delegationHeader(route.auth), ...route.requestHeaders }).map(
    ([name, description]): Parameter => ({
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
  return { 'X-SVC-Token': 'A delegation token of the same user, beside their own token.' }
}

function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description }
}
