// Location routing of 3.0 policies on a composite project over HTTP
// (docs/decisions/0002-composite-projects-and-locations.md).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inOrderOfCapture } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
const connection = {
  url: 'lmdb:',
  name: 'physical-main',
  composite_db_name: 'physical-whole',
  alias_mapping: 'eu=physical-eu&us=physical-us&uk=physical-eu',
}
const seen: string[] = []

beforeAll(async () => {
  service = await startService({}, { sync: false, log: (entry) => seen.push(JSON.stringify(entry)) })
  expect((await create('no-locations', routed())).errors).toEqual([
    'policy.condition.cypher: USE needs a composite database, and none is configured',
  ])
  const project = await service.connect(connection)
  expect(project.status).toBe(200)
  const node = (type: string, external_id: string, location?: string) => ({
    type,
    external_id,
    ...(location === undefined ? {} : { location }),
  })
  const owns = (from: string, to: string, location?: string) => ({
    source: node('Person', from, location),
    type: 'OWNS',
    target: node('Car', to, location),
  })
  // `twin` is in both; each location has a relationship that the other lacks.
  const nodes = [
    node('Person', 'ann', 'eu'),
    node('Person', 'bob', 'us'),
    node('Person', 'dot'),
    node('Car', 'e1', 'eu'),
    node('Car', 'e2', 'eu'),
    node('Car', 'u1', 'us'),
    node('Car', 'd1'),
    node('Person', 'twin', 'eu'),
    node('Person', 'twin', 'us'),
    node('Car', 'shared', 'eu'),
    node('Car', 'shared', 'us'),
  ]
  const captured = await service.ask('/capture/v1/nodes', { nodes })
  expect([captured.status, captured.body.errors]).toEqual([200, undefined])
  const relationships = [
    owns('ann', 'e1', 'eu'),
    owns('ann', 'e2', 'eu'),
    owns('bob', 'u1', 'us'),
    owns('twin', 'shared', 'eu'),
    owns('twin', 'shared', 'us'),
    owns('dot', 'd1'),
  ]
  const joined = await service.ask('/capture/v1/relationships', { relationships })
  expect([joined.status, joined.body.errors]).toEqual([200, undefined])
})

afterAll(() => service?.stop())

const owner = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
const routed = (p = '$region') => `USE graph.byName(${p}) ${owner}`

async function create(
  name: string,
  cypher: string,
  more: { filter?: unknown; actions?: string[]; version?: string } = {},
) {
  const { actions = ['drive'], version = '3.0-kbac', filter } = more
  const { status, body } = await service.configure('POST', 'authorization-policies', {
    project_id: service.projectId,
    name,
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: version },
      subject: { type: 'Person' },
      actions,
      resource: { type: 'Car' },
      condition: { cypher, ...(filter === undefined ? {} : { filter }) },
    }),
  })
  return { status, errors: body.errors as string[] }
}

const person = (id: string) => ({ type: 'Person', id })
const car = (id: string) => ({ type: 'Car', id })
const at = (region: unknown) => ({ context: { input_params: { region } } })

async function decisionOf(who: string, action: string, what: string, more: object = {}): Promise<unknown> {
  const body = { subject: person(who), action: { name: action }, resource: car(what), ...more }
  const { status, body: answer } = await service.ask('/access/v1/evaluation', body)
  return status === 200 ? answer.decision : [status, answer.message, answer.errors]
}

async function resources(who: string, action: string, more: object = {}): Promise<unknown> {
  const body = { subject: person(who), action: { name: action }, resource: { type: 'Car' }, ...more }
  const { status, body: answer } = await service.ask('/access/v1/search/resource', body)
  return status === 200 ? (answer.results as { id: string }[]).map(({ id }) => id).sort() : [status, answer.errors]
}

const refusal = (...errors: string[]) => [422, 'Unprocessable Entity', errors]

