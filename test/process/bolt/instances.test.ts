// Three instances with one configuration in Neo4j, which has the graph of their project too: what one instance stores, the others use;
// an instance without its server answers 503, and not with an old configuration. Needs Java and Maven.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { setNeo4jPassword } from '../../support/counterparts/neo4j-password.ts'
import { type CutProxy, startCutProxy } from '../../support/cut-proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const PASSWORD = 'instances-2026'
const METRICS_TOKEN = 'metrics-of-instances-2026-0001'

let neo4j: Neo4jServer | null = null

beforeAll(async () => {
  try {
    neo4j = await startNeo4j({ hasPasswords: true })
    await setNeo4jPassword(neo4j.url, 'neo4j', PASSWORD)
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: instances with one configuration in Neo4j: ${failure.message}`)
  }
}, 600_000)
afterAll(async () => {
  await killAll()
  await neo4j?.stop()
})

const masterKey = { VERDIGRAPH_MASTER_KEY: 'ab'.repeat(32) }

/** The environment of the instances in the example, with the values of a user. */
function exampleEnvironment(url: string): Record<string, string> {
  const path = join(import.meta.dirname, '..', '..', '..', 'examples', 'instances', 'compose.yaml')
  const { services } = parse(readFileSync(path, 'utf8'), { merge: true }) as {
    readonly services: Record<string, { readonly environment: Record<string, string> }>
  }
  const { neo4j: server, ...instances } = services
  expect([server === undefined, Object.keys(instances)]).toEqual([false, ['first', 'second', 'third']])
  const given: Record<string, string> = { NEO4J_PASSWORD: PASSWORD, ...masterKey }
  const environment = Object.values(instances)[2]!.environment
  const filled = Object.entries(environment).map(([name, value]): [string, string] => [
    name,
    value.replace(/\$\{(\w+):[^}]*\}/g, (_, variable: string) => given[variable]!),
  ])
  return {
    ...Object.fromEntries(filled),
    VERDIGRAPH_CONFIG_STORE: url,
    VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1',
    VERDIGRAPH_DATABASE_CONNECT_TIME_MS: '60000',
    // A busy machine reads the configuration late.
    VERDIGRAPH_CONFIG_STORE_AGE_MAX_MS: '10000',
  }
}
const patient = { timeout: 60_000 }

interface InstanceAnswer {
  readonly status: number
  readonly body: Record<string, unknown>
}

async function send(
  { url }: Server,
  path: string,
  headers: Record<string, string>,
  body?: object,
  method = body === undefined ? 'GET' : 'POST',
): Promise<InstanceAnswer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : { text } }
}

const folders = Array.from({ length: 3 }, () => join(temporaryFolder(), 'data'))
const owned = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
const question = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

test('instances share configuration and graph, and work without each other', async (context) => {
  if (neo4j === null) return context.skip()
  const proxy: CutProxy = await startCutProxy(neo4j.url)
  const environment = exampleEnvironment(neo4j.url)
  const init = await runCommand(['init', '--data', folders[0]!, '--json'], environment)
  const { token, organization_id } = JSON.parse(init.stdout) as Record<string, string>
  const admin = { authorization: `Bearer ${token}` }
  // The first instance has a worker process more; the last one reaches the server through a proxy.
  const [a, b, c] = (await Promise.all([
    startServer(['--data', folders[0]!, '--workers', '2'], environment),
    startServer(['--data', folders[1]!], environment),
    startServer(['--data', folders[2]!], {
      ...environment,
      VERDIGRAPH_CONFIG_STORE: proxy.url,
      VERDIGRAPH_METRICS_TOKEN: METRICS_TOKEN,
    }),
  ])) as [Server, Server, Server]
  const create = async (server: Server, kind: string, fields: object): Promise<Record<string, string>> => {
    const { status, body } = await send(server, `/configs/v1/${kind}`, admin, fields)
    expect([status, body]).toEqual([201, body])
    return body as Record<string, string>
  }

  // Each document is created at another instance.
  const db_connection = { url: neo4j.url, username: 'neo4j', password: PASSWORD }
  const project_id = (await create(a, 'projects', { organization_id, name: 'shared', region: 'local', db_connection }))
    .id!
  for (const server of [a, b, c]) {
    await expect
      .poll(async () => (await send(server, `/configs/v1/projects/${project_id}`, admin)).body.ikg_status, patient)
      .toBe('ACTIVE')
  }
  const application_id = (await create(b, 'applications', { project_id, name: 'app' })).id
  await expect
    .poll(async () => (await send(c, `/configs/v1/applications/${application_id}`, admin)).status, patient)
    .toBe(200)
  const api_permissions = ['Authorization', 'Capture']
  const application_agent_id = (
    await create(c, 'application-agents', { application_id, name: 'agent', api_permissions })
  ).id
  const credential = await create(c, 'application-agent-credentials', { application_agent_id })
  const key = { 'x-svc-clientkey': credential.api_key! }
  const policy = JSON.stringify({
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions: ['drive'],
    resource: { type: 'Car' },
    condition: { cypher: owned },
  })
  const { id: policyId } = await create(c, 'authorization-policies', {
    project_id,
    name: 'drive',
    policy,
    status: 'ACTIVE',
  })

  for (const server of [a, b, c]) {
    const path = `/configs/v1/authorization-policies/${policyId}`
    await expect.poll(async () => (await send(server, path, admin)).status, patient).toBe(200)
  }

  // A capture of one instance is in the decisions of the others.
  const decide = (server: Server): Promise<InstanceAnswer> => send(server, '/access/v1/evaluation', key, question)
  for (const server of [a, b, c]) await expect.poll(() => decide(server), patient).toMatchObject({ status: 200 })
  const nodes = [
    { type: 'Person', external_id: 'ann' },
    { type: 'Car', external_id: 'c1' },
  ]
  expect((await send(a, '/capture/v1/nodes', key, { nodes })).status).toBe(200)
  const relationships = [{ source: nodes[0], type: 'OWNS', target: nodes[1] }]
  expect((await send(b, '/capture/v1/relationships', key, { relationships })).status).toBe(200)
  for (const server of [a, b, c]) expect(await decide(server)).toEqual({ status: 200, body: { decision: true } })

  // Policies, keys and names that are taken are those of all instances.
  const again = await send(b, '/configs/v1/applications', admin, { project_id, name: 'app' })
  expect(again.status).toBe(409)
  const embedded = await send(b, '/configs/v1/projects', admin, { organization_id, name: 'embedded', region: 'local' })
  expect(embedded).toMatchObject({
    status: 422,
    body: { errors: [expect.stringContaining('db_connection: expected')] },
  })
  expect((await send(a, `/configs/v1/authorization-policies/${policyId}`, admin, undefined, 'DELETE')).status).toBe(200)
  for (const server of [a, b, c]) {
    await expect.poll(() => decide(server), patient).toMatchObject({ status: 200, body: { decision: false } })
  }

  // One instance runs the passes of trust scores, whichever was asked.
  const profile = await create(b, 'trust-score-profiles', {
    project_id,
    name: 'cars',
    node_classification: 'Car',
    schedule: 'DAILY',
    dimensions: [{ name: 'COMPLETENESS', weight: 1 }],
  })
  const run = (dataDir: string) =>
    runCommand(['trust', 'run', '--profile', profile.id!, '--data', dataDir], environment)
  for (const folder of folders.slice(0, 2)) {
    const { exitCode, stdout, stderr } = await run(folder)
    // A busy machine takes so long that the command shows its progress.
    const complaints = stderr.replace(/^ *\d+ % .*\n/gm, '')
    expect([exitCode, stdout, complaints]).toEqual([0, expect.stringContaining('1 nodes scored'), ''])
  }

  // Without its server an instance does not use an old configuration; the graph is still reachable.
  proxy.cut()
  await expect.poll(async () => (await decide(c)).status, patient).toBe(503)
  expect((await send(c, '/ready', {})).status).toBe(503)
  const metrics = await send(c, '/metrics', { authorization: `Bearer ${METRICS_TOKEN}` })
  expect([metrics.status, metrics.body.text]).toEqual([
    200,
    expect.stringMatching(/^verdigraph_config_age_seconds \S+$/m),
  ])
  expect((await send(c, '/metrics', admin)).status).toBe(503)
  const credentials = `/configs/v1/application-agent-credentials/${credential.id}`
  expect((await send(c, credentials, admin, undefined, 'DELETE')).status).toBe(503)
  expect((await send(a, credentials, admin, undefined, 'DELETE')).status).toBe(200)
  expect((await decide(c)).status).toBe(503)
  proxy.mend()
  for (const server of [a, b, c]) await expect.poll(async () => (await decide(server)).status, patient).toBe(401)
  expect((await send(c, '/ready', {})).status).toBe(200)

  // The others continue without the instance that leads, and a deleted project disappears everywhere.
  await a.kill('SIGKILL')
  const early = await runCommand(['rotate-master-key', '--data', folders[0]!], {
    ...environment,
    VERDIGRAPH_MASTER_KEY_NEXT: 'ef'.repeat(32),
  })
  expect([early.exitCode, early.stderr]).toEqual([1, expect.stringContaining('another instance of the service runs')])
  const { exitCode, stdout } = await run(folders[1]!)
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('1 nodes scored')])
  expect((await send(b, `/configs/v1/projects/${project_id}`, admin, undefined, 'DELETE')).status).toBe(200)
  await expect.poll(async () => (await send(c, `/configs/v1/projects/${project_id}`, admin)).status, patient).toBe(404)
  for (const server of [b, c]) await server.kill('SIGTERM')
  expect([await b.errors(), await c.errors()].join('').match(/.*(?:could not|failed).*/g)).toBe(null)
  proxy.close()

  // Commands do not change a copy, and a folder does not serve one.
  const nextKey = { VERDIGRAPH_MASTER_KEY_NEXT: 'ef'.repeat(32) }
  const lone = await runCommand(['rotate-master-key', '--data', folders[1]!], { ...masterKey, ...nextKey })
  expect([lone.exitCode, lone.stderr]).toEqual([1, expect.stringContaining('set config_store')])
  for (const folder of folders) {
    const rotated = await runCommand(['rotate-master-key', '--data', folder], { ...environment, ...nextKey })
    expect([rotated.exitCode, rotated.stderr]).toEqual([0, ''])
  }
  const renewed = { ...environment, VERDIGRAPH_MASTER_KEY: nextKey.VERDIGRAPH_MASTER_KEY_NEXT }
  const restarted = await startServer(['--data', folders[1]!], renewed)
  expect((await send(restarted, '/configs/v1/organizations/current', admin)).status).toBe(200)
  await restarted.kill('SIGTERM')
  const alone = await runCommand(['serve', '--data', folders[1]!, '--port', '0'], masterKey)
  expect([alone.exitCode, alone.stderr]).toEqual([1, expect.stringContaining('set config_store')])
  const wrongKey = { ...environment, VERDIGRAPH_MASTER_KEY: 'cd'.repeat(32) }
  const foreign = await runCommand(['serve', '--data', join(temporaryFolder(), 'data'), '--port', '0'], wrongKey)
  expect([foreign.exitCode, foreign.stderr]).toEqual([1, expect.stringContaining('master key')])
  const wrongPassword = { ...environment, VERDIGRAPH_CONFIG_STORE_PASSWORD: 'wrong-password' }
  const unknown = await runCommand(['serve', '--data', join(temporaryFolder(), 'data'), '--port', '0'], wrongPassword)
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('authentication failure')])
  const demo = await runCommand(['serve', '--demo', '--data', join(temporaryFolder(), 'data')], environment)
  expect([demo.exitCode, demo.stderr]).toEqual([2, expect.stringContaining('config_store')])
}, 300_000)
