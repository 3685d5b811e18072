// The authorization graph in a store on disk, written through the store's own batches; reused by size and seed.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WriteBatch } from '../../src/engine/store.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import { graphLayout } from '../../src/store/lmdb/layout.ts'
import {
  type AuthorizationGraph,
  ends,
  idOf,
  kindOf,
  levelOf,
  type RelationshipType,
  sizeOf,
  type Type,
} from './authorization-graph.ts'

const ITEMS_PER_BATCH = 50_000
/** Incremented when the graph of a seed changes. */
const GRAPH_VERSION = 1

export async function openAuthorizationGraph(
  graph: AuthorizationGraph,
  seed: number,
  note: (text: string) => void,
): Promise<LmdbEnvironment> {
  const name = `authorization-${GRAPH_VERSION}-${graph.counts.User}-${graph.counts.Document}-seed-${seed}-layout-${graphLayout.version}`
  const folder = join(tmpdir(), 'verdigraph-bench', name)
  const complete = join(folder, 'complete')
  const found = existsSync(complete)
  if (!found) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
  }
  // Nothing here must survive a power failure, so nothing waits for the disk.
  const store = openEnvironment(join(folder, 'graph'), { clock: systemClock, sync: false })
  if (found) return store
  const start = performance.now()
  const ids = {} as Record<Type, Uint32Array>
  for (const [type, count] of Object.entries(graph.counts) as [Type, number][]) {
    ids[type] = await writeNodes(store, type, count)
  }
  for (const [type, pairs] of Object.entries(graph.relationships) as [RelationshipType, [number, number][]][]) {
    const [source, target] = ends[type]
    await inBatches(store, pairs.length, (batch, at) => {
      const [from, to] = pairs[at]!
      batch.createRelationship(ids[source][from]!, type, ids[target][to]!, [])
    })
  }
  note(`loaded the authorization graph in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  writeFileSync(complete, '')
  return store
}

async function writeNodes(store: LmdbEnvironment, type: Type, count: number): Promise<Uint32Array> {
  const ids = new Uint32Array(count)
  await inBatches(store, count, (batch, at) => {
    const properties =
      type === 'Document'
        ? [
            { name: 'kind', value: kindOf(at) },
            { name: 'size', value: sizeOf(at) },
          ]
        : [{ name: 'level', value: levelOf(at) }]
    ids[at] = batch.upsertNode({
      type,
      externalId: idOf(type, at),
      isIdentity: type === 'User' || type === 'Account',
      properties,
    }).id
  })
  return ids
}

async function inBatches(
  store: LmdbEnvironment,
  count: number,
  item: (batch: WriteBatch, at: number) => void,
): Promise<void> {
  for (let from = 0; from < count; from += ITEMS_PER_BATCH) {
    await store.write((batch) => {
      for (let at = from; at < Math.min(count, from + ITEMS_PER_BATCH); at++) item(batch, at)
    })
  }
}
