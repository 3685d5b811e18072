// Cypher over the graph of a project by HTTP: who may, the answer, what is refused, and the record in the audit log.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { auditedEvents } from '../../support/events.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService
let viewer: string

function bearer(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}`, 'x-project-id': service.projectId }
}

function query(body: object, headers = bearer(service.token)): Promise<TestResponse> {
  return service.send('/graph/v1/query', { headers, body })
}

async function made(kind: string, body: object): Promise<Record<string, unknown>> {
  const created = await service.configure('POST', kind, body)
  expect(created.status, created.text).toBe(201)
  return created.body
}

beforeAll(async () => {
  service = await startService({ executeAnswerMax: 4096 }, { sync: false })
  const captured = await service.ask('/capture/v1/nodes', {
    nodes: [
      { type: 'Person', external_id: 'ann', is_identity: true, properties: [{ type: 'age', value: 41 }] },
      { type: 'Car', external_id: 'c:1', properties: [{ type: 'price', value: 7 }] },
    ],
  })
  expect(captured.status, captured.text).toBe(200)
  const { organizationId: organization_id } = service.app
  const account = await made('service-accounts', { organization_id, name: 'viewer', role: 'all_viewer' })
  const credential = await made('service-account-credentials', { service_account_id: account.id })
  viewer = (credential.service_account_config as { token: string }).token
})
afterAll(() => service.stop())

describe('POST /graph/v1/query', () => {
  test('reads patterns and clauses of GQL, and refuses what is wrong in them', async () => {
    const rows = async (text: string, parameters: object = {}): Promise<unknown> => {
      const { status, text: answer, body } = await query({ query: text, parameters })
      expect(status, answer).toBe(200)
      return body.rows
    }
    const related = await service.ask('/capture/v1/relationships', {
      relationships: ['OWNS', 'LENDS'].map((type) => ({
        source: { type: 'Person', external_id: 'ann' },
        target: { type: 'Car', external_id: 'c:1' },
        type,
      })),
    })
    expect(related.status, related.text).toBe(200)
    const group = 'MATCH (p:Person) ((x)-[r:OWNS]->(y:Car WHERE y.price > $least)){1,2} (c)'
    expect(await rows(`${group} RETURN [one IN r | type(one)] AS types, size(y) AS n`, { least: 6 })).toEqual([
      [['OWNS'], 1],
    ])
    expect(await rows(`${group} RETURN c`, { least: 7 })).toEqual([])
    expect(await rows('MATCH p = SHORTEST 1 (:Person)-[:OWNS]->+(:Car) RETURN length(p) AS n')).toEqual([[1]])
    expect(
      await rows(
        "MATCH (p:Person) RETURN p NEXT WHEN p.age > 40 THEN { RETURN 'old' AS word } ELSE { RETURN 'young' AS word }",
      ),
    ).toEqual([['old']])
    expect(await rows('FOR x IN [1, 2, 3] FILTER x > 1 LET y = x * 2 RETURN y ORDER BY y OFFSET 1')).toEqual([[6]])
    for (const [text, message] of [
      ['MATCH (a)-->{2,1}(b) RETURN a', 'the lower bound 2 of the quantifier is above its upper bound 1'],
      ['MATCH SHORTEST 0 (a)-->+(b) RETURN a', 'at least one path'],
      ['WHEN true THEN { RETURN 1 AS x } ELSE { RETURN 1 AS y }', 'all branches of WHEN must return the same columns'],
      ['RETURN 1 IS :: INTEGER NOT NULL | STRING AS x', 'either all types of a union have `NOT NULL`, or none'],
    ] as const) {
      const refused = await query({ query: text })
      expect([refused.status, refused.text], text).toEqual([422, expect.stringContaining(message)])
    }
  })

  test('answers with nodes by external id, and integers beyond 2^53 exactly', async () => {
    const { status, text, body } = await query({
      query: 'MATCH (p:Person {external_id: $id}) RETURN p, $large AS large, 2.0 AS float',
      parameters: { id: 'ann', large: 1 },
    })
    expect(status, text).toBe(200)
    expect(body).toMatchObject({ columns: ['p', 'large', 'float'], truncated: false })
    const [[node]] = body.rows as [[unknown]]
    expect(node).toMatchObject({
      kind: 'node',
      type: 'Person',
      external_id: 'ann',
      labels: ['Person'],
      is_identity: true,
      properties: { age: 41 },
    })
    const exact = await service.send('/graph/v1/query', {
      headers: { ...bearer(service.token), 'content-type': 'application/json' },
      raw: `{"query":"RETURN $n AS n, 2.0 AS f","parameters":{"n":9007199254740993}}`,
      method: 'POST',
    })
    expect(exact.text).toContain('"rows":[[9007199254740993,2.0]]')
  })

  test('cuts the rows at the limit, and at the size of an answer', async () => {
    const rows = { query: 'UNWIND range(1, 100) AS n RETURN n' }
    expect((await query({ ...rows, limit: 3 })).body).toMatchObject({
      rows: [[1], [2], [3]],
      truncated: true,
      truncated_by: 'limit',
    })
    const large = {
      query: "UNWIND range(1, 100) AS n RETURN n, 'xxxxxxxxxx' + 'yyyyyyyyyy' AS text, [1, 2, 3] AS list",
    }
    const { body } = await query(large)
    expect([body.truncated, body.truncated_by]).toEqual([true, 'size'])
    expect((body.rows as unknown[]).length).toBeLessThan(100)
  })

  test.each([
    ['CREATE (n:Person) RETURN n', 'writing clause `CREATE` is not allowed'],
    ['MATCH (n) SET n.age = 1 RETURN n', 'writing clause `SET` is not allowed'],
    ['MATCH (n:Person) CALL { WITH n DETACH DELETE n } RETURN n', 'writing clause `DETACH DELETE` is not allowed'],
  ])('refuses to write with %s', async (text, message) => {
    const { status, body } = await query({ query: text })
    expect([status, (body.errors as string[])[0]]).toEqual([422, expect.stringContaining(message)])
    expect((await query({ query: 'MATCH (p:Person) RETURN p.age' })).body.rows).toEqual([[41]])
  })

  test('names the nearest label of an unknown one', async () => {
    const { body } = await query({ query: 'MATCH (p:Persn) RETURN p' })
    expect(body.warnings).toEqual([
      {
        code: 'UnknownLabel',
        message: 'no node with the label `Persn` was ever captured; did you mean `(:Person)`?',
        line: 1,
        column: 10,
      },
    ])
  })

  test('is for service accounts that may change the configuration, and for no agent', async () => {
    const one = { query: 'RETURN 1 AS one' }
    const outcome = async (response: Promise<TestResponse>) => {
      const { status, body } = await response
      return [status, body.message]
    }
    expect((await query(one, bearer(viewer))).status).toBe(403)
    const agent = await service.addAgent('everything', [
      ...['Authorization', 'Capture', 'CIQ', 'EntityMatching', 'ReadAuthZConfigs', 'ReadDataSchema', 'Audit'],
    ])
    expect(await outcome(query(one, { 'x-svc-clientkey': agent.key }))).toEqual([
      403,
      'graph queries need a service account with the role `all_editor`, because no policy restricts them; agents use knowledge queries',
    ])
    expect((await query(one, { 'x-svc-clientkey': service.key })).status).toBe(401)
    // Without the header, the token would be a key of an agent.
    expect((await query(one, { authorization: `Bearer ${service.token}` })).status).toBe(401)
    expect((await query(one, {})).status).toBe(401)
    expect((await query(one, bearer(service.key))).status).toBe(401)
    const names = (headers: Readonly<Record<string, string>>) => service.send('/graph/v1/names', { headers })
    expect((await names(bearer(viewer))).status).toBe(403)
    expect((await names({ 'x-svc-clientkey': service.key })).status).toBe(401)
    expect((await names({ 'x-svc-clientkey': agent.key })).status).toBe(200)
  })

  test('refuses a project that does not exist, and reads no other', async () => {
    const absent = 'gid:01J000000000000000000000000000'
    const { status, text } = await query(
      { query: 'RETURN 1 AS one' },
      { authorization: `Bearer ${service.token}`, 'x-project-id': absent },
    )
    expect([status, text]).toEqual([403, expect.stringContaining(absent)])
  })

  test('refuses members and values of another form', async () => {
    for (const body of [
      {},
      { query: '' },
      { query: 1 },
      { query: 'RETURN 1 AS x', mode: 'run' },
      { query: 'RETURN 1 AS x', limit: -1 },
    ])
      expect([body, (await query(body)).status]).toEqual([body, 400])
  })

  test('is in the audit log with its text and the number of rows, without values of parameters', async () => {
    await query({ query: 'MATCH (p:Person) WHERE p.age > $least RETURN p', parameters: { least: 40.25 } })
    await query({ query: 'RETURN $text + 1 - $other AS x', parameters: { text: 'hidden', other: 'also' } })
    const found = (await auditedEvents(service)).filter(({ type }) => type === 'svc.audit.graph.query').slice(-2)
    expect(found.map(({ data }) => data)).toMatchObject([
      {
        request: { query: 'MATCH (p:Person) WHERE p.age > $least RETURN p', parameters: ['least'], mode: 'rows' },
        response: { rows: 1, truncated: false },
      },
      { request: { parameters: ['text', 'other'] }, error: { kind: 'invalid' } },
    ])
    expect(JSON.stringify(found)).not.toMatch(/40\.25|hidden|also/)
  })
})

describe('GET /graph/v1/names', () => {
  test('lists labels, relationship types and properties', async () => {
    const { status, body } = await service.send('/graph/v1/names', { headers: bearer(service.token) })
    expect(status).toBe(200)
    expect(body.labels).toEqual(expect.arrayContaining(['Car', 'Person']))
    expect(body.properties).toEqual(['age', 'price'])
    expect(body.truncated).toBe(false)
  })
})
