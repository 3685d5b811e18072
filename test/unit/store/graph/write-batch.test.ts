import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isGid } from '../../../../src/kernel/ids.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import {
  type BatchStep,
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
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const names: NamePool = {
  labels: [...TYPES, 'L', 'M', 'never seen'],
  types: [...RELATIONSHIP_TYPES, 'never seen'],
  externalIds: [...EXTERNAL_IDS, 'never seen'],
  properties: [...PROPERTY_NAMES, 'never seen'],
  values: VALUES,
}

class BatchAborted extends Error {}

function factsOf(environment: LmdbEnvironment): string[] {
  const snapshot = environment.snapshot()
  try {
    return factsOfSnapshot(snapshot, names)
  } finally {
    snapshot.close()
  }
}

/** A batch of steps; an aborted one throws after its last step. */
const batch = fc.record({ steps: fc.array(step, { maxLength: 12 }), abandoned: fc.boolean() })

async function write(
  environment: LmdbEnvironment,
  steps: readonly BatchStep[],
  abandoned: boolean,
): Promise<unknown[]> {
  const answers: unknown[] = []
  const written = environment.write((changes) => {
    for (const step of steps) answers.push(take(step, changes))
    if (abandoned) throw new BatchAborted()
  })
  if (abandoned) await expect(written).rejects.toThrow(BatchAborted)
  else await written
  return answers
}

function nodesFirst(steps: readonly BatchStep[]): BatchStep[] {
  return [...steps].sort((a, b) => Number(a.do !== 'upsert node') - Number(b.do !== 'upsert node'))
}

describe('a store and a model of it', () => {
  test('after any batches, everything readable equals plain maps, and stays so after reopening', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { maxLength: 8 }), async (batches) => {
        const clock = new ManualClock(1_750_000_000_000)
        const folder = temporaryFolder()
        // Chunks of four turn a few relationships into long lists.
        const options = { clock, sync: false, entriesPerChunk: 4 }
        let environment = openEnvironment(folder, options)
        let model = new GraphModel(clock)
        for (const { steps, abandoned } of batches) {
          clock.advance(1000)
          const changed = model.copy()
          const expected = steps.map((step) => take(step, changed))
          if (!abandoned) model = changed
          expect(await write(environment, steps, abandoned)).toEqual(expected)
          expect(factsOf(environment)).toEqual(factsOfModel(model, names))
          expect(checkGraph(environment)).toEqual([])
        }
        await environment.close()
        environment = openEnvironment(folder, options)
        expect(factsOf(environment)).toEqual(factsOfModel(model, names))
        expect(checkGraph(environment)).toEqual([])
        await environment.close()
      }),
      { numRuns: 50 },
    )
  })

  test('applying a batch of upserts or deletions twice equals applying it once', async () => {
    // Nodes come first: a relationship to a missing end node is not written the first time, but would be the second
    // time.
    const upsert = step.filter(({ do: what }) => what.startsWith('upsert'))
    const deletion = step.filter(({ do: what }) => what.startsWith('delete'))
    const batches = fc.tuple(fc.array(upsert, { maxLength: 15 }).map(nodesFirst), fc.array(deletion, { maxLength: 5 }))
    await fc.assert(
      fc.asyncProperty(batches, async (batches) => {
        const clock = new ManualClock(1_750_000_000_000)
        const environment = openEnvironment(temporaryFolder(), { clock, sync: false, entriesPerChunk: 4 })
        for (const steps of batches) {
          await write(environment, steps, false)
          const once = factsOf(environment)
          await write(environment, steps, false)
          expect(factsOf(environment)).toEqual(once)
        }
        await environment.close()
      }),
      { numRuns: 30 },
    )
  })
})

