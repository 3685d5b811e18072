import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BatchView, createChunk, type ElementField, type Snapshot } from '../../../../src/engine/store.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { step, take } from '../../../generate/store-inputs.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const FIELDS: readonly ElementField[] = [
  'external_id',
  'type',
  'create_time',
  'update_time',
  'is_identity',
  'location',
  'id',
]
const IDS = Array.from({ length: 60 }, (_, i) => i + 1)

/** A copy of a scanned node, which the next read would change. */
function scannedOf(node: number, graph: Snapshot): object | null {
  const scanned = graph.scanNode(node)
  if (scanned === null) return null
  const { type, externalId, id, location, updatedMs } = scanned
  const properties = scanned.properties.map((one) => ({
    name: one.name,
    value: one.value,
    externalValue: one.externalValue,
    updatedMs: one.updatedMs,
    metadata: one.metadata,
  }))
  return { type, externalId, id, location, updatedMs, properties }
}

/** Everything that is returned for elements by id, whether or not they exist. */
function elementsOf(graph: Snapshot): unknown[] {
  const nodes = IDS.map((id) => ({
    own: FIELDS.map((field) => graph.nodeField(id, field)),
    labels: graph.labels(id).map((label) => [graph.symbolName('label', label), graph.hasLabel(id, label)]),
    values: [...graph.nodeProperties(id)].map(([name, value]) => [
      name,
      value,
      graph.nodeProperty(id, graph.symbol('property', name)),
    ]),
    stored: [...graph.nodeStoredProperties(id)].map(([name, property]) => [
      name,
      property,
      graph.nodeStoredProperty(id, graph.symbol('property', name)),
    ]),
    scanned: scannedOf(id, graph),
  }))
  const relationships = IDS.map((id) => ({
    type: graph.relationshipType(id) === 0 ? null : graph.symbolName('type', graph.relationshipType(id)),
    ends: [graph.relationshipSource(id), graph.relationshipTarget(id)],
    own: graph.relationshipType(id) === 0 ? [] : FIELDS.map((field) => graph.relationshipField(id, field)),
    values: [...graph.relationshipProperties(id)].map(([name, value]) => [
      name,
      value,
      graph.relationshipProperty(id, graph.symbol('property', name)),
    ]),
    stored: [...graph.relationshipStoredProperties(id)].map(([name, property]) => [
      name,
      property,
      graph.relationshipStoredProperty(id, graph.symbol('property', name)),
    ]),
  }))
  return [...nodes, ...relationships]
}

function presence(view: BatchView): boolean[] {
  return IDS.flatMap((id) => [view.hasNode(id), view.hasRelationship(id)])
}

function within<T>(view: BatchView | null, read: (view: BatchView) => T): T {
  if (view === null) throw new Error('there is no view')
  try {
    return read(view)
  } finally {
    view.close()
  }
}

