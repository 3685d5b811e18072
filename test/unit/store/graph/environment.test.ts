import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import { describe, expect, test } from 'vitest'
import { createChunk } from '../../../../src/engine/store.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { openStore } from '../../../../src/store/graph/open-store.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { LayoutError } from '../../../../src/store/lmdb/layout.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = { clock: new ManualClock(1_750_000_000_000), sync: false }

function countNodes(environment: LmdbEnvironment): number {
  const snapshot = environment.snapshot()
  const count = snapshot.nodeCount(null)
  snapshot.close()
  return count
}

describe('the layout of a folder', () => {
  /** As `src/store/lmdb/databases.ts` writes it, pinned here: kind of key, four zero bytes. */
  const LAYOUT_KEY = Buffer.alloc(5)

  async function withLayout(kind: number, version: number): Promise<string> {
    const folder = temporaryFolder()
    const root = open({ path: folder, noSync: true, encoding: 'binary', keyEncoding: 'binary' })
    const meta = root.openDB({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' })
    const value = Buffer.alloc(8)
    value.writeUInt32LE(kind, 0)
    value.writeUInt32LE(version, 4)
    await meta.put(LAYOUT_KEY, value)
    await root.close()
    return folder
  }

  test.each([
    ['an earlier', 1, 'version 1; this program reads version 3: run `verdigraph migrate`'],
    ['a later', 4, 'version 4, written by a newer program; this program reads version 3'],
  ])('of %s version is refused, and left unchanged', async (_, version, told) => {
    const folder = await withLayout(1, version)
    for (let again = 0; again < 2; again++) {
      expect(() => openEnvironment(folder, options)).toThrow(LayoutError)
      expect(() => openEnvironment(folder, options)).toThrow(`the folder contains a graph in layout ${told}`)
    }
  })

  test('of another application is refused', async () => {
    const folder = await withLayout(2, 1)
    expect(() => openEnvironment(folder, options)).toThrow('the folder does not contain a graph')
  })

  test('of an empty folder is refused in read-only mode', async () => {
    const folder = join(temporaryFolder(), 'never')
    expect(() => openEnvironment(folder, { ...options, readOnly: true })).toThrow('contains no store')
    expect(existsSync(folder)).toBe(false)
  })
})

describe('a snapshot', () => {
  test('keeps its state while others see later ones', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    const before = environment.snapshot()
    await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))
    const after = environment.snapshot()
    expect([before.nodeCount(null), after.nodeCount(null)]).toEqual([0, 1])
    after.close()
    expect(before.nodeCount(null)).toBe(0)
    before.close()
    expect(countNodes(environment)).toBe(1)
    await environment.close()
  })

  test('within a batch has no name of an earlier batch that is not committed', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    await environment.write((batch) => batch.upsertNode({ type: 'Old', externalId: 'a' }))
    // Writes that begin in the same turn share a transaction.
    const earlier = environment.write((batch) => batch.upsertNode({ type: 'New', externalId: 'b' }))
    const found = environment.write(() => {
      const snapshot = environment.snapshot()
      const ids = [snapshot.symbol('label', 'Old'), snapshot.symbol('label', 'New')]
      snapshot.close()
      return ids
    })
    expect(await found).toEqual([1, 0])
    await earlier
    const after = environment.snapshot()
    expect([after.symbol('label', 'Old'), after.symbol('label', 'New')]).toEqual([1, 2])
    after.close()
    await environment.close()
  })

  test('cannot be used once it is closed', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))
    const snapshot = environment.snapshot()
    const label = snapshot.symbol('label', 'A')
    snapshot.close()
    snapshot.close()
    const closed = 'a snapshot is not used after it is closed'
    expect(() => snapshot.findNode(label, 'a')).toThrow(closed)
    expect(() => snapshot.nodesWithLabel(label, 0, createChunk())).toThrow(closed)
    expect(() => snapshot.nodesWithProperty(label, 1, 1, 0, createChunk())).toThrow(closed)
    expect(() => snapshot.nodeCount(null)).toThrow(closed)
    // Another open snapshot does not share its read transaction with it.
    const open = environment.snapshot()
    expect(() => snapshot.findNode(label, 'a')).toThrow(closed)
    open.close()
    await environment.close()
  })

  test('has one epoch until a name is added, and never that of another environment', async () => {
    const [environment, other] = [0, 1].map(() => openEnvironment(temporaryFolder(), options))
    const epoch = (of: LmdbEnvironment): number => {
      const snapshot = of.snapshot()
      snapshot.close()
      return snapshot.symbolEpoch
    }
    const first = epoch(environment!)
    expect(epoch(environment!)).toBe(first)
    await environment!.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))
    const second = epoch(environment!)
    expect(second).not.toBe(first)
    await environment!.write((batch) => batch.upsertNode({ type: 'A', externalId: 'b' }))
    expect(epoch(environment!)).toBe(second)
    await other!.write((batch) => batch.upsertNode({ type: 'B', externalId: 'b' }))
    expect([first, second]).not.toContain(epoch(other!))
    await Promise.all([environment!.close(), other!.close()])
  })

  test('returns nothing for missing symbols and nodes', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    const node = await environment.write((batch) => {
      const { id } = batch.upsertNode({ ...A, properties: [{ name: 'p', value: 1 }] })
      batch.upsertRelationship({ source: A, type: 'R', target: A })
      return id
    })
    const snapshot = environment.snapshot()
    const chunk = createChunk()
    const lengths: number[] = []
    const fill = (run: () => void): void => {
      chunk.length = 99
      run()
      lengths.push(chunk.length)
    }
    fill(() => snapshot.nodesWithLabel(0, 0, chunk))
    fill(() => snapshot.nodesWithProperty(0, 1, 1, 0, chunk))
    fill(() => snapshot.nodesWithProperty(1, 0, 1, 0, chunk))
    fill(() => snapshot.neighbours(node, 'out', 0, 0, chunk))
    fill(() => snapshot.neighbours(node, 'in', 0, 0, chunk))
    fill(() => snapshot.relationshipsBetween(node, 0, node, chunk))
    fill(() => snapshot.neighbours(77, 'out', 1, 0, chunk))
    expect(lengths).toEqual([0, 0, 0, 0, 0, 0, 0])
    expect([snapshot.degree(node, 'out', 0), snapshot.nodeCount(0), snapshot.relationshipCount(0)]).toEqual([0, 0, 0])
    expect([snapshot.hasLabel(node, 0), snapshot.hasLabel(77, 1), snapshot.labels(77)]).toEqual([false, false, []])
    expect([snapshot.nodeProperty(node, 0), snapshot.nodeProperty(77, 1), snapshot.nodeField(77, 'id')]).toEqual([
      null,
      null,
      null,
    ])
    expect([snapshot.relationshipType(77), snapshot.relationshipSource(77), snapshot.findNode(0, 'a')]).toEqual([
      0, 0, 0,
    ])
    expect(snapshot.relationshipField(1, 'external_id')).toBeNull()
    snapshot.close()
    await environment.close()
  })

  test('sees only complete batches between concurrent writes', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    let pending = 40
    const seen: number[] = []
    const writes = Array.from({ length: 40 }, (_, number) =>
      environment
        .write((batch) => {
          for (let i = 0; i < 5; i++) batch.upsertNode({ type: 'A', externalId: `${number}-${i}` })
          if (number % 4 === 3) throw new Error('abandoned')
        })
        .catch(() => {})
        .finally(() => {
          pending -= 1
        }),
    )
    while (pending > 0) {
      seen.push(countNodes(environment))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(writes)
    expect(countNodes(environment)).toBe(150)
    expect(seen.every((count, i) => count % 5 === 0 && (i === 0 || count >= seen[i - 1]!))).toBe(true)
    expect(checkGraph(environment)).toEqual([])
    await environment.close()
  })

  test('opened directly after an acknowledged write sees it', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    for (let number = 1; number <= 50; number++) {
      countNodes(environment)
      await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: `${number}` }))
      expect(countNodes(environment)).toBe(number)
    }
    await environment.close()
  })
})

