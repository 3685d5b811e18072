// The fixture of the isolation runs: a data folder with a steady tenant and a hostile one, and the served process.
// Large graphs are imported before the folder is served, which takes a tenth of the time of captures.
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { makePeople } from '../../support/user-tokens.ts'

/**
 * Limits of the served process in milliseconds: shorter than the defaults, so that a load of a few seconds reaches
 * them.
 */
export const LIMITS = { decision: 1000, batch: 2000, execute: 2000, batchRead: 3000, upstream: 1500 } as const
export type LimitName = keyof typeof LIMITS

export interface Tenant {
  readonly project: string
  readonly key: string
}

/** All that a driver process needs; passed as JSON. */
export interface IsolationFixture {
  readonly url: string
  readonly pid: number
  readonly data: string
  readonly admin: string
  readonly steady: Tenant
  readonly hostile: Tenant & {
    /** Ids of knowledge queries by name. */
    readonly queries: Readonly<Record<string, string>>
    /** Token of a person of the hostile project. */
    readonly token: string
    /** Token of an issuer that accepts connections and never responds. */
    readonly hungToken: string
  }
  readonly sizes: TenantSizes
}

export interface TenantSizes {
  /** Nodes of the type `Big`. */
  readonly big: number
  /** Characters of text in each of them. */
  readonly textLength: number
  /** Relationships of each `Hub`. */
  readonly degree: number
  readonly hubs: number
  /** Nodes of the dense graph, each with a relationship to every other. */
  readonly dense: number
}

export const SIZES: TenantSizes = { big: 200_000, textLength: 280, degree: 100_000, hubs: 3, dense: 30 }
export const SMALL_SIZES: TenantSizes = { big: 60_000, textLength: 280, degree: 40_000, hubs: 3, dense: 30 }

/** People and pages of the steady tenant: `person-N` wrote `page-N`. */
export const STEADY_PEOPLE = 1000
/** Resources that a search of the hostile tenant visits. */
export const CANDIDATES = { Sheet: 100, Page: 2000 } as const

export interface Prepared {
  readonly data: string
  readonly admin: string
  readonly steady: Tenant
  readonly hostile: IsolationFixture['hostile']
  readonly sizes: TenantSizes
}

type Create = (kind: string, body: object) => Promise<Record<string, string>>

/** Settings of the served process. `more`: additional environment variables. */
export function environmentOf(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    VERDIGRAPH_LOG_LEVEL: 'error',
    VERDIGRAPH_DECISION_TIME_MS: String(LIMITS.decision),
    VERDIGRAPH_BATCH_TIME_MS: String(LIMITS.batch),
    VERDIGRAPH_EXECUTE_TIME_MS: String(LIMITS.execute),
    VERDIGRAPH_BATCH_READ_TIME_MS: String(LIMITS.batchRead),
    VERDIGRAPH_UPSTREAM_TIME_MS: String(LIMITS.upstream),
    VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1',
    ...more,
  }
}

