// A sorted load must leave the graph that the same batches leave without it, also if it is interrupted at any time.
import { existsSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mintGid } from '../../../../src/kernel/ids.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { readNode, readRelationship } from '../../../../src/store/format/records.ts'
import type { BulkNode, BulkRelationship } from '../../../../src/store/graph/bulk-batch.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { META_KIND } from '../../../../src/store/lmdb/databases.ts'
import { Random, testSeed } from '../../../generate/random.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const NODES = 60
const LIMITS = { entriesPerRun: 64, listBytes: 1500 }

interface Batch {
  readonly nodes: readonly BulkNode[]
  readonly relationships: readonly BulkRelationship[]
}

const keyOf = (node: number) => ({ type: node % 5 === 0 ? 'Group' : 'Person', externalId: `n${node}` })

/** Nodes with many and with few relationships, duplicates within a batch and across batches, loops, several types. */
function randomBatches(random: Random): Batch[] {
  const now = 1_750_000_000_000
  const fields = () => ({ gid: mintGid(now), createdMs: now, updatedMs: now + random.between(0, 9) })
  let named = 0
  return Array.from({ length: random.between(1, 6) }, () => {
    const from = named
    named = Math.min(NODES, named + random.between(5, 30))
    const nodes = Array.from({ length: named - from }, (_, i) => ({ ...keyOf(from + i), ...fields() }))
    const relationships = Array.from({ length: random.between(0, 150) }, (_, i) => ({
      source: keyOf(random.odds(0.3) ? 0 : random.between(0, named - 1)),
      target: keyOf(random.odds(0.3) ? 1 : random.between(0, named - 1)),
      type: random.pick(['R', 'S', 'T']),
      ...fields(),
      ...(random.odds(0.3) ? { properties: [{ name: `p${random.between(0, 3)}`, value: i }] } : {}),
    }))
    return { nodes, relationships }
  })
}

async function load(environment: LmdbEnvironment, { nodes, relationships }: Batch): Promise<void> {
  await environment.bulkLoad((batch) => {
    for (const node of nodes) batch.upsertNode(node, node)
    for (const relationship of relationships) expect(batch.loadRelationship(relationship)).toBeNull()
  })
}

function open(folder: string): LmdbEnvironment {
  return openEnvironment(folder, { clock: systemClock, sync: false, entriesPerChunk: 4, forLoad: true })
}

/** Everything that a reader can see, with the ids. */
function contentOf(environment: LmdbEnvironment): unknown {
  const content = environment.inspect((databases, transaction) => {
    const { nodes, relationships, meta } = databases
    const counts = [
      ...meta.entries({ start: { kind: META_KIND.labelCount, symbol: 0 }, end: undefined, ...transaction }),
    ]
    return {
      nodes: [...nodes.entries({ start: 1, end: undefined, ...transaction })].map(({ key, valueView }) => [
        key,
        readNode(valueView),
      ]),
      relationships: [...relationships.entries({ start: 1, end: undefined, ...transaction })].map(
        ({ key, valueView }) => [key, readRelationship(valueView)],
      ),
      counts: counts.map(({ key, valueView }) => [key, valueView.words[0]]),
    }
  })
  const snapshot = environment.snapshot()
  try {
    return { ...content, count: snapshot.relationshipCount(null) }
  } finally {
    snapshot.close()
  }
}

async function ordinary(batches: readonly Batch[]): Promise<unknown> {
  const environment = open(temporaryFolder())
  for (const batch of batches) await load(environment, batch)
  expect(checkGraph(environment)).toEqual([])
  const content = contentOf(environment)
  await environment.close()
  return content
}

