// The model of a project folder with the commands that exchange and check it, on the data folder of a service and on its URL.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../support/cli-process.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const MODEL = 'DEFINE (p:Person)-[:may_drive]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) }\n'

let service: TestService
let folder: string

beforeAll(async () => {
  service = await startService({}, { sync: false, log: () => {} })
  const [ann, car] = [
    { type: 'Person', external_id: 'ann' },
    { type: 'Car', external_id: 'c1' },
  ]
  await service.ask('/capture/v1/nodes', { nodes: [ann, car] })
  await service.ask('/capture/v1/relationships', { relationships: [{ source: ann, type: 'OWNS', target: car }] })
  folder = temporaryFolder()
  mkdirSync(join(folder, 'policies'))
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: test\n')
  writeFileSync(join(folder, 'model.gql'), MODEL)
  writeFileSync(
    join(folder, 'policies', 'drive.policy.yaml'),
    'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:may_drive]->(resource)\n',
  )
})
afterAll(() => service?.stop())

function run(...command: string[]) {
  return runCommand([...command, '--url', service.url], { VERDIGRAPH_TOKEN: service.token })
}

test('apply stores the model before the policies, plan compares decisions with a changed one, and pull writes it', async () => {
  const applied = await run('apply', folder)
  expect([applied.exitCode, applied.stderr], applied.stdout).toEqual([0, ''])
  const unchanged = await run('plan', folder, '--exit-code')
  expect(unchanged.exitCode, unchanged.stdout + unchanged.stderr).toBe(0)
  writeFileSync(join(folder, 'model.gql'), MODEL.replace('OWNS', 'RENTS'))
  const planned = await runCommand(['plan', folder, '--data', service.dataDir])
  expect(planned.stdout).toContain('1 to update')
  expect(planned.stdout).toMatch(/lose|lost|loses/)
  expect(planned.stdout).toContain('ann')
  const pulled = join(temporaryFolder(), 'pulled')
  const written = await run('pull', pulled, '--project', 'test')
  expect([written.exitCode, readFileSync(join(pulled, 'model.gql'), 'utf8')], written.stderr).toEqual([0, MODEL])
  writeFileSync(join(folder, 'model.gql'), MODEL.replace('may_drive', 'drives'))
  const refused = await run('apply', folder)
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining('model.gql:1:1: the authorization policy `drive` uses the definition `may_drive`'),
  ])
  writeFileSync(join(folder, 'model.gql'), MODEL)
})

test('lint and fmt know the model of a folder, of one file in it, and of a stored project', async () => {
  const linted = await runCommand(['lint', folder, '--project', 'test', '--data', service.dataDir])
  expect([linted.exitCode, linted.stdout], linted.stderr).toEqual([0, ''])
  const file = join(folder, 'policies', 'drive.policy.yaml')
  const alone = await runCommand(['lint', file, '--project', 'test', '--data', service.dataDir])
  expect([alone.exitCode, alone.stdout], alone.stderr).toEqual([0, ''])
  const stored = await runCommand(['lint', '--project', 'test', '--data', service.dataDir])
  expect([stored.exitCode, stored.stdout], stored.stderr).toEqual([0, ''])
  writeFileSync(join(folder, 'model.gql'), MODEL.replace('MATCH', 'match').replace('{ ', '{'))
  const formatted = await runCommand(['fmt', folder])
  expect([formatted.exitCode, readFileSync(join(folder, 'model.gql'), 'utf8')]).toEqual([0, MODEL])
})

test('plan and a dry run of apply list the stored data that a changed model would not fit, at a service and in its folder', async () => {
  const types = '(:Person {email STRING NOT NULL}), (:Car), (:Person)-[:OWNS]->(:Car)\n'
  writeFileSync(join(folder, 'model.gql'), `${types}${MODEL}`)
  const warning =
    'warning: models model: model: 1 stored element does not fit: `email`: expected a value, because the model says NOT NULL; such as Person:ann\n'
  for (const command of [['plan'], ['apply', '--dry-run']]) {
    const served = await run(command[0] as string, folder, ...command.slice(1))
    expect([served.exitCode, served.stderr], served.stdout).toEqual([0, warning])
    const offline = await runCommand([...command, folder, '--data', service.dataDir])
    expect([offline.exitCode, offline.stderr], offline.stdout).toEqual([0, warning])
  }
  const json = await run('plan', folder, '--json')
  expect(JSON.parse(json.stdout)).toMatchObject({ comparison: { warnings: [expect.stringContaining('Person:ann')] } })
  writeFileSync(join(folder, 'model.gql'), MODEL)
})
