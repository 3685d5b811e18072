// Generates requests from the interface description: every operation, mostly valid, often with one error. Identifiers
// of earlier responses are reused, so that created objects are used, updated and deleted.
import type { OpenApiDocument, OperationObject } from '../../src/http/openapi/objects.ts'
import { type SampleContext, samples } from '../support/kind-samples.ts'
import { type Schema, spoilt, valueBy, type Words } from './json-schema-values.ts'
import type { Random } from './random.ts'

export interface MadeRequest {
  readonly operationId: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
}

export interface Callers {
  readonly agentKeys: readonly string[]
  readonly tokens: readonly string[]
  /** Of end users: valid ones and invalid ones. */
  readonly userTokens: readonly string[]
}

/** Values of earlier responses: identifiers by their kind in the path, and ETags. */
export class SeenIdentifiers {
  /** Never updated or deleted: without these all other requests would be refused. */
  readonly kept = new Set<string>()
  readonly secrets = new Set<string>()
  private readonly ids = new Map<string, string[]>()
  private readonly etags: string[] = ['"1"']
  private readonly sessions: string[] = ['none']
  private canaries = 0

  add(kind: string, id: string): void {
    const ids = this.ids.get(kind) ?? []
    // The protected identifiers and the newest ones: enough to meet again; older ones are mostly deleted.
    this.ids.set(kind, [...ids.filter((one, i) => this.kept.has(one) || i > ids.length - 20), id])
  }

  addSession(session: string): void {
    this.sessions.push(session)
  }

  session(random: Random): string {
    return random.odds(0.8) ? (this.sessions.at(-1) as string) : random.pick(this.sessions)
  }

  addEtag(etag: string): void {
    this.etags.push(etag)
  }

  id(kind: string, random: Random): string {
    const ids = this.ids.get(kind) ?? []
    if (ids.length === 0 || random.odds(0.05)) return 'gid:0ABCDEFGHJKMNPQRSTVWXYZ0123'
    // The newest most likely still exists.
    return random.odds(0.5) ? (ids.at(-1) as string) : random.pick(ids)
  }

  /** A protected one, else the newest. */
  home(kind: string): string {
    const ids = this.ids.get(kind) ?? ['']
    return ids.find((id) => this.kept.has(id)) ?? (ids.at(-1) as string)
  }

  etag(random: Random): string {
    return random.pick(this.etags)
  }

  /** A secret that must not appear anywhere again. */
  canary(): string {
    this.canaries += 1
    const secret = `canary-${this.canaries}-${crypto.randomUUID()}`
    this.secrets.add(secret)
    return secret
  }
}

/** Members that refer to another document, and its kind. */
const references: Readonly<Record<string, string>> = {
  organization_id: 'organizations',
  project_id: 'projects',
  location: 'projects',
  application_id: 'applications',
  application_agent_id: 'application-agents',
  app_agent_id: 'application-agents',
  service_account_id: 'service-accounts',
  policy_id: 'authorization-policies',
  token_introspect_id: 'token-introspects',
}

const namelessKinds = new Set(['application-agent-credentials', 'service-account-credentials'])

const nodeTypes = ['Person', 'Car', 'Team']
const secretMember = /password|secret|auth_params|connection_?string|private|role_arn/i

const conditions = [
  'MATCH (subject:Person)-[:OWNS]->(resource:Car)',
  'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.wheels >= $min',
  'MATCH (subject:Person), (resource:Car) WHERE 1 / (resource.wheels - 3) > 0',
  'MATCH (subject:Person)-[:OWNS->(resource',
  'RETURN 1',
]

const mcpMessages = [
  {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } },
  },
  { method: 'tools/list' },
  {
    method: 'tools/call',
    params: {
      name: 'authzen_evaluate',
      arguments: {
        subject_type: 'Person',
        subject_id: 'a',
        resource_type: 'Car',
        resource_id: 'b',
        action_name: 'drive',
      },
    },
  },
  { method: 'resources/list' },
]

function policyText(random: Random): string {
  const document = {
    meta: { policy_version: random.pick(['2.0-kbac', '3.0-kbac', '1.0-ciq']) },
    subject: { type: 'Person' },
    actions: ['drive', 'lend'].slice(0, random.between(1, 2)),
    resource: { type: 'Car' },
    condition: { cypher: random.pick(conditions) },
  }
  return JSON.stringify(random.odds(0.2) ? spoilt(document, random) : document)
}