describe('a batch', () => {
  const open = (): LmdbEnvironment =>
    openEnvironment(temporaryFolder(), { clock: new ManualClock(1_750_000_000_000), sync: false })

  test('that throws affects no other batch that shares its transaction, and adds no symbol', async () => {
    const environment = open()
    const outcomes = await Promise.allSettled([
      environment.write((batch) => batch.upsertNode({ type: 'First', externalId: 'a' })),
      environment.write((batch) => {
        batch.upsertNode({ type: 'Ghost', externalId: 'b', properties: [{ name: 'ghostly', value: true }] })
        throw new BatchAborted()
      }),
      environment.write((batch) => batch.upsertNode({ type: 'Second', externalId: 'c' })),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const snapshot = environment.snapshot()
    expect(snapshot.nodeCount(null)).toBe(2)
    expect([snapshot.symbol('label', 'Ghost'), snapshot.symbol('property', 'ghostly')]).toEqual([0, 0])
    const [first, second] = ['First', 'Second'].map((name) => snapshot.symbol('label', name))
    expect([snapshot.symbolName('label', first!), snapshot.symbolName('label', second!)]).toEqual(['First', 'Second'])
    expect([snapshot.findNode(first!, 'a'), snapshot.findNode(second!, 'c')]).toEqual([1, 2])
    snapshot.close()
    expect(checkGraph(environment)).toEqual([])
    await environment.close()
  })

  test('rejects with the thrown error itself', async () => {
    const environment = open()
    const fault = { not: 'an error' }
    await expect(
      environment.write(() => {
        throw fault
      }),
    ).rejects.toBe(fault)
    await environment.close()
  })

  test('must be synchronous, and ends with its function', async () => {
    const environment = open()
    await expect(environment.write(async (batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))).rejects.toThrow(
      'a write batch is synchronous',
    )
    const kept = await environment.write((batch) => batch)
    expect(() => kept.upsertNode({ type: 'A', externalId: 'a' })).toThrow('not used after its function has returned')
    expect(checkGraph(environment)).toEqual([])
    await environment.close()
  })

  test('returns the global id that the element keeps', async () => {
    const environment = open()
    const [node, relationship] = await environment.write((batch) => {
      const node = batch.upsertNode({ type: 'A', externalId: 'a' })
      return [node, batch.upsertRelationship({ source: A, type: 'KNOWS', target: A })!] as const
    })
    const again = await environment.write((batch) => [
      batch.upsertNode({ type: 'A', externalId: 'a', isIdentity: true }),
      batch.upsertRelationship({ source: A, type: 'KNOWS', target: A }),
    ])
    expect(again).toEqual([
      { ...node, created: false },
      { ...relationship, created: false },
    ])
    expect([isGid(node.gid), isGid(relationship.gid), node.gid === relationship.gid]).toEqual([true, true, false])
    const snapshot = environment.snapshot()
    expect([snapshot.nodeField(node.id, 'id'), snapshot.relationshipField(relationship.id, 'id')]).toEqual([
      node.gid,
      relationship.gid,
    ])
    snapshot.close()
    await environment.close()
  })

  test('refuses an external id that does not fit a key; a lookup of one finds nothing', async () => {
    const environment = open()
    const longest = '𝒳'.repeat(1024)
    const { id } = await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: longest }))
    const tooLong = 'x'.repeat(5000)
    await expect(environment.write((batch) => batch.upsertNode({ type: 'A', externalId: tooLong }))).rejects.toThrow(
      'the external id of a node `A`: expected 1 to 1024 characters, found 5000',
    )
    const snapshot = environment.snapshot()
    const label = snapshot.symbol('label', 'A')
    expect([snapshot.findNode(label, longest), snapshot.findNode(label, tooLong)]).toEqual([id, 0])
    expect(snapshot.nodeField(id, 'external_id')).toBe(longest)
    snapshot.close()
    expect(await environment.write((batch) => batch.findNode({ type: 'A', externalId: tooLong }))).toBe(0)
    await environment.close()
  })

  test('with a value that no property can store is refused completely', async () => {
    const environment = open()
    for (const value of [Number.NaN, 2n ** 63n]) {
      await expect(
        environment.write((batch) => {
          batch.upsertNode({ type: 'A', externalId: 'fine' })
          batch.upsertNode({ type: 'A', externalId: 'a', properties: [{ name: 'p', value }] })
        }),
      ).rejects.toThrow('the node `A` `a`: the property `p`: expected a string, a finite number')
    }
    const snapshot = environment.snapshot()
    expect([snapshot.nodeCount(null), snapshot.symbol('label', 'A')]).toEqual([0, 0])
    snapshot.close()
    await environment.close()
  })
})

const A = { type: 'A', externalId: 'a' }
