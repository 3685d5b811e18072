// The configuration of a soak run: a project with policies, knowledge queries, an MCP server, token introspections,
// a trust score profile, an entity matching pipeline and an event sink.
import { sinkBody } from '../../support/events.ts'
import type { OpenIdProvider } from '../../support/oidc-provider.ts'
import type { SoakService } from './soak-service.ts'

export const WRITERS = 3
export const PERSONS = 8
export const PAGES = 16
/** Nodes of each of the two types that are matched. */
export const MATCHED = 60
export const AUDIENCE = 'https://soak.example'

/** A reply of the service. */
export interface SoakReply {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: the checks of the traffic read members of many kinds of replies
  readonly body: any
}

export interface SoakWorld {
  readonly project: string
  readonly organization: string
  readonly key: string
  readonly application: string
  readonly agent: string
  readonly profile: string
  readonly pipeline: string
  readonly queries: Readonly<Record<'mine' | 'write', string>>
}

/** Sends a request. Rejects if there is no reply. */
export async function send(
  url: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<SoakReply> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(300_000),
    redirect: 'manual',
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return { status: response.status, text, body: isJson && text !== '' ? JSON.parse(text) : null }
}

export const personId = (writer: number, n: number): string => `w${writer}-p${n}`
export const pageId = (writer: number, n: number): string => `w${writer}-g${n}`

export function policyDocument(subject: string, action: string, resource: string, cypher: string): string {
  return JSON.stringify({
    meta: { policy_version: '3.0-kbac' },
    subject: { type: subject },
    actions: [action],
    resource: { type: resource },
    condition: { cypher },
  })
}

/** Creates everything. */
export async function createWorld(
  served: SoakService,
  token: () => string,
  organization: string,
  provider: OpenIdProvider,
  receiver: string,
): Promise<SoakWorld> {
  const configure = async (method: string, path: string, body?: object) => {
    const reply = await send(served.url, method, `/configs/v1/${path}`, { authorization: `Bearer ${token()}` }, body)
    if (reply.status >= 300) throw new Error(`${method} ${path} was answered ${reply.status}: ${reply.text}`)
    return reply.body
  }
  const create = async (kind: string, body: object): Promise<string> => (await configure('POST', kind, body)).id
  const project_id = await create('projects', { organization_id: organization, name: 'soak', region: 'local' })
  while ((await configure('GET', `projects/${project_id}`)).ikg_status !== 'ACTIVE') await Bun.sleep(20)
  const changes = { event_topic: { topic_endpoint: receiver, access_key: 'key' }, include_cdc_events: true }
  await create(
    'event-sinks',
    sinkBody(project_id, [{ type: 'svc.audit.*' }], { main: { ...changes, snapshot: 'initial' } }),
  )
  const application = await create('applications', { project_id, name: 'soak' })
  const api_permissions = ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs', 'Audit']
  const agent = await create('application-agents', { application_id: application, name: 'soak', api_permissions })
  const credential = await configure('POST', 'application-agent-credentials', { application_agent_id: agent })
  const policy = (name: string, text: string): Promise<string> =>
    create('authorization-policies', { project_id, name, policy: text, status: 'ACTIVE' })
  await policy('read', policyDocument('Person', 'read', 'Page', 'MATCH (subject:Person)-[:WROTE]->(resource:Page)'))
  await policy('light', policyDocument('Keeper', 'light', 'Beacon', 'MATCH (subject:Keeper)-[:LIT]->(resource:Beacon)'))
  const knowledge = {
    meta: { policy_version: '1.0-ciq' },
    subject: { type: 'Person' },
    condition: {
      cypher: 'MATCH (subject:Person)-[r:WROTE]->(page:Page)',
      filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
    },
    allowed_reads: { nodes: ['page.*', 'page.external_id'], relationships: ['r'] },
    allowed_upserts: { nodes: { existing_nodes: ['page'] } },
  }
  const policy_id = await policy('mine', JSON.stringify(knowledge))
  const query = (name: string, document: object): Promise<string> =>
    create('knowledge-queries', {
      project_id,
      name,
      description: name,
      status: 'ACTIVE',
      policy_id,
      query: JSON.stringify(document),
    })
  const mine = await query('mine', { nodes: ['page.external_id', 'page.property.views'] })
  const write = await query('write', {
    nodes: ['page.external_id'],
    filter: { operator: '=', attribute: 'page.external_id', value: '$page' },
    upsert_nodes: [{ name: 'page', properties: [{ type: 'views', value: '$views' }] }],
  })
  const introspect = (fields: object): Promise<string> =>
    create('token-introspects', { project_id, offline_validation: {}, ikg_node_type: 'Person', ...fields })
  await introspect({ name: 'people', jwt_matcher: { issuer: provider.issuer, audience: AUDIENCE } })
  const opaque = await introspect({
    name: 'opaque',
    jwt_matcher: null,
    opaque_matcher: { hint: 'people' },
    offline_validation: null,
    online_validation: { userinfo_endpoint: provider.userinfoEndpoint },
  })
  await create('mcp-servers', {
    project_id,
    name: 'agents',
    app_agent_id: agent,
    token_introspect_id: opaque,
    enabled: true,
    scopes_supported: ['graph:read', 'graph:write'],
  })
  const profile = await create('trust-score-profiles', {
    project_id,
    name: 'cars',
    node_classification: 'Car',
    schedule: 'DAILY',
    dimensions: [
      { name: 'VALIDITY', weight: 1 },
      { name: 'COMPLETENESS', weight: 0.5 },
    ],
    required_properties: ['valid_until', 'plate'],
  })
  const pipeline = await create('entity-matching-pipelines', {
    project_id,
    name: 'people',
    node_filter: { source_node_types: ['Citizen'], target_node_types: ['Customer'] },
    similarity_score_cutoff: 0.9,
  })
  return {
    project: project_id,
    organization,
    key: credential.api_key,
    application,
    agent,
    profile,
    pipeline,
    queries: { mine, write },
  }
}
