// The disk for temporary copies, the place or the target is full: a command and a scheduled run end with a clear error, leave nothing half-written,
// and succeed when there is space.
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** More than the space that a backup leaves free. */
const DISK_KIB = 96 * 1024
const full = /no space left|not enough disk space|disk is full|make space/i
const disk = join(temporaryFolder(), 'disk')
const ballast = join(disk, 'ballast')

mkdirSync(disk)
const mount = ['mount', '-t', 'tmpfs', '-o', `size=${DISK_KIB}k`, 'tmpfs', disk]
const isMounted = Bun.spawnSync(mount).exitCode === 0
if (!isMounted) console.log('skipped: this user may not mount a file system')

let data: string
let archive: string
let archiveKib: number

beforeAll(async () => {
  const folder = temporaryFolder()
  data = join(folder, 'data')
  archive = join(folder, 'demo.tar')
  const server = await startServer(['--data', data, '--demo'], { VERDIGRAPH_LANES: '0' })
  await server.kill('SIGTERM')
  expect(await runCommand(['backup', '--data', data, '--out', archive])).toMatchObject({ exitCode: 0 })
  archiveKib = Math.ceil(statSync(archive).size / 1024)
})

afterAll(async () => {
  await killAll()
  if (isMounted) expect(Bun.spawnSync(['umount', '--lazy', disk]).exitCode).toBe(0)
})

/** Leaves so much free space. */
function leave(freeKib: number): void {
  rmSync(ballast, { force: true })
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - freeKib * 1024))
}

/** The disk refuses new files after so many more, as a full one does, while its free blocks pass the check before a job. */
function leaveFiles(count: number | null): void {
  const { files, ffree } = statfsSync(disk)
  const limit = count === null ? 10_000 : files - ffree + count
  expect(Bun.spawnSync(['mount', '-o', `remount,nr_inodes=${limit}`, disk]).exitCode).toBe(0)
}

/** Free space at which something fails: before the first byte, and in the middle. */
const shortages = (): number[] => [0, Math.floor(archiveKib / 8), Math.floor(archiveKib / 2)]

const content = (): string[] => readdirSync(disk).filter((name) => name !== 'ballast')

