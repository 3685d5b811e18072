// The deprecated requests what-authorized and who-authorized find exactly what the searches find.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphServers, inOrderOfCapture } from '../../support/graph-servers.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

const RESULTS_MAX = 6

let service: TestService

beforeAll(async () => {
  service = await startService({ searchPageMax: RESULTS_MAX, evaluationsMax: 3 }, { sync: false })
  const drives = 'MATCH (subject)-[:DRIVES]->(resource)'
  await service.addPolicy({ name: 'drive', actions: ['drive', 'park'], cypher: drives, tags: ['fleet'] })
  await service.addPolicy({ name: 'robot', subject: 'Robot', actions: ['drive'], cypher: drives })
  await service.addPolicy({ name: 'van', resource: 'Van', actions: ['drive'], cypher: drives })
  await service.addPolicy({
    name: 'load',
    actions: ['load'],
    cypher: 'MATCH (subject)-[:DRIVES]->(resource) WHERE resource.capacity >= $least',
  })
  await service.addPolicy({
    name: 'robot-load',
    subject: 'Robot',
    actions: ['load'],
    cypher: drives,
  })
  const nodes = [
    ...['ann', 'bob'].map((id) => ({ type: 'Person', external_id: id, is_identity: true })),
    { type: 'Robot', external_id: 'r2', is_identity: true },
    ...['c1', 'c2', 'c3', 'c4'].map((id, i) => ({
      type: 'Car',
      external_id: id,
      properties: [{ type: 'capacity', value: i }],
    })),
    ...['v1', 'v2', 'v3'].map((id) => ({ type: 'Van', external_id: id })),
  ]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  const edge = (type: string, id: string, resource: string) => ({
    source: { type, external_id: id },
    type: 'DRIVES',
    target: { type: resource.startsWith('v') ? 'Van' : 'Car', external_id: resource },
  })
  const relationships = [
    ...['c1', 'c2', 'c3', 'v1', 'v2', 'v3'].map((id) => edge('Person', 'ann', id)),
    edge('Person', 'bob', 'c1'),
    edge('Robot', 'r2', 'c1'),
    edge('Robot', 'r2', 'c4'),
  ]
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
})

afterAll(() => service?.stop())

const what = (body: object) => service.ask('/access/v1/what-authorized', body)
const who = (body: object) => service.ask('/access/v1/who-authorized', body)
const ann = { type: 'Person', id: 'ann' }
const item = (action: string, type: string) => ({ action: { name: action }, resource: { type } })
const about = (action: string, id: string) => ({ action: { name: action }, resource: { type: 'Car', id } })

function errorsOf({ status, body }: TestResponse): unknown[] {
  return [status, ...((body.errors ?? [body.message]) as string[])]
}

interface SearchResult {
  readonly type: string
  readonly id: string
}

async function searched(target: 'resource' | 'subject', body: object): Promise<readonly SearchResult[]> {
  const answered = await service.ask(`/access/v1/search/${target}`, body)
  expect(answered.status).toBe(200)
  return answered.body.results as SearchResult[]
}

