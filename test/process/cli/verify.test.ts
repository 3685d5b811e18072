// `verify` as a real process, for a folder that is valid, corrupted, or missing.
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const stranger = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
const canBeStranger = process.getuid?.() === 0 && Bun.which('setpriv') !== null

let data: string
let project: string

beforeAll(async () => {
  data = temporaryFolder()
  const id = mintGid(systemClock.now())
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  await catalog.create(id)
  await catalog.graph(id, 'default')!.write((batch) => {
    for (let i = 0; i < 100; i++) batch.upsertNode({ type: 'Person', externalId: `person-${i}` })
    const [source, target] = [41, 42].map((i) => ({ type: 'Person', externalId: `person-${i}` }))
    // Not indexed, so that the text is in one value and in no key.
    const properties = [{ name: 'note', value: 'mark-42' }]
    batch.upsertRelationship({ source: source!, type: 'KNOWS', target: target!, properties })
  })
  await catalog.close()
  const documents = openCollections(join(data, 'config'), { sync: false })
  await documents.transact((changes) => changes.put('things', 'one', { name: 'one' }))
  await documents.close()
  project = join('projects', id.slice('gid:'.length), 'default')
})

afterEach(killAll)

function change(folder: string, text: string): () => void {
  const path = join(data, folder, 'data.mdb')
  copyFileSync(path, `${path}.copy`)
  const bytes = readFileSync(path)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) bytes[at]! ^= 1
  writeFileSync(path, bytes)
  return () => {
    copyFileSync(`${path}.copy`, path)
    rmSync(`${path}.copy`)
  }
}

describe('verify', () => {
  it('reports a valid folder as valid', async () => {
    const { exitCode, stdout } = await runCommand(['verify', '--data', data, '--json'])
    expect([exitCode, JSON.parse(stdout)]).toEqual([
      0,
      {
        sound: true,
        folders: [
          { findings: [], refused: null, folder: 'config' },
          { findings: [], refused: null, folder: project },
        ],
      },
    ])
  })

  it('names the first corrupted key, of a graph and of the configuration', async () => {
    const mend = [change(project, 'mark-42'), change('config', '"one"')]
    const { exitCode, stdout } = await runCommand(['verify', '--data', data])
    for (const undo of mend) undo()
    expect(exitCode).toBe(1)
    expect(stdout).toContain('damaged  config: documents collection "things", key "one" has a wrong checksum')
    expect(stdout).toMatch(/damaged {2}projects\/\S+\/default: relationships 1 has a wrong checksum/)
  })

  // The superuser can read everything, so this runs as another user.
  it.skipIf(!canBeStranger)('reports what it has no permission to read', async () => {
    const own = temporaryFolder()
    chmodSync(own, 0o755)
    for (const path of ['config', dirname(project)]) mkdirSync(join(own, path), { recursive: true })
    copyFileSync(join(data, 'config', 'data.mdb'), join(own, 'config', 'data.mdb'))
    chmodSync(join(own, 'config', 'data.mdb'), 0o600)
    chmodSync(join(own, dirname(project)), 0o700)
    const { exitCode, stdout, stderr } = await runCommand(['verify', '--data', own], {}, stranger)
    const lines = [dirname(project), 'config'].map(
      (path) => `not read ${path}: no permission to read it or to write its lock.mdb`,
    )
    expect([exitCode, stdout.trim().split('\n'), stderr]).toEqual([
      2,
      lines,
      expect.stringMatching(/^warning: the data folder \S+ has the mode 0755, [^\n]+\n$/),
    ])
  })

  // Writers would not see its read transaction and would reuse the pages that it reads.
  it.skipIf(!canBeStranger)('reads nothing if it cannot register its read transaction', async () => {
    const own = temporaryFolder()
    chmodSync(own, 0o755)
    cpSync(join(data, 'config'), join(own, 'config'), { recursive: true })
    chmodSync(join(own, 'config'), 0o755)
    for (const file of readdirSync(join(own, 'config'))) chmodSync(join(own, 'config', file), 0o644)
    const told = async () => {
      const { exitCode, stdout } = await runCommand(['verify', '--data', own], {}, stranger)
      return [exitCode, stdout.trim()]
    }
    expect(await told()).toEqual([2, 'not read config: no permission to read it or to write its lock.mdb'])
    chmodSync(join(own, 'config', 'lock.mdb'), 0o666)
    expect(await told()).toEqual([0, expect.stringContaining('sound')])
  })

  it('reports that there is no store', async () => {
    const { exitCode, stderr } = await runCommand(['verify', '--data', join(data, 'none')])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('contains no store')])
  })
})
