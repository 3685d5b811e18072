import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createChunk } from '../../../src/engine/store.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../src/store/integrity/check-graph.ts'
import { walk, walkFrom } from '../../oracle/store-model.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const clock = new ManualClock(1_750_000_000_000)
const HUB = { type: 'Hub', externalId: 'hub' }
const leaf = (number: number): { type: string; externalId: string } => ({ type: 'Leaf', externalId: `${number}` })

describe('long lists', () => {
  test('grow, split, empty and shorten in any order, within a batch and across batches', async () => {
    const edit = fc.record({
      leaf: fc.integer({ min: 0, max: 30 }),
      add: fc.boolean(),
      parallel: fc.integer({ min: 1, max: 9 }),
    })
    const batches = fc.array(fc.array(edit, { minLength: 1, maxLength: 25 }), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(batches, fc.integer({ min: 2, max: 5 }), async (batches, entriesPerChunk) => {
        const environment = openEnvironment(temporaryFolder(), { clock, sync: false, entriesPerChunk })
        const leaves = await environment.write((batch) => {
          batch.upsertNode(HUB)
          return Array.from({ length: 31 }, (_, number) => batch.upsertNode({ ...leaf(number) }).id)
        })
        let expected: [number, number][] = []
        for (const edits of batches) {
          await environment.write((batch) => {
            const hub = batch.findNode(HUB)
            for (const { leaf: number, add, parallel } of edits) {
              const target = leaves[number]!
              if (add) {
                for (let i = 0; i < parallel; i++) {
                  expected.push([target, batch.createRelationship(hub, 'HOLDS', target, [])])
                }
              } else {
                const had = expected.some(([neighbour]) => neighbour === target)
                expect(batch.deleteRelationship({ source: HUB, type: 'HOLDS', target: leaf(number) }) !== null).toBe(
                  had,
                )
                expected = expected.filter(([neighbour]) => neighbour !== target)
              }
            }
          })
          expected.sort((a, b) => a[0] - b[0] || a[1] - b[1])
          expect(checkGraph(environment)).toEqual([])
          const snapshot = environment.snapshot()
          const holds = snapshot.symbol('type', 'HOLDS')
          const chunk = createChunk()
          expect(walk(snapshot, 1, 'out', holds)).toEqual(expected)
          for (const first of leaves) {
            expect(walkFrom(snapshot, 1, 'out', holds, first)).toEqual(expected.filter(([id]) => id >= first))
          }
          expect(snapshot.degree(1, 'out', holds)).toBe(expected.length)
          for (const target of leaves) {
            snapshot.relationshipsBetween(1, holds, target, chunk)
            const between = expected
              .filter(([neighbour]) => neighbour === target)
              .map(([, relationship]) => relationship)
            expect([...chunk.relationships.subarray(0, chunk.length)]).toEqual(between)
          }
          snapshot.close()
        }
        await environment.write((batch) => batch.deleteNode(HUB))
        expect(checkGraph(environment)).toEqual([])
        await environment.close()
      }),
      { numRuns: 25 },
    )
  })

  test('a node with 30,000 relationships is traversed, read and written chunk by chunk', async () => {
    const environment = openEnvironment(temporaryFolder(), { clock, sync: false })
    const count = 30_000
    await environment.write((batch) => batch.upsertNode(HUB))
    for (let from = 0; from < count; from += 10_000) {
      await environment.write((batch) => {
        for (let number = from; number < from + 10_000; number++) {
          const { id } = batch.upsertNode(leaf(number))
          batch.createRelationship(1, 'HOLDS', id, [])
        }
      })
    }
    // One more in the middle, and one removed.
    const middle = await environment.write((batch) => {
      batch.deleteRelationship({ source: HUB, type: 'HOLDS', target: leaf(21_000) })
      return batch.createRelationship(1, 'HOLDS', batch.findNode(leaf(15_000)), [])
    })
    const snapshot = environment.snapshot()
    const holds = snapshot.symbol('type', 'HOLDS')
    const chunk = createChunk()
    snapshot.neighbours(1, 'out', holds, 0, chunk)
    expect(chunk.more).toBe(true)
    expect(chunk.length).toBeLessThanOrEqual(508)
    const entries = walk(snapshot, 1, 'out', holds)
    expect([entries.length, snapshot.degree(1, 'out', holds)]).toEqual([count, count])
    expect(entries.every(([neighbour], i) => i === 0 || entries[i - 1]![0] <= neighbour)).toBe(true)
    const label = snapshot.symbol('label', 'Leaf')
    const between = (number: number): number[] => {
      snapshot.relationshipsBetween(1, holds, snapshot.findNode(label, `${number}`), chunk)
      return [...chunk.relationships.subarray(0, chunk.length)]
    }
    expect([between(0), between(15_000), between(21_000), between(29_999)]).toEqual([
      [1],
      [15_001, middle],
      [],
      [30_000],
    ])
    snapshot.close()
    expect(checkGraph(environment)).toEqual([])
    await environment.close()
  })

  test('between two hubs the list is searched, including parallel relationships beyond one chunk', async () => {
    const environment = openEnvironment(temporaryFolder(), { clock, sync: false, entriesPerChunk: 4 })
    const made = await environment.write((batch) => {
      const [hub, other] = [batch.upsertNode(HUB).id, batch.upsertNode(leaf(0)).id]
      const more = Array.from({ length: 20 }, (_, number) => batch.upsertNode(leaf(number + 1)).id)
      for (const node of more) {
        batch.createRelationship(hub, 'R', node, [])
        batch.createRelationship(node, 'R', other, [])
      }
      return Array.from({ length: 11 }, () => batch.createRelationship(hub, 'R', other, []))
    })
    const snapshot = environment.snapshot()
    const chunk = createChunk()
    snapshot.relationshipsBetween(1, snapshot.symbol('type', 'R'), 2, chunk)
    expect([...chunk.relationships.subarray(0, chunk.length)]).toEqual(made)
    snapshot.relationshipsBetween(2, snapshot.symbol('type', 'R'), 1, chunk)
    expect(chunk.length).toBe(0)
    snapshot.close()
    await environment.close()
  })
})
