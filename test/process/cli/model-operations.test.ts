// A data folder whose project has a model, with the commands of operators: checks, backup and restore, and a model inferred from data.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const MODEL = `CLOSED
(:Person {email STRING}), (:Team), (:Car), (:Person)-[:MEMBER]->(:Team), (:Team)-[:USES]->(:Car)

DEFINE (p:Person)-[:may_drive]->(c:Car) AS { MATCH (p)-[:MEMBER]->(:Team)-[:USES]->(c) }`
const QUESTION = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

const data = join(temporaryFolder(), 'data')
let project: string
let key: string
let schemaKey: string

async function startOn(dataDir: string): Promise<TestService> {
  return await startService({ dataDir })
}

beforeAll(async () => {
  const service = await startOn(data)
  ;({ projectId: project, key } = service)
  const stored = await service.configure('POST', 'models', { project_id: project, name: 'model', model: MODEL })
  expect(stored.status, stored.text).toBe(201)
  await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject)-[:may_drive]->(resource)', actions: ['drive'] })
  const [ann, red, c1] = [
    { type: 'Person', external_id: 'ann', properties: [{ type: 'email', value: 'ann@example.org' }] },
    { type: 'Team', external_id: 'red' },
    { type: 'Car', external_id: 'c1' },
  ]
  await service.ask('/capture/v1/nodes', { nodes: [ann, red, c1] })
  await service.ask('/capture/v1/relationships', {
    relationships: [
      { source: { type: 'Person', external_id: 'ann' }, type: 'MEMBER', target: red },
      { source: red, type: 'USES', target: c1 },
    ],
  })
  expect((await service.ask('/access/v1/evaluation', QUESTION)).body).toEqual({ decision: true })
  schemaKey = (await service.addAgent('schema', ['ReadDataSchema'])).key
  const rebuilt = await service.configure('POST', 'data-schema/rebuild', { project_id: project })
  expect(rebuilt.status, rebuilt.text).toBeLessThan(300)
  await service.stop()
})
afterAll(killAll)

test('verify and doctor find no fault', async () => {
  const verified = await runCommand(['verify', '--data', data])
  expect(verified.exitCode, verified.stdout + verified.stderr).toBe(0)
  const doctor = await runCommand(['doctor', '--data', data, '--json'])
  expect(doctor.stdout).not.toMatch(/model/i)
  expect(doctor.exitCode, doctor.stdout + doctor.stderr).toBe(0)
})

test('a restored backup decides by the definition, and refuses what its closed types do not allow', async () => {
  const [archive, restored] = [join(temporaryFolder(), 'backup.tar'), join(temporaryFolder(), 'restored')]
  const backup = await runCommand(['backup', '--data', data, '--out', archive])
  expect(backup.exitCode, backup.stderr).toBe(0)
  const restore = await runCommand(['restore', '--in', archive, '--data', restored])
  expect(restore.exitCode, restore.stderr).toBe(0)
  cpSync(join(data, 'master.key'), join(restored, 'master.key'))
  const { createApp } = await import('../../../src/app.ts')
  const { defaultSettings } = await import('../../../src/settings.ts')
  const app = await createApp({ ...defaultSettings, dataDir: restored, port: 0 }, { sync: false, log: () => undefined })
  try {
    const { url } = await app.listen()
    const ask = async (path: string, body: object) => {
      const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return [answer.status, await answer.json()]
    }
    expect(await ask('/access/v1/evaluation', { ...QUESTION, context: { model_revision: 1 } })).toEqual([
      200,
      { decision: true, context: { model_revision: 1 } },
    ])
    const refused = await ask('/capture/v1/nodes', { nodes: [{ type: 'Lorry', external_id: 'l1' }] })
    expect(refused).toEqual([422, expect.anything()])
  } finally {
    await app.close()
  }
})

test('a model is inferred from the data of the folder and of its service', async () => {
  const types = `(:Person {email STRING NOT NULL}),
(:Team),
(:Car),
(:Person)-[:MEMBER]->(:Team),
(:Team)-[:USES]->(:Car)
`.split(/,?\n/)
  const sorted = (text: string): string[] => text.split(/,?\n/).sort()
  const offline = await runCommand(['model', 'infer', '--data', data, '--project', project])
  expect([offline.exitCode, sorted(offline.stdout)], offline.stderr).toEqual([0, types.sort()])
  const { createApp } = await import('../../../src/app.ts')
  const { defaultSettings } = await import('../../../src/settings.ts')
  const app = await createApp({ ...defaultSettings, dataDir: data, port: 0 }, { sync: false, log: () => undefined })
  try {
    const { url } = await app.listen()
    const command = ['model', 'infer', '--url', url, '--project', project]
    const withoutKey = await runCommand(command, { VERDIGRAPH_AGENT_KEY: '' })
    expect([withoutKey.exitCode, withoutKey.stderr]).toEqual([2, expect.stringContaining('ReadDataSchema')])
    const served = await runCommand(command, { VERDIGRAPH_AGENT_KEY: schemaKey })
    expect([served.exitCode, sorted(served.stdout)], served.stderr).toEqual([0, types.sort()])
  } finally {
    await app.close()
  }
})
