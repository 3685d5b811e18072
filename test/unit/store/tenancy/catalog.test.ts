import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { GraphStore } from '../../../../src/engine/store.ts'
import { mintGid } from '../../../../src/kernel/ids.ts'
import { type Catalog, openCatalog } from '../../../../src/store/tenancy/catalog.ts'
import type { GraphLayout } from '../../../../src/store/tenancy/project-graphs.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = { clock: new ManualClock(1_750_000_000_000), sync: false }

function countNodes(store: GraphStore | null): number | null {
  if (store === null) return null
  const snapshot = store.snapshot()
  const count = snapshot.nodeCount(null)
  snapshot.close()
  return count
}

async function addNode(store: GraphStore | null): Promise<void> {
  await store!.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))
}

/** A location for each database, with the same name. */
function compositeOf(...databases: string[]): GraphLayout {
  return { isComposite: true, locations: new Map(databases.map((database) => [database, { database }])) }
}

describe('a catalog', () => {
  test('lists the created projects, each with a graph of its own', async () => {
    const folder = temporaryFolder()
    const [one, two] = [mintGid(1), mintGid(1)]
    let catalog = openCatalog(folder, options)
    expect(catalog.graph(one, 'default')).toBeNull()
    await catalog.create(one)
    await catalog.create(two)
    await addNode(catalog.graph(one, 'default'))
    expect(catalog.graph(one, 'default')).toBe(catalog.graph(one, 'default'))
    expect([countNodes(catalog.graph(one, 'default')), countNodes(catalog.graph(two, 'default'))]).toEqual([1, 0])
    await catalog.close()
    catalog = openCatalog(folder, options)
    expect([countNodes(catalog.graph(one, 'default')), countNodes(catalog.graph(two, 'default'))]).toEqual([1, 0])
    await catalog.close()
  })

  test('creates an existing project again without changing it', async () => {
    const catalog = openCatalog(temporaryFolder(), options)
    const project = mintGid(1)
    await catalog.create(project)
    await addNode(catalog.graph(project, 'default'))
    await catalog.create(project)
    expect(countNodes(catalog.graph(project, 'default'))).toBe(1)
    await catalog.close()
  })

  test('finds a constituent by the name of its database, with any characters', async () => {
    const catalog = openCatalog(temporaryFolder(), options)
    const project = mintGid(1)
    const databases = ['eu', '../..', '', 'x'.repeat(300), '日本', 'default', 'global']
    await catalog.create(project, compositeOf(...databases))
    for (const database of databases) await addNode(catalog.graph(project, { database }))
    expect(databases.map((database) => countNodes(catalog.graph(project, { database })))).toEqual(
      databases.map(() => 1),
    )
    expect([countNodes(catalog.graph(project, 'default')), catalog.graph(project, { database: 'us' })]).toEqual([
      0,
      null,
    ])
    await catalog.close()
  })

  test('keeps every project below its folder, and ids that differ only in letter case separate', async () => {
    const folder = temporaryFolder()
    const catalog = openCatalog(folder, options)
    const ids = [
      'gid:ABCDEFGHIJKLMNOPQRSTUVWX',
      'gid:abcdefghijklmnopqrstuvwx',
      'gid:Abcdefghijklmnopqrstuvwx',
      `gid:${'A'.repeat(500)}`,
    ]
    for (const id of ids) await catalog.create(id)
    const folders = readdirSync(join(folder, 'projects'))
    expect(new Set(folders.map((name) => name.toLowerCase())).size).toBe(ids.length)
    await expect(catalog.create('gid:../../elsewhere-and-beyond')).rejects.toThrow('a project id is a global id')
    expect(catalog.graph('../elsewhere', 'default')).toBeNull()
    expect(readdirSync(folder)).toEqual(['projects'])
    await catalog.close()
  })

  test('deletes a project with its data, and creates it again empty', async () => {
    const folder = temporaryFolder()
    const catalog = openCatalog(folder, options)
    const project = mintGid(1)
    await catalog.create(project, compositeOf('eu'))
    await addNode(catalog.graph(project, 'default'))
    await catalog.delete(project)
    await catalog.delete(project)
    expect([catalog.graph(project, 'default'), catalog.graph(project, { database: 'eu' })]).toEqual([null, null])
    expect(readdirSync(join(folder, 'projects'))).toEqual([])
    await catalog.create(project)
    expect(countNodes(catalog.graph(project, 'default'))).toBe(0)
    await catalog.close()
  })

  test('checks a graph that exists', async () => {
    const catalog = openCatalog(temporaryFolder(), options)
    const project = mintGid(1)
    await catalog.create(project)
    await addNode(catalog.graph(project, 'default'))
    expect([catalog.check(project, 'default'), catalog.check(project, { database: 'eu' })]).toEqual([[], null])
    await catalog.close()
  })

  test('finishes a removal that a crash interrupted', async () => {
    const folder = temporaryFolder()
    const left = join(folder, 'projects', '.removed-X-1')
    mkdirSync(join(left, 'default'), { recursive: true })
    await openCatalog(folder, options).close()
    expect(existsSync(left)).toBe(false)
  })
})

