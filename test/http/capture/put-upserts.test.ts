import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({}, { sync: false })
  for (const label of ['Electric', 'Fast', 'Old']) {
    await service.addPolicy({
      name: `is-${label.toLowerCase()}`,
      actions: [label],
      cypher: `MATCH (subject:Person), (resource:Car:${label})`,
    })
  }
  await service.addPolicy({
    name: 'wheels',
    actions: ['wheels'],
    cypher: 'MATCH (subject:Person), (resource:Car) WHERE resource.wheels = 4',
  })
  await post('nodes', { nodes: [{ type: 'Person', external_id: 'ann', is_identity: true }] })
})

afterAll(() => service?.stop())

const send = (method: string, path: string, body: unknown): Promise<TestResponse> =>
  service.send(`/capture/v1/${path}`, { method, headers: { 'x-svc-clientkey': service.key }, body })
const post = (path: string, body: unknown) => send('POST', path, body)
const put = (path: string, body: unknown) => send('PUT', path, body)
const putNode = (key: string, body: unknown = {}) => put(`nodes/${key}`, body)
const car = (external_id: string) => ({ type: 'Car', external_id })

function idsOf({ status, body }: TestResponse): unknown[] {
  expect(status).toBe(200)
  return (body.results as { id: string }[]).map(({ id }) => id)
}

function errorsOf({ status, body }: TestResponse): unknown[] {
  return [status, ...(body.errors as string[])]
}

/** The actions that the policies of this file allow on a car. */
async function actionsOn(id: string): Promise<unknown> {
  const { body } = await service.ask('/access/v1/search/action', {
    subject: { type: 'Person', id: 'ann' },
    resource: { type: 'Car', id },
  })
  return (body.results as { name: string }[]).map(({ name }) => name).sort()
}

describe('PUT on an upsert', () => {
  it('is the same as POST', async () => {
    for (const path of ['nodes', 'nodes/']) {
      const ids = idsOf(await put(path, { nodes: [car('a'), car('b')] }))
      expect(ids).toEqual(idsOf(await post('nodes', { nodes: [car('a'), car('b')] })))
    }
    const relationship = { source: { type: 'Person', external_id: 'ann' }, type: 'OWNS', target: car('a') }
    const [id] = idsOf(await put('relationships', { relationships: [relationship] }))
    expect(id).toMatch(/^gid:/)
    expect(idsOf(await post('relationships', { relationships: [relationship] }))).toEqual([id])
  })

  it('has the same limits and rules', async () => {
    expect(errorsOf(await put('nodes', { nodes: [] }))).toEqual([400, 'nodes: expected at least 1 item'])
    const ghost = { source: car('ghost'), type: 'NEAR', target: car('a') }
    expect(errorsOf(await put('relationships', { relationships: [ghost] }))).toEqual([
      422,
      'relationships[0].source: the node `Car` `ghost` does not exist',
    ])
    const { key } = await service.addAgent('reader', ['Authorization'])
    const headers = { 'x-svc-clientkey': key }
    for (const path of ['nodes', 'nodes/Car:a', 'relationships']) {
      expect((await service.send(`/capture/v1/${path}`, { method: 'PUT', headers, body: {} })).status).toBe(401)
    }
  })

  it('exists for upserts only', async () => {
    for (const path of ['nodes/delete', 'relationships/delete', 'nodes/properties/delete']) {
      expect((await put(path, {})).status).toBe(405)
    }
    expect((await post('nodes/Car:a', {})).status).toBe(405)
  })
})