describe('a condition that is routed by a parameter', () => {
  beforeAll(async () => {
    expect((await create('routed', routed())).status).toBe(201)
  })

  it('runs at the location of the request, on every call', async () => {
    expect(await decisionOf('ann', 'drive', 'e1', at('eu'))).toBe(true)
    expect(await decisionOf('ann', 'drive', 'e1', at('us'))).toBe(false)
    expect(await decisionOf('bob', 'drive', 'u1', at('us'))).toBe(true)
    expect(await resources('ann', 'drive', at('eu'))).toEqual(['e1', 'e2'])
    expect(await resources('ann', 'drive', at('us'))).toEqual([])
    // Two names of one location.
    expect(await resources('ann', 'drive', at('uk'))).toEqual(['e1', 'e2'])
    const subjects = await service.ask('/access/v1/search/subject', {
      subject: { type: 'Person' },
      action: { name: 'drive' },
      resource: car('e1'),
      ...at('eu'),
    })
    expect(subjects.body.results).toEqual([person('ann')])
    const actions = { subject: person('ann'), resource: car('e1'), ...at('eu') }
    expect((await service.ask('/access/v1/search/action', actions)).body.results).toEqual([{ name: 'drive' }])
  })

  it('does not see other locations', async () => {
    expect(await decisionOf('dot', 'drive', 'd1', at('eu'))).toBe(false)
    expect(await resources('dot', 'drive', at('us'))).toEqual([])
  })

  it('AZ-77 refuses an unknown location, with its name and the parameter', async () => {
    const unknown = 'unknown location mars for parameter $region'
    expect(await decisionOf('ann', 'drive', 'e1', at('mars'))).toEqual(refusal(unknown))
    expect(await resources('ann', 'drive', at('mars'))).toEqual([422, [unknown]])
    for (const physical of ['physical-eu', 'physical-whole', 'physical-main', 'global', 'default', 'EU']) {
      const said = `unknown location ${physical} for parameter $region`
      expect(await decisionOf('ann', 'drive', 'e1', at(physical))).toEqual(refusal(said))
    }
    const batch = await service.ask('/access/v1/evaluations', {
      subject: person('ann'),
      action: { name: 'drive' },
      evaluations: [
        { resource: car('e1'), ...at('mars') },
        { resource: car('e1'), ...at('eu') },
        { resource: car('e1') },
      ],
    })
    expect([batch.status, batch.body.evaluations]).toEqual([
      200,
      [
        { decision: false, context: { reason: `invalid_argument: ${unknown}` } },
        { decision: true },
        { decision: false, context: { reason: "invalid_argument: missing or wrong input params, 'region'" } },
      ],
    ])
  })

  it('refuses a location that is missing, or not a string of 1 to 256 characters', async () => {
    const missing = "missing or wrong input params, 'region'"
    expect(await decisionOf('ann', 'drive', 'e1')).toEqual(refusal(missing))
    const wrong = `${missing}: location parameter $region must be a string of 1 to 256 characters`
    for (const region of ['', 5, true, ['eu'], { a: 1 }, null, 'x'.repeat(257)]) {
      expect(await decisionOf('ann', 'drive', 'e1', at(region))).toEqual(refusal(wrong))
    }
    expect(await decisionOf('ann', 'drive', 'e1', at('x'.repeat(256)))).toEqual(
      refusal(`unknown location ${'x'.repeat(256)} for parameter $region`),
    )
  })
})

