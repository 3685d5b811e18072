import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PolicyError } from '../../../src/pdp/decision-deps.ts'
import { inOrderOfCapture } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
const faults: PolicyError[] = []

beforeAll(async () => {
  service = await startService({}, { onDecisionFault: (fault) => faults.push(fault), log: () => {} })
  const node = (type: string, external_id: string, properties: Record<string, unknown> = {}) => ({
    type,
    external_id,
    is_identity: type === 'Person',
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  })
  const nodes = [
    node('Person', 'ann'),
    node('Person', 'bob'),
    node('Team', 'red'),
    node('Car', 'c1', { wheels: 4 }),
    node('Car', 'c2', { wheels: 3 }),
    node('Car', 'c3', { wheels: 'many' }),
  ]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  const person = (external_id: string) => ({ type: 'Person', external_id })
  const car = (external_id: string) => ({ type: 'Car', external_id })
  const red = { type: 'Team', external_id: 'red' }
  const relationships = [
    { source: person('ann'), type: 'MEMBER', target: red },
    { source: red, type: 'OWNS', target: car('c1') },
    { source: red, type: 'OWNS', target: car('c2') },
    { source: red, type: 'OWNS', target: car('c3') },
    { source: person('bob'), type: 'LIKES', target: car('c2') },
  ]
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)

  const owned = 'MATCH (subject:Person)-[:MEMBER]->(:Team)-[:OWNS]->(resource:Car)'
  await service.addPolicy({ name: 'drive', actions: ['drive'], cypher: owned })
  await service.addPolicy({ name: 'lend', actions: ['lend'], cypher: `${owned} WHERE resource.wheels >= $min` })
  const likes = 'MATCH (subject:Person)-[:LIKES]->(resource:Car)'
  await service.addPolicy({ name: 'like-1', actions: ['wash'], cypher: likes })
  await service.addPolicy({ name: 'like-2', actions: ['wash'], cypher: `${owned} WHERE resource.wheels = $min` })
  await service.addPolicy({ name: 'tagged', actions: ['polish'], cypher: likes, tags: ['blue', 'green'] })
  await service.addPolicy({
    name: 'halve',
    actions: ['halve'],
    cypher: `${owned} WHERE 12 / (resource.wheels - 3) > 1`,
  })
  await service.addPolicy({
    name: 'named',
    actions: ['name'],
    cypher: `${owned} WHERE resource.external_id = $resource_external_id AND $subject_external_id = 'ann' AND resource.wheels = 4`,
  })
  const matched = { operator: '=~', attribute: 'resource.external_id', value: '$min' }
  const orFirst = { operator: 'OR', operands: [{ ...matched, operator: '=', value: 'c1' }, matched] }
  await service.addPolicy({ name: 'match', actions: ['match'], cypher: owned, filter: matched })
  await service.addPolicy({ name: 'match-or-c1', actions: ['match-or-c1'], cypher: owned, filter: orFirst })
  await service.addPolicy({
    name: 'claimed',
    actions: ['claim'],
    cypher: `${owned} WHERE $resource_properties.colour = 'red' AND $action_properties.soft AND $subject_properties.age > 17`,
  })
})

afterAll(() => service?.stop())

const ann = { type: 'Person', id: 'ann' }
const bob = { type: 'Person', id: 'bob' }
const car = (id: string) => ({ type: 'Car', id })

function evaluate(subject: unknown, action: string, resource: unknown, context?: unknown) {
  return service.ask('/access/v1/evaluation', { subject, action: { name: action }, resource, context })
}

async function decisionOf(subject: unknown, action: string, resource: unknown, context?: unknown): Promise<string> {
  const { status, text } = await evaluate(subject, action, resource, context)
  return `${status} ${text}`
}

