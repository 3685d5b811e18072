// Error messages of the commands that move a folder, and that a failure leaves nothing behind.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { backup } from '../../../src/backup/backup.ts'
import { restore } from '../../../src/backup/restore.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { importFile } from '../../../src/transfer/import/import.ts'
import { killAll, ownEnvironment, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(killAll)

const bin = join(import.meta.dirname, '../../../src/cli/verdigraph.sh')

/** With more documents than a pipe buffers. */
async function filledFolder(): Promise<string> {
  const data = join(temporaryFolder(), 'data')
  const documents = openCollections(join(data, 'config'), { sync: false })
  await documents.transact((changes) => {
    for (let i = 0; i < 300; i++)
      changes.put('configuration', `d${i}`, { id: `d${i}`, kind: 'x', text: 'x'.repeat(2000) })
  })
  await documents.close()
  return data
}

async function shell(line: string): Promise<string> {
  const child = Bun.spawn(['bash', '-c', line], { env: ownEnvironment, stdout: 'ignore', stderr: 'pipe' })
  await child.exited
  return child.stderr.text()
}

test('a command that cannot start gives the reason, with its own help, and creates nothing', async () => {
  const parent = temporaryFolder()
  const none = join(parent, 'none')
  const [migrating, restoring] = await Promise.all([
    runCommand(['migrate', '--data', none]),
    runCommand(['restore', '--data', none]),
  ])
  expect(migrating).toMatchObject({ exitCode: 1, stderr: `error: the folder ${none} does not exist\n` })
  expect(restoring.stderr).toContain('error: restore: name either a backup file with `--in`, or a folder')
  const toNowhere = backup({ dataDir: none, out: '-', madeBy: 'test', nowMs: 0, progress() {} })
  await expect(toNowhere).rejects.toThrow('a backup cannot be written to the standard output: name a file')
  const file = join(parent, 'file')
  writeFileSync(file, '')
  const into = importFile({ dataDir: file, from: file, dryRun: false, resume: false, progress() {} })
  await expect(into).rejects.toThrow(`the folder ${file} cannot be used`)
  const from = join(parent, 'backup')
  writeFileSync(from, '')
  const below = restore({ from, dataDir: join(file, 'x', 'y'), progress() {} })
  await expect(below).rejects.toThrow(`the folder ${join(file, 'x')} cannot be created: `)
  expect(existsSync(none)).toBe(false)
  expect(readdirSync(parent).sort()).toEqual(['backup', 'file'])
})

test('an export reports that its reader has ended', async () => {
  const data = await filledFolder()
  expect(await shell(`${bin} export --data ${data} --out - | head -1`)).toContain(
    'the reader of the standard output closed it',
  )
})

test('with a file size limit a restore does not call the backup corrupted, and an import ends with an error', async () => {
  const data = await filledFolder()
  const parent = temporaryFolder()
  const out = join(parent, 'backup')
  await backup({ dataDir: data, out, madeBy: 'test', nowMs: 0, progress() {} })
  const target = join(parent, 'target')
  mkdirSync(target)
  const lines = join(temporaryFolder(), 'lines')
  const configuration = JSON.stringify({ configuration: { id: 'd0', kind: 'x' } })
  writeFileSync(lines, `${JSON.stringify({ format: 'verdigraph-export', version: 1 })}\n${configuration}\n`)
  const [restoring, importing] = await Promise.all([
    shell(`ulimit -f 40; ${bin} restore --data ${target} --in ${out}`),
    shell(`ulimit -f 40; ${bin} import --data ${join(parent, 'new')} --in ${lines}`),
  ])
  expect(restoring).toMatch(/^error: the file size limit is reached \(`ulimit -f`\): [^\n]* cannot be unpacked\n$/)
  expect(importing).toMatch(
    /^error: not enough disk space for a store in [^\n]*: the file size limit is reached [^\n]*\n$/,
  )
  expect(readdirSync(target)).toEqual([])
  expect(readdirSync(parent).sort()).toEqual(['backup', 'target'])
})

test('an export to a standard output that is full gives the reason', async () => {
  const data = await filledFolder()
  expect(await shell(`"${bin}" export --data "${data}" --out - > /dev/full`)).toBe(
    'error: the standard output cannot be used: the disk is full; make space (ENOSPC)\n',
  )
})

test('a folder that is imported and a place that does not exist are named', async () => {
  const folder = temporaryFolder()
  const absent = join(folder, 'absent')
  const imported = await runCommand(['import', '--data', join(folder, 'data'), '--in', folder])
  expect(imported).toMatchObject({ exitCode: 1, stderr: `error: ${folder} is a folder: name a file\n` })
  const stderr = `error: the folder ${absent} does not exist\n`
  expect(await runCommand(['backups', 'list', '--from', absent])).toEqual({ exitCode: 1, stdout: '', stderr })
  expect(await runCommand(['drill', '--data', join(folder, 'data'), '--from', absent])).toMatchObject({
    exitCode: 1,
    stderr,
  })
  // An empty place, and one that the first scheduled backup creates, contain no backup.
  const empty = await runCommand(['backups', 'list', '--from', folder])
  expect(empty).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('contains no backup') })
  const early = await runCommand(['backups', 'list'], { VERDIGRAPH_BACKUP_TO: absent })
  expect(early).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('contains no backup') })
  const scheme = await runCommand(['backup', '--data', join(folder, 'data'), '--to', 's3:/bucket'])
  expect(scheme).toMatchObject({ stdout: '', stderr: expect.stringContaining('is neither a folder nor') })
  expect(scheme.exitCode).not.toBe(0)
})
