// The graphs of projects as the features get them, while the process may have fewer open than exist.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GraphRegistry } from '../../../../src/config/graphs/graph-registry.ts'
import { createGraphRegistry, openGraphCatalog } from '../../../../src/config/graphs/open-graphs.ts'
import type { StoredDocument } from '../../../../src/config/kind.ts'
import { ConfigRepository } from '../../../../src/config/repository.ts'
import { mintGid } from '../../../../src/kernel/ids.ts'
import { systemClock, timestamp } from '../../../../src/kernel/time/clock.ts'
import { type Collections, openCollections } from '../../../../src/store/documents/collections.ts'
import type { Catalog } from '../../../../src/store/tenancy/catalog.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const OPEN_MAX = 2
const time = timestamp(1_750_000_000_000)

let collections: Collections
let catalog: Catalog
let graphs: GraphRegistry
const projects = [mintGid(1), mintGid(2), mintGid(3)] as const
const logged: string[] = []

beforeEach(async () => {
  collections = openCollections(temporaryFolder(), { sync: false })
  const documents = new ConfigRepository(collections)
  const options = { clock: systemClock, sync: false, graphsMax: OPEN_MAX }
  catalog = openGraphCatalog(temporaryFolder(), options)
  graphs = createGraphRegistry(catalog, documents, (line) => logged.push(line))
  for (const id of projects) {
    await catalog.create(id)
    await documents.write((draft) => draft.put(projectOf(id)))
    const { default: graph } = graphs.graphsOf(id)!
    await graph.write((batch) => batch.upsertNode({ type: 'Person', externalId: id }))
  }
})

afterEach(async () => {
  await catalog.close()
  await collections.close()
  expect(logged).toEqual([])
})

function projectOf(id: string): StoredDocument {
  const authorship = { create_time: time, created_by: id, update_time: time, updated_by: id }
  const place = { organization_id: 'gid:organization', project_id: '', parent_id: 'gid:organization' }
  return { ...authorship, ...place, id, kind: 'projects', revision: 1, name: id, fields: { ikg_status: 'ACTIVE' } }
}

function knows(id: string): boolean {
  const snapshot = graphs.graphsOf(id)!.default.snapshot()
  try {
    return snapshot.findNode(snapshot.symbol('label', 'Person'), id) !== 0
  } finally {
    snapshot.close()
  }
}

test('a project that was closed for others is opened again by its next request', async () => {
  const [first, second, third] = projects
  for (const id of projects) await graphs.ready(id)
  // The first was used least recently, so it was closed for the third.
  expect([graphs.ready(second), graphs.ready(third)]).toEqual([null, null])
  const opening = graphs.ready(first)
  expect(opening).not.toBeNull()
  await opening
  expect(graphs.ready(first)).toBeNull()
  expect(knows(first)).toBe(true)
  expect(graphs.ready(second)).not.toBeNull()
})

test('many concurrent requests to more projects than may be open all succeed', async () => {
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const id = projects[at % projects.length]!
      await graphs.ready(id)
      await graphs.graphsOf(id)!.default.write((batch) => batch.upsertNode({ type: 'Person', externalId: `${at}` }))
      return knows(id)
    }),
  )
  expect(answers).toEqual(answers.map(() => true))
  for (const id of projects) {
    const snapshot = graphs.graphsOf(id)!.default.snapshot()
    expect(snapshot.nodeCount(null)).toBe(21)
    snapshot.close()
  }
})

test('a graph in use stays open, and a kept store opens its graph again', async () => {
  const [first, second, third] = projects
  const kept = graphs.graphsOf(second)!.default
  const snapshot = graphs.graphsOf(first)!.default.snapshot()
  await graphs.ready(third)
  await graphs.ready(second)
  await graphs.ready(third)
  expect(snapshot.findNode(snapshot.symbol('label', 'Person'), first)).toBeGreaterThan(0)
  snapshot.close()
  const again = kept.snapshot()
  expect(again.findNode(again.symbol('label', 'Person'), second)).toBeGreaterThan(0)
  again.close()
})