async function resourcesFor(subject: unknown, action: string, context?: unknown): Promise<unknown> {
  const body = { subject, action: { name: action }, resource: { type: 'Car' }, context }
  const { status, text, body: answer } = await service.ask('/access/v1/search/resource', body)
  return status === 200 ? (answer.results as { id: string }[]).map(({ id }) => id) : `${status} ${text}`
}

async function subjectsFor(resource: unknown, action: string, context?: unknown): Promise<unknown> {
  const body = { subject: { type: 'Person' }, action: { name: action }, resource, context }
  const { status, text, body: answer } = await service.ask('/access/v1/search/subject', body)
  return status === 200 ? (answer.results as { id: string }[]).map(({ id }) => id) : `${status} ${text}`
}

const yes = '200 {"decision":true}'
const no = '200 {"decision":false}'
const missingMin = `422 {"message":"Unprocessable Entity","errors":["missing or wrong input params, 'min'"]}`

describe('an evaluation', () => {
  it('grants along the pattern and denies otherwise', async () => {
    expect(await decisionOf(ann, 'drive', car('c1'))).toBe(yes)
    expect(await decisionOf(bob, 'drive', car('c1'))).toBe(no)
  })

  it('denies unknown entities: node, type, action', async () => {
    expect(await decisionOf({ type: 'Person', id: 'zoe' }, 'drive', car('c1'))).toBe(no)
    expect(await decisionOf(ann, 'drive', car('c9'))).toBe(no)
    expect(await decisionOf({ type: 'Robot', id: 'ann' }, 'drive', car('c1'))).toMatch(/^200 .*"no_policy: /)
    expect(await decisionOf(ann, 'fly', car('c1'))).toMatch(/^200 .*"no_policy: /)
    expect(await decisionOf({ type: 'Person', id: 'ANN' }, 'drive', car('c1'))).toBe(no)
  })

  it('uses the input parameter', async () => {
    expect(await decisionOf(ann, 'lend', car('c1'), { input_params: { min: 4 } })).toBe(yes)
    expect(await decisionOf(ann, 'lend', car('c1'), { input_params: { min: 4.5 } })).toBe(no)
    expect(await decisionOf(ann, 'lend', car('c1'), { input_params: { min: 3.5 } })).toBe(yes)
  })

  it('reports a missing input parameter', async () => {
    expect(await decisionOf(ann, 'lend', car('c1'))).toBe(missingMin)
    expect(await decisionOf(bob, 'lend', car('c9'), { input_params: { max: 1 } })).toBe(missingMin)
  })

  it('grants by a policy with all parameters, although another policy lacks one', async () => {
    expect(await decisionOf(bob, 'wash', car('c2'))).toBe(yes)
    expect(await decisionOf(ann, 'wash', car('c2'))).toBe(missingMin)
    expect(await decisionOf(ann, 'wash', car('c2'), { input_params: { min: 3 } })).toBe(yes)
  })

  it('uses only policies with one of the requested tags', async () => {
    expect(await decisionOf(bob, 'polish', car('c2'))).toBe(yes)
    expect(await decisionOf(bob, 'polish', car('c2'), { policy_tags: ['red', 'blue'] })).toBe(yes)
    expect(await decisionOf(bob, 'polish', car('c2'), { policy_tags: ['red'] })).toBe(no)
    expect(await decisionOf(bob, 'wash', car('c2'), { policy_tags: ['blue'] })).toBe(no)
  })

  it('denies if the policy fails, and logs it', async () => {
    expect(await decisionOf(ann, 'halve', car('c1'))).toBe(yes)
    faults.length = 0
    expect(await decisionOf(ann, 'halve', car('c2'))).toMatch(/^200 .*"policy_failed \(arithmetic\): /)
    expect(faults).toMatchObject([{ projectId: service.projectId, requestKind: 'evaluation', code: 'arithmetic' }])
  })

  it.each([
    'subject_external_id',
    'subject_type',
    'subject_properties',
    'resource_external_id',
    'resource_type',
    'resource_properties',
    'action_properties',
  ])('binds the parameters of the platform, and refuses them from the caller: %s', async (name) => {
    expect(await decisionOf(ann, 'name', car('c1'))).toBe(yes)
    const refused = `422 {"message":"Unprocessable Entity","errors":["context.input_params.${name}: reserved, filled by the service"]}`
    expect(await decisionOf(bob, 'name', car('c1'), { input_params: { [name]: 'ann' } })).toBe(refused)
    expect(await resourcesFor(ann, 'drive', { input_params: { [name]: {} } })).toBe(refused)
    expect(await decisionOf(ann, 'name', car('c1'), { input_params: { [`my_${name}`]: 'ann' } })).toBe(yes)
  })

  it('refuses input parameters that would replace claims or the application', async () => {
    const { status, body } = await evaluate(ann, 'drive', car('c1'), {
      input_params: { token: { sub: 'x' }, svc_token: 1, _appId: 'y' },
    })
    expect(status).toBe(422)
    expect(body).toEqual({
      message: 'Unprocessable Entity',
      errors: [
        'context.input_params.token: reserved, filled by the service',
        'context.input_params.svc_token: reserved, filled by the service',
        'context.input_params._appId: reserved, filled by the service',
      ],
    })
  })

  it('refuses an input parameter that is too long', async () => {
    const asked = (length: number) => decisionOf(ann, 'lend', car('c1'), { input_params: { min: 'x'.repeat(length) } })
    expect(await asked(65_537)).toBe(
      '422 {"message":"Unprocessable Entity","errors":["context.input_params.min: expected at most 65536 characters, found 65537"]}',
    )
    expect(await asked(65_536)).toBe(no)
  })

  it('binds the properties of the request', async () => {
    const asked = {
      subject: { ...ann, properties: { age: 18 } },
      action: { name: 'claim', properties: { soft: true } },
      resource: { ...car('c1'), properties: { colour: 'red' } },
    }
    expect((await service.ask('/access/v1/evaluation', asked)).text).toBe('{"decision":true}')
    const blue = { ...asked, resource: { ...car('c1'), properties: { colour: 'blue' } } }
    expect((await service.ask('/access/v1/evaluation', blue)).text).toBe('{"decision":false}')
    expect(await decisionOf(ann, 'claim', car('c1'))).toBe(no)
  })

  it('ignores unknown members', async () => {
    const body = { subject: { ...ann, x: 1 }, action: { name: 'drive' }, resource: car('c1'), page: 3, more: [] }
    expect((await service.ask('/access/v1/evaluation', body)).text).toBe('{"decision":true}')
  })

  it('refuses wrong shapes with the path of each error', async () => {
    const { status, body } = await service.ask('/access/v1/evaluation', { subject: 'ann', action: { name: 1 } })
    expect(status).toBe(400)
    expect(body).toEqual({
      message: 'Bad Request',
      errors: [
        'subject: expected object, found string',
        'action.name: expected string, found number',
        'resource: expected object, found nothing',
      ],
    })
  })
})

it('a filter that is decided before a wrong parameter denies, alone, in a batch and explained', async () => {
  const matched = { operator: '=~', attribute: 'resource.external_id', value: '$min' }
  const both = { operator: 'AND', operands: [{ operator: 'IS NOT NULL', attribute: '$token.sub' }, matched] }
  await service.addPolicy({ name: 'early', actions: ['early'], cypher: 'MATCH (subject), (resource)', filter: both })
  const question = { subject: ann, action: { name: 'early' }, resource: car('c1') }
  const context = { input_params: { min: '(' } }
  const refused = { decision: false, context: { reason: expect.stringContaining('does not admit') } }
  expect((await evaluate(ann, 'early', car('c1'), context)).body).toEqual(refused)
  const batch = await service.ask('/access/v1/evaluations', { ...question, context, evaluations: [{}] })
  expect(batch.body).toEqual({ evaluations: [refused] })
  const { key } = await service.addAgent('explains', ['Authorization', 'ReadAuthZConfigs'])
  const explained = await service.send('/access/v1/explain', {
    headers: { 'x-svc-clientkey': key },
    body: { ...question, context },
  })
  expect(explained.body).toMatchObject({ ...refused, policies: [{ outcome: 'skipped', because: 'filter' }] })
})

describe('a search', () => {
  it('finds the resources of a subject and the subjects of a resource', async () => {
    expect(inOrderOfCapture((await resourcesFor(ann, 'drive')) as string[])).toEqual(['c1', 'c2', 'c3'])
    expect(await subjectsFor(car('c1'), 'drive')).toEqual(['ann'])
  })

  it('returns type before id, and nothing else', async () => {
    const body = { subject: bob, action: { name: 'polish' }, resource: { type: 'Car' } }
    expect((await service.ask('/access/v1/search/resource', body)).text).toBe('{"results":[{"type":"Car","id":"c2"}]}')
  })

  it('returns an empty list if nothing matches', async () => {
    expect(await resourcesFor(bob, 'drive')).toEqual([])
    expect(await resourcesFor({ type: 'Person', id: 'zoe' }, 'drive')).toEqual([])
    expect(await resourcesFor(ann, 'fly')).toEqual([])
    expect(await subjectsFor(car('c9'), 'drive')).toEqual([])
  })

  it('unites the policies, each result once', async () => {
    expect(await resourcesFor(bob, 'wash', { input_params: { min: 4 } })).toEqual(['c2'])
    expect(await resourcesFor(ann, 'wash', { input_params: { min: 4 } })).toEqual(['c1'])
  })

  it('treats a missing parameter as the evaluation does', async () => {
    expect(await resourcesFor(ann, 'lend')).toBe(missingMin)
    expect(await resourcesFor(bob, 'wash')).toEqual(['c2'])
    expect(await resourcesFor(ann, 'wash')).toBe(missingMin)
  })

  it('treats a parameter of the wrong type as the evaluation does', async () => {
    const wrong = { input_params: { min: '(' } }
    expect(await decisionOf(ann, 'match', car('c1'), wrong)).toBe(missingMin)
    expect(await resourcesFor(ann, 'match', wrong)).toBe(missingMin)
    expect(await subjectsFor(car('c1'), 'match', wrong)).toBe(missingMin)
    expect(await decisionOf(ann, 'match-or-c1', car('c2'), wrong)).toBe(missingMin)
    expect(await resourcesFor(ann, 'match-or-c1', wrong)).toEqual(['c1'])
  })

  it('omits only the candidate for which the policy fails', async () => {
    expect(await resourcesFor(ann, 'halve')).toEqual(['c1'])
  })

  it('works with a condition that reads the external id of the searched entity', async () => {
    expect(await resourcesFor(ann, 'name')).toEqual(['c1'])
    expect(await subjectsFor(car('c1'), 'name')).toEqual(['ann'])
  })

  it('returns actions in the order of their names, in pages or not', async () => {
    const asked = { subject: ann, resource: car('c1'), context: { input_params: { min: 4 } } }
    const whole = (await service.ask('/access/v1/search/action', asked)).body.results
    const names = (whole as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual(['drive', 'halve', 'lend', 'match-or-c1', 'name', 'wash'])
    const paged = await service.ask('/access/v1/search/action', { ...asked, page: {} })
    expect(paged.body.results).toEqual(whole)
  })

  it('ignores an id of the searched entity', async () => {
    const body = { subject: ann, action: { name: 'drive' }, resource: car('c1') }
    const { body: answer } = await service.ask('/access/v1/search/resource', body)
    expect(answer.results).toHaveLength(3)
  })

  it('refuses wrong shapes with the path of each error', async () => {
    const { status, body } = await service.ask('/access/v1/search/subject', { subject: {}, action: {}, resource: ann })
    expect(status).toBe(400)
    expect(body.errors).toEqual([
      'subject.type: expected string, found nothing',
      'action.name: expected string, found nothing',
    ])
  })

  it('contains x exactly when the evaluation of x is true', async () => {
    const contexts = [undefined, { input_params: { min: 4 } }, { input_params: { min: 3 } }]
    for (const action of ['drive', 'lend', 'wash', 'polish', 'halve', 'name', 'claim']) {
      for (const context of contexts) {
        for (const subject of [ann, bob]) {
          const found = await resourcesFor(subject, action, context)
          for (const id of ['c1', 'c2', 'c3']) {
            const granted = (await decisionOf(subject, action, car(id), context)) === yes
            expect([action, context, subject.id, id, Array.isArray(found) && found.includes(id)]).toEqual([
              action,
              context,
              subject.id,
              id,
              granted,
            ])
          }
        }
      }
    }
  })
})

describe('credentials', () => {
  const body = { subject: ann, action: { name: 'drive' }, resource: car('c1') }
  const send = (headers: Record<string, string>) => service.send('/access/v1/evaluation', { headers, body })

  it('accepts the key in its header, else in Authorization with or without Bearer', async () => {
    expect((await send({ 'x-svc-clientkey': service.key })).status).toBe(200)
    expect((await send({ authorization: `Bearer ${service.key}` })).status).toBe(200)
    expect((await send({ authorization: service.key })).status).toBe(200)
  })

  it('refuses a token of a user that the project does not accept', async () => {
    const refused = await send({ 'x-svc-clientkey': service.key, authorization: 'Bearer of-a-user' })
    expect([refused.status, refused.text]).toEqual([401, '{"message":"Invalid token in Authorization header"}'])
    expect(refused.headers.get('www-authenticate')).toBe(
      'Bearer error="invalid_token", error_description="the project accepts no opaque tokens"',
    )
  })

  it('refuses a missing and an unknown key', async () => {
    const missing = await send({})
    expect([missing.status, missing.text]).toEqual([
      401,
      '{"message":"an application agent key is required in the header X-SVC-ClientKey"}',
    ])
    expect(missing.headers.get('www-authenticate')).toBe('Bearer')
    const unknown = await send({ 'x-svc-clientkey': 'nonsense', authorization: `Bearer ${service.key}` })
    expect([unknown.status, unknown.text]).toEqual([
      401,
      '{"message":"the application agent key is unknown or expired"}',
    ])
    expect((await send({ authorization: `Bearer ${service.token}` })).status).toBe(401)
  })

  it('refuses a key whose agent lacks the permission', async () => {
    const { key } = await service.addAgent('capturer', ['Capture'])
    const refused = await send({ 'x-svc-clientkey': key })
    expect([refused.status, refused.text]).toEqual([401, '{"message":"insufficient API access level for appAgent"}'])
  })

  it('refuses a key from the moment it is deleted', async () => {
    const { key, credentialId } = await service.addAgent('short-lived', ['Authorization'])
    expect((await send({ 'x-svc-clientkey': key })).status).toBe(200)
    expect((await service.configure('DELETE', `application-agent-credentials/${credentialId}`)).status).toBe(200)
    expect((await send({ 'x-svc-clientkey': key })).status).toBe(401)
  })
  it('refuses a key that is deleted while the body arrives', async () => {
    const { key, credentialId } = await service.addAgent('slow', ['Authorization'])
    const text = JSON.stringify(body)
    const raw = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(text.slice(0, 10)))
        await Bun.sleep(50)
        await service.configure('DELETE', `application-agent-credentials/${credentialId}`)
        controller.enqueue(Buffer.from(text.slice(10)))
        controller.close()
      },
    })
    const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
    expect((await service.send('/access/v1/evaluation', { method: 'POST', headers, raw })).status).toBe(401)
  })
})
