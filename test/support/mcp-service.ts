// A service with an MCP server: a bound agent, people with tokens, a small graph, a policy and knowledge queries. The
// tokens are those of a real OpenID provider, or signed by a pinned key, which is cheap.
import { SignJWT } from 'jose'
import type { AppOverrides } from '../../src/app/overrides.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import type { Settings } from '../../src/settings.ts'
import { startService, type TestResponse, type TestService } from './service.ts'
import { makeKey } from './token-issuer.ts'

const ISSUER = 'https://people.example.org'
const AUDIENCE = 'verdigraph'

export interface McpService {
  readonly service: TestService
  readonly path: string
  readonly url: string
  readonly agentId: string
  readonly introspectId: string
  readonly serverId: string
  /** A token of the person, signed by the pinned key. */
  tokenOf(subject: string, members?: TokenMembers): Promise<string>
  create(kind: string, body: object): Promise<string>
  /**
   * Another project of the service, whose server accepts the same tokens; it has the policy of the first, and no query.
   */
  addProject(name: string): Promise<OtherProject>
  /** One message in the stateless revision, with all its required headers. */
  ask(token: string, method: string, params?: object, more?: McpRequestOptions): Promise<TestResponse>
  /** One message in the session style. */
  tell(token: string, session: string | null, message: object, headers?: Record<string, string>): Promise<TestResponse>
  open(token: string): Promise<string>
  stop(): Promise<void>
}

export interface OtherProject {
  readonly projectId: string
  readonly path: string
  readonly policyId: string
}

export interface TokenMembers {
  readonly issuer?: string
  readonly audience?: string
  readonly expires?: string | Date
  readonly claims?: Record<string, unknown>
}

interface McpRequestOptions {
  readonly headers?: Record<string, string | null>
  readonly meta?: Record<string, unknown>
}

export interface McpMembers {
  readonly settings?: Partial<Settings>
  readonly overrides?: AppOverrides
  /** Instead of the pinned key. */
  readonly provider?: { readonly issuer: string; readonly audience: string }
}

export async function startMcpService({ settings, overrides, provider }: McpMembers = {}): Promise<McpService> {
  const service = await startService(settings, { log: () => undefined, ...overrides })
  const clock = overrides?.clock ?? systemClock
  const signing = await makeKey('people')
  const create: McpService['create'] = async (kind, body) => {
    const created = await service.configure('POST', kind, { project_id: service.projectId, ...body })
    if (created.status !== 201) throw new Error(`creating ${kind} answered ${created.status}: ${created.text}`)
    return created.body.id as string
  }
  const { agentId } = await service.addAgent('mcp', ['Authorization', 'ReadAuthZConfigs', 'CIQ'])
  const introspectId = await create('token-introspects', {
    name: 'people',
    jwt_matcher: { issuer: provider?.issuer ?? ISSUER, audience: provider?.audience ?? AUDIENCE },
    offline_validation: provider === undefined ? { public_jwks: [JSON.stringify(signing.jwk)] } : {},
    ikg_node_type: 'Person',
  })
  const serverId = await create('mcp-servers', {
    name: 'agents',
    app_agent_id: agentId,
    token_introspect_id: introspectId,
    enabled: true,
    scopes_supported: ['graph:read', 'graph:write'],
  })
  await furnish(service, create)
  const path = `/mcp/v1/${service.projectId}`

  const tell: McpService['tell'] = (token, session, message, headers = {}) =>
    service.send(path, {
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        ...(session !== null && { 'mcp-session-id': session }),
        ...headers,
      },
      body: { jsonrpc: '2.0', ...message },
    })

  return {
    addProject: (name) => addProject(service, create, introspectId, name),
    service,
    path,
    url: `${service.url}${path}`,
    agentId,
    introspectId,
    serverId,
    create,
    tell,
    tokenOf: (subject, { issuer = ISSUER, audience = AUDIENCE, expires = '10 minutes', claims = {} } = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: signing.alg, kid: signing.kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(subject)
        // Not later than now for a service whose clock stands still.
        .setIssuedAt(Math.floor(clock.now() / 1000))
        .setExpirationTime(expires)
        .sign(signing.privateKey),
    ask(token, method, params = {}, { headers = {}, meta = {} } = {}) {
      const { name, uri } = params as { name?: string; uri?: string }
      const target = method === 'tools/call' ? name : method === 'resources/read' ? uri : undefined
      const all: Record<string, string | null> = {
        authorization: `Bearer ${token}`,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(target !== undefined && { 'mcp-name': target }),
        ...headers,
      }
      const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        ...meta,
      }
      const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }
      return service.send(path, { headers: Object.fromEntries(given), body })
    },
    async open(token) {
      const opened = await tell(token, null, {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      })
      const session = opened.headers.get('mcp-session-id')
      if (session === null) throw new Error(`no session: ${opened.text}`)
      return session
    },
    stop: () => service.stop(),
  }
}

