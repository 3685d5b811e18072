// The document must generate well: what generators name and type is determined by components.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../../../src/http/openapi/objects.ts'
import { startService, type TestService } from '../../../support/service.ts'

type Json = Readonly<Record<string, unknown>>

let service: TestService
let document: OpenApiDocument

beforeAll(async () => {
  service = await startService()
  document = (await service.send('/openapi.json')).body as unknown as OpenApiDocument
})

afterAll(() => service?.stop())

/** Calls `visit` with each object of a document and its path. */
function walk(value: unknown, path: string, visit: (object: Json, path: string) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) visit(value as Json, path)
  for (const [key, member] of Object.entries(value)) {
    // The members below are data, not a schema.
    if (key !== 'example' && key !== 'examples') walk(member, `${path}/${key}`, visit)
  }
}

/** The paths of all schemas outside of the components that fulfil a condition. */
function found(condition: (schema: Json) => boolean): string[] {
  const paths: string[] = []
  const add = (schema: Json, path: string) => {
    if (condition(schema)) paths.push(path)
  }
  walk(document.paths, 'paths', add)
  walk(document.components.responses, 'responses', add)
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    for (const [key, member] of Object.entries(schema)) walk(member, `${name}/${key}`, add)
  }
  return paths
}

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  )

describe('the components of the OpenAPI document', () => {
  it('are the schema of every JSON body', () => {
    const inline = operations().flatMap(({ name, operation }) => {
      const bodies = [operation.requestBody, ...Object.values(operation.responses)]
      return bodies.flatMap((body) => {
        const json = (body as { content?: Record<string, { schema: Json }> } | undefined)?.content?.['application/json']
        return json !== undefined && Object.keys(json.schema).join() !== '$ref'
          ? [`${name}: ${JSON.stringify(json.schema)}`]
          : []
      })
    })
    expect(inline).toEqual([])
    for (const [status, response] of Object.entries(document.components.responses)) {
      expect([status, response.content]).toEqual([
        status,
        { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
      ])
    }
  })

  it('are the schema of every object with members', () => {
    expect(found(({ type, properties }) => type === 'object' && properties !== undefined)).toEqual([])
  })

  it('are not repeated by a schema elsewhere', () => {
    const places = new Map<string, string[]>()
    const add = (schema: Json, path: string) => {
      if (schema.type !== 'object' && !Array.isArray(schema.enum) && !Array.isArray(schema.anyOf)) return
      const choices = schema.anyOf as readonly Json[] | undefined
      // In "X or null", only the reference repeats.
      if (choices?.length === 2 && choices[1]?.type === 'null') return
      const { description: _, ...shape } = schema
      const text = JSON.stringify(shape)

      places.set(text, [...(places.get(text) ?? []), path])
    }
    walk(document.paths, 'paths', add)
    for (const [name, schema] of Object.entries(document.components.schemas)) walk(schema, name, add)
    // Two names for one shape: what they name differs, and may come to differ in shape.
    const twins = [
      ['CapturedElement', 'DeletedDocument'],
      ['LoggedPolicy', 'UsedModel'],
      ['Resource', 'Subject'],
      ['ResourceType', 'SubjectType'],
      ['ApplicationUpdate', 'ServiceAccountUpdate'],
    ]
    const repeated = [...places.values()].filter(({ length }) => length > 1).map((paths) => paths.sort())
    expect(repeated.filter((paths) => !twins.some((pair) => pair.join() === paths.join()))).toEqual([])
  })

  it('are all used, and all references lead to one', () => {
    const used = new Set<string>()
    walk(document, '', ({ $ref }) => {
      if (typeof $ref === 'string') used.add($ref)
    })
    const { schemas, responses, headers } = document.components as unknown as Record<string, object>
    const existing = Object.entries({ schemas, responses, headers }).flatMap(([kind, all]) =>
      Object.keys(all ?? {}).map((name) => `#/components/${kind}/${name}`),
    )
    expect([...used].filter((reference) => !existing.includes(reference))).toEqual([])
    // A path without a route has no operation that 405 could be described at.
    const unused = existing.filter((reference) => !used.has(reference))
    expect(unused).toEqual([])
  })

  it('have names that generators keep', () => {
    for (const [kind, all] of Object.entries(document.components)) {
      for (const name of Object.keys(all as object))
        expect([kind, name]).toEqual([kind, expect.stringMatching(/^[A-Za-z][A-Za-z0-9]*$/)])
    }
  })

  it('contain those that clients name', () => {
    const names = [
      ...['Subject', 'Resource', 'Action', 'EvaluationRequest', 'EvaluationsRequest', 'Decision', 'Explanation'],
      ...['Node', 'Relationship', 'CaptureResult', 'KnowledgeQueryCall', 'KnowledgeQueryAnswer', 'DataSchema'],
      ...['PolicyDocument', 'DecisionPolicyDocument', 'ContextPolicyDocument', 'KnowledgeQueryDocument', 'Problem'],
      ...['Project', 'ProjectCreate', 'ProjectUpdate', 'ProjectList', 'AuthorizationPolicy', 'EventSink'],
    ]
    expect(names.filter((name) => !(name in document.components.schemas))).toEqual([])
  })
})

describe('the schemas of the OpenAPI document', () => {
  it('have one type, and possibly null', () => {
    expect(found(({ type }) => Array.isArray(type) && type.filter((one) => one !== 'null').length !== 1)).toEqual([])
  })

  it('give every number 64 bits, which generators for Go do only for the format `double`', () => {
    const numbers = (schema: Json) => [schema.type].flat().includes('number')
    expect(found(numbers).length).toBeGreaterThan(5)
    expect(found((schema) => numbers(schema) && schema.format !== 'double')).toEqual([])
  })

  it('allow any members where anything may stand', () => {
    expect(document.components.schemas.JsonObject).toMatchObject({ type: 'object', additionalProperties: true })
    const { EvaluationContext, KnowledgeQueryCall, PropertyMetadata, Subject, SearchPage } = document.components
      .schemas as Record<string, { properties: Record<string, Json> }>
    for (const member of [
      EvaluationContext?.properties.input_params,
      KnowledgeQueryCall?.properties.input_params,
      PropertyMetadata?.properties.custom_metadata,
      Subject?.properties.properties,
      SearchPage?.properties.properties,
    ]) {
      expect(member).toMatchObject({ $ref: '#/components/schemas/JsonObject' })
    }
    // An object without members that does not say which others it allows.
    expect(
      found(
        ({ type, properties, additionalProperties }) =>
          type === 'object' && properties === undefined && additionalProperties === undefined,
      ),
    ).toEqual([])
    expect(found(({ additionalProperties }) => JSON.stringify(additionalProperties) === '{}')).toEqual([])
  })

  it('contain no keyword of this service', () => {
    expect(found((schema) => 'alias' in schema && typeof schema.alias === 'string')).toEqual([])
    expect(found((schema) => 'documentedAs' in schema)).toEqual([])
  })
})
