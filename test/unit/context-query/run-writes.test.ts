import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { type CompiledQuery, compileStoredQuery } from '../../../src/context-query/compile-query.ts'
import { runWrites } from '../../../src/context-query/run-writes.ts'
import type { GraphStore, OpenSnapshot, WriteBatch } from '../../../src/engine/store.ts'
import { noModel } from '../../../src/model/stored-model.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { checkProxies } from '../../../src/store/tenancy/check-proxies.ts'
import { ConstituentStore, flagConstituents } from '../../../src/store/tenancy/composite.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const policy = {
  meta: { policy_version: '1.0-ciq' },
  subject: { type: 'Person' },
  condition: { cypher: 'MATCH (subject:Person)-[:WANTS]->(seat:Seat)' },
  allowed_reads: { nodes: ['seat.*', 'subject.external_id'] },
  allowed_upserts: { nodes: { existing_nodes: ['seat'], node_types: ['Claim'] } },
  allowed_deletes: { nodes: ['seat'] },
}
const query = {
  nodes: ['seat.property.taken', 'subject.external_id'],
  filter: { operator: 'IS NULL', attribute: 'seat.property.taken' },
  upsert_nodes: [{ name: 'seat', properties: [{ type: 'taken', value: true }] }],
}

function compiled(more: object = {}, condition: object = policy.condition): CompiledQuery {
  const stored = (fields: object) => ({ id: 'gid:x', name: 'x', fields }) as unknown as StoredDocument
  const result = compileStoredQuery(
    stored({ query: JSON.stringify({ ...query, ...more }) }),
    stored({ policy: JSON.stringify({ ...policy, condition }) }),
    noModel,
  )
  if (!result.ok) throw new Error(result.error.issue)
  return result.value
}

/** The store with a concurrent writer that is always faster: its batch comes first in the same transaction. */
class Contested implements GraphStore {
  looks = 0
  private readonly graph: GraphStore
  private readonly other: (batch: WriteBatch) => unknown

  constructor(graph: GraphStore, other: (batch: WriteBatch) => unknown) {
    this.graph = graph
    this.other = other
  }

  snapshot(): OpenSnapshot {
    this.looks += 1
    return this.graph.snapshot()
  }

  async write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    const others = this.graph.write(this.other)
    const [written] = await Promise.all([this.graph.write(change), others])
    return written
  }
}