export class RequestMaker {
  private readonly operations: { readonly method: string; readonly path: string; readonly operation: OperationObject }[]
  private readonly words: Words
  private readonly known: SeenIdentifiers
  private readonly callers: Callers
  private names = 0

  constructor(description: OpenApiDocument, known: SeenIdentifiers, callers: Callers) {
    this.known = known
    this.callers = callers
    this.operations = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    )
    this.words = {
      string: (member, random) => this.word(member, random),
      resolve: (reference) => description.components.schemas[reference.split('/').at(-1) ?? ''] ?? {},
    }
  }

  get operationIds(): string[] {
    return this.operations.map(({ operation }) => operation.operationId)
  }

  /** Null: this request is skipped, because it would delete what the rest of the run needs. */
  make(random: Random): MadeRequest | null {
    const { method, path, operation } = random.pick(this.operations)
    const kind = path.includes('/mcp/') ? 'mcp-projects' : (/^\/configs\/v1\/([^/]+)/.exec(path)?.[1] ?? '')
    const id = this.idFor(kind, random)
    const isForGood = kind !== 'mcp-projects' && this.known.kept.has(id)
    if (path.includes('{') && method !== 'GET' && isForGood) return null
    const filled = path.replace(/\{\w+\}/g, encodeURIComponent(id))
    const url = `${filled}${this.query(operation, random)}`
    const asked = random.odds(0.03) ? random.pick(['HEAD', 'OPTIONS', 'PATCH', 'PUT', 'DELETE']) : method
    if (asked !== method && isForGood) return null
    const headers = { ...this.caller(operation, random), ...this.more(operation, random) }
    const content = operation.requestBody?.content['application/json']
    const takesBody = content !== undefined && asked !== 'HEAD' && asked !== 'OPTIONS'
    if (!takesBody) return { operationId: operation.operationId, method: asked, url, headers, body: null }
    const { schema, example } = content
    const known = this.sample(kind, method, random) ?? example
    const valid = known !== undefined && random.odds(0.5) ? known : valueBy(schema as Schema, this.words, random)
    const named =
      operation.operationId === 'executeKnowledgeQuery'
        ? this.withKnownQuery(valid, random)
        : operation.operationId === 'callMcp' && random.odds(0.5)
          ? { jsonrpc: '2.0', id: 1, ...random.pick(mcpMessages) }
          : valid
    const value = random.odds(0.35) ? spoilt(named, random) : named
    const type = random.odds(0.02)
      ? random.pick(['text/plain', 'application/json;charset=latin1', ''])
      : 'application/json'
    return {
      operationId: operation.operationId,
      method: asked,
      url,
      headers: {
        ...headers,
        'content-type': type,
        ...(random.odds(0.01) ? { 'content-encoding': random.pick(['gzip', 'identity', 'br, gzip', '']) } : {}),
      },
      body: bodyText(JSON.stringify(value), random),
    }
  }

  private withKnownQuery(body: unknown, random: Random): unknown {
    const id = random.odds(0.6) ? this.known.home('knowledge-queries') : this.known.id('knowledge-queries', random)
    return { ...(body as object), id }
  }

  /** A meaningful body of this kind with fresh secrets; undefined if none exists. */
  private sample(kind: string, method: string, random: Random): unknown {
    const sample = samples[kind]
    if (sample === undefined) return undefined
    const world: SampleContext = {
      organization: this.known.home('organizations'),
      project: this.known.home('projects'),
      application: this.known.home('applications'),
      agent: this.known.home('application-agents'),
      account: this.known.home('service-accounts'),
      introspect: this.known.home('token-introspects'),
      policy: this.known.home('authorization-policies'),
    }
    const body =
      method === 'POST'
        ? { ...sample.body(world), ...(namelessKinds.has(kind) ? {} : { name: this.word('name', random) }) }
        : { ...sample.always?.(world), ...sample.change?.body }
    let text = JSON.stringify(body)
    // An issuer and audience pair belongs to one configuration, so a single issuer would allow only one of them at a
    // time.
    text = text.replaceAll('https://accounts.example', `https://accounts-${random.between(1, 50)}.example`)
    for (const secret of sample.secrets ?? []) text = text.replaceAll(secret, this.known.canary())
    return JSON.parse(text)
  }

  private idFor(kind: string, random: Random): string {
    if (random.odds(0.9)) return this.known.id(kind, random)
    return random.pick(['n-1', 'gid:x', '%', '..', 'ü𝔘', ' ', 'a/b', '__proto__', 'x'.repeat(2000)])
  }

  private query(operation: OperationObject, random: Random): string {
    const pairs = operation.parameters
      .filter((parameter) => parameter.in === 'query' && (parameter.required || random.odds(0.6)))
      .map(
        ({ name, schema }) =>
          `${name}=${encodeURIComponent(String(valueBy(schema as Schema, this.words, random, name)))}`,
      )
    if (random.odds(0.05))
      pairs.push(random.pick(['x=1', 'search=%zz', 'project_id=a&project_id=b', '=', '&&', 'a[]=1']))
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`
  }

  private caller(operation: OperationObject, random: Random): Record<string, string> {
    const scheme = Object.keys(operation.security[0] ?? {})[0]
    if (random.odds(0.04)) return random.pick([{}, { authorization: 'Bearer nonsense' }, { 'x-svc-clientkey': 'vgk_' }])
    if (scheme === 'serviceAccount') return { authorization: `Bearer ${random.pick(this.callers.tokens)}` }
    if (scheme === 'userToken') return { authorization: `Bearer ${random.pick(this.callers.userTokens)}` }
    if (scheme !== 'agentKey') return {}
    const key = random.pick(this.callers.agentKeys)
    if (random.odds(0.2)) return { authorization: `Bearer ${key}` }
    return {
      'x-svc-clientkey': key,
      ...(random.odds(0.4) && { authorization: `Bearer ${random.pick(this.callers.userTokens)}` }),
      ...(random.odds(0.1) && { 'x-svc-token': random.pick(this.callers.userTokens) }),
    }
  }

  private more(operation: OperationObject, random: Random): Record<string, string> {
    const takes = (header: string) => operation.parameters.some(({ name }) => name === header)
    return {
      ...(takes('MCP-Protocol-Version') && random.odds(0.8)
        ? { 'mcp-protocol-version': random.pick(['2025-11-25', '2025-11-25', '2026-07-28', '1999-01-01']) }
        : {}),
      ...(takes('Mcp-Session-Id') && random.odds(0.7) ? { 'mcp-session-id': this.known.session(random) } : {}),
      ...(takes('If-Match') && random.odds(0.3) ? { 'if-match': this.known.etag(random) } : {}),
      ...(random.odds(0.1) ? { 'x-request-id': random.pick(['my-id', 'x'.repeat(300), 'a "b" <c>']) } : {}),
    }
  }

  private word(member: string, random: Random): string | null {
    const kind = references[member]
    if (kind !== undefined && random.odds(0.9)) return this.known.id(kind, random)
    if (secretMember.test(member)) return this.known.canary()
    switch (member) {
      case 'method':
        return random.pick(['initialize', 'ping', 'tools/list', 'tools/call', 'resources/read', 'server/discover', 'x'])
      case 'name':
        this.names += 1
        return random.odds(0.3) ? random.pick(['n-1', 'n-2']) : `n-${this.names}`
      case 'type':
      case 'ikg_node_type':
      case 'node_classification':
        return random.pick([...nodeTypes, 'OWNS'])
      case 'labels':
        return random.pick(nodeTypes)
      case 'external_id':
      case 'id':
        return random.pick(['a', 'b', 'c', 'd'])
      case 'action':
        return random.pick(['drive', 'lend'])
      case 'region':
        return random.pick(['local', 'eu-west'])
      case 'replica_region':
        return 'elsewhere'
      case 'policy':
        return policyText(random)
      case 'query':
        return random.pick(['{}', '{"nodes":["subject"]}', 'x'])
      case 'url':
        return random.pick(['lmdb:', 'https://api.example.com/{$a}', 'http://127.0.0.1:1/'])
      case 'issuer':
        return 'https://issuer.example.com'
      default:
        return null
    }
  }
}

function bodyText(text: string, random: Random): string | Uint8Array {
  if (random.odds(0.95)) return text
  return random.pick<() => string | Uint8Array>([
    () => '',
    () => text.slice(0, -1),
    () => `${text}x`,
    () => `\ufeff${text}`,
    () => text.replace('{', '{"a":1,"a":2,'),
    () => text.replace(/"[a-z]+"/, '"\\ud800"'),
    () => '['.repeat(100_000),
    () => '1e99999',
    () => '-0',
    () => new Uint8Array([0x7b, 0x22, 0xff, 0xfe]),
  ])()
}