/** Creates both tenants in `folder` and imports their graphs. `hungPort`: of a listener that never responds. */
export async function prepareWorld(folder: string, sizes: TenantSizes, hungPort: number): Promise<Prepared> {
  const data = join(folder, 'data')
  const initialised = await command(['init', '--data', data, '--json'])
  const { token, organization_id } = JSON.parse(initialised)
  const server = await startServer(['--data', data], environmentOf())
  const create: Create = async (kind, body) => {
    const response = await fetch(`${server.url}/configs/v1/${kind}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (response.status !== 201) throw new Error(`creating ${kind} ${JSON.stringify(body).slice(0, 300)}: ${text}`)
    return JSON.parse(text)
  }
  const ready = async (project: string): Promise<void> => {
    for (let tries = 0; tries < 1000; tries++) {
      const headers = { authorization: `Bearer ${token}` }
      const read = await fetch(`${server.url}/configs/v1/projects/${project}`, { headers })
      if (((await read.json()) as { ikg_status: string }).ikg_status === 'ACTIVE') return
      await Bun.sleep(10)
    }
    throw new Error('the project was not provisioned')
  }
  const tenant = async (name: string) => {
    const project = (await create('projects', { organization_id, name, region: 'local' })).id as string
    await ready(project)
    const application_id = (await create('applications', { project_id: project, name })).id as string
    const api_permissions = ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs', 'Audit']
    const agent = (await create('application-agents', { application_id, name, api_permissions })).id as string
    const credential = await create('application-agent-credentials', { application_agent_id: agent })
    return { project, key: credential.api_key as string, agent }
  }
  const steady = await tenant('steady')
  await create(
    'authorization-policies',
    policy(steady.project, 'edit', 'MATCH (subject:Person)-[:WROTE]->(resource:Page)'),
  )
  const hostile = await tenant('hostile')
  const more = await furnishHostile(create, hostile.project, hostile.agent, hungPort)
  const ended = await server.kill('SIGTERM')
  if (ended !== 0) throw new Error(`the server ended with ${ended}`)
  await importGraph(folder, data, steady.project, steadyLines())
  await importGraph(folder, data, hostile.project, hostileLines(sizes))
  const { agent: _, ...steadyTenant } = steady
  const hostileTenant = { project: hostile.project, key: hostile.key, ...more }
  return { data, admin: token, steady: steadyTenant, hostile: hostileTenant, sizes }
}

export async function serveWorld(
  prepared: Prepared,
  more: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<{ server: Server; fixture: IsolationFixture }> {
  const server = await startServer(['--data', prepared.data, ...flags], environmentOf(more))
  return { server, fixture: { ...prepared, url: server.url, pid: server.pid } }
}

export async function command(args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(args)
  if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`)
  return stdout
}

// -- configuration

export function policy(project_id: string, action: string, cypher: string, more: object = {}, resource = 'Page') {
  const document = {
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions: [action],
    resource: { type: resource },
    condition: { cypher, ...more },
  }
  return { project_id, name: action, status: 'ACTIVE', policy: JSON.stringify(document) }
}

const ENDS = 'MATCH (subject:Person), (resource:Page)'
/** No path has a weight below zero, so all of them are visited. */
export const TRAILS = "(a:Dense {external_id: 'd0'})-[r:NEAR*1..9]->(b:Dense)"
export const NEVER = 'all(x IN r WHERE x.weight < 0) OR size([x IN r WHERE x.weight > 5]) > 100'

/** Actions of the hostile tenant, each with one policy that computes for long on the values of the caller. */
export const DEAR_ACTIONS: Readonly<Record<string, string>> = {
  trails: `${ENDS}, ${TRAILS} WHERE ${NEVER}`,
  reduce: `${ENDS} WHERE reduce(s = 0, x IN $list | s + size(toUpper($text))) < 0`,
  size: `${ENDS} WHERE any(x IN $list WHERE size($text) < 0)`,
  comprehension: `${ENDS} WHERE size([x IN $list WHERE reverse($text) = toString(x)]) < 0`,
  quantifier: `${ENDS} WHERE any(x IN $list WHERE replace($text, 'a', 'bb') = toString(x))`,
  order: `${ENDS} WHERE any(x IN $list WHERE $text < $other AND x < 0)`,
  lists: `${ENDS} WHERE any(x IN $list WHERE $list = $others)`,
  pattern: `${ENDS} WHERE any(x IN $texts WHERE x =~ $pattern)`,
}

const SUBJECT = 'MATCH (subject:_Application {external_id: $_appId})'

interface DearQuery {
  readonly cypher: string
  readonly nodes?: readonly string[]
  readonly values?: readonly string[]
  readonly query?: object
  /** Type of the subject; an application by default. */
  readonly subject?: string
}

/** Knowledge queries of the hostile tenant. */
export const DEAR_QUERIES: Readonly<Record<string, DearQuery>> = {
  trails: { cypher: `${SUBJECT}, ${TRAILS} WHERE ${NEVER}`, nodes: ['b.external_id'] },
  'batch-read': {
    cypher: `${SUBJECT}, (n:Big) WHERE size($text + n.text) < 0`,
    nodes: ['n.external_id'],
    query: { batch_read: true },
  },
  sort: {
    cypher: `${SUBJECT}, (a:Big), (t:Ten) WITH subject, a, t, a.text + toString(a.n % 1000) AS k ORDER BY k DESC, t.n LIMIT 1900000 WITH subject, count(k) AS counted`,
    values: ['counted'],
  },
  distinct: {
    cypher: `${SUBJECT}, (a:Big) WITH subject, count(DISTINCT $text + toString(a.n)) AS counted`,
    values: ['counted'],
  },
  collect: {
    cypher: `${SUBJECT}, (a:Big) WITH subject, size(collect($text + toString(a.n))) AS counted`,
    values: ['counted'],
  },
  scan: { cypher: `${SUBJECT}, (n:Big) WHERE n.n = -1`, nodes: ['n.external_id'] },
  all: { cypher: `${SUBJECT}, (n:Big) WITH subject, $text + toString(n.n) AS long`, values: ['long'] },
  page: { cypher: `${SUBJECT}, (n:Big)`, nodes: ['n.external_id'] },
  count: { cypher: `${SUBJECT}, (n:Big) WITH subject, count(n.text) AS counted`, values: ['counted'] },
  hung: { cypher: `${SUBJECT}, (n:Hung)`, nodes: ['n.property.price'] },
  mine: {
    subject: 'Person',
    cypher: `MATCH (subject:Person {external_id: $token.sub}), ${TRAILS} WHERE ${NEVER}`,
    nodes: ['b.external_id'],
  },
}

async function furnishHostile(create: Create, project_id: string, app_agent_id: string, hungPort: number) {
  for (const [action, cypher] of Object.entries(DEAR_ACTIONS)) {
    await create('authorization-policies', policy(project_id, action, cypher))
  }
  await create('authorization-policies', policy(project_id, 'read', `${ENDS} WHERE subject.external_id = 'h0'`))
  const operand = { operator: '=~', attribute: '$text', value: '$pattern' }
  // One part of the filter depends on the candidate; the expensive part does not.
  const filter = {
    operator: 'AND',
    operands: [
      { operator: 'STARTS WITH', attribute: 'resource.external_id', value: 'c' },
      { operator: 'NOT', operands: [operand] },
    ],
  }
  for (const type of Object.keys(CANDIDATES)) {
    const cypher = `MATCH (subject:Person), (resource:${type})`
    await create('authorization-policies', policy(project_id, `filtered-${type}`, cypher, { filter }, type))
  }
  const people = await makePeople('Person')
  const introspect = (await create('token-introspects', { project_id, ...people.introspect })).id as string
  const issuer = `http://127.0.0.1:${hungPort}`
  const hung = await makePeople('Person')
  await create('token-introspects', {
    project_id,
    name: 'hung',
    jwt_matcher: { issuer, audience: 'verdigraph' },
    offline_validation: {},
    ikg_node_type: 'Person',
  })
  await create('mcp-servers', {
    project_id,
    name: 'agents',
    app_agent_id,
    token_introspect_id: introspect,
    enabled: true,
    scopes_supported: ['any'],
  })
  await create('external-data-resolvers', {
    project_id,
    name: 'hung',
    url: `${issuer}/price`,
    method: 'GET',
    headers: {},
    request_content_type: 'JSON',
    response_content_type: 'JSON',
    response_selector: '.price',
  })
  const queries: Record<string, string> = {}
  for (const [name, { cypher, nodes = [], values = [], query = {}, subject = '_Application' }] of Object.entries(
    DEAR_QUERIES,
  )) {
    const reads = { nodes, aggregate_values: values }
    const document = {
      meta: { policy_version: '1.0-ciq' },
      subject: { type: subject },
      condition: { cypher },
      allowed_reads: reads,
    }
    const body = { project_id, name: `${name}-policy`, status: 'ACTIVE', policy: JSON.stringify(document) }
    const { id } = await create('authorization-policies', body)
    const asked = JSON.stringify({ ...reads, ...query })
    const made = await create('knowledge-queries', { project_id, name, status: 'ACTIVE', policy_id: id, query: asked })
    queries[name] = made.id as string
  }
  const hungToken = await hung.tokenOf('h0')
  return { queries, token: await people.tokenOf('h0'), hungToken: withIssuer(hungToken, issuer) }
}

/** The same token with another issuer: its keys are never fetched, so its invalid signature is never detected. */
function withIssuer(token: string, iss: string): string {
  const [head = '', claims = '', signature = ''] = token.split('.')
  const read = JSON.parse(Buffer.from(claims, 'base64url').toString())
  return [head, Buffer.from(JSON.stringify({ ...read, iss })).toString('base64url'), signature].join('.')
}

// -- graphs

/** Imports lines into the graph of a project. The folder must not be served. */
export async function importGraph(
  folder: string,
  data: string,
  project: string,
  lines: Iterable<object>,
): Promise<void> {
  const path = join(folder, `${project}.ndjson`)
  const file = openSync(path, 'w')
  let text = ''
  for (const line of lines) {
    text += `${JSON.stringify(line)}\n`
    if (text.length < 1 << 20) continue
    writeSync(file, text)
    text = ''
  }
  writeSync(file, text)
  closeSync(file)
  await command(['import', '--data', data, '--project', project, '--in', path])
}

const node = (type: string, external_id: string, properties: Record<string, unknown> = {}) => ({
  node: { type, external_id, properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })) },
})
const relationship = (
  source: readonly [string, string],
  type: string,
  target: readonly [string, string],
  properties = {},
) => ({
  relationship: {
    source: { type: source[0], external_id: source[1] },
    type,
    target: { type: target[0], external_id: target[1] },
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  },
})

