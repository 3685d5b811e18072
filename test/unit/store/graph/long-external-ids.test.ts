// External ids of up to 1,024 characters: written, found, deleted, loaded and checked as short ones, in files and in memory.
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { upsertKeyText } from '../../../../src/store/format/keys.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { readFolderLayout } from '../../../../src/store/lmdb/layout.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const ids = [
  ...['a', 'x'.repeat(256), 'x'.repeat(512), 'x'.repeat(513), 'x'.repeat(1023), 'x'.repeat(1024)],
  ...['y'.repeat(1024), `${'x'.repeat(1023)}y`, '𝒳'.repeat(256), '𝒳'.repeat(257), '𝒳'.repeat(1024), '日'.repeat(1024)],
]
const keyOf = (externalId: string) => ({ type: 'A', externalId })

function found(environment: LmdbEnvironment, wanted: readonly string[]): (string | null)[] {
  const snapshot = environment.snapshot()
  const label = snapshot.symbol('label', 'A')
  const texts = wanted.map((id) => {
    const node = snapshot.findNode(label, id)
    return node === 0 ? null : String(snapshot.nodeField(node, 'external_id'))
  })
  snapshot.close()
  return texts
}

test.each(['a file', 'memory'])('are the keys of nodes in %s', async (place) => {
  const folder = place === 'memory' ? null : temporaryFolder()
  let environment = openEnvironment(folder, { clock: systemClock, sync: false })
  await environment.write((batch) => {
    for (const id of ids) batch.upsertNode({ ...keyOf(id), properties: [{ name: 'n', value: 1 }] })
    for (const id of ids)
      batch.upsertRelationship({ source: keyOf(id), type: 'R', target: keyOf(ids[0]!), properties: [] })
  })
  // Twice: the second look-up is answered by the cache.
  expect(found(environment, ids)).toEqual(ids)
  expect(found(environment, ids)).toEqual(ids)
  const others = [
    'x'.repeat(514),
    'x'.repeat(1025),
    '𝒳'.repeat(1023),
    ...ids.filter((id) => id.length > 512).map(upsertKeyText),
  ]
  expect(found(environment, others)).toEqual(others.map(() => null))
  expect(checkGraph(environment)).toEqual([])
  // A second write merges, a deletion deletes.
  const before = await environment.write((batch) => ids.map((id) => batch.findNode(keyOf(id))))
  const after = await environment.write((batch) => ids.map((id) => batch.upsertNode(keyOf(id)).created))
  expect([before.includes(0), after.includes(true)]).toEqual([false, false])
  if (folder !== null) {
    await environment.close()
    environment = openEnvironment(folder, { clock: systemClock, sync: false })
    expect(found(environment, ids)).toEqual(ids)
  }
  await environment.write((batch) => {
    for (const id of ids.slice(1)) expect(batch.deleteNode(keyOf(id))).not.toBeNull()
  })
  expect(found(environment, ids)).toEqual(ids.map((id, at) => (at === 0 ? id : null)))
  expect(checkGraph(environment)).toEqual([])
  await environment.close()
})

test('are loaded in bulk, and found by the load again', async () => {
  const folder = temporaryFolder()
  const environment = openEnvironment(folder, { clock: systemClock, sync: false })
  const load = () => environment.bulkLoad((batch) => ids.map((id) => batch.upsertNode(keyOf(id)).created))
  expect(await load()).toEqual(ids.map(() => true))
  expect(await load()).toEqual(ids.map(() => false))
  expect(found(environment, ids)).toEqual(ids)
  expect(checkGraph(environment)).toEqual([])
  await environment.close()
  expect((await readFolderLayout(folder)).needs?.name).toBe('external ids of more than 256 characters')
})

test('raise the program that the folder of the graph needs; shorter ones do not', async () => {
  const folder = temporaryFolder()
  const environment = openEnvironment(folder, { clock: systemClock, sync: false })
  await environment.write((batch) => batch.upsertNode(keyOf('x'.repeat(512))))
  expect((await readFolderLayout(folder)).needs).toBeUndefined()
  await expect(
    environment.write((batch) => {
      batch.upsertNode(keyOf('x'.repeat(513)))
      throw new Error('not written')
    }),
  ).rejects.toThrow('not written')
  expect((await readFolderLayout(folder)).needs).toBeUndefined()
  await environment.write((batch) => batch.upsertNode(keyOf('x'.repeat(513))))
  expect((await readFolderLayout(folder)).needs).toEqual({
    level: 1,
    since: '0.1.0',
    name: 'external ids of more than 256 characters',
  })
  await environment.close()
})
