// A load on a graph in Neo4j: searches and knowledge queries that bring 10,000 nodes with twenty properties each to the service.
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { startNeo4j } from '../../support/counterparts/neo4j.ts'
import { runOnServer } from '../../support/graph-servers.ts'
import { policy } from './fixture.ts'
import type { HostileLoad } from './hostile-load.ts'
import type { Hostile } from './hostile-tenant.ts'

const NODES = 10_000
const NODES_PER_STATEMENT = 2_000
const PROPERTIES = 20

/** Writes the graph past the service. */
async function fill(url: string): Promise<void> {
  const properties = Array.from({ length: PROPERTIES }, (_, i) => `p${i}: 'value ' + toString(n + ${i})`).join(', ')
  await runOnServer(url, "CREATE (:Person {external_id: 'h0'})")
  for (let at = 0; at < NODES; at += NODES_PER_STATEMENT) {
    await runOnServer(
      url,
      `MATCH (p:Person) UNWIND range($at, $at + ${NODES_PER_STATEMENT - 1}) AS n CREATE (p)-[:SEES]->(:Page {external_id: toString(n), ${properties}})`,
      { at },
    )
  }
}

async function createProject({ fixture }: Hostile, url: string): Promise<{ key: string; query: string }> {
  const headers = { authorization: `Bearer ${fixture.admin}`, 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
    const response = await fetch(`${fixture.url}/configs/v1/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const organization_id = (await call('GET', 'organizations/current')).id
  const name = `remote-${process.pid}`
  const project = { organization_id, name, region: 'local', db_connection: { url } }
  const project_id = (await call('POST', 'projects', project)).id!
  for (;;) {
    const { ikg_status } = await call('GET', `projects/${project_id}`)
    if (ikg_status === 'ACTIVE') break
    if (ikg_status === 'FAILED') throw new Error('the project in Neo4j was not provisioned')
    await Bun.sleep(20)
  }
  const application_id = (await call('POST', 'applications', { project_id, name })).id
  const agent = { application_id, name, api_permissions: ['Authorization', 'CIQ'] }
  const application_agent_id = (await call('POST', 'application-agents', agent)).id
  const key = (await call('POST', 'application-agent-credentials', { application_agent_id })).api_key!
  const seen = 'MATCH (subject:Person)-[:SEES]->(resource:Page)'
  await call('POST', 'authorization-policies', policy(project_id, 'see', seen))
  // The engine executes the operator ^, over all nodes that it fetches.
  await call('POST', 'authorization-policies', policy(project_id, 'look', `${seen} WHERE size(resource.p1) ^ 2 > 0`))
  const nodes = Array.from({ length: PROPERTIES }, (_, i) => `n.property.p${i}`)
  const document = {
    meta: { policy_version: '1.0-ciq' },
    subject: { type: '_Application' },
    condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId}), (n:Page)' },
    allowed_reads: { nodes },
  }
  const stored = { project_id, name: 'pages', status: 'ACTIVE', policy: JSON.stringify(document) }
  const policy_id = (await call('POST', 'authorization-policies', stored)).id
  const asked = { project_id, name: 'pages', status: 'ACTIVE', policy_id, query: JSON.stringify({ nodes }) }
  return { key, query: (await call('POST', 'knowledge-queries', asked)).id! }
}

/** Four clients at once. Without Java or Maven it does nothing, and notes that. */
export const remoteLoad: HostileLoad = {
  bar: 50,
  isShort: true,
  async prepare(hostile) {
    let server: Awaited<ReturnType<typeof startNeo4j>>
    try {
      server = await startNeo4j()
    } catch (error) {
      if (!(error instanceof CounterpartMissing)) throw error
      hostile.notes.push(`skipped: ${error.message}`)
      return () => hostile.untilOver()
    }
    await fill(server.url)
    const { key, query } = await createProject(hostile, server.url)
    const headers = { 'x-svc-clientkey': key }
    const search = (action: string, limit: number) => () => ({
      path: '/access/v1/search/resource',
      headers,
      body: JSON.stringify({
        subject: { type: 'Person', id: 'h0' },
        action: { name: action },
        resource: { type: 'Page' },
        page: { limit },
      }),
    })
    const execution = { path: '/contx-iq/v1/execute', headers, body: JSON.stringify({ id: query, page_size: NODES }) }
    return async () => {
      await Promise.all([
        hostile.loop('search on the server', 1, search('see', NODES)),
        hostile.loop('search by the engine', 2, search('look', 1_000)),
        hostile.loop('knowledge query', 1, () => execution),
      ])
      await server.stop()
    }
  },
}
