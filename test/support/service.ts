// A real service for tests: an application in a temporary folder, listening on a free port, and a project. Every
// response is checked against the interface description; a response that is not described fails the test that made the
// request.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AppOverrides } from '../../src/app/overrides.ts'
import { type App, createApp } from '../../src/app.ts'
import { defaultSettings, type Settings } from '../../src/settings.ts'
import { untilCommitted } from './commits.ts'
import { DescribedResponses } from './described-responses.ts'
import { type EmbeddedConnection, graphServers, type TestConnection, testConnection } from './graph-servers.ts'

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Record<string, unknown>
}

export interface TestRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; `raw` is sent unchanged. */
  readonly body?: unknown
  readonly raw?: string | Uint8Array | ReadableStream<Uint8Array>
}

export interface TestService {
  readonly app: App
  readonly url: string
  readonly dataDir: string
  readonly projectId: string
  readonly applicationId: string
  readonly agentId: string
  /** Of an agent that may decide and capture. */
  readonly key: string
  readonly token: string
  send(path: string, asked?: TestRequest): Promise<TestResponse>
  /** With the agent's key. */
  ask(path: string, body: unknown): Promise<TestResponse>
  /** With the service account's token. */
  configure(method: string, path: string, body?: unknown): Promise<TestResponse>
  /** Changes the `db_connection` of the project; on database servers, with a server for each database. */
  connect(connection: EmbeddedConnection): Promise<TestResponse>
  /** Resolves when the graphs of a project have been created. */
  provisioned(projectId: string): Promise<void>
  addPolicy(policy: PolicyInput): Promise<string>
  addAgent(
    name: string,
    permissions: readonly string[],
  ): Promise<{ agentId: string; key: string; credentialId: string }>
  stop(): Promise<void>
}

export interface PolicyInput {
  readonly name: string
  readonly cypher: string
  readonly filter?: unknown
  readonly version?: '2.0-kbac' | '3.0-kbac'
  readonly effect?: 'permit' | 'forbid'
  readonly subject?: string
  readonly actions?: readonly string[]
  readonly resource?: string
  readonly tags?: readonly string[]
}

/** A busy machine must not change responses: tests of time limits set them explicitly. */
const patient = {
  decisionTimeMs: 60_000,
  batchTimeMs: 60_000,
  executeTimeMs: 60_000,
  laneWaitMs: 60_000,
  upstreamTimeMs: 30_000,
  databaseConnectTimeMs: 60_000,
  databaseTimeMs: 60_000,
}

export async function startService(
  settings: Partial<Settings> = {},
  overrides: AppOverrides = {},
  place: TestConnection | null = null,
): Promise<TestService> {
  const dataDir = settings.dataDir ?? mkdtempSync(join(tmpdir(), 'verdigraph-test-'))
  // No test cuts the power, so nothing waits for the disk.
  const unflushed = { sync: false, ...overrides }
  const app = await createApp(
    { ...defaultSettings, ...patient, port: 0, ...reachingServers(settings), dataDir },
    unflushed,
  )
  const { url } = await app.listen()
  const token = await app.issueAdminToken(3600)
  const described = new DescribedResponses(app.routes)

  const send: TestService['send'] = async (path, { method, headers, body, raw } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const verb = method ?? (sent === undefined ? 'GET' : 'POST')
    const response = await fetch(`${url}${path}`, {
      method: verb,
      headers: { ...(sent === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(sent === undefined ? {} : { body: sent }),
    })
    const text = await response.text()
    const { status, headers: given } = response
    const faults = described.faults(verb, path, { status, headers: given, text })
    if (faults.length > 0) throw new Error(`${verb} ${path} ${status} is off the description: ${faults.join('; ')}`)
    const isJson = given.get('content-type') === 'application/json'
    return { status, headers: given, text, body: text !== '' && isJson ? JSON.parse(text) : {} }
  }
  const configure: TestService['configure'] = (method, path, body) =>
    send(`/configs/v1/${path}`, { method, headers: { authorization: `Bearer ${token}` }, body })
  const create = async (kind: string, body: object): Promise<Record<string, string>> => {
    const created = await configure('POST', kind, body)
    if (created.status !== 201) throw new Error(`creating ${kind} answered ${created.status}: ${created.text}`)
    return created.body as Record<string, string>
  }

  const connection = place ?? (await testConnection())
  const project = await create('projects', {
    organization_id: app.organizationId,
    name: 'test',
    region: 'local',
    ...connection.fields,
  })
  const projectId = textOf(project.id)
  const provisioned = (id: string): Promise<void> =>
    untilCommitted(dataDir, `project ${id} is provisioned`, async () => {
      const { body } = await configure('GET', `projects/${id}`)
      if (body.ikg_status === 'FAILED') throw new Error('the project was not provisioned')
      return body.ikg_status === 'ACTIVE'
    })
  await provisioned(projectId)
  const applicationId = textOf((await create('applications', { project_id: projectId, name: 'test' })).id)
  const addAgent: TestService['addAgent'] = async (name, permissions) => {
    const body = { application_id: applicationId, name, api_permissions: permissions }
    const agentId = textOf((await create('application-agents', body)).id)
    const credential = await create('application-agent-credentials', { application_agent_id: agentId })
    return { agentId, key: textOf(credential.api_key), credentialId: textOf(credential.id) }
  }
  const { agentId, key } = await addAgent('test', ['Authorization', 'Capture'])

  return {
    app,
    url,
    dataDir,
    projectId,
    applicationId,
    agentId,
    key,
    token,
    send,
    configure,
    provisioned,
    addAgent,
    connect: async (database) =>
      configure('PUT', `projects/${projectId}`, { db_connection: await connection.of(database) }),
    ask: (path, body) => send(path, { headers: { 'x-svc-clientkey': key }, body }),
    async addPolicy({ name, cypher, filter, version = '3.0-kbac', effect, subject, actions, resource, tags }) {
      const policy = JSON.stringify({
        meta: { policy_version: version },
        ...(effect === undefined ? {} : { effect }),
        subject: { type: subject ?? 'Person' },
        actions: actions ?? ['drive'],
        resource: { type: resource ?? 'Car' },
        condition: { cypher, ...(filter === undefined ? {} : { filter }) },
      })
      const body = { project_id: projectId, name, policy, status: 'ACTIVE', ...(tags === undefined ? {} : { tags }) }
      return textOf((await create('authorization-policies', body)).id)
    },
    async stop() {
      await app.close()
      connection.release()
      if (settings.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** The servers of graphs are on this machine. */
function reachingServers(settings: Partial<Settings>): Partial<Settings> {
  if (graphServers.length === 0) return settings
  return { ...settings, upstreamAllow: settings.upstreamAllow || '127.0.0.1' }
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`expected text, found ${JSON.stringify(value)}`)
  return value
}
