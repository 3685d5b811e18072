// Projects in Neo4j servers that a test starts itself, in a service of this process.
import { type BoltLimits, defaultBoltLimits } from '../../src/bolt/bolt-server.ts'
import { CounterpartMissing } from './counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from './counterparts/neo4j.ts'
import { clearServer, runOnServer } from './graph-servers.ts'
import type { PolicyInput, TestResponse, TestService } from './service.ts'

/** A busy machine must not change what a test finds. */
export const patientBoltLimits: BoltLimits = { ...defaultBoltLimits, connectTimeMs: 60_000, queryTimeMs: 60_000 }

/** Servers of a test. */
export interface StartedServers {
  readonly urls: readonly string[]
  /** All of their data is deleted. */
  clear(): Promise<void>
  stop(): Promise<void>
}

/** Starts servers. Null: Java or Maven is missing, which is printed. */
export async function startServers(count: number, purpose: string): Promise<StartedServers | null> {
  const urls: string[] = []
  const started: Neo4jServer[] = []
  const clear = async (): Promise<void> => {
    for (const url of urls) {
      // The server limits the memory of a transaction.
      const deletes = 'MATCH (n) WITH n LIMIT 500 DETACH DELETE n RETURN count(*) AS deleted'
      while (Number((await runOnServer(url, deletes))[0]?.deleted) > 0);
      await clearServer(url)
    }
  }
  const stop = async (): Promise<void> => {
    for (const server of started) await server.stop()
  }
  try {
    while (urls.length < count) {
      const server = await startNeo4j()
      started.push(server)
      urls.push(server.url)
    }
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: ${purpose}: ${failure.message}`)
    return null
  }
  await clear()
  return { urls, clear, stop }
}

/** A project with an agent. */
export interface RemoteTestProject {
  readonly id: string
  readonly applicationId: string
  readonly key: string
  /** With the key of the agent. */
  ask(path: string, body: unknown): Promise<TestResponse>
  /** Captures nodes and relationships of the form `Type:id` and `Type:id TYPE Type:id`. Throws unless it succeeds. */
  capture(lines: readonly string[], fields?: { location?: string; properties?: readonly object[] }): Promise<void>
  addPolicy(policy: PolicyInput): Promise<void>
  /** Adds a knowledge query. Returns its id. */
  addQuery(name: string, policy: object, query: object): Promise<string>
  configure(method: string, fields?: object): Promise<TestResponse>
}

const ITEMS_PER_CAPTURE = 250

/** Creates a project with this `db_connection`, and waits until it is active. */
export async function createRemoteProject(
  service: TestService,
  db_connection: object,
  name = 'remote',
): Promise<RemoteTestProject> {
  const create = async (kind: string, fields: object): Promise<Record<string, string>> => {
    const { status, body, text } = await service.configure('POST', kind, fields)
    if (status !== 201) throw new Error(`creating ${kind} answered ${status}: ${text}`)
    return body as Record<string, string>
  }
  const fields = { organization_id: service.app.organizationId, name, region: 'local', db_connection }
  const id = (await create('projects', fields)).id!
  for (;;) {
    const { ikg_status } = (await service.configure('GET', `projects/${id}`)).body
    if (ikg_status === 'ACTIVE') break
    if (ikg_status === 'FAILED') throw new Error(`the project ${name} was not provisioned`)
  }
  const application_id = (await create('applications', { project_id: id, name })).id!
  const api_permissions = ['Authorization', 'Capture', 'CIQ']
  const agent = await create('application-agents', { application_id, name, api_permissions })
  const { api_key } = await create('application-agent-credentials', { application_agent_id: agent.id })
  const ask: RemoteTestProject['ask'] = (path, body) =>
    service.send(path, { headers: { 'x-svc-clientkey': api_key! }, body })
  const captureAll = async (path: string, items: readonly object[]): Promise<void> => {
    for (let at = 0; at < items.length; at += ITEMS_PER_CAPTURE) {
      const { status, text } = await ask(`/capture/v1/${path}`, { [path]: items.slice(at, at + ITEMS_PER_CAPTURE) })
      if (status !== 200) throw new Error(`a capture answered ${status}: ${text}`)
    }
  }
  return {
    id,
    applicationId: application_id,
    key: api_key!,
    ask,
    async capture(lines, { location, ...fields } = {}) {
      const keyOf = (text: string): object => {
        const [type, external_id] = text.split(':')
        return { type, external_id, ...(location === undefined ? {} : { location }) }
      }
      const parts = lines.map((line) => line.split(' '))
      await captureAll(
        'nodes',
        parts.filter(({ length }) => length === 1).map(([node]) => ({ ...keyOf(node!), ...fields })),
      )
      const relationships = parts.filter(({ length }) => length === 3)
      await captureAll(
        'relationships',
        relationships.map(([source, type, target]) => ({ source: keyOf(source!), type, target: keyOf(target!) })),
      )
    },
    async addPolicy({ name, cypher, actions = ['drive'], subject = 'Person', resource = 'Car' }) {
      const policy = JSON.stringify({
        meta: { policy_version: '3.0-kbac' },
        subject: { type: subject },
        actions,
        resource: { type: resource },
        condition: { cypher },
      })
      await create('authorization-policies', { project_id: id, name, policy, status: 'ACTIVE' })
    },
    async addQuery(name, policy, query) {
      const ciq = JSON.stringify({ meta: { policy_version: '1.0-ciq' }, ...policy })
      const stored = { project_id: id, name: `${name}-policy`, policy: ciq, status: 'ACTIVE' }
      const policy_id = (await create('authorization-policies', stored)).id
      const body = { project_id: id, name, policy_id, query: JSON.stringify(query), status: 'ACTIVE' }
      return (await create('knowledge-queries', body)).id!
    },
    configure: (method, fields) => service.configure(method, `projects/${id}`, fields),
  }
}