describe('events of a batch of another server', () => {
  const mark = { id: 'one', version: 1 }
  const isCommitted = (): Promise<boolean> => Promise.resolve(true)
  const events = [{ record: 'created', count: 1, stream: 'sinks' }]

  async function prepared() {
    const catalog = openCatalog(temporaryFolder(), options)
    const project = mintGid(1)
    await catalog.create(project)
    const report = await catalog.prepareRemote(project, 'default', { changes: () => [] }, events, { mark, isCommitted })
    /** The sequence of the next event; the number of intents that are left. */
    const stored = () =>
      catalog.withOutboxes(project, async ([first]) => {
        const left: unknown[] = []
        await catalog.settleRemote(project, (_, { id }) => {
          left.push(id)
          return Promise.resolve(false)
        })
        return [first!.outbox.heads().get('sinks')?.next ?? 1, left.length]
      })
    return { catalog, project, report, stored }
  }

  test('are stored once, whether the writer or a start after a crash comes first', async () => {
    for (const isWriterFirst of [true, false]) {
      const { catalog, project, report, stored } = await prepared()
      const settle = () => catalog.settleRemote(project, () => Promise.resolve(true))
      if (isWriterFirst) await report.committed()
      await settle()
      if (!isWriterFirst) await report.committed()
      await settle()
      expect(await stored()).toEqual([2, 0])
      await catalog.close()
    }
  })

  test('are stored once if the writer ends while the server is asked', async () => {
    const { catalog, project, report, stored } = await prepared()
    await catalog.settleRemote(project, async () => {
      await report.committed()
      return true
    })
    expect(await stored()).toEqual([2, 0])
    await catalog.close()
  })

  test('are stored in the order of the transactions, and those of a lost one never', async () => {
    const committed = new Set(['one', 'two', 'four'])
    const { catalog, project, report } = await prepared()
    const prepare = (id: string, version: number) =>
      catalog.prepareRemote(project, 'default', { changes: () => [] }, [{ record: id, count: 1, stream: 'sinks' }], {
        mark: { id, version },
        isCommitted: (earlier) => Promise.resolve(committed.has(earlier.id)),
      })
    await prepare('two', 2)
    await prepare('three', 3)
    const last = await prepare('four', 4)
    const later = await prepare('five', 5)
    expect(await last.committed()).toBe('recorded')
    expect(await report.committed()).toBe('recorded')
    await later.dropped()
    expect(await recordsOf(catalog, project)).toEqual(['created', 'two', 'four'])
    await catalog.close()
  })

  test('wait for earlier ones while the server cannot be asked about them', async () => {
    let isAway = true
    const { catalog, project } = await prepared()
    const second = await catalog.prepareRemote(
      project,
      'default',
      { changes: () => [] },
      [{ record: 'two', count: 1, stream: 'sinks' }],
      {
        mark: { id: 'two', version: 2 },
        isCommitted: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(true)),
      },
    )
    expect(await second.committed()).toBe('stored')
    expect(await recordsOf(catalog, project)).toEqual([])
    isAway = false
    await catalog.settleRemote(project, () => Promise.resolve(true))
    expect(await recordsOf(catalog, project)).toEqual(['created', 'two'])
    await catalog.close()
  })

  test('are not stored if the transaction was lost', async () => {
    for (const isWriterFirst of [true, false]) {
      const { catalog, project, report, stored } = await prepared()
      if (isWriterFirst) await report.dropped()
      await catalog.settleRemote(project, () => Promise.resolve(false))
      await report.dropped()
      expect(await stored()).toEqual([1, 0])
      await catalog.close()
    }
  })
})

function recordsOf(catalog: Catalog, project: string): Promise<readonly string[]> {
  const limits = { events: 100, bytes: 100_000 }
  return catalog.withOutboxes(project, async ([first]) =>
    first!.outbox.read('sinks', 0, limits).map(({ bytes }) => new TextDecoder().decode(bytes)),
  )
}
