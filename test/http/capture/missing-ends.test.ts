import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService

const connection = { url: 'lmdb:', name: 'main', composite_db_name: 'joined', alias_mapping: 'eu=eu-db&us=us-db' }

beforeAll(async () => {
  service = await startService({}, { sync: false })
  await service.addPolicy({ name: 'see', actions: ['see'], cypher: 'MATCH (subject:Person)-[:SEES]->(resource:Car)' })
  await nodes(person('ann'), person('bob'), car('c1'), car('c2'))
})

afterAll(() => service?.stop())

const person = (external_id: string, location?: string) => node('Person', external_id, location)
const car = (external_id: string, location?: string) => node('Car', external_id, location)
const sees = (source: object, target: object) => ({ source, target, type: 'SEES' })
const nodes = (...items: object[]) => service.ask('/capture/v1/nodes', { nodes: items })
const join = (relationships: object[], more: object = { on_missing_end: 'skip' }) =>
  service.ask('/capture/v1/relationships', { relationships, ...more })

function node(type: string, external_id: string, location?: string): object {
  return { type, external_id, ...(location === undefined ? {} : { location }) }
}

async function canSee(id: string): Promise<unknown> {
  const { body } = await service.ask('/access/v1/search/resource', {
    subject: { type: 'Person', id },
    action: { name: 'see' },
    resource: { type: 'Car' },
  })
  return (body.results as { id: string }[]).map((result) => result.id).sort()
}

/** For each item, whether it has an id; and the skipped ones. */
function written({ status, body }: TestResponse): unknown[] {
  expect(status).toBe(200)
  return [(body.results as { id: string }[]).map(({ id }) => id !== ''), body.skipped]
}

describe('on_missing_end', () => {
  it('skip: writes the others, and lists the skipped ones with their missing ends', async () => {
    const batch = [
      sees(person('ghost'), car('c1')),
      sees(person('ann'), car('c1')),
      sees(person('ann'), car('phantom')),
      sees(person('ghost'), car('phantom')),
      sees(person('ann'), car('c2')),
    ]
    const joined = await join(batch)
    expect(written(joined)).toEqual([
      [false, true, false, false, true],
      [
        { index: 0, missing: ['source'] },
        { index: 2, missing: ['target'] },
        { index: 3, missing: ['source', 'target'] },
      ],
    ])
    expect(await canSee('ann')).toEqual(['c1', 'c2'])
    // Repeated after the missing nodes were captured, it writes the rest.
    await nodes(person('ghost'), car('phantom'))
    const again = await join(batch)
    expect(written(again)).toEqual([[true, true, true, true, true], []])
    expect((again.body.results as unknown[])[1]).toEqual((joined.body.results as unknown[])[1])
    expect(await canSee('ghost')).toEqual(['c1', 'phantom'])
  })

  it('skip: a batch of which every item is skipped writes nothing', async () => {
    expect(written(await join([sees(person('nobody'), car('c1'))]))).toEqual([
      [false],
      [{ index: 0, missing: ['source'] }],
    ])
  })

  it.each([
    ['dan', {}],
    ['eve', { on_missing_end: 'refuse' }],
  ])('%s %j: refuses the whole batch', async (id, more) => {
    await nodes(person(id))
    const refused = await join([sees(person(id), car('c1')), sees(person(id), car('none'))], more)
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      ['relationships[1].target: the node `Car` `none` does not exist'],
    ])
    expect(await canSee(id)).toEqual([])
    const joined = await join([sees(person(id), car('c1'))], more)
    expect(joined.status).toBe(200)
    expect(joined.body).not.toHaveProperty('skipped')
  })

  it('skip: other errors still refuse the whole batch', async () => {
    const reserved = await join([
      sees(person('nobody'), car('c1')),
      { ...sees(person('bob'), car('c2')), type: '_HAS' },
    ])
    expect([reserved.status, reserved.body.errors]).toEqual([
      422,
      ['relationships[1].type: `_HAS` is reserved for the service'],
    ])
  })

  it('refuses another value, and the member in deletions', async () => {
    const unknown = await join([sees(person('bob'), car('c1'))], { on_missing_end: 'ignore' })
    expect([unknown.status, unknown.body.errors]).toEqual([
      400,
      ['on_missing_end: expected `refuse` or `skip`, found `ignore`'],
    ])
    const deletion = await service.ask('/capture/v1/relationships/delete', {
      relationships: [sees(person('bob'), car('c1'))],
      on_missing_end: 'skip',
    })
    expect([deletion.status, deletion.body.errors]).toEqual([400, ['body: unknown member `on_missing_end`']])
  })
})

describe('on_missing_end in a composite project', () => {
  beforeAll(async () => {
    const changed = await service.connect(connection)
    expect(changed.status).toBe(200)
    await nodes(person('eva', 'eu'), car('e1', 'eu'), person('una', 'us'), car('u1', 'us'), car('m1'))
  })

  it('skip: items of several graphs keep their indexes', async () => {
    const joined = await join([
      sees(person('una', 'us'), car('e1', 'us')),
      sees(person('eva', 'eu'), car('e1', 'eu')),
      sees(person('eva'), car('m1')),
      sees(person('una', 'us'), car('u1', 'us')),
    ])
    expect(written(joined)).toEqual([
      [false, true, false, true],
      [
        { index: 0, missing: ['target'] },
        { index: 2, missing: ['source'] },
      ],
    ])
  })

  it('skip: works in the global graph, where an end must exist at its location', async () => {
    const joined = await join(
      [
        sees(person('eva', 'eu'), car('u1', 'us')),
        // The node exists, but not at this location.
        sees(person('eva', 'us'), car('u1', 'us')),
        sees(person('eva', 'eu'), car('none')),
        sees(person('eva', 'eu'), car('m1')),
      ],
      { on_missing_end: 'skip', use_global_db: true },
    )
    expect(written(joined)).toEqual([
      [true, false, false, true],
      [
        { index: 1, missing: ['source'] },
        { index: 2, missing: ['target'] },
      ],
    ])
  })

  it('skip: ends in different constituents are still an error', async () => {
    const refused = await join([sees(person('eva', 'eu'), car('u1', 'us')), sees(person('ann'), car('c1'))])
    expect(refused.status).toBe(422)
  })
})