describe('what-authorized', () => {
  it('returns what a resource search finds, for each evaluation in order', async () => {
    const evaluations = [item('drive', 'Van'), item('park', 'Car'), item('fly', 'Car')]
    const answered = await what({ subject: ann, evaluations })
    expect(answered.status).toBe(200)
    const expected: unknown[] = []
    for (const one of evaluations) {
      for (const resource of await searched('resource', { subject: ann, ...one })) {
        expected.push({ action: one.action, resource })
      }
    }
    expect(answered.body).toEqual({ evaluations: expected })
    expect(expected.length).toBe(6)
    const van = { action: { name: 'drive' }, resource: { type: 'Van', id: 'v1' } }
    if (graphServers.length === 0) expect(expected[0]).toEqual(van)
    else expect(expected).toContainEqual(van)
  })

  it('binds the context to every evaluation', async () => {
    const ask = (context: object) => what({ subject: ann, evaluations: [item('load', 'Car')], context })
    const ids = ({ body }: TestResponse) =>
      inOrderOfCapture((body.evaluations as { resource: { id: string } }[]).map(({ resource }) => resource.id))
    expect(ids(await ask({ input_params: { least: 1 } }))).toEqual(['c2', 'c3'])
    expect(ids(await ask({ input_params: { least: 5 } }))).toEqual([])
    expect(errorsOf(await ask({}))).toEqual([422, "missing or wrong input params, 'least'"])
    const tagged = (tags: readonly string[]) =>
      what({ subject: ann, evaluations: [item('park', 'Car')], context: { policy_tags: tags } })
    expect(ids(await tagged(['fleet']))).toEqual(['c1', 'c2', 'c3'])
    expect(ids(await tagged(['other']))).toEqual([])
  })

  it('refuses an answer that would be too large, and never cuts it', async () => {
    expect((await what({ subject: ann, evaluations: [item('drive', 'Car'), item('drive', 'Van')] })).status).toBe(200)
    const large = [item('drive', 'Car'), item('drive', 'Van'), item('park', 'Car')]
    expect(errorsOf(await what({ subject: ann, evaluations: large }))).toEqual([
      422,
      `the answer has more than ${RESULTS_MAX} results: use /access/v1/search/resource, which has pages`,
    ])
    // Nothing is left for the last evaluation, and it needs nothing.
    const full = [item('drive', 'Car'), item('drive', 'Van'), item('fly', 'Car')]
    expect((await what({ subject: ann, evaluations: full })).status).toBe(200)
  })

  it.each([
    [[], ['body: expected object, found array']],
    [{ subject: ann }, ['evaluations: expected array, found nothing']],
    [{ subject: ann, evaluations: {} }, ['evaluations: expected array, found object']],
    [{ subject: ann, evaluations: [] }, ['evaluations: expected at least 1 item']],
    [{ evaluations: [item('drive', 'Car'), item('drive', 'Van')] }, ['subject: expected object, found nothing']],
    [
      { subject: { type: 'Person' }, evaluations: [item('drive', 'Car'), 5, { action: 'drive', resource: {} }] },
      [
        'subject.id: expected string, found nothing',
        'evaluations[1]: expected object, found number',
        'evaluations[2].action: expected object, found string',
        'evaluations[2].resource.type: expected string, found nothing',
      ],
    ],
    [
      { subject: ann, evaluations: [item('drive', 'Car')], context: { policy_tags: 'fleet' } },
      ['context.policy_tags: expected array, found string'],
    ],
    [
      { subject: ann, evaluations: Array.from({ length: 4 }, () => item('drive', 'Car')) },
      ['evaluations: expected at most 3 items, found 4'],
    ],
  ])('refuses %j', async (body, issues) => {
    expect(errorsOf(await what(body))).toEqual([400, ...issues])
  })
})