describe.skipIf(!isMounted)('on a full disk', () => {
  test('a restore writes no folder, and works when there is space', async () => {
    const target = join(disk, 'restored')
    const restore = () => runCommand(['restore', '--in', archive, '--data', target])
    for (const freeKib of shortages()) {
      leave(freeKib)
      const { exitCode, stderr } = await restore()
      expect([freeKib, exitCode, stderr]).toEqual([freeKib, 1, expect.stringMatching(full)])
      expect(content()).toEqual([])
    }
    rmSync(ballast)
    expect(await restore()).toMatchObject({ exitCode: 0 })
    expect(await runCommand(['verify', '--data', target])).toMatchObject({ exitCode: 0 })
    rmSync(target, { recursive: true })
  })

  test('a restore from a place needs space for the folder only', async () => {
    const place = join(temporaryFolder(), 'place')
    const target = join(disk, 'restored')
    expect(await runCommand(['backup', '--data', data, '--to', place])).toMatchObject({ exitCode: 0 })
    leave(Math.floor(archiveKib / 2))
    const refused = await runCommand(['restore', '--from', place, '--data', target])
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(full) })
    expect(content()).toEqual([])
    rmSync(ballast)
    expect(await runCommand(['restore', '--from', place, '--data', target])).toMatchObject({ exitCode: 0 })
    rmSync(target, { recursive: true })
  })

  test('a drill fails with the reason, and proves the backup when there is space', async () => {
    const work = join(disk, 'work')
    const drill = () => runCommand(['drill', '--data', data, '--in', archive, '--work', work, '--json'])
    for (const freeKib of shortages()) {
      leave(freeKib)
      const { exitCode, stdout, stderr } = await drill()
      expect([freeKib, exitCode, `${stdout}${stderr}`]).toEqual([freeKib, 1, expect.stringMatching(full)])
      expect(existsSync(work) ? readdirSync(work) : []).toEqual([])
    }
    rmSync(ballast)
    // The disk becomes full while the backup is unpacked, after the check of the free space.
    for (const files of [1, 2, 4, 6]) {
      leaveFiles(files)
      const { exitCode, stdout, stderr } = await drill()
      leaveFiles(null)
      expect([files, exitCode, `${stdout}${stderr}`]).toEqual([files, 1, expect.stringMatching(full)])
      expect(readdirSync(work)).toEqual([])
    }
    const { exitCode, stdout } = await drill()
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ outcome: 'proven' })])
    expect(readdirSync(work)).toEqual([])
    rmSync(work, { recursive: true })
  })

  test.each([
    ['the place', 'place'],
    ['the temporary copy', 'work'],
  ])('%s of a backup has no part of it, and the next one works', async (_, which) => {
    const other = temporaryFolder()
    const place = join(which === 'place' ? disk : other, 'place')
    const work = join(which === 'work' ? disk : other, 'work')
    mkdirSync(place)
    mkdirSync(work)
    const environment = { VERDIGRAPH_BACKUP_WORK_FOLDER: work }
    const backup = () => runCommand(['backup', '--data', data, '--to', place], environment)
    for (const freeKib of [0, 16]) {
      leave(freeKib)
      const { exitCode, stderr } = await backup()
      expect([freeKib, exitCode, stderr]).toEqual([freeKib, 1, expect.stringMatching(full)])
      expect([readdirSync(place), readdirSync(work)]).toEqual([[], []])
    }
    rmSync(ballast)
    // After the check of the free space: the first copy, and one of the later ones.
    leaveFiles(1)
    const { exitCode, stderr } = await backup()
    leaveFiles(null)
    if (which === 'work') expect([exitCode, stderr]).toEqual([1, expect.stringMatching(full)])
    rmSync(place, { recursive: true })
    mkdirSync(place)
    expect(readdirSync(work)).toEqual([])
    expect(await backup()).toMatchObject({ exitCode: 0 })
    expect(readdirSync(place)).toHaveLength(1)
    expect(readdirSync(work)).toEqual([])
    for (const folder of [place, work]) rmSync(folder, { recursive: true })
  })

  test.each([
    ['backup', 'all.tar'],
    ['export', 'all.ndjson'],
  ])('%s --out names the file and tells what to do', async (command, name) => {
    const out = join(disk, name)
    const run = () => runCommand([command, '--data', data, '--out', out])
    for (const freeKib of [16, Math.floor(archiveKib / 8), Math.floor(archiveKib / 2)]) {
      leave(freeKib)
      const { exitCode, stderr } = await run()
      expect([freeKib, exitCode]).toEqual([freeKib, 1])
      // An export opens its copies as stores, which name their folder next to the file.
      const store = `error: not enough disk space for a store in ${join(disk, `.${name}-`)}`
      const line = `error: ${out} cannot be used: the disk is full; make space (ENOSPC)\n`
      expect(command === 'export' && stderr.startsWith(store) ? line : stderr).toBe(line)
      expect(content()).toEqual([])
    }
    rmSync(ballast)
    expect(await run()).toMatchObject({ exitCode: 0 })
    for (const left of content()) rmSync(join(disk, left), { recursive: true })
  })

  test('a backup on request is reported as failed, and the next one is complete and sound', async () => {
    const backupFolder = join(disk, 'backups')
    rmSync(ballast, { force: true })
    mkdirSync(backupFolder, { mode: 0o700 })
    const { token } = JSON.parse((await runCommand(['token', '--data', data, '--json'])).stdout)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const server = await startServer(['--data', data], {
      VERDIGRAPH_BACKUP_FOLDER: backupFolder,
      VERDIGRAPH_LANES: '0',
    })
    interface DiskTestBackup {
      readonly name: string
      readonly state: string
      readonly error: string | null
      readonly verification: { readonly state: string; readonly error: string | null } | null
    }
    const url = `${server.url}/operations/v1/backups`
    const list = async () =>
      ((await (await fetch(url, { headers })).json()) as { readonly backups: readonly DiskTestBackup[] }).backups
    const make = async (): Promise<DiskTestBackup> => {
      let started: Response
      do started = await fetch(url, { method: 'POST', headers, body: '{}' })
      while (started.status === 409)
      expect(started.status).toBe(202)
      const { name } = (await started.json()) as DiskTestBackup
      const found = async () => (await list()).find((one) => one.name === name) as DiskTestBackup
      await expect.poll(async () => (await found()).state, { timeout: 120_000, interval: 100 }).not.toBe('running')
      return found()
    }
    // Enough for the state of the backup, and not for the backup.
    leave(64)
    const failed = await make()
    expect(failed).toMatchObject({ state: 'failed', error: expect.stringMatching(full) })
    expect(readdirSync(backupFolder).filter((name) => !name.endsWith('.json') && !name.endsWith('.lock'))).toEqual([])
    rmSync(ballast)
    const { name, state } = await make()
    expect(state).toBe('complete')
    const verify = () => fetch(`${url}/${name}/verify`, { method: 'POST', headers })
    await expect.poll(async () => (await verify()).status, { timeout: 120_000 }).toBe(202)
    const verification = async () => (await list()).find((one) => one.name === name)?.verification?.state
    await expect.poll(verification, { timeout: 120_000, interval: 100 }).toBe('sound')
    // A verification that has no space is not a damaged backup.
    leave(Math.floor(archiveKib / 4))
    await expect.poll(async () => (await verify()).status, { timeout: 120_000 }).toBe(202)
    await expect.poll(verification, { timeout: 120_000, interval: 100 }).not.toBe('running')
    const after = (await list()).find((one) => one.name === name)
    expect(after?.verification).toMatchObject({ state: 'failed', error: expect.stringMatching(full) })
    expect(after?.state).toBe('complete')
    await server.kill('SIGTERM')
  })
})
