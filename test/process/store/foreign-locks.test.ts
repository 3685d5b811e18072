// Locks that a command of the administrator has made in the folder of a service that runs as another user.
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/graph/open-store.ts'
import { OpenLock } from '../../../src/store/lmdb/open-lock.ts'
import { runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(removeTemporaryFolders)

const SERVICE = 65534
const asService = ['setpriv', `--reuid=${SERVICE}`, `--regid=${SERVICE}`, '--clear-groups']
const canChange = process.getuid?.() === 0 && Bun.which('setpriv') !== null

/** A folder with a graph, of the user of a service. */
async function foldersOfService(): Promise<{ readonly above: string; readonly folder: string }> {
  const above = temporaryFolder()
  const folder = join(above, 'data')
  mkdirSync(folder, { mode: 0o700 })
  await openStore(folder, { sync: false }).close()
  for (const name of ['checked.lock', 'presence.lock']) rmSync(join(folder, name), { force: true })
  chmodSync(above, 0o711)
  for (const path of [folder, ...readdirSync(folder).map((name) => join(folder, name))])
    chownSync(path, SERVICE, SERVICE)
  return { above, folder }
}

async function isChecked(folder: string): Promise<boolean> {
  const lock = OpenLock.of(join(folder, 'data.mdb'))
  try {
    return await lock.runExclusiveAsync(() => lock.isChecked())
  } finally {
    lock.close()
  }
}

async function startService(folder: string): Promise<{ readonly kill: () => Promise<void> }> {
  const script = join(import.meta.dirname, 'reading-process.ts')
  const child = Bun.spawn([...asService, process.execPath, script, folder], { stdout: 'pipe', stderr: 'inherit' })
  await child.stdout.getReader().read()
  return {
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

describe.skipIf(!canChange)('a lock in the folder of another user', () => {
  it('belongs to that user, with the rights of the database', async () => {
    const { folder } = await foldersOfService()
    chmodSync(join(folder, 'data.mdb'), 0o660)
    const store = openStore(folder, { sync: false })
    const { uid, gid, mode } = statSync(join(folder, 'checked.lock'))
    expect([uid, gid, mode & 0o777]).toEqual([SERVICE, SERVICE, 0o660])
    for (const name of readdirSync(folder)) expect([name, statSync(join(folder, name)).uid]).toEqual([name, SERVICE])
    await store.close()
    const service = await startService(folder)
    expect(await isChecked(folder)).toBe(true)
    await service.kill()
  })

  it('that only the administrator can open is replaced by the service', async () => {
    const { folder } = await foldersOfService()
    writeFileSync(join(folder, 'checked.lock'), '', { mode: 0o600 })
    const service = await startService(folder)
    expect(await isChecked(folder)).toBe(true)
    await service.kill()
  })

  it('that the service cannot open is reported by doctor', async () => {
    const data = join(temporaryFolder(), 'data')
    expect(await runCommand(['init', '--data', data, '--json'])).toMatchObject({ exitCode: 0 })
    const lock = join(data, 'config', 'checked.lock')
    expect(existsSync(lock)).toBe(true)
    const rights = async (): Promise<readonly string[]> => {
      const { stdout } = await runCommand(['doctor', '--data', data, '--json'], { VERDIGRAPH_PORT: '0' })
      const findings = JSON.parse(stdout).findings as { check: string; found: string }[]
      return findings.filter(({ check }) => check === 'rights').map(({ found }) => found)
    }
    expect(await rights()).toEqual(['only this user may access the folder'])
    chownSync(join(data, 'config', 'data.mdb'), SERVICE, SERVICE)
    expect(await rights()).toEqual([
      `1 locks cannot be opened by all users of their databases, so pages are checked again at each opening, for example ${lock}`,
    ])
  })
})