const A = { type: 'A', externalId: 'a' }

describe('an environment', () => {
  test('is one folder for embedders, created when it is first opened', async () => {
    const folder = join(temporaryFolder(), 'deep', 'graph')
    const before = Date.now()
    const store = openStore(folder, { sync: false })
    const { id } = await store.write((batch) => batch.upsertNode(A))
    await store.close()
    const again = openStore(folder, { readOnly: true })
    const snapshot = again.snapshot()
    const created = Date.parse(String(snapshot.nodeField(id, 'create_time')))
    expect(created).toBeGreaterThanOrEqual(before)
    snapshot.close()
    await again.close()
  })

  test('refuses to write in read-only mode', async () => {
    const folder = temporaryFolder()
    const environment = openEnvironment(folder, options)
    await environment.write((batch) => batch.upsertNode(A))
    await environment.close()
    const reader = openEnvironment(folder, { ...options, readOnly: true })
    expect(countNodes(reader)).toBe(1)
    await expect(reader.write((batch) => batch.upsertNode(A))).rejects.toThrow('opened read-only')
    await reader.close()
  })

  test('waits for writes in progress before it closes, and refuses snapshots afterwards', async () => {
    const folder = temporaryFolder()
    const environment = openEnvironment(folder, options)
    const writes = Array.from({ length: 20 }, (_, i) =>
      environment.write((batch) => batch.upsertNode({ type: 'A', externalId: `${i}` })),
    )
    await environment.close()
    await Promise.all(writes)
    expect(() => environment.snapshot()).toThrow('the store is closed')
    const again = openEnvironment(folder, options)
    expect(countNodes(again)).toBe(20)
    await again.close()
  })
})
