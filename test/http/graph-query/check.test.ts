// Checks and completions of Cypher by HTTP: places of findings, plans, names of the graph, and who may ask.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService

function send(path: string, body: object): Promise<TestResponse> {
  const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
  return service.send(path, { headers, body })
}

function check(body: object): Promise<TestResponse> {
  return send('/graph/v1/check', body)
}

function policyOf(cypher: string, more: object = {}): object {
  return {
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions: ['drive'],
    resource: { type: 'Car' },
    condition: { cypher, ...more },
  }
}

beforeAll(async () => {
  service = await startService({}, { sync: false })
  const nodes = await service.ask('/capture/v1/nodes', {
    nodes: [
      { type: 'Person', external_id: 'ann', is_identity: true, properties: [{ type: 'age', value: 41 }] },
      { type: 'Car', external_id: 'c1', properties: [{ type: 'price', value: 7 }] },
    ],
  })
  expect(nodes.status, nodes.text).toBe(200)
  const [source, target] = [
    { type: 'Person', external_id: 'ann' },
    { type: 'Car', external_id: 'c1' },
  ]
  const owns = await service.ask('/capture/v1/relationships', { relationships: [{ source, target, type: 'OWNS' }] })
  expect(owns.status, owns.text).toBe(200)
})
afterAll(() => service.stop())

describe('POST /graph/v1/check', () => {
  test('places a syntax error of a query at the character', async () => {
    const query = 'MATCH (p:Person)\nWHERE p.age >\nRETURN p'
    const { status, body } = await check({ query })
    expect(status).toBe(200)
    const [finding] = body.findings as [{ start: number; message: string }]
    expect(body).toMatchObject({ findings: [{ rule: 'invalid-cypher', severity: 'error', member: '' }], plans: [] })
    expect(query.slice(finding.start, finding.start + 6), finding.message).toBe('RETURN')
  })

  test('refuses a clause that writes, as a query does', async () => {
    const { body } = await check({ query: 'CREATE (p:Person) RETURN p' })
    expect(body.findings).toMatchObject([{ rule: 'invalid-cypher', start: 0 }])
  })

  test('suggests names of the graph, and plans a correct query with its counts', async () => {
    const query = 'MATCH (p:Person)-[:OWNZ]->(c:Car) RETURN p, $min AS min'
    const misspelt = await check({ query })
    const at = query.indexOf('OWNZ')
    expect(misspelt.body.findings).toMatchObject([
      { rule: 'unknown-relationship-type', severity: 'warning', suggestion: 'OWNS', start: at, end: at + 4 },
    ])
    const { body } = await check({ query: query.replace('OWNZ', 'OWNS') })
    expect(body).toMatchObject({ findings: [], parameters: ['min'], plans: [{ use: 'rows' }] })
    expect(JSON.stringify(body.plans)).toContain('OWNS')
  })

  test('checks the document of a policy: places in the condition, paths of other members, three plans', async () => {
    const cypher = 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.prise > $min'
    const { body } = await check({ policy: policyOf(cypher) })
    const at = cypher.indexOf('prise')
    expect(body.findings).toMatchObject([
      { rule: 'unknown-property', member: 'condition.cypher', suggestion: 'price', start: at, end: at + 5 },
    ])
    expect((body.plans as { use: string }[]).map(({ use }) => use)).toEqual(['check', 'resources', 'subjects'])
    expect(body.parameters).toEqual(['min'])
    const wrong = await check({ policy: { ...policyOf('MATCH (subject)-[:OWNS]->(resource)'), actions: [] } })
    expect(wrong.body).toMatchObject({ findings: [{ rule: 'invalid-document', member: 'actions', start: null }] })
    const type = await check({
      policy: { ...policyOf('MATCH (subject)-[:OWNS]->(resource)'), subject: { type: 'Persom' } },
    })
    expect(type.body).toMatchObject({ findings: [{ member: 'subject.type', suggestion: 'Person' }] })
    const filter = { attribute: '$a', operator: 'EQUALS', value: 1 }
    const filtered = await check({ policy: policyOf('MATCH (subject)-[:OWNS]->(resource)', { filter }) })
    expect(filtered.body).toMatchObject({ findings: [{ member: 'condition.filter.operator', start: null }] })
  })

  test('checks a context policy, and an empty document', async () => {
    const context = {
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)' },
      allowed_reads: { nodes: ['car.property.price'] },
    }
    const { body } = await check({ policy: context })
    expect(body).toMatchObject({
      findings: [{ rule: 'caller-chosen-identity', member: 'subject.type' }],
      plans: [{ use: 'rows' }],
    })
    const empty = await check({ policy: {} })
    expect(empty.status).toBe(200)
    expect((empty.body.findings as unknown[]).length).toBeGreaterThan(0)
  })

  test('refuses both texts, no text, a long text and a caller without the permission', async () => {
    expect((await check({})).status).toBe(400)
    expect((await check({ query: 'RETURN 1 AS a', policy: {} })).status).toBe(400)
    expect((await check({ query: ' '.repeat(65_537) })).status).toBe(400)
    expect((await check({ policy: { a: 'x'.repeat(65_537) } })).status).toBe(400)
    const { status, text } = await service.ask('/graph/v1/check', { query: 'RETURN 1 AS a' })
    expect(status, text).toBe(401)
    expect(text).toContain('insufficient')
  })
})

describe('POST /graph/v1/complete', () => {
  async function complete(text: string): Promise<readonly { text: string; kind: string }[]> {
    const at = text.indexOf('|')
    const { status, body } = await send('/graph/v1/complete', { text: text.replace('|', ''), offset: at })
    expect(status).toBe(200)
    return body.completions as { text: string; kind: string }[]
  }

  test('completes labels, relationship types, properties, functions and parameters where they may stand', async () => {
    expect(await complete('MATCH (p:Per|')).toEqual([{ kind: 'label', text: 'Person' }])
    expect(await complete('MATCH (p)-[:O|]->()')).toEqual([{ kind: 'relationship-type', text: 'OWNS' }])
    expect(await complete('MATCH (p) WHERE p.pri|')).toEqual([{ kind: 'property', text: 'price' }])
    expect(await complete('RETURN toUp|')).toContainEqual({ kind: 'function', text: 'toUpper' })
    expect(await complete('RETURN $subject_ex|')).toContainEqual({ kind: 'parameter', text: '$subject_external_id' })
    expect(await complete("RETURN 'MAT|'")).toEqual([])
  })
})