describe('PUT of one node', () => {
  it('creates and updates the node that its path names', async () => {
    const created = await putNode('Car:one', { labels: ['Fast'], properties: [{ type: 'wheels', value: 4 }] })
    expect(idsOf(created)).toEqual(idsOf(await post('nodes', { nodes: [car('one')] })))
    expect(await actionsOn('one')).toEqual(['Fast', 'wheels'])
    await putNode('Car:one', { type: 'Car', external_id: 'one', properties: [{ type: 'wheels', value: 3 }] })
    expect(await actionsOn('one')).toEqual(['Fast'])
    await putNode('Car:one', { labels: [] })
    expect(await actionsOn('one')).toEqual([])
  })

  it.each([
    'a:b:c',
    'gid:short',
    'a/b',
    'a%2Fb',
    'a%252Fb',
    '100%',
    '%',
    'ü ? # & + é',
    '日本',
    'x@example.com',
    "it's (1)!*",
    'delete',
    ' ',
  ])('takes the external id %j from the path', async (external_id) => {
    const [id] = idsOf(await putNode(encodeURIComponent(`Car:${external_id}`)))
    expect(idsOf(await post('nodes', { nodes: [car(external_id)] }))).toEqual([id])
    expect(idsOf(await putNode(`Car:${encodeURIComponent(external_id)}`))).toEqual([id])
    // Any character may be percent-encoded.
    const escaped = [...Buffer.from(external_id)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    expect(idsOf(await putNode(`Car:${escaped}`))).toEqual([id])
  })

  it('refuses a body for another node', async () => {
    const other = await putNode('Car:two', { type: 'Van', external_id: 'three', properties: [] })
    expect(errorsOf(other)).toEqual([
      400,
      'type: expected `Car` as in the path, found `Van`',
      'external_id: expected `two` as in the path, found `three`',
    ])
  })

  it.each([
    ['Car', 'path: expected `{type}:{external_id}`, percent-encoded'],
    ['Car%ff:a', 'path: expected `{type}:{external_id}`, percent-encoded'],
    ['Car:', 'path.external_id: expected at least 1 character'],
    [':a', 'path.type: expected at least 1 character'],
    [
      '2Cars:a',
      'path.type: expected a label: a letter or `_`, then letters, digits and `_`, and between two of them single `-`, `.` or `/`',
    ],
    [`Car:${'x'.repeat(1025)}`, 'path.external_id: expected at most 1024 characters'],
    [
      'gid:01JD0000000000000000000000',
      'path: expected `{type}:{external_id}`, percent-encoded, found an id: nodes are found by their type and external id',
    ],
  ])('refuses the key %j', async (key, message) => {
    expect(errorsOf(await putNode(key))).toContain(message)
  })

  it('names the members of its own body in errors', async () => {
    expect(errorsOf(await putNode('Car:x', { nodes: [] }))).toEqual([400, 'body: unknown member `nodes`'])
    expect(errorsOf(await putNode('Car:x', { properties: [{ type: 'id', value: 1 }], location: 'mars' }))).toEqual([
      422,
      'properties[0].type: `id` is a protected name',
      'location: unknown location mars: the project has no composite database',
    ])
    expect(errorsOf(await putNode('_Application:x'))).toEqual([422, 'type: `_Application` is reserved for the service'])
  })
})

describe('tags of a node', () => {
  it('are further labels', async () => {
    await post('nodes', { nodes: [{ ...car('tagged'), labels: ['Fast'], tags: ['Electric', 'Fast'] }] })
    expect(await actionsOn('tagged')).toEqual(['Electric', 'Fast'])
    // An upsert replaces the labels, whichever member they were sent in.
    await post('nodes', { nodes: [{ ...car('tagged'), tags: ['Old'] }] })
    expect(await actionsOn('tagged')).toEqual(['Old'])
    await post('nodes', { nodes: [car('tagged')] })
    expect(await actionsOn('tagged')).toEqual(['Old'])
    await putNode('Car:tagged', { tags: ['Electric'] })
    expect(await actionsOn('tagged')).toEqual(['Electric'])
    await putNode('Car:tagged', { tags: [] })
    expect(await actionsOn('tagged')).toEqual([])
  })

  it('have the limits of labels', async () => {
    const withTags = (tags: unknown, labels: unknown = []) => post('nodes', { nodes: [{ ...car('t'), tags, labels }] })
    expect(errorsOf(await withTags(['A'.repeat(65)]))).toEqual([
      400,
      'nodes[0].tags[0]: expected at most 64 characters',
    ])
    expect(errorsOf(await withTags(['two words']))).toEqual([
      400,
      'nodes[0].tags[0]: expected a label: a letter or `_`, then letters, digits and `_`, and between two of them single `-`, `.` or `/`',
    ])
    expect(errorsOf(await withTags('Fast'))).toEqual([400, 'nodes[0].tags: expected array, found string'])
    expect(errorsOf(await withTags(['_Hidden']))).toEqual([
      422,
      'nodes[0].tags[0]: `_Hidden` is reserved for the service',
    ])
    const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
    expect(errorsOf(await withTags(names('T', 65)))).toEqual([400, 'nodes[0].tags: expected at most 64 items'])
    expect(errorsOf(await withTags(names('Tag', 32), names('Label', 33)))).toEqual([
      400,
      'nodes[0]: labels and tags: expected at most 64 together',
    ])
    expect(errorsOf(await putNode('Car:t', { tags: names('Tag', 32), labels: names('Label', 33) }))).toEqual([
      400,
      'body: labels and tags: expected at most 64 together',
    ])
    expect((await withTags(names('Tag', 64), names('Tag', 64))).status).toBe(200)
  })
})
