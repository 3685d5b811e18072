// The check in one pass must agree with the lookups of check-graph.ts: sound exactly if these find nothing.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Float } from '../../../../src/kernel/float.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { PageCheck, READ_FIRST } from '../../../../src/store/integrity/page-check.ts'
import type { Database } from '../../../../src/store/lmdb/database.ts'
import { PageFile } from '../../../../src/store/pages/page-file.ts'
import { findTreeDamage } from '../../../../src/store/pages/page-walk.ts'
import { Random, testSeed } from '../../../generate/random.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const NAMES = ['Person', 'Group', 'Größe', '_TrustScore']
const keyOf = (i: number) => ({
  type: NAMES[i % NAMES.length]!,
  externalId: i % 7 === 0 ? `ü𝒳${i}` : i % 5 === 0 ? `${'long'.repeat(200)}${i}` : `node-${i}`,
})

/** Nodes with labels and properties of all kinds, short and long lists, parallel relationships, deletions. */
async function writeGraph(folder: string, random: Random): Promise<void> {
  const environment = openEnvironment(folder, { clock: systemClock, sync: false, entriesPerChunk: 4 })
  for (let round = 0; round < 3; round++) {
    await environment.write((batch) => {
      for (let i = 0; i < 40; i++) {
        const value = random.pick([1, new Float(1.5), 'text', true, ['a', 'b'], 'x'.repeat(5000)])
        batch.upsertNode({
          ...keyOf(random.between(0, 60)),
          ...(random.odds(0.5) ? { labels: ['Extra', `L${i % 3}`] } : {}),
          ...(random.odds(0.5) ? { properties: [{ name: `p${i % 5}`, value }] } : {}),
        })
      }
      for (let i = 0; i < 120; i++) {
        const ends = { source: keyOf(random.between(0, 12)), target: keyOf(random.between(0, 60)) }
        const properties = random.odds(0.3) ? [{ name: 'weight', value: i }] : []
        batch.upsertRelationship({ ...ends, type: random.pick(['R', 'S']), properties })
      }
      const ids = [batch.createNode(['Free'], []), batch.createNode([], [])] as const
      for (let i = 0; i < 12; i++) batch.createRelationship(ids[0], 'T', ids[1], [])
      for (let i = 0; i < 4; i++) batch.deleteNode(keyOf(random.between(0, 60)))
    })
  }
  await environment.close()
}

function isSound(folder: string): boolean {
  const file = new PageFile(join(folder, 'data.mdb'))
  try {
    const check = new PageCheck(file)
    const onLeaf = check.addLeaf.bind(check)
    const options = { leaves: 'by key' as const, first: READ_FIRST, onLeaf }
    expect(findTreeDamage(file, file.metas()![0], options)).toBeNull()
    return check.isSound()
  } finally {
    file.close()
  }
}

/** Removes one entry, or replaces its value by that of another entry of the database, with a right checksum. */
async function damage(environment: LmdbEnvironment, random: Random): Promise<string> {
  const { outbox: _, ...graph } = environment.databases
  const database = random.pick(Object.values(graph)) as Database<unknown>
  const entries = environment.inspect((_, transaction) =>
    [...database.raw.getRange({ start: LOWEST[database.name] ?? 1, end: undefined, ...transaction })].map(
      ({ key, value }) => ({ key, value: Uint8Array.from(value.subarray(0, value.length - 4)) }),
    ),
  )
  if (entries.length === 0) return 'nothing'
  const { key } = random.pick(entries)
  const { value } = random.pick(entries)
  const isRemoved = random.odds(0.5)
  await environment.write(() => {
    if (isRemoved) database.remove(key)
    else database.put(key, value)
  })
  return `${isRemoved ? 'removed' : 'replaced'} ${database.name} ${JSON.stringify(key)}`
}

const LOWEST: Readonly<Record<string, unknown>> = {
  meta: { kind: 2, symbol: 0 },
  symbols: { kind: 0, symbol: 0 },
  'upsert-keys': { type: 0, externalId: '' },
  adjacency: { node: 0, edgeList: 0 },
  'chunk-index': { node: 0, edgeList: 0, neighbour: 0, relationship: 0 },
  labels: { label: 0, block: 0 },
  index: { label: 0, property: 0, scalar: new Uint8Array(0), node: 0 },
}

const RUNS = 20

test('finds a graph sound exactly if the lookups find nothing', async () => {
  const random = new Random(testSeed())
  let unsound = 0
  for (let run = 0; run < RUNS; run++) {
    const folder = temporaryFolder()
    await writeGraph(folder, random)
    expect(isSound(folder), 'before the damage').toBe(true)
    const environment = openEnvironment(folder, { clock: systemClock, sync: false, entriesPerChunk: 4 })
    const what = await damage(environment, random)
    const findings = checkGraph(environment)
    await environment.close()
    expect(isSound(folder), `${what}: ${findings.join(', ')}`).toBe(findings.length === 0)
    if (findings.length > 0) unsound += 1
  }
  expect(unsound).toBeGreaterThan(RUNS / 3)
})
