// A denial after a fault is no plain denial: `context.reason` has the kind of fault, and neither a value nor a name of a policy.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphServers } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let reader: string

const faulty: Readonly<Record<string, string>> = {
  type: 'resource.owner IN $parents',
  arithmetic: '1 / ($zero) = 1',
  argument: "duration('P' + $period) IS NOT NULL",
}
const parameters = { parents: 'secret', zero: 0, period: 'secret' }

beforeAll(async () => {
  service = await startService({ traversalStepsMax: 500 }, { log: () => {} })
  const node = (type: string, external_id: string) => ({ type, external_id })
  const people = Array.from({ length: 200 }, (_, i) => node('Person', `p${i}`))
  const sent = await service.ask('/capture/v1/nodes', { nodes: [node('Person', 'ann'), node('Car', 'c1'), ...people] })
  expect(sent.status).toBe(200)
  for (const [kind, predicate] of Object.entries(faulty))
    await service.addPolicy({
      name: `hidden-${kind}`,
      actions: [kind],
      cypher: `MATCH (subject:Person), (resource:Car) WHERE ${predicate}`,
    })
  const large =
    'MATCH (subject:Person), (resource:Car) WHERE COUNT { MATCH (a:Person), (b:Person) WHERE a.external_id < b.external_id } = 0'
  await service.addPolicy({ name: 'hidden-budget', actions: ['budget'], cypher: large })
  await service.addPolicy({
    name: 'plain',
    actions: ['drive'],
    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)',
    tags: ['day'],
  })
  reader = (await service.addAgent('reader', ['Authorization', 'ReadAuthZConfigs'])).key
})
afterAll(() => service?.stop())

const asked = (action: string, context: object = { input_params: parameters }) => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: action },
  resource: { type: 'Car', id: 'c1' },
  context,
})
const evaluate = async (request: object) => (await service.ask('/access/v1/evaluation', request)).body

// A database server computes the large condition itself, without counted steps.
const kinds = [...Object.keys(faulty), ...(graphServers.length > 0 ? [] : ['budget'])]

describe.each(kinds)('a policy that fails with %s', (kind) => {
  it('denies with the kind of fault, alone and in a batch', async () => {
    const denied = { decision: false, context: { reason: expect.stringMatching(`^policy_failed \\(${kind}\\): `) } }
    const { status, text, body } = await service.ask('/access/v1/evaluation', asked(kind))
    expect([status, body]).toEqual([200, denied])
    expect(text).not.toMatch(/secret|hidden/)
    const batch = await service.ask('/access/v1/evaluations', { evaluations: [asked(kind), asked('drive')] })
    expect(batch.body).toEqual({ evaluations: [denied, { decision: false }] })
  })

  it('is explained with the same reason', async () => {
    const { text, body } = await service.send('/access/v1/explain', {
      headers: { 'x-svc-clientkey': reader },
      body: asked(kind),
    })
    expect(body.context).toEqual((await evaluate(asked(kind))).context)
    expect(text).not.toContain('secret')
  })
})

describe('a denial', () => {
  const unnamed = { decision: false, context: { reason: expect.stringMatching(/^no_policy: /) } }

  it('says that no policy names the action, or the types', async () => {
    expect(await evaluate(asked('drvie'))).toEqual(unnamed)
    expect(await evaluate({ ...asked('drive'), resource: { type: 'Cra', id: 'c1' } })).toEqual(unnamed)
    expect(await evaluate({ ...asked('drive'), subject: { type: 'Persn', id: 'ann' } })).toEqual(unnamed)
  })

  it('has its reason in searches too', async () => {
    const { subject, action, resource } = asked('drvie')
    const { context } = unnamed
    const search = async (of: string, request: object) => (await service.ask(`/access/v1/search/${of}`, request)).body
    const found = { context, results: [] }
    expect(await search('resource', { subject, action, resource: { type: 'Car' } })).toEqual(found)
    expect(await search('subject', { subject: { type: 'Person' }, action, resource })).toEqual(found)
    expect(await search('action', { subject, resource: { type: 'Cra', id: 'c1' } })).toEqual(found)
  })

  it('has no reason if a policy names them and does not grant, or has other tags', async () => {
    expect(await evaluate(asked('drive'))).toEqual({ decision: false })
    expect(await evaluate(asked('drive', { policy_tags: ['night'] }))).toEqual({ decision: false })
  })
})