describe('the view of a batch', () => {
  let environment: LmdbEnvironment
  const clock = new ManualClock(1_750_000_000_000)
  beforeEach(() => {
    environment = openEnvironment(temporaryFolder(), { clock, sync: false, entriesPerChunk: 8 })
  })
  afterEach(() => environment.close())

  const looking = <T>(read: (snapshot: Snapshot) => T): T => {
    const snapshot = environment.snapshot()
    try {
      return read(snapshot)
    } finally {
      snapshot.close()
    }
  }

  test('returns for every element what a snapshot returns after the commit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 4 }), async (batches) => {
        for (const steps of batches) {
          clock.advance(1000)
          const seen = await environment.write((batch) => {
            for (const step of steps) take(step, batch)
            return within(batch.view(), (view) => ({ elements: elementsOf(view), presence: presence(view) }))
          })
          expect(seen.elements).toEqual(looking(elementsOf))
          const present = await environment.write((batch) => within(batch.view(), presence))
          expect(seen.presence).toEqual(present)
        }
      }),
      { numRuns: 10 },
    )
  })

  test('scans nodes as they are stored, also with metadata that repeats', async () => {
    for (let round = 0; round < 2; round++) {
      await environment.write((batch) => {
        for (let i = 0; i < 40; i++) {
          const custom = { note: 'x'.repeat(i % 3 === 0 ? 600 : i % 4) }
          const metadata = { source: `s${i % 3}`, assuranceLevel: 1 + (i % 3), ...(i % 2 === 0 && { custom }) }
          const properties = [
            { name: 'p', value: ['a', String(i)], metadata },
            ...(i % 5 === 0 ? [{ name: 'q', externalValue: 'resolver', metadata: { source: 's1' } }] : []),
            ...(i % 7 === 0 ? [] : [{ name: `p${i}`, value: round, metadata: { source: `s${i % 3}` } }]),
          ]
          batch.upsertNode({ type: 'Seat', externalId: `n${i}`, properties, ...(i % 2 === 0 && { location: 'eu' }) })
        }
      })
    }
    looking((snapshot) => {
      for (const id of IDS) {
        const stored = snapshot.storedNode(id)
        const expected = stored && {
          type: snapshot.symbol('label', 'Seat'),
          externalId: stored.externalId,
          id: stored.id,
          location: stored.location,
          updatedMs: stored.updatedMs,
          properties: [...stored.properties].map(([name, property]) => ({ name, ...property })),
        }
        expect(scannedOf(id, snapshot)).toEqual(expected)
      }
      expect(snapshot.storedNode(40)).not.toBeNull()
    })
  })

  test('has the version of a snapshot with the same state, and another one if a batch came in between', async () => {
    const upsert = (externalId: string) => () =>
      environment.write((batch) => {
        const stamp = within(batch.view(), (view) => ({ ...view.version }))
        batch.upsertNode({ type: 'Seat', externalId })
        return stamp
      })
    await upsert('a')()
    const before = looking(({ version }) => version)
    // Both share a transaction, and the second builds on the uncommitted changes of the first.
    const [first, second] = await Promise.all([upsert('b')(), upsert('c')()])
    expect(first).toEqual(before)
    expect(second).not.toEqual(before)
    expect(second).not.toEqual(looking(({ version }) => version))
  })

  test('finds what an earlier batch of the same transaction wrote, and nothing that it writes itself', async () => {
    const types = ['Seat', 'Row']
    await environment.write((batch) => {
      for (const type of types) batch.upsertNode({ type, externalId: 'known' })
    })
    looking(() => undefined)
    const find = (view: BatchView, externalId: string) => view.findNode(view.symbol('label', 'Seat'), externalId)
    const [, found] = await Promise.all([
      environment.write((batch) => batch.upsertNode({ type: 'Seat', externalId: 'earlier' })),
      environment.write((batch) => {
        batch.upsertNode({ type: 'Seat', externalId: 'own' })
        return within(batch.view(), (view) => [find(view, 'earlier'), find(view, 'own')])
      }),
    ])
    expect(found).toEqual([3, 0])
  })

  test('reads lists and ranges of the transaction too: labels, properties, and relationships between hubs', async () => {
    const node = (externalId: string) => ({ type: 'Seat', externalId })
    const hub = (externalId: string) => ({ type: 'Hub', externalId })
    const seats = Array.from({ length: 40 }, (_, i) => `${i}`)
    await environment.write((batch) => {
      for (const name of ['a', 'b']) batch.upsertNode({ ...hub(name), properties: [{ name: 'taken', value: 'no' }] })
      for (const seat of seats) {
        batch.upsertNode({ ...node(seat), properties: [{ name: 'taken', value: 'no' }] })
        for (const name of ['a', 'b']) {
          batch.upsertRelationship({ source: hub(name), type: 'HAS', target: node(seat) })
          batch.upsertRelationship({ source: node(seat), type: 'HAS', target: hub(name) })
        }
      }
    })
    const chunk = createChunk()
    const read = (graph: Snapshot) => {
      const [seat, hubLabel] = ['Seat', 'Hub'].map((label) => graph.symbol('label', label)) as [number, number]
      const [taken, has] = [graph.symbol('property', 'taken'), graph.symbol('type', 'HAS')]
      const [a, b] = [graph.findNode(hubLabel, 'a'), graph.findNode(hubLabel, 'b')]
      const ids = (fill: () => void) => {
        fill()
        return [...chunk.ids.subarray(0, chunk.length)]
      }
      return [
        ids(() => graph.nodesWithLabel(seat, 0, chunk)),
        ids(() => graph.allNodes(0, chunk)),
        ids(() => graph.nodesWithProperty(seat, taken, 'yes', 0, chunk)),
        ids(() => graph.relationshipsBetween(a, has, b, chunk)),
        graph.nodeCount(seat),
        graph.relationshipCount(has),
        graph.degree(a, 'out', has),
        graph.relationshipTypesAt(a, 'in').length,
      ]
    }
    const before = looking(read)
    const [, seen] = await Promise.all([
      environment.write((batch) => {
        batch.upsertNode({ ...node('new'), properties: [{ name: 'taken', value: 'yes' }] })
        batch.deleteNode(node('7'))
        batch.upsertRelationship({ source: hub('a'), type: 'HAS', target: hub('b') })
      }),
      environment.write((batch) => within(batch.view(), read)),
    ])
    expect(seen).not.toEqual(before)
    expect(seen).toEqual(looking(read))
  })

  test('is not available while an earlier batch of the transaction has added names that may be rolled back', async () => {
    const hasView = (externalId: string) =>
      environment.write((batch) => {
        const view = batch.view()
        view?.close()
        batch.upsertNode({ type: `Type${externalId}`, externalId })
        return view !== null
      })
    expect(await Promise.all([hasView('a'), hasView('b'), hasView('c')])).toEqual([true, false, false])
    looking(() => undefined)
    expect(await hasView('d')).toBe(true)
  })
})
