// A bulk load produces the same graph as ordinary batches of the same items, whatever the sizes of its batches.
import { afterEach, expect, test } from 'vitest'
import type { OpenSnapshot } from '../../../../src/engine/store.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { testSeed } from '../../../generate/random.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const opened: LmdbEnvironment[] = []

function open(folder = temporaryFolder()): LmdbEnvironment {
  const environment = openEnvironment(folder, { clock: new ManualClock(1000), sync: false, entriesPerChunk: 4 })
  opened.push(environment)
  return environment
}

afterEach(async () => {
  for (const environment of opened.splice(0)) await environment.close()
})

type LoadedElement =
  | { node: { type: string; externalId: string; labels: string[]; properties: { name: string; value: number }[] } }
  | { ends: [string, string]; type: string; value: number | null }

const key = (externalId: string) => ({ type: `T${Number(externalId) % 3}`, externalId })

function itemsOf(random: (below: number) => number, nodes: number, count: number): LoadedElement[] {
  const items: LoadedElement[] = []
  for (let i = 0; i < nodes; i++) items.push(nodeItem(random, String(i)))
  for (let i = 0; i < count; i++) {
    // Every fourth one at the same node, so that it gets long lists in both directions.
    const ends: [string, string] = [String(random(nodes)), String(random(nodes))]
    if (random(4) === 0) ends[random(2)] = '0'
    items.push({ ends, type: `R${random(3)}`, value: random(2) === 0 ? random(100) : null })
    if (random(10) === 0) items.push(nodeItem(random, String(random(nodes))))
  }
  return items
}

function nodeItem(random: (below: number) => number, id: string): LoadedElement {
  const properties = Array.from({ length: random(3) }, () => ({ name: `p${random(3)}`, value: random(5) }))
  return { node: { ...key(id), labels: random(2) === 0 ? [`L${random(3)}`] : [], properties } }
}

/** Everything that can be read, by keys and names. */
function contents(environment: LmdbEnvironment): unknown {
  const snapshot: OpenSnapshot = environment.snapshot()
  const chunk = { ids: new Uint32Array(8), relationships: new Uint32Array(8), length: 0, more: false, next: 0 }
  const lines: unknown[] = []
  const nodes: number[] = []
  for (let from = 0; ; from = chunk.next) {
    snapshot.allNodes(from, chunk)
    nodes.push(...chunk.ids.subarray(0, chunk.length))
    if (!chunk.more) break
  }
  for (const node of nodes) {
    const labels = snapshot.labels(node).map((label) => snapshot.symbolName('label', label))
    const joined: string[] = []
    for (const type of snapshot.relationshipTypesAt(node, 'out')) {
      for (let from = 0; ; from = chunk.next) {
        snapshot.neighbours(node, 'out', type, from, chunk)
        for (let i = 0; i < chunk.length; i++) {
          const properties = Object.fromEntries(snapshot.relationshipProperties(chunk.relationships[i]!))
          const target = snapshot.nodeField(chunk.ids[i]!, 'external_id')
          joined.push(`${snapshot.symbolName('type', type)} ${target} ${JSON.stringify(properties)}`)
        }
        if (!chunk.more) break
      }
    }
    lines.push([
      snapshot.nodeField(node, 'external_id'),
      labels.sort(),
      [...snapshot.nodeProperties(node)].sort(),
      joined.sort(),
    ])
  }
  snapshot.close()
  return lines
}

test('leaves what ordinary batches leave, and the checker finds no error', async () => {
  const seed = testSeed()
  for (let round = 0; round < 12; round++) {
    let state = seed + round * 7919
    const random = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
    const items = itemsOf(random, 3 + random(40), random(400))
    const ordinary = open()
    const bulk = open()
    await ordinary.write((batch) => {
      for (const item of items) {
        if ('node' in item) batch.upsertNode(item.node)
        else {
          const [source, target] = item.ends.map(key) as [ReturnType<typeof key>, ReturnType<typeof key>]
          const properties = item.value === null ? [] : [{ name: 'w', value: item.value }]
          batch.upsertRelationship({ source, target, type: item.type, properties })
        }
      }
    })
    for (let from = 0; from < items.length; ) {
      const to = from + 1 + random(150)
      // Sometimes another writer commits between two batches of the load.
      if (random(4) === 0) await bulk.write((batch) => batch.findNode(key('0')))
      await bulk.bulkLoad((batch) => {
        for (const item of items.slice(from, to)) {
          if ('node' in item) batch.upsertNode(item.node)
          else {
            const [source, target] = item.ends.map(key) as [ReturnType<typeof key>, ReturnType<typeof key>]
            const properties = item.value === null ? [] : [{ name: 'w', value: item.value }]
            expect(batch.loadRelationship({ source, target, type: item.type, properties })).toBeNull()
          }
        }
      })
      from = to
    }
    expect(checkGraph(bulk), `seed ${seed}, round ${round}`).toEqual([])
    expect(contents(bulk), `seed ${seed}, round ${round}`).toEqual(contents(ordinary))
  }
})

