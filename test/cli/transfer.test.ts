// What the commands that move a folder say when they cannot, and that nothing is left then.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openCollections } from '../../src/store/lmdb/collections.ts'
import { backup } from '../../src/transfer/backup.ts'
import { temporaryFolder } from '../store/folder.ts'
import { killAll, ownEnvironment, runCommand } from './process.ts'

afterAll(killAll)

const bin = join(import.meta.dirname, '../../src/cli/verdigraph.sh')

/** With more documents than a pipe holds. */
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

test('a command that cannot begin says why, with its own help, and makes nothing', async () => {
  const parent = temporaryFolder()
  const none = join(parent, 'none')
  expect((await runCommand(['migrate', '--data', none])).stderr).toContain(`the folder ${none} does not exist`)
  expect((await runCommand(['restore', '--data', none])).stderr).toContain(
    '(verdigraph restore --help tells its options)',
  )
  const toNowhere = await runCommand(['backup', '--data', none, '--out', '-'])
  expect(toNowhere.stderr).toContain('a backup is written to a file, and not to the standard output: name one')
  const file = join(parent, 'file')
  writeFileSync(file, '')
  expect((await runCommand(['import', '--data', file, '--in', file])).stderr).toContain(
    `the folder ${file} cannot be used`,
  )
  writeFileSync(join(parent, 'backup'), '')
  const below = await runCommand(['restore', '--data', join(file, 'x', 'y'), '--in', join(parent, 'backup')])
  expect(below.stderr).toContain(`the folder ${join(file, 'x')} cannot be made: `)
  expect(existsSync(none)).toBe(false)
  expect(readdirSync(parent).sort()).toEqual(['backup', 'file'])
})

test('an export whose reader ends says so; a restore that may not write does not call the backup damaged', async () => {
  const data = await filledFolder()
  expect(await shell(`${bin} export --data ${data} --out - | head -1`)).toContain(
    'whoever read the export ended before it did',
  )
  const parent = temporaryFolder()
  const out = join(parent, 'backup')
  await backup({ dataDir: data, out, madeBy: 'test', nowMs: 0, note() {} })
  const target = join(parent, 'target')
  mkdirSync(target)
  const told = await shell(`ulimit -f 40; ${bin} restore --data ${target} --in ${out}`)
  expect(told).toMatch(/^error: EFBIG: [^\n]*\n$/)
  expect(readdirSync(target)).toEqual([])
  expect(readdirSync(parent).sort()).toEqual(['backup', 'target'])
})