describe('a condition that names its locations', () => {
  it('runs there, and finds each node once if several have it', async () => {
    expect((await create('literal', routed('"us"'), { actions: ['park'] })).status).toBe(201)
    expect(await resources('bob', 'park')).toEqual(['u1'])
    expect(await resources('ann', 'park')).toEqual([])
    const body = (location: string) => `USE graph.byName(${location}) ${owner} RETURN subject, resource`
    const both = `CALL () { ${body('"eu"')} UNION ${body('$region')} }`
    expect((await create('both', both, { actions: ['see'] })).errors).toBeUndefined()
    expect(await resources('twin', 'see', at('us'))).toEqual(['shared'])
    expect(await resources('bob', 'see', at('us'))).toEqual(['u1'])
    expect(await decisionOf('bob', 'see', 'u1', at('us'))).toBe(true)
    expect(await decisionOf('bob', 'see', 'u1', at('eu'))).toBe(false)
    expect(await decisionOf('ann', 'see', 'e1', at('us'))).toBe(true)
    const pages: ReturnType<typeof car>[] = []
    let page: object = { limit: 1 }
    for (;;) {
      const asked = { subject: person('ann'), action: { name: 'see' }, resource: { type: 'Car' }, ...at('us'), page }
      const { body: answer } = await service.ask('/access/v1/search/resource', asked)
      pages.push(...(answer.results as ReturnType<typeof car>[]))
      const { next_token: token } = answer.page as { next_token: string }
      if (token === '') break
      page = { token }
    }
    expect(inOrderOfCapture(pages, ({ id }) => id)).toEqual([car('e1'), car('e2')])
  })

  it('checks the candidates of its locations one by one if necessary', async () => {
    const cypher = `${routed()} WHERE resource.external_id = $resource_external_id`
    expect((await create('each', cypher, { actions: ['each'] })).status).toBe(201)
    expect(await resources('ann', 'each', at('eu'))).toEqual(['e1', 'e2'])
    expect(await decisionOf('ann', 'each', 'e2', at('eu'))).toBe(true)
  })

  it('is explained at its location', async () => {
    const { key } = await service.addAgent('explains', ['Authorization', 'ReadAuthZConfigs'])
    const body = { subject: person('ann'), action: { name: 'drive' }, resource: car('e1'), ...at('eu') }
    const { text, body: answer } = await service.send('/access/v1/explain', {
      headers: { 'x-svc-clientkey': key },
      body,
    })
    expect(answer.decision).toBe(true)
    expect(answer.policies).toMatchObject([
      { outcome: 'granted', unknown: [], matched: { relationships: [{ type: 'OWNS' }] } },
    ])
    expect(text).not.toContain('physical')
    const both = { ...body, subject: person('bob'), action: { name: 'see' }, resource: car('u1'), ...at('us') }
    const { body: united } = await service.send('/access/v1/explain', {
      headers: { 'x-svc-clientkey': key },
      body: both,
    })
    const [bob, u1] = [person('bob'), car('u1')]
    const matched = {
      nodes: expect.arrayContaining([
        { variable: 'subject', ...bob },
        { variable: 'resource', ...u1 },
      ]),
      relationships: [{ variable: null, type: 'OWNS', source: bob, target: u1 }],
    }
    expect(united.policies).toMatchObject([{ outcome: 'granted', unknown: [], matched }])
  })
})

describe('a location that is removed after a policy that names it was stored', () => {
  it('is an error of that policy, on every call, and of no other', async () => {
    const withGone = { ...connection, alias_mapping: `${connection.alias_mapping}&gone=physical-gone` }
    const map = (changed: typeof connection) => service.connect(changed)
    expect((await map(withGone)).status).toBe(200)
    const body = (location: string) => `USE graph.byName('${location}') ${owner} RETURN subject, resource`
    const policies = {
      gone: routed("'gone'"),
      each: `${routed("'gone'")} WHERE resource.external_id = $resource_external_id`,
      union: `CALL () { ${body('gone')} UNION ${body('eu')} }`,
    }
    for (const [name, cypher] of Object.entries(policies)) {
      expect((await create(`${name}-gone`, cypher, { actions: [`${name}-gone`, 'still'] })).status).toBe(201)
    }
    expect((await create('still', routed("'eu'"), { actions: ['still'] })).status).toBe(201)
    expect(await resources('ann', 'union-gone')).toEqual(['e1', 'e2'])

    expect((await map(connection)).status).toBe(200)
    const subjects = (action: string) =>
      service.ask('/access/v1/search/subject', {
        subject: { type: 'Person' },
        action: { name: action },
        resource: car('e1'),
      })
    const context = { reason: 'policy_failed (argument): a value is not in the range that the policy accepts' }
    for (const name of Object.keys(policies)) {
      expect(await decisionOf('ann', `${name}-gone`, 'e1')).toBe(false)
      expect(await resources('ann', `${name}-gone`)).toEqual([])
      expect((await subjects(`${name}-gone`)).body).toEqual({ context, results: [] })
    }
    expect(await decisionOf('ann', 'still', 'e1')).toBe(true)
    expect(await resources('ann', 'still')).toEqual(['e1', 'e2'])
    expect((await subjects('still')).body).toEqual({ context, results: [person('ann')] })
  })
})