test('is visible at once to an earlier reader', async () => {
  const environment = open()
  await environment.bulkLoad((batch) => batch.upsertNode({ type: 'A', externalId: '1' }))
  expect((contents(environment) as unknown[]).length).toBe(1)
  await environment.bulkLoad((batch) => {
    batch.upsertNode({ type: 'A', externalId: '2' })
    const source = { type: 'A', externalId: '1' }
    batch.loadRelationship({ source, type: 'TO', target: { type: 'A', externalId: '2' } })
  })
  expect(contents(environment)).toEqual([
    ['1', ['A'], [], ['TO 2 {}']],
    ['2', ['A'], [], []],
  ])
})

test('keeps given ids and times, and creates the others', async () => {
  const environment = open()
  const gid = 'gid:01ABCDEFGHJKMNPQRSTVWXYZ01'
  await environment.bulkLoad((batch) => {
    const given = { gid, createdMs: 5, updatedMs: 7 }
    expect(batch.upsertNode({ type: 'A', externalId: '1' }, given).gid).toBe(gid)
    batch.loadRelationship({
      source: { type: 'A', externalId: '1' },
      type: 'TO',
      target: { type: 'A', externalId: '1' },
      createdMs: 3,
    })
  })
  const snapshot = environment.snapshot()
  expect(snapshot.nodeField(1, 'id')).toBe(gid)
  expect(snapshot.nodeField(1, 'create_time')).toBe(new Date(5).toISOString())
  expect(snapshot.nodeField(1, 'update_time')).toBe(new Date(7).toISOString())
  expect(snapshot.relationshipField(1, 'update_time')).toBe(new Date(3).toISOString())
  snapshot.close()
})

test('names the missing end node, and writes nothing of a batch that throws', async () => {
  const environment = open()
  await environment.bulkLoad((batch) => batch.upsertNode({ type: 'A', externalId: '1' }))
  const known = { type: 'A', externalId: '1' }
  const unknown = { type: 'A', externalId: '2' }
  const failing = environment.bulkLoad((batch) => {
    batch.upsertNode({ type: 'A', externalId: '3' })
    expect(batch.loadRelationship({ source: known, type: 'TO', target: { type: 'A', externalId: '3' } })).toBeNull()
    expect(batch.loadRelationship({ source: unknown, type: 'TO', target: known })).toBe('source')
    expect(batch.loadRelationship({ source: known, type: 'TO', target: unknown })).toBe('target')
    throw new Error('given up')
  })
  await expect(failing).rejects.toThrow('given up')
  expect(contents(environment)).toEqual([['1', ['A'], [], []]])
  // The key cache of the failed batch is discarded.
  await environment.bulkLoad((batch) => {
    const target = { type: 'A', externalId: '3' }
    expect(batch.loadRelationship({ source: known, type: 'TO', target })).toBe('target')
  })
  expect(checkGraph(environment)).toEqual([])
})

test('keeps its checkpoint with the data', async () => {
  const folder = temporaryFolder()
  const environment = open(folder)
  expect(environment.checkpoint()).toBeNull()
  await environment.bulkLoad((batch) => batch.setCheckpoint('{"line":3}'))
  await expect(
    environment.bulkLoad((batch) => {
      batch.setCheckpoint('{"line":4}')
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect(open(folder).checkpoint()).toBe('{"line":3}')
  await environment.bulkLoad((batch) => batch.setCheckpoint(null))
  expect(environment.checkpoint()).toBeNull()
  expect(checkGraph(environment)).toEqual([])
})