async function expectComplete(folder: string, content: unknown): Promise<void> {
  expect(await verifyFolder(folder, () => {})).toEqual([])
  expect(existsSync(join(folder, 'sorting'))).toBe(false)
  const environment = open(folder)
  expect(checkGraph(environment)).toEqual([])
  expect(contentOf(environment)).toEqual(content)
  // Later writes find the lists.
  await environment.write((batch) => {
    batch.upsertRelationship({ source: keyOf(0), type: 'R', target: keyOf(1) })
    batch.upsertRelationship({ source: keyOf(0), type: 'U', target: keyOf(2) })
  })
  expect(checkGraph(environment)).toEqual([])
  await environment.close()
}

const RUNS = 3

test('leaves the graph that the same batches leave without sorting', async () => {
  const random = new Random(testSeed())
  for (let run = 0; run < RUNS; run++) {
    const batches = randomBatches(random)
    const folder = temporaryFolder()
    const environment = open(folder)
    expect(await environment.beginSortedLoad(LIMITS)).toBe(true)
    for (const batch of batches) await load(environment, batch)
    await environment.finishSortedLoad()
    await environment.close()
    await expectComplete(folder, await ordinary(batches))
  }
})

test('continues after an interruption at any time, with or without its files', async () => {
  const random = new Random(testSeed())
  for (let run = 0; run < RUNS; run++) {
    const batches = randomBatches(random)
    const folder = temporaryFolder()
    let next = 0
    for (let isFinished = false; !isFinished; ) {
      const environment = open(folder)
      const isOpen = await environment.beginSortedLoad(LIMITS)
      if (isOpen) {
        const stop = random.between(next, batches.length)
        for (; next < stop; next++) await load(environment, batches[next]!)
        if (next === batches.length && random.odds(0.7)) {
          let transactions = random.between(0, 30)
          const interrupted = environment.finishSortedLoad(() => {
            transactions -= 1
            if (transactions < 0) throw new Error('interrupted')
          })
          isFinished = await interrupted.then(
            () => true,
            () => false,
          )
        }
      } else isFinished = true
      await environment.close()
      if (!isFinished) damageRuns(folder, random)
    }
    expect(next).toBe(batches.length)
    await expectComplete(folder, await ordinary(batches))
  }
})

/** Removes some files, or cuts the end of their last one off, as a power failure does. */
function damageRuns(folder: string, random: Random): void {
  const runs = join(folder, 'sorting')
  const names = existsSync(runs) ? readdirSync(runs).sort() : []
  if (names.length === 0 || random.odds(0.5)) return
  if (random.odds(0.5)) rmSync(join(runs, random.pick(names)))
  else truncateSync(join(runs, names.at(-1)!), 20)
}

test('an unfinished load is a finding of `verify`, and the graph is not opened for questions', async () => {
  const folder = temporaryFolder()
  const environment = open(folder)
  await environment.beginSortedLoad()
  await load(environment, {
    nodes: [keyOf(0), keyOf(1)],
    relationships: [{ source: keyOf(0), type: 'R', target: keyOf(1) }],
  })
  await environment.close()
  expect(await verifyFolder(folder, () => {})).toEqual([expect.stringContaining('an import was interrupted')])
  expect(() => openEnvironment(folder, { clock: systemClock })).toThrow(/is not complete.*verdigraph import --resume/)
})

test('does not begin in a graph with relationships', async () => {
  const environment = open(temporaryFolder())
  await load(environment, { nodes: [keyOf(0), keyOf(1)], relationships: [] })
  await load(environment, { nodes: [], relationships: [{ source: keyOf(0), type: 'R', target: keyOf(1) }] })
  expect(await environment.beginSortedLoad()).toBe(false)
  await environment.close()
})

test('reports a damaged file instead of writing lists without its entries', async () => {
  const folder = temporaryFolder()
  const environment = open(folder)
  await environment.beginSortedLoad(LIMITS)
  for (const batch of randomBatches(new Random(7))) await load(environment, batch)
  const runs = join(folder, 'sorting')
  truncateSync(join(runs, readdirSync(runs).sort()[0]!), 100)
  await expect(environment.finishSortedLoad()).rejects.toThrow(/00000000\.run is damaged/)
  await environment.close()
})
