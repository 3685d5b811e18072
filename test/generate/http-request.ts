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

/** What earlier responses returned: identifiers by their kind in the path, and ETags. */
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

  session(chance: Random): string {
    return chance.odds(0.8) ? (this.sessions.at(-1) as string) : chance.pick(this.sessions)
  }

  addEtag(etag: string): void {
    this.etags.push(etag)
  }

  id(kind: string, chance: Random): string {
    const ids = this.ids.get(kind) ?? []
    if (ids.length === 0 || chance.odds(0.05)) return 'gid:0ABCDEFGHJKMNPQRSTVWXYZ0123'
    // The newest most likely still exists.
    return chance.odds(0.5) ? (ids.at(-1) as string) : chance.pick(ids)
  }

  /** A protected one, else the newest. */
  home(kind: string): string {
    const ids = this.ids.get(kind) ?? ['']
    return ids.find((id) => this.kept.has(id)) ?? (ids.at(-1) as string)
  }

  etag(chance: Random): string {
    return chance.pick(this.etags)
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

function policyText(chance: Random): string {
  const document = {
    meta: { policy_version: chance.pick(['2.0-kbac', '3.0-kbac', '1.0-ciq']) },
    subject: { type: 'Person' },
    actions: ['drive', 'lend'].slice(0, chance.between(1, 2)),
    resource: { type: 'Car' },
    condition: { cypher: chance.pick(conditions) },
  }
  return JSON.stringify(chance.odds(0.2) ? spoilt(document, chance) : document)
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
      string: (member, chance) => this.word(member, chance),
      resolve: (reference) => description.components.schemas[reference.split('/').at(-1) ?? ''] ?? {},
    }
  }

  get operationIds(): string[] {
    return this.operations.map(({ operation }) => operation.operationId)
  }

  /** Null: this request is skipped, because it would delete what the rest of the run needs. */
  make(chance: Random): MadeRequest | null {
    const { method, path, operation } = chance.pick(this.operations)
    const kind = path.includes('/mcp/') ? 'mcp-projects' : (/^\/configs\/v1\/([^/]+)/.exec(path)?.[1] ?? '')
    const id = this.idFor(kind, chance)
    const isForGood = kind !== 'mcp-projects' && this.known.kept.has(id)
    if (path.includes('{') && method !== 'GET' && isForGood) return null
    const filled = path.replace(/\{\w+\}/g, encodeURIComponent(id))
    const url = `${filled}${this.query(operation, chance)}`
    const asked = chance.odds(0.03) ? chance.pick(['HEAD', 'OPTIONS', 'PATCH', 'PUT', 'DELETE']) : method
    if (asked !== method && isForGood) return null
    const headers = { ...this.caller(operation, chance), ...this.more(operation, chance) }
    const content = operation.requestBody?.content['application/json']
    const takesBody = content !== undefined && asked !== 'HEAD' && asked !== 'OPTIONS'
    if (!takesBody) return { operationId: operation.operationId, method: asked, url, headers, body: null }
    const { schema, example } = content
    const known = this.sample(kind, method, chance) ?? example
    const valid = known !== undefined && chance.odds(0.5) ? known : valueBy(schema as Schema, this.words, chance)
    const named =
      operation.operationId === 'execute'
        ? this.withKnownQuery(valid, chance)
        : operation.operationId === 'callMcp' && chance.odds(0.5)
          ? { jsonrpc: '2.0', id: 1, ...chance.pick(mcpMessages) }
          : valid
    const value = chance.odds(0.35) ? spoilt(named, chance) : named
    const type = chance.odds(0.02)
      ? chance.pick(['text/plain', 'application/json;charset=latin1', ''])
      : 'application/json'
    return {
      operationId: operation.operationId,
      method: asked,
      url,
      headers: {
        ...headers,
        'content-type': type,
        ...(chance.odds(0.01) ? { 'content-encoding': chance.pick(['gzip', 'identity', 'br, gzip', '']) } : {}),
      },
      body: bodyText(JSON.stringify(value), chance),
    }
  }

  private withKnownQuery(body: unknown, chance: Random): unknown {
    const id = chance.odds(0.6) ? this.known.home('knowledge-queries') : this.known.id('knowledge-queries', chance)
    return { ...(body as object), id }
  }

  /** A meaningful body of this kind with fresh secrets; undefined if there is none. */
  private sample(kind: string, method: string, chance: Random): unknown {
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
        ? { ...sample.body(world), ...(namelessKinds.has(kind) ? {} : { name: this.word('name', chance) }) }
        : { ...sample.always?.(world), ...sample.change?.body }
    let text = JSON.stringify(body)
    // An issuer and audience pair belongs to one configuration, so a single issuer would allow only one of them at a
    // time.
    text = text.replaceAll('https://accounts.example', `https://accounts-${chance.between(1, 50)}.example`)
    for (const secret of sample.secrets ?? []) text = text.replaceAll(secret, this.known.canary())
    return JSON.parse(text)
  }

  private idFor(kind: string, chance: Random): string {
    if (chance.odds(0.9)) return this.known.id(kind, chance)
    return chance.pick(['n-1', 'gid:x', '%', '..', 'ü𝔘', ' ', 'a/b', '__proto__', 'x'.repeat(2000)])
  }

  private query(operation: OperationObject, chance: Random): string {
    const pairs = operation.parameters
      .filter((parameter) => parameter.in === 'query' && (parameter.required || chance.odds(0.6)))
      .map(
        ({ name, schema }) =>
          `${name}=${encodeURIComponent(String(valueBy(schema as Schema, this.words, chance, name)))}`,
      )
    if (chance.odds(0.05))
      pairs.push(chance.pick(['x=1', 'search=%zz', 'project_id=a&project_id=b', '=', '&&', 'a[]=1']))
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`
  }

  private caller(operation: OperationObject, chance: Random): Record<string, string> {
    const scheme = Object.keys(operation.security[0] ?? {})[0]
    if (chance.odds(0.04)) return chance.pick([{}, { authorization: 'Bearer nonsense' }, { 'x-svc-clientkey': 'vgk_' }])
    if (scheme === 'serviceAccount') return { authorization: `Bearer ${chance.pick(this.callers.tokens)}` }
    if (scheme === 'userToken') return { authorization: `Bearer ${chance.pick(this.callers.userTokens)}` }
    if (scheme !== 'agentKey') return {}
    const key = chance.pick(this.callers.agentKeys)
    if (chance.odds(0.2)) return { authorization: `Bearer ${key}` }
    return {
      'x-svc-clientkey': key,
      ...(chance.odds(0.4) && { authorization: `Bearer ${chance.pick(this.callers.userTokens)}` }),
      ...(chance.odds(0.1) && { 'x-svc-token': chance.pick(this.callers.userTokens) }),
    }
  }

  private more(operation: OperationObject, chance: Random): Record<string, string> {
    const takes = (header: string) => operation.parameters.some(({ name }) => name === header)
    return {
      ...(takes('MCP-Protocol-Version') && chance.odds(0.8)
        ? { 'mcp-protocol-version': chance.pick(['2025-11-25', '2025-11-25', '2026-07-28', '1999-01-01']) }
        : {}),
      ...(takes('Mcp-Session-Id') && chance.odds(0.7) ? { 'mcp-session-id': this.known.session(chance) } : {}),
      ...(takes('If-Match') && chance.odds(0.3) ? { 'if-match': this.known.etag(chance) } : {}),
      ...(chance.odds(0.1) ? { 'x-request-id': chance.pick(['my-id', 'x'.repeat(300), 'a "b" <c>']) } : {}),
    }
  }

  private word(member: string, chance: Random): string | null {
    const kind = references[member]
    if (kind !== undefined && chance.odds(0.9)) return this.known.id(kind, chance)
    if (secretMember.test(member)) return this.known.canary()
    switch (member) {
      case 'method':
        return chance.pick(['initialize', 'ping', 'tools/list', 'tools/call', 'resources/read', 'server/discover', 'x'])
      case 'name':
        this.names += 1
        return chance.odds(0.3) ? chance.pick(['n-1', 'n-2']) : `n-${this.names}`
      case 'type':
      case 'ikg_node_type':
      case 'node_classification':
        return chance.pick([...nodeTypes, 'OWNS'])
      case 'labels':
        return chance.pick(nodeTypes)
      case 'external_id':
      case 'id':
        return chance.pick(['a', 'b', 'c', 'd'])
      case 'action':
        return chance.pick(['drive', 'lend'])
      case 'region':
        return chance.pick(['local', 'eu-west'])
      case 'replica_region':
        return 'elsewhere'
      case 'policy':
        return policyText(chance)
      case 'query':
        return chance.pick(['{}', '{"nodes":["subject"]}', 'x'])
      case 'url':
        return chance.pick(['lmdb:', 'https://api.example.com/{$a}', 'http://127.0.0.1:1/'])
      case 'issuer':
        return 'https://issuer.example.com'
      default:
        return null
    }
  }
}

function bodyText(text: string, chance: Random): string | Uint8Array {
  if (chance.odds(0.95)) return text
  return chance.pick<() => string | Uint8Array>([
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
