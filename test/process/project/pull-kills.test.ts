// `pull` that is killed while it replaces files: the folder has files of two states, which the commands that read it notice, and which
// another `pull` completes.
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Random, testSeed } from '../../generate/random.ts'
import { bin, type Finished, runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const POLICIES = 400
/** On a busy machine, many a `pull` has ended before the kill. */
const ROUNDS_MAX = 60
const HITS = 2
const MARKER = '.verdigraph-pull'

const base = temporaryFolder()
const data = join(base, 'data')
/** The stored configuration. */
const after = join(base, 'after')
/** Folders that `pull` updates. */
const before = join(base, 'before')

function policy(at: number, type: string): string {
  return `subject: Person\nactions: [a${at}]\nresource: Car\ncypher: MATCH (subject)-[:${type}]->(resource)\n`
}

function write(folder: string, from: number, to: number, type: string): void {
  mkdirSync(join(folder, 'policies'), { recursive: true })
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: cars\n')
  for (let at = from; at < to; at++) writeFileSync(join(folder, `policies/p${at}.policy.yaml`), policy(at, type))
}

beforeAll(async () => {
  await runCommand(['init', '--data', data])
  write(after, 0, POLICIES, 'OWNS')
  expect((await runCommand(['apply', after, '--create', '--data', data])).exitCode).toBe(0)
  // Every file differs; some are to be written anew, and some removed.
  write(before, 20, POLICIES + 20, 'LEASES')
})
afterAll(removeTemporaryFolders)

const run = (command: string, folder: string, ...more: string[]): Promise<Finished> =>
  runCommand([command, folder, '--data', data, ...more])

async function expectCompleted(folder: string, ...flags: string[]): Promise<void> {
  const completed = await run('pull', folder, ...flags)
  expect(completed.exitCode, completed.stderr).toBe(0)
  expect(readdirSync(folder).sort()).toEqual(['policies', 'verdigraph.yaml'])
  expect(readdirSync(join(folder, 'policies'))).toHaveLength(POLICIES)
  const planned = await run('apply', folder, '--dry-run', '--prune')
  expect(planned.stdout).toContain(`0 to create, 0 to update, 0 to delete, ${POLICIES + 1} unchanged`)
}

test('a folder after a kill is noticed by its readers, and completed by the same command', {
  timeout: 600_000,
}, async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const random = new Random(seed)
  let hits = 0
  for (let round = 0; round < ROUNDS_MAX && hits < HITS; round++) {
    const isFirst = round % 2 === 1
    const folder = join(base, `round-${round}`)
    if (!isFirst) cpSync(before, folder, { recursive: true })
    const args = isFirst ? ['--project', 'cars'] : ['--force']
    const child = Bun.spawn([bin, 'pull', folder, '--data', data, ...args], {
      env: { PATH: process.env.PATH ?? '' },
      stdout: 'ignore',
      stderr: 'ignore',
    })
    while (child.exitCode === null && !existsSync(join(folder, MARKER))) await Bun.sleep(1)
    await Bun.sleep(random.between(0, 20))
    child.kill('SIGKILL')
    await child.exited
    if (!existsSync(join(folder, MARKER))) continue
    hits += 1
    for (const command of ['plan', 'apply', 'lint']) {
      const refused = command === 'lint' ? await runCommand(['lint', folder]) : await run(command, folder)
      const printed = `${refused.stdout}${refused.stderr}`
      expect(refused.exitCode, printed).not.toBe(0)
      // `lint` needs a file of a policy to begin with.
      if (!printed.includes('no file ends with')) expect(printed).toContain('was interrupted')
    }
    await expectCompleted(folder, ...args)
  }
  expect(hits).toBe(HITS)
})

test('files of two states that refer to each other, and temporary files, do not prevent the completion', async () => {
  const folder = join(base, 'two-states')
  write(folder, 0, POLICIES / 2, 'OWNS')
  writeFileSync(join(folder, MARKER), '')
  mkdirSync(join(folder, 'queries'))
  writeFileSync(join(folder, 'queries/my-cars.query.yaml'), 'policy: absent\nnodes: [car.external_id]\n')
  writeFileSync(
    join(folder, 'policies/p7.cypher'),
    `---\nsubject: Person\nactions: [a7]\nresource: Car\n---\nMATCH (subject)\n`,
  )
  writeFileSync(join(folder, 'policies/.p8.policy.yaml.0f1a2b3c-0000-4000-8000-123456789abc'), 'subj')
  const refused = await run('plan', folder)
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    `error: ${MARKER}:1:1: a \`pull\` into this folder was interrupted, so the folder has old and new files: run it again\n`,
  ])
  const completed = await run('pull', folder)
  expect(completed.exitCode, completed.stderr).toBe(0)
  rmSync(join(folder, 'queries'), { recursive: true })
  expect(readdirSync(join(folder, 'policies'))).toHaveLength(POLICIES)
  expect((await run('plan', folder)).stdout).toContain('0 to create, 0 to update, 0 to delete')
})
