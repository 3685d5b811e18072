// Real files of the layout before checksums, written by that version: a chain of 12 persons who know each other, 520
// relationships of another type between the first two, and three documents.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Graph } from '../../../../src/engine/graph.ts'
import { mintGid } from '../../../../src/kernel/ids.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../../src/store/documents/collections.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { migrateFolder } from '../../../../src/store/lmdb/migrate-folder.ts'
import { openCatalog } from '../../../../src/store/tenancy/catalog.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

function earlier(name: 'graph' | 'documents'): string {
  const folder = join(temporaryFolder(), 'data')
  mkdirSync(folder)
  const packed = readFileSync(
    join(import.meta.dirname, '..', '..', '..', 'support', 'data', 'layout-2', `${name}.mdb.gz`),
  )
  writeFileSync(join(folder, 'data.mdb'), gunzipSync(packed))
  return folder
}

async function expectWholeGraph(folder: string): Promise<void> {
  expect(await verifyFolder(folder, () => {})).toEqual([])
  const environment = openEnvironment(folder, { clock: systemClock, sync: false })
  expect(checkGraph(environment)).toEqual([])
  const graph = new Graph(environment)
  const { rows } = graph.query(
    'MATCH (p:Person) RETURN p.external_id, p.level, p.name, p.is_identity, labels(p), p.create_time ORDER BY p.level',
  )
  expect(rows.length).toBe(12)
  expect(rows[3]).toEqual(['person-3', 3, 'nnn', true, ['Person'], '2025-06-15T15:06:40.000Z'])
  expect((rows[4]![4] as string[]).toSorted()).toEqual(['', 'Guest', 'Person'])
  expect(graph.query('MATCH (a)-[k:KNOWS]->(b) RETURN sum(k.since), count(*)').rows).toEqual([[22066, 11]])
  expect(graph.query("MATCH ({external_id: 'person-0'})-[c:CALLED]->(b) RETURN b.external_id, count(c)").rows).toEqual([
    ['person-1', 520],
  ])
  // It is writable like any other.
  await graph.write((batch) => batch.deleteNode({ type: 'Person', externalId: 'person-0' }))
  expect(checkGraph(environment)).toEqual([])
  await environment.close()
}

describe('an environment of the previous layout', () => {
  test('is refused with the command to run, and left unchanged', () => {
    const folder = earlier('graph')
    const before = readFileSync(join(folder, 'data.mdb'))
    expect(() => openEnvironment(folder, { clock: systemClock })).toThrow(
      'the folder contains a graph in layout version 2; this program reads version 3: run `verdigraph migrate`',
    )
    expect(readFileSync(join(folder, 'data.mdb')).equals(before)).toBe(true)
  })

  test('is migrated with all its data, and only once', async () => {
    const folder = earlier('graph')
    expect(await migrateFolder(folder)).toBe(true)
    expect([existsSync(`${folder}.migrated`), existsSync(`${folder}.before`)]).toEqual([false, false])
    expect(await migrateFolder(folder)).toBe(false)
    await expectWholeGraph(folder)
  })

  test('of documents is migrated, too', async () => {
    const folder = earlier('documents')
    expect(() => openCollections(folder, {})).toThrow('in layout version 1; this program reads version 3')
    expect(await migrateFolder(folder)).toBe(true)
    expect(await verifyFolder(folder, () => {})).toEqual([])
    const documents = openCollections(folder, { sync: false })
    expect(documents.all('things')).toEqual([
      ['a', { name: 'ä', n: 1 }],
      ['b', [1, 2]],
    ])
    expect(documents.get('other', 'c')).toBe('text')
    await documents.close()
  })
})

describe('an interrupted migration', () => {
  test('during its writes starts again', async () => {
    const folder = earlier('graph')
    mkdirSync(`${folder}.migrated`)
    writeFileSync(join(`${folder}.migrated`, 'data.mdb'), 'half')
    expect(await migrateFolder(folder)).toBe(true)
    await expectWholeGraph(folder)
  })

  test('between its two renames uses what it had written', async () => {
    const folder = earlier('graph')
    cpSync(folder, `${folder}.before`, { recursive: true })
    await migrateFolder(`${folder}`)
    renameSync(folder, `${folder}.migrated`)
    cpSync(join(earlier('graph')), `${folder}.before`, { recursive: true })
    expect(await migrateFolder(folder)).toBe(false)
    expect(existsSync(`${folder}.before`)).toBe(false)
    rmSync(`${folder}.migrated`, { recursive: true, force: true })
    await expectWholeGraph(folder)
  })
  test('between its two renames is reported when the folder is opened, and can be completed', async () => {
    const folder = earlier('graph')
    cpSync(folder, `${folder}.before`, { recursive: true })
    await migrateFolder(folder)
    renameSync(folder, `${folder}.migrated`)
    cpSync(earlier('graph'), `${folder}.before`, { recursive: true })
    const refusal = `the migration of ${folder} was interrupted; run \`verdigraph migrate\` to finish it`
    expect(() => openEnvironment(folder, { clock: systemClock })).toThrow(refusal)
    expect(() => openCollections(folder, {})).toThrow(refusal)
    // A failed attempt may have left the target folder.
    mkdirSync(folder, { recursive: true })
    expect(() => openEnvironment(folder, { clock: systemClock })).toThrow(refusal)
    expect(await migrateFolder(folder)).toBe(false)
    await expectWholeGraph(folder)
  })

  test('leaves no missing project, and no empty one in its place', async () => {
    const data = temporaryFolder()
    const project = mintGid(1)
    const layout = { isComposite: true, locations: new Map([['eu', { database: 'eu' }]]) }
    let catalog = openCatalog(data, { clock: systemClock, sync: false })
    await catalog.create(project, layout)
    await catalog.close()
    const root = join(data, 'projects', project.slice('gid:'.length))
    const [constituent] = readdirSync(join(root, 'constituents')) as [string]
    for (const folder of [join(root, 'default'), join(root, 'constituents', constituent)]) {
      renameSync(folder, `${folder}.before`)
      catalog = openCatalog(data, { clock: systemClock, sync: false })
      const refusal = `the migration of ${folder} was interrupted`
      const part = folder.endsWith('default') ? 'default' : { database: 'eu' }
      expect(() => catalog.graph(project, part)).toThrow(refusal)
      await expect(catalog.create(project, layout)).rejects.toThrow(refusal)
      await expect(catalog.completeProxies(project)).rejects.toThrow(refusal)
      await catalog.close()
      rmSync(folder, { recursive: true, force: true })
      renameSync(`${folder}.before`, folder)
    }
  })
})
