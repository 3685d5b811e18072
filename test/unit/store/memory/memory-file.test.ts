// A graph in memory: the same contents as the model of a store, and nothing on a disk.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CompileError } from '../../../../src/engine/errors.ts'
import { Graph } from '../../../../src/engine/graph.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { openStore } from '../../../../src/store/graph/open-store.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import {
  EXTERNAL_IDS,
  PROPERTY_NAMES,
  RELATIONSHIP_TYPES,
  step,
  TYPES,
  take,
  VALUES,
} from '../../../generate/store-inputs.ts'
import { factsOfModel, factsOfSnapshot, GraphModel, type NamePool } from '../../../oracle/store-model.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const names: NamePool = {
  labels: [...TYPES, 'L', 'M', 'never seen'],
  types: [...RELATIONSHIP_TYPES, 'never seen'],
  externalIds: [...EXTERNAL_IDS, 'never seen'],
  properties: [...PROPERTY_NAMES, 'never seen'],
  values: VALUES,
}

const ann = { type: 'Person', externalId: 'ann' }

describe('a store in memory', () => {
  test('equals the model after any batches, aborted ones included', async () => {
    const batch = fc.record({ steps: fc.array(step, { maxLength: 12 }), isAborted: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { maxLength: 8 }), async (batches) => {
        const clock = new ManualClock(1_750_000_000_000)
        // Chunks of four turn a few relationships into long lists, which are read in ranges in both directions.
        const environment = openEnvironment(null, { clock, entriesPerChunk: 4 })
        let model = new GraphModel(clock)
        for (const { steps, isAborted } of batches) {
          clock.advance(1000)
          const changed = model.copy()
          const expected = steps.map((each) => take(each, changed))
          if (!isAborted) model = changed
          const written = environment.write((changes) => {
            expect(steps.map((each) => take(each, changes))).toEqual(expected)
            if (isAborted) throw new Error('aborted')
          })
          if (isAborted) await expect(written).rejects.toThrow('aborted')
          else await written
          const snapshot = environment.snapshot()
          expect(factsOfSnapshot(snapshot, names)).toEqual(factsOfModel(model, names))
          snapshot.close()
          expect(checkGraph(environment)).toEqual([])
        }
        await environment.close()
      }),
      { numRuns: 50 },
    )
  })

  test('is new and separate each time', async () => {
    const [first, second] = [openStore(':memory:'), openStore(':memory:')]
    await first.write((batch) => batch.upsertNode(ann))
    const count = (store: typeof first) => new Graph(store).query('MATCH (p) RETURN count(p) AS v').rows
    expect([count(first), count(second)]).toEqual([[[1]], [[0]]])
    await Promise.all([first.close(), second.close()])
  })

  test('runs writes in order after the current code, and shows none before', async () => {
    const store = openStore(':memory:')
    const graph = new Graph(store)
    const count = () => graph.query('MATCH (p:Person) RETURN count(p) AS v').rows[0]?.[0]
    const seen: unknown[] = []
    const writes = ['a', 'b', 'c'].map((externalId) =>
      store.write((batch) => {
        seen.push(batch.findNode({ type: 'Person', externalId: 'a' }))
        return batch.upsertNode({ type: 'Person', externalId }).id
      }),
    )
    expect(count()).toBe(0)
    expect(await Promise.all(writes)).toEqual([1, 2, 3])
    expect(seen).toEqual([0, 1, 1])
    expect(count()).toBe(3)
    await store.close()
  })

  test('answers conditions while batches change it', async () => {
    const store = openStore(':memory:')
    const graph = new Graph(store)
    const owns = graph.prepare('MATCH (subject:Person)-[:OWNS]->(resource:Car)')
    const car = { type: 'Car', externalId: 'c-1' }
    const isOwner = () => owns.exists({ subject: ['Person', 'ann'], resource: ['Car', 'c-1'] })
    expect(isOwner()).toBe(false)
    await graph.write((batch) => {
      for (const node of [ann, car]) batch.upsertNode(node)
      batch.upsertRelationship({ source: ann, type: 'OWNS', target: car })
    })
    expect([isOwner(), owns.find('resource', { subject: ['Person', 'ann'] })]).toEqual([true, [['Car', 'c-1']]])
    await graph.write((batch) => batch.deleteRelationship({ source: ann, type: 'OWNS', target: car }))
    expect([isOwner(), owns.find('resource', { subject: ['Person', 'ann'] })]).toEqual([false, []])
    expect(() => graph.prepare('MATCH (subject')).toThrow(CompileError)
    await store.close()
  })

  test('refuses reads through a snapshot that was kept over a write', async () => {
    const store = openStore(':memory:')
    await store.write((batch) => batch.upsertNode(ann))
    const kept = store.snapshot()
    await store.write((batch) => batch.deleteNode(ann))
    expect(() => kept.nodeProperties(1)).toThrow('written since the snapshot was opened')
    kept.close()
    await store.close()
  })

  test('refuses use after close, and waits for pending writes', async () => {
    const store = openStore(':memory:')
    const pending = store.write((batch) => batch.upsertNode(ann).id)
    await store.close()
    expect(await pending).toBe(1)
    expect(() => store.snapshot()).toThrow('the store is closed')
    await expect(store.write(() => 1)).rejects.toThrow('the store is closed')
    await store.close()
  })

  test('cannot be read-only', () => {
    expect(() => openStore(':memory:', { readOnly: true })).toThrow('so it cannot be read-only')
  })
})