describe('who-authorized', () => {
  interface SubjectList {
    readonly action: object
    readonly resource: object
    readonly subjects: readonly SearchResult[]
  }
  const inOrder = (lists: readonly SubjectList[]): readonly SubjectList[] =>
    lists.map((list) => ({ ...list, subjects: inOrderOfCapture(list.subjects, ({ id }) => id) }))

  it('returns what subject searches find, over all types of subjects', async () => {
    const evaluations = [about('drive', 'c1'), about('drive', 'c2'), about('fly', 'c1')]
    const answered = await who({ evaluations })
    expect(answered.status).toBe(200)
    const expected: SubjectList[] = []
    for (const one of evaluations) {
      const subjects: SearchResult[] = []
      for (const type of ['Person', 'Robot'])
        subjects.push(...(await searched('subject', { subject: { type }, ...one })))
      expected.push({ ...one, subjects })
    }
    expect(answered.body).toEqual({ evaluations: expected })
    expect(inOrder(expected)).toEqual([
      { ...about('drive', 'c1'), subjects: [ann, { type: 'Person', id: 'bob' }, { type: 'Robot', id: 'r2' }] },
      { ...about('drive', 'c2'), subjects: [ann] },
      { ...about('fly', 'c1'), subjects: [] },
    ])
  })

  it('reports a missing parameter only if nothing is found without it', async () => {
    expect((await who({ evaluations: [about('load', 'c1')] })).body).toEqual({
      evaluations: [{ ...about('load', 'c1'), subjects: [{ type: 'Robot', id: 'r2' }] }],
    })
    expect(errorsOf(await who({ evaluations: [about('load', 'c2')] }))).toEqual([
      422,
      "missing or wrong input params, 'least'",
    ])
    const context = { input_params: { least: 0 } }
    const { body } = await who({ evaluations: [about('load', 'c1')], context })
    expect(inOrder(body.evaluations as SubjectList[])).toEqual([
      { ...about('load', 'c1'), subjects: [ann, { type: 'Person', id: 'bob' }, { type: 'Robot', id: 'r2' }] },
    ])
    // The rules for input parameters hold also if no policy applies.
    const reserved = { input_params: { subject_type: 'x' } }
    expect((await who({ evaluations: [about('fly', 'c1')], context: reserved })).status).toBe(422)
  })

  it('refuses an answer that would be too large', async () => {
    const evaluations = [about('drive', 'c1'), about('park', 'c1'), about('drive', 'c1')]
    expect(errorsOf(await who({ evaluations }))).toEqual([
      422,
      `the answer has more than ${RESULTS_MAX} results: use /access/v1/search/subject, which has pages`,
    ])
  })

  it.each([
    [
      { evaluations: [{ action: { name: 'drive' }, resource: { type: 'Car' } }] },
      ['evaluations[0].resource.id: expected string, found nothing'],
    ],
    [
      { evaluations: [{}] },
      [
        'evaluations[0].action: expected object, found nothing',
        'evaluations[0].resource: expected object, found nothing',
      ],
    ],
    [{ evaluations: null }, ['evaluations: expected array, found null']],
  ])('refuses %j', async (body, issues) => {
    expect(errorsOf(await who(body))).toEqual([400, ...issues])
  })
})

describe('both', () => {
  const requests: readonly (readonly [string, object, string])[] = [
    ['/access/v1/what-authorized', { subject: ann, evaluations: [item('drive', 'Car')] }, '/access/v1/search/resource'],
    ['/access/v1/who-authorized', { evaluations: [about('drive', 'c1')] }, '/access/v1/search/subject'],
  ]

  it.each(requests)(
    '%s is marked as deprecated, in its answer and in the description',
    async (path, body, successor) => {
      const { headers } = await service.ask(path, body)
      expect(headers.get('deprecation')).toMatch(/^@\d{10}$/)
      expect(Number(headers.get('deprecation')?.slice(1)) * 1000).toBe(Date.UTC(2026, 10, 22))
      expect(headers.get('link')).toBe(`<${successor}>; rel="successor-version"`)
      const { paths } = (await service.send('/openapi.json')).body as {
        paths: Record<string, { post: { deprecated?: boolean } }>
      }
      expect(paths[path]?.post.deprecated).toBe(true)
      expect(paths[successor]?.post).not.toHaveProperty('deprecated')
    },
  )

  it.each(requests)('%s needs the permission Authorization', async (path, body) => {
    const { key } = await service.addAgent(`without-${path.slice(11, 14)}`, ['Capture', 'CIQ'])
    const refused = await service.send(path, { headers: { 'x-svc-clientkey': key }, body })
    expect([refused.status, refused.body.message]).toEqual([401, 'insufficient API access level for appAgent'])
    expect((await service.send(path, { body })).status).toBe(401)
  })
})