describe('a graph with concurrent writers', () => {
  let environment: LmdbEnvironment
  const person = { type: 'Person', externalId: 'ann' }
  const seat = { type: 'Seat', externalId: '1' }

  beforeEach(async () => {
    environment = openEnvironment(temporaryFolder(), { clock: new ManualClock(1_750_000_000_000), sync: false })
    await environment.write((batch) => {
      batch.upsertNode(person)
      batch.upsertNode({ ...seat, properties: [{ name: 'row', value: 1 }] })
      batch.upsertNode({ type: 'Noise', externalId: 'n', properties: [{ name: 'taken', value: false }] })
      batch.upsertRelationship({ source: person, type: 'WANTS', target: seat })
    })
  })
  afterEach(() => environment.close())

  const run = (graph: GraphStore, timeMs = 10_000) => {
    const limits = { stepsMax: 1_000_000, timeMs }
    const call = {
      query: compiled(),
      parameters: new Map(),
      bound: bound(),
      rowsMax: 10,
      writesMax: 10,
      answerMax: 10_000,
    }
    return runWrites({ graph, limits, deadlineMs: performance.now() + timeMs, ...call })
  }
  const bound = () => {
    const result = compiled().writes?.bind(new Map())
    if (result?.ok !== true) throw new Error('the query binds')
    return result.value
  }

  test('is read again within the transaction, and written at the first try', async () => {
    const graph = new Contested(environment, (batch) => batch.upsertNode({ type: 'Noise', externalId: 'n' }))
    const written = await run(graph)
    expect(written.ok && written.value.data).toEqual([
      { nodes: { 'seat.property.taken': true, 'subject.external_id': 'ann' } },
    ])
    expect(graph.looks).toBe(1)
  })

  test('is written in its current state: a seat that the other writer took is taken', async () => {
    const graph = new Contested(environment, (batch) =>
      batch.upsertNode({ ...seat, properties: [{ name: 'taken', value: true }] }),
    )
    const written = await run(graph)
    expect(written.ok && written.value.data).toEqual([])
  })

  test('returns rows that only the other writer created', async () => {
    const bob = { type: 'Person', externalId: 'bob' }
    const graph = new Contested(environment, (batch) => {
      batch.upsertNode(bob)
      batch.upsertRelationship({ source: bob, type: 'WANTS', target: seat })
    })
    const written = await run(graph)
    expect(written.ok && written.value.data.map(({ nodes }) => nodes?.['subject.external_id']).sort()).toEqual([
      'ann',
      'bob',
    ])
  })

  test('stops at its time limit, with nothing written', async () => {
    let names = 0
    // New names cannot be read before they are committed, and each batch here adds new ones.
    const graph = new Contested(environment, (batch) => {
      names += 1
      batch.upsertNode({ type: `Noise${names}`, externalId: 'n' })
    })
    const written = await run(graph, 1000)
    expect(written).toEqual({
      ok: false,
      error: { kind: 'unavailable', message: 'other writers kept changing the graph', retryAfterS: 1 },
    })
    expect(graph.looks).toBeGreaterThan(1)
    const again = await run(environment)
    expect(again.ok && again.value.data).toHaveLength(1)
  })

  test('is read no longer than the remaining time of its call', async () => {
    const nodes = Array.from({ length: 60 }, (_, i) => ({ type: 'Noise', externalId: `${i}` }))
    await environment.write((batch) => {
      for (const node of nodes) batch.upsertNode(node)
    })
    const cypher =
      'MATCH (subject:Person)-[:WANTS]->(seat:Seat), (a:Noise), (b:Noise), (c:Noise) WHERE a.external_id <= b.external_id AND b.external_id <= c.external_id WITH subject, seat, count(*) AS n'
    const long = {
      query: compiled({}, { cypher }),
      parameters: new Map(),
      bound: bound(),
      rowsMax: 10,
      writesMax: 10,
      answerMax: 10_000,
    }
    const limits = { stepsMax: 1_000_000, timeMs: 60_000 }
    // Resolvers were called before, for all of it.
    const over = runWrites({ graph: environment, limits, deadlineMs: performance.now(), ...long })
    await expect(over).rejects.toThrow('the time limit of 0 ms is reached')
    const deadlineMs = performance.now() + limits.timeMs
    expect((await runWrites({ graph: environment, limits, deadlineMs: deadlineMs, ...long })).ok).toBe(true)
  })

  test('keeps nothing of a call that fails within the transaction', async () => {
    const faulting: GraphStore = {
      snapshot: () => environment.snapshot(),
      write: (change) =>
        environment.write((batch) => {
          change(batch)
          throw new Error('the disk is gone')
        }),
    }
    await expect(run(faulting)).rejects.toThrow('the disk is gone')
    const again = await run(environment)
    expect(again.ok && again.value.data).toHaveLength(1)
  })
})

test('a composite project gets proxies of created nodes, and loses those of deleted nodes', async () => {
  const open = () => openEnvironment(temporaryFolder(), { clock: new ManualClock(1_750_000_000_000), sync: false })
  const [own, global] = [open(), open()]
  const parts = { global: async () => global, constituents: async () => [own], openConstituents: () => [own] }
  const graph = new ConstituentStore(own, parts)
  try {
    await flagConstituents(parts)
    const source = { type: 'Person', externalId: 'ann' }
    const target = { type: 'Seat', externalId: '1' }
    await graph.write((batch) => {
      batch.upsertNode(source)
      batch.upsertNode(target)
      batch.upsertRelationship({ source, type: 'WANTS', target })
    })
    const query = compiled({
      upsert_nodes: [{ name: 'claim', type: 'Claim', external_id: 'c' }],
      delete_nodes: ['seat'],
    })
    const bound = query.writes?.bind(new Map())
    if (bound?.ok !== true) throw new Error('the query binds')
    const limits = { stepsMax: 1_000_000, timeMs: 10_000 }
    const deadlineMs = performance.now() + limits.timeMs
    const call = { graph, query, limits, deadlineMs, bound: bound.value, rowsMax: 10, writesMax: 10, answerMax: 10_000 }
    expect((await runWrites({ ...call, parameters: new Map() })).ok).toBe(true)
    expect(checkProxies(global, [own])).toEqual([])
    const has = (type: string, externalId: string) =>
      global.write((batch) => batch.findNode({ type, externalId }) !== 0)
    expect([await has('Claim', 'c'), await has('Seat', '1'), await has('Person', 'ann')]).toEqual([true, false, true])
  } finally {
    await own.close()
    await global.close()
  }
})
