// A service with workers and lanes whose project is in Neo4j: what is captured survives the service, an absent server is never a
// permit, and commands that read the data folder say that the graph is not in it. Needs Java and Maven.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let neo4j: Neo4jServer | null = null

beforeAll(async () => {
  try {
    neo4j = await startNeo4j()
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: a served project in Neo4j: ${failure.message}`)
  }
}, 600_000)
afterAll(async () => {
  await killAll()
  await neo4j?.stop()
})

const allowed = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1', VERDIGRAPH_DATABASE_CONNECT_TIME_MS: '60000' }

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

async function send(
  server: Server,
  path: string,
  headers: Record<string, string>,
  body?: object,
  method = body === undefined ? 'GET' : 'POST',
): Promise<Answered> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text.startsWith('{') ? JSON.parse(text) : { text },
  }
}

const question = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

test('captures, a kill, an absent server, and commands on the data folder', async (context) => {
  if (neo4j === null) return context.skip()
  const dataDir = join(temporaryFolder(), 'data')
  const init = await runCommand(['init', '--data', dataDir, '--json'])
  const { token, organization_id } = JSON.parse(init.stdout) as Record<string, string>
  const admin = { authorization: `Bearer ${token}` }
  const create = async (server: Server, kind: string, fields: object): Promise<Record<string, string>> => {
    const { status, body } = await send(server, `/configs/v1/${kind}`, admin, fields)
    expect([status, body]).toEqual([201, body])
    return body as Record<string, string>
  }
  let server = await startServer(['--data', dataDir, '--workers', '2'], allowed)
  const db_connection = { url: neo4j.url }
  const project_id = (
    await create(server, 'projects', { organization_id, name: 'remote', region: 'local', db_connection })
  ).id!
  await expect
    .poll(async () => (await send(server, `/configs/v1/projects/${project_id}`, admin)).body.ikg_status, {
      timeout: 60_000,
    })
    .toBe('ACTIVE')
  const application_id = (await create(server, 'applications', { project_id, name: 'app' })).id
  const api_permissions = ['Authorization', 'Capture']
  const application_agent_id = (
    await create(server, 'application-agents', { application_id, name: 'agent', api_permissions })
  ).id
  const { api_key } = await create(server, 'application-agent-credentials', { application_agent_id })
  const key = { 'x-svc-clientkey': api_key! }
  const owned = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
  const conditions = {
    drive: owned,
    // The time must be that of the request in all of its attempts.
    park: `${owned} WHERE resource.until > timestamp()`,
    sell: `${owned} WHERE resource.until < timestamp()`,
  }
  for (const [name, cypher] of Object.entries(conditions)) {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: [name],
      resource: { type: 'Car' },
      condition: { cypher },
    })
    await create(server, 'authorization-policies', { project_id, name, policy, status: 'ACTIVE' })
  }
  const [ann, car] = [
    { type: 'Person', external_id: 'ann' },
    { type: 'Car', external_id: 'c1' },
  ]
  const properties = [{ type: 'until', value: Date.now() + 3_600_000 }]
  const nodes = [ann, { ...car, properties }]
  expect((await send(server, '/capture/v1/nodes', key, { nodes })).status).toBe(200)
  const relationships = [{ source: ann, type: 'OWNS', target: car }]
  expect((await send(server, '/capture/v1/relationships', key, { relationships })).status).toBe(200)
  const decide = (name = 'drive') => send(server, '/access/v1/evaluation', key, { ...question, action: { name } })
  expect((await decide()).body).toEqual({ decision: true })
  expect((await decide('park')).body).toEqual({ decision: true })
  expect((await decide('sell')).body).toMatchObject({ decision: false })

  await server.kill('SIGKILL')
  server = await startServer(['--data', dataDir, '--workers', '2'], allowed)
  expect((await decide()).body).toEqual({ decision: true })
  const metrics = await (await fetch(`${server.url}/metrics`, { headers: admin })).text()
  expect(metrics).toContain('verdigraph_database_servers')

  const out = join(temporaryFolder(), 'backup')
  const backup = await runCommand(['backup', '--data', dataDir, '--out', out])
  expect([backup.exitCode, backup.stdout]).toEqual([
    0,
    expect.stringContaining('the graph of the project remote is not included: it is in a database server'),
  ])
  const exported = await runCommand(['export', '--data', dataDir, '--out', `${out}.ndjson`])
  expect([exported.exitCode, exported.stderr]).toEqual([0, expect.stringContaining('is not included')])

  await neo4j.stop()
  neo4j = null
  const away = await decide()
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, '2'])
  expect((await send(server, '/capture/v1/nodes', key, { nodes: [ann] })).status).toBe(503)
  await server.kill('SIGTERM')

  const lines = join(temporaryFolder(), 'lines.ndjson')
  writeFileSync(lines, `${JSON.stringify({ node: ann })}\n`)
  const imported = await runCommand(['import', '--data', dataDir, '--in', lines, '--project', project_id])
  expect([imported.exitCode, imported.stderr]).toEqual([1, expect.stringContaining('is in a database server')])
}, 300_000)
