// Verification of logs with several levels of tiles: a fault names its file, and a log may grow during its verification.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { folderFiles, type LogFiles } from '../../../src/audit/log/log-files.ts'
import { type NoteVerifier, parseVerifierKey } from '../../../src/audit/log/signed-note.ts'
import { type LogVerdict, verifyLog } from '../../../src/audit/log/verify-log.ts'
import { auditEntry, newLogKey, WrittenLog } from '../../support/audit-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const key = newLogKey('log')
const parsed = parseVerifierKey(key.vkey)
const verifiers: readonly NoteVerifier[] = parsed.ok ? [parsed.value] : []
const SIZE = 70_000

const verify = (files: LogFiles): Promise<LogVerdict> => verifyLog(files, { verifiers, origin: null, against: null })

let log: WrittenLog
beforeAll(async () => {
  log = new WrittenLog(join(temporaryFolder(), 'log'), 'log')
  await log.grow(SIZE, [key.signer])
})

/** The faults after changes of a copy of the log, which share what they do not change with it. */
async function faultsAfter(change: (folder: string) => void): Promise<LogVerdict['faults']> {
  const folder = join(temporaryFolder(), 'copy')
  cpSync(log.folder, folder, { recursive: true })
  change(folder)
  return (await verify(folderFiles(folder))).faults
}

/** Changes hash `at` of a tile. */
function changeHash(folder: string, path: string, at: number): void {
  const bytes = readFileSync(join(folder, path))
  writeFileSync(join(folder, path), bytes.with(at * 32, (bytes[at * 32] as number) ^ 1))
}

describe('the verification of a log', () => {
  it('finds nothing in a sound log of 70,000 entries', async () => {
    const verdict = await verify(folderFiles(log.folder))
    expect(verdict).toMatchObject({ faults: [], entries: SIZE, firstEntry: 0 })
  })

  it.each([
    ['tile/0/100', 7, 100 * 256 + 7],
    ['tile/0/273.p/112', 3, 273 * 256 + 3],
    ['tile/1/000', 9, 9 * 256],
    ['tile/1/001.p/17', 16, (256 + 16) * 256],
    ['tile/2/000.p/1', 0, 0],
  ])('reports only the changed hash of %s', async (path, at, index) => {
    const faults = await faultsAfter((folder) => changeHash(folder, path, at))
    expect(faults.map(({ kind, index: found }) => [kind, found])).toEqual([['changed', index]])
    expect(faults[0]?.message).toContain(path)
  })

  it.each([
    ['tile/0/100', 100 * 256],
    ['tile/0/273.p/112', 273 * 256],
    ['tile/1/000', 0],
    ['tile/1/001.p/17', 256 * 256],
    ['tile/2/000.p/1', 0],
  ])('reports only the missing file %s', async (path, index) => {
    const faults = await faultsAfter((folder) => rmSync(join(folder, path)))
    expect(faults).toEqual([{ kind: 'removed', index, message: `${path} does not exist` }])
  })

  it('reports entries that were changed together with their tile', async () => {
    const faults = await faultsAfter((folder) => {
      changeHash(folder, 'tile/0/100', 7)
      const path = join(folder, 'tile/entries/100')
      const bytes = readFileSync(path)
      writeFileSync(path, bytes.with(40, (bytes[40] as number) ^ 1))
    })
    expect(faults.map(({ kind, index }) => [kind, index])).toEqual([
      ['changed', 25_600],
      ['changed', 25_600],
    ])
  })

  it('reports at most 100 faults, and needs every bundle to be there', async () => {
    const faults = await faultsAfter((folder) => {
      for (let bundle = 0; bundle < 273; bundle += 2)
        rmSync(join(folder, `tile/entries/${String(bundle).padStart(3, '0')}`))
    })
    expect(faults).toHaveLength(100)
  })

  it('reports a sequence that does not increase within its stream', async () => {
    const repeated = new WrittenLog(join(temporaryFolder(), 'log'), 'log')
    await repeated.append([auditEntry(0), auditEntry(1), auditEntry(1), auditEntry(2)], [key.signer])
    const { faults } = await verify(folderFiles(repeated.folder))
    expect(faults.map(({ kind, index }) => [kind, index])).toEqual([['inserted', 2]])
  })

  it('accepts an empty log', async () => {
    const empty = new WrittenLog(join(temporaryFolder(), 'log'), 'log')
    await empty.append([], [key.signer])
    expect(await verify(folderFiles(empty.folder))).toMatchObject({ faults: [], entries: 0 })
  })

  it('accepts a log that grows while it is read', async () => {
    const growing = new WrittenLog(join(temporaryFolder(), 'log'), 'log')
    await growing.grow(200, [key.signer])
    let isDone = false
    const write = async (): Promise<void> => {
      while (!isDone) await growing.grow(1, [key.signer])
    }
    const writing = write()
    let grew = 0
    try {
      for (let round = 0; round < 150; round += 1) {
        const before = growing.state.size
        const { faults } = await verify(folderFiles(growing.folder))
        expect(faults).toEqual([])
        const [from, to] = [before - 5, before]
        expect(await growing.tiles.entries(from, to)).toHaveLength(5)
        if (growing.state.size > before) grew += 1
      }
    } finally {
      isDone = true
      await writing
    }
    expect(grew).toBeGreaterThan(0)
  })

  it('finds a partial tile that is replaced between the listing and the reading', async () => {
    const growing = new WrittenLog(join(temporaryFolder(), 'log'), 'log')
    await growing.grow(200, [key.signer])
    const files = folderFiles(growing.folder)
    const old = growing.note
    await growing.grow(1, [key.signer])
    let listings = 0
    const { faults } = await verify({
      read: async (path) => (path === 'checkpoint' ? Buffer.from(old) : files.read(path)),
      names: async (folder) => {
        const names = await files.names(folder)
        listings += 1
        if (listings <= 2) await growing.grow(1, [key.signer])
        return names
      },
    })
    expect([faults, listings > 2]).toEqual([[], true])
  })
})