async function addProject(
  service: TestService,
  create: McpService['create'],
  introspectId: string,
  name: string,
): Promise<OtherProject> {
  const organization_id = service.app.organizationId
  const project_id = await create('projects', { organization_id, project_id: undefined, name, region: 'local' })
  await service.provisioned(project_id)
  const application_id = await create('applications', { project_id, name })
  const api_permissions = ['Authorization', 'CIQ']
  // Only the application determines the project.
  const agent = { project_id: undefined, application_id, name, api_permissions }
  const introspect = await service.configure('GET', `token-introspects/${introspectId}`)
  const { jwt_matcher, offline_validation } = introspect.body
  const taken = { jwt_matcher, offline_validation, ikg_node_type: 'Person' }
  await create('mcp-servers', {
    project_id,
    name,
    app_agent_id: await create('application-agents', agent),
    token_introspect_id: await create('token-introspects', { project_id, name, ...taken }),
    enabled: true,
    scopes_supported: ['any'],
  })
  const here = `authorization-policies/own-cars?project_id=${service.projectId}`
  const { policy } = (await service.configure('GET', here)).body
  const policyId = await create('authorization-policies', { project_id, name: 'own-cars', status: 'ACTIVE', policy })
  return { projectId: project_id, path: `/mcp/v1/${project_id}`, policyId }
}

/** Ann owns the cars c1 and c2, bob owns c3; owners drive; two queries read and one writes. */
async function furnish(service: TestService, create: McpService['create']): Promise<void> {
  const cars = ['c1', 'c2', 'c3']
  await service.ask('/capture/v1/nodes', {
    nodes: [
      ...['ann', 'bob'].map((external_id) => ({ type: 'Person', external_id, is_identity: true })),
      ...cars.map((external_id, i) => ({
        type: 'Car',
        external_id,
        properties: [{ type: 'price', value: 1000 * (i + 1) }],
      })),
    ],
  })
  await service.ask('/capture/v1/relationships', {
    relationships: cars.map((id, i) => ({
      source: { type: 'Person', external_id: i < 2 ? 'ann' : 'bob' },
      type: 'OWNS',
      target: { type: 'Car', external_id: id },
    })),
  })
  await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
  const policy_id = await create('authorization-policies', {
    name: 'own-cars',
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: {
        cypher: 'MATCH (subject:Person)-[r:OWNS]->(car:Car)',
        filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
      },
      allowed_reads: { nodes: ['car.*', 'car.external_id'], relationships: ['r'] },
      allowed_upserts: { nodes: { existing_nodes: ['car'] } },
    }),
  })
  const query = (name: string, description: string, document: object) =>
    create('knowledge-queries', { name, description, status: 'ACTIVE', policy_id, query: JSON.stringify(document) })
  await query('my-cars', 'The cars that the caller owns.', { nodes: ['car.external_id', 'car.property.price'] })
  await query('my-car', 'One car of the caller, by its id.', {
    nodes: ['car.external_id', 'car.property.price'],
    filter: { operator: '=', attribute: 'car.external_id', value: '$car' },
  })
  await query('price-car', 'Sets the price of a car of the caller.', {
    nodes: ['car.external_id'],
    filter: { operator: '=', attribute: 'car.external_id', value: '$car' },
    upsert_nodes: [{ name: 'car', properties: [{ type: 'price', value: '$price' }] }],
  })
}