describe('a policy is refused when it is stored', () => {
  it.each([
    ['a location that the project does not have', routed("'mars'"), 'unknown location mars'],
    [
      'a location parameter that is read elsewhere',
      `${routed()} WHERE resource.x = $region`,
      '"$region" must not be referenced elsewhere',
    ],
    ['a parameter that the platform binds', routed('$subject_external_id'), '"$subject_external_id" is reserved'],
    ['the type of an end', routed('$resource_type'), '"$resource_type" is reserved'],
    ['the properties of the request', routed('$subject_properties'), '"$subject_properties" is reserved'],
    ['an expression', routed('coalesce($region, "eu")'), 'a literal location or one parameter'],
    ['a claim', routed('$token.region'), 'a literal location or one parameter'],
  ])('for %s', async (_, cypher, message) => {
    const { status, errors } = await create('refused', cypher)
    expect([status, errors]).toEqual([422, [expect.stringContaining(message)]])
  })

  it('for a location parameter that the filter reads', async () => {
    const filter = { operator: '=', attribute: '$region', value: 'eu' }
    expect((await create('refused', routed(), { filter })).errors).toEqual([
      'policy.condition.filter: location parameter "$region" must not be referenced elsewhere',
    ])
  })

  it('for USE and CALL in 2.0, with this message', async () => {
    const use = await create('refused', routed(), { version: '2.0-kbac' })
    expect([use.status, use.errors]).toEqual([422, [expect.stringContaining('USE clause is not allowed')]])
    const body = `${owner} RETURN subject, resource`
    const call = await create('refused', `CALL () { ${body} }`, { version: '2.0-kbac' })
    expect([call.status, call.errors]).toEqual([
      422,
      [expect.stringContaining('Cypher contains forbidden clauses: [CALL]')],
    ])
  })
})

describe('a definition of the model', () => {
  it('is derived from the relationships of the location that a condition names, in place and with a table', async () => {
    const model = await service.configure('POST', 'models', {
      project_id: service.projectId,
      name: 'model',
      model: `DEFINE (p:Person)-[:keeps]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) }
DEFINE (p:Person)-[:shares]->(c:Car) AS {
  MATCH (p)-[:OWNS]->(c)
  UNION MATCH (c)-[:NEXT]->(a:Car), (c)-[:OTHER]->(b:Car) WHERE (p)-[:shares]->(a) AND (p)-[:shares]->(b)
}`,
    })
    expect(model.status, model.text).toBe(201)
    for (const type of ['keeps', 'shares']) {
      const cypher = `USE graph.byName($region) MATCH (subject:Person)-[:${type}]->(resource:Car)`
      expect((await create(type, cypher, { actions: [type] })).errors).toBeUndefined()
      expect(await decisionOf('ann', type, 'e1', at('eu'))).toBe(true)
      expect(await decisionOf('ann', type, 'e1', at('us'))).toBe(false)
      expect(await resources('ann', type, at('eu'))).toEqual(['e1', 'e2'])
      expect(await resources('bob', type, at('us'))).toEqual(['u1'])
      expect(await decisionOf('ann', type, 'e1', at('mars'))).toEqual(
        refusal('unknown location mars for parameter $region'),
      )
    }
  })
})

it('no response and no line of the log names a physical database', () => {
  expect(seen.filter((line) => line.includes('physical'))).toEqual([])
})