function* steadyLines(): Generator<object> {
  for (let i = 0; i < STEADY_PEOPLE; i++) {
    yield node('Person', `person-${i}`)
    yield node('Page', `page-${i}`)
  }
  for (let i = 0; i < STEADY_PEOPLE; i++) yield relationship(['Person', `person-${i}`], 'WROTE', ['Page', `page-${i}`])
}

function* hostileLines({ big, textLength, degree, hubs, dense }: TenantSizes): Generator<object> {
  yield node('Person', 'h0')
  for (const [type, count] of Object.entries(CANDIDATES)) {
    for (let i = 0; i < count; i++) yield node(type, `c${i}`)
  }
  for (let i = 0; i < 10; i++) yield node('Ten', `t${i}`, { n: i })
  for (let i = 0; i < dense; i++) yield node('Dense', `d${i}`)
  for (let i = 0; i < 20; i++) {
    yield {
      node: { type: 'Hung', external_id: `u${i}`, properties: [{ type: 'price', external_value: 'hung' }] },
    }
  }
  for (let i = 0; i < hubs; i++) yield node('Hub', `hub-${i}`)
  const filler = 'long text with many words in it '.repeat(1 + Math.ceil(textLength / 32))
  for (let i = 0; i < big; i++) yield node('Big', `b${i}`, { n: i, text: `${i} ${filler}`.slice(0, textLength) })
  for (let i = 0; i < dense; i++) {
    for (let j = 0; j < dense; j++) {
      if (i !== j) yield relationship(['Dense', `d${i}`], 'NEAR', ['Dense', `d${j}`], { weight: 1 })
    }
  }
  for (let h = 0; h < hubs; h++) {
    for (let i = 0; i < degree; i++) yield relationship(['Hub', `hub-${h}`], 'HAS', ['Big', `b${i}`])
  }
}

// -- processes

export interface ProcessInfo {
  readonly pid: number
  readonly command: string
}

/** Descendants of a process, from the process table of Linux; empty on other systems. */
export function descendantsOf(pid: number): ProcessInfo[] {
  if (!existsSync('/proc/self/stat')) return []
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readOr(`/proc/${name}/stat`)
    // The program name is in parentheses and may contain spaces.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    if (Number.isInteger(parent)) parents.set(Number(name), parent)
  }
  const found: ProcessInfo[] = []
  const open = [pid]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const [child, parent] of parents) {
      if (parent !== at) continue
      found.push({ pid: child, command: readOr(`/proc/${child}/cmdline`).replaceAll('\0', ' ').trim() })
      open.push(child)
    }
  }
  return found
}

/** Helper processes that run the expensive requests of a served process. */
export function lanesOf(pid: number): ProcessInfo[] {
  return descendantsOf(pid).filter(({ command }) => /(^|[\s/-])lane(\s|$)/.test(command))
}

/** Resident memory of a process in bytes; 0 if it has ended. */
export function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readOr(`/proc/${pid}/status`))?.[1]
  return kibibytes === undefined ? 0 : Number(kibibytes) * 1024
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
