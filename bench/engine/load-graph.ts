// The generated graph in a store on disk: written once through the store's own batches, then reused by size and seed.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import { graphLayout } from '../../src/store/lmdb/layout.ts'
import { documentId, groupId, type OwnershipGraph, personId } from '../ownership-graph.ts'

const ITEMS_PER_BATCH = 50_000

/** One graph, opened three times. */
export interface Loaded {
  readonly store: LmdbEnvironment
  /** The bench clears its cache. */
  readonly cold: LmdbEnvironment
  /** Has no cache. */
  readonly uncached: LmdbEnvironment
}

export async function openLoaded(
  graph: OwnershipGraph,
  size: number,
  seed: number,
  note: (text: string) => void,
): Promise<Loaded> {
  const folder = join(tmpdir(), 'verdigraph-bench', `ownership-${size}-seed-${seed}-layout-${graphLayout.version}`)
  const complete = join(folder, 'complete')
  const found = existsSync(complete)
  if (!found) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
  }
  // Nothing here must survive a power failure, so nothing waits for the disk.
  const options = { clock: systemClock, sync: false }
  const store = openEnvironment(join(folder, 'graph'), options)
  const cold = openEnvironment(join(folder, 'graph'), options)
  const uncached = openEnvironment(join(folder, 'graph'), { ...options, cacheBytes: 0 })
  const loaded = { store, cold, uncached }
  if (found) return loaded
  const start = performance.now()
  await load(store, graph)
  note(`loaded ${size} nodes in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  writeFileSync(complete, '')
  return loaded
}

async function load(store: LmdbEnvironment, graph: OwnershipGraph): Promise<void> {
  const people = await nodes(store, 'Person', graph.people, personId)
  const groups = await nodes(store, 'Group', graph.groups, groupId)
  const documents = await nodes(store, 'Document', graph.documents, documentId)
  const owned = (at: number): boolean => at % 10 < 5
  await inBatches(store, graph.ofPerson.length, (batch, at) => {
    const end = graph.ofPerson[at] as number
    const target = (owned(at) ? documents[end] : groups[end]) as number
    batch.createRelationship(people[Math.floor(at / 10)] as number, owned(at) ? 'OWNS' : 'MEMBER', target, [])
  })
  await inBatches(store, graph.ofGroup.length, (batch, at) => {
    const target = documents[graph.ofGroup[at] as number] as number
    batch.createRelationship(groups[Math.floor(at / 10)] as number, 'MAY_READ', target, [])
  })
}

async function nodes(
  store: LmdbEnvironment,
  type: string,
  count: number,
  idOf: (at: number) => string,
): Promise<Uint32Array> {
  const ids = new Uint32Array(count)
  await inBatches(store, count, (batch, at) => {
    ids[at] = batch.upsertNode({ type, externalId: idOf(at), isIdentity: type === 'Person' }).id
  })
  return ids
}

type LoadBatch = Parameters<Parameters<LmdbEnvironment['write']>[0]>[0]

async function inBatches(
  store: LmdbEnvironment,
  count: number,
  item: (batch: LoadBatch, at: number) => void,
): Promise<void> {
  for (let from = 0; from < count; from += ITEMS_PER_BATCH) {
    await store.write((batch) => {
      for (let at = from; at < Math.min(count, from + ITEMS_PER_BATCH); at++) item(batch, at)
    })
  }
}
