// Sends a real service random requests derived from the interface description, and collects violations: a 5xx response,
// a response that is not described, a secret in a response or in the log, an error in the log.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { createApp } from '../../src/app.ts'
import { buildOpenApiDocument } from '../../src/http/openapi/document.ts'
import { apiPermissions } from '../../src/kernel/request/caller.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openLog } from '../../src/ops/log.ts'
import { defaultSettings } from '../../src/settings.ts'
import { type Callers, type MadeRequest, RequestMaker, SeenIdentifiers } from '../generate/http-request.ts'
import { Random } from '../generate/random.ts'
import { DescribedResponses } from './described-responses.ts'
import { contextPolicy } from './kind-samples.ts'
import { makeKey, type SigningKey } from './token-issuer.ts'

/** Request line and headers that the runtime accepts. */
const REQUEST_LINE_MAX = 16_384

export interface FuzzReport {
  readonly asked: number
  /** Operation → status → count. */
  readonly statuses: ReadonlyMap<string, ReadonlyMap<number, number>>
  readonly operationIds: readonly string[]
  readonly logLines: number
  readonly secrets: number
  readonly findings: readonly string[]
}

const AT_ONCE = 8
const FINDINGS_MAX = 20

export async function fuzzHttp(seed: number, requests: number, onRound?: (asked: number) => void): Promise<FuzzReport> {
  const dataDir = mkdtempSync(join(tmpdir(), 'verdigraph-fuzz-'))
  const lines: string[] = []
  const log = openLog({ clock: systemClock, level: 'info', secrets: [], write: (line) => lines.push(line) })
  const app = await createApp({ ...defaultSettings, dataDir, port: 0, accessLog: 'on' }, { log, sync: false })
  try {
    const { url } = await app.listen()
    const known = new SeenIdentifiers()
    const token = await app.issueAdminToken(3600)
    const callers = await settle(url, token, app.organizationId, app.serviceAccountId, known)
    // Aliases are requested and checked too.
    const routes = app.routes.map(({ aliasOf: _, ...route }) => route)
    const description = buildOpenApiDocument(routes, '3.1.1', 'fuzz')
    const maker = new RequestMaker(description, known, callers)
    const run = new FuzzRun(url, new DescribedResponses(routes), known)
    const random = new Random(seed)
    for (let asked = 0; run.asked < requests && run.findings.length < FINDINGS_MAX; asked += AT_ONCE) {
      const made = Array.from({ length: AT_ONCE }, () => maker.make(random)).filter((one) => one !== null)
      await Promise.all(made.map((request) => run.ask(request)))
      onRound?.(asked)
    }
    for (const line of lines) {
      if (line.includes('"a request failed"')) run.findings.push(`log: ${line.slice(0, 2000)}`)
      for (const secret of known.secrets)
        if (line.includes(secret)) run.findings.push(`log: ${secret} in ${line.slice(0, 500)}`)
    }
    return {
      asked: run.asked,
      statuses: run.statuses,
      operationIds: maker.operationIds,
      logLines: lines.length,
      secrets: known.secrets.size,
      findings: run.findings,
    }
  } finally {
    await app.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

class FuzzRun {
  asked = 0
  readonly findings: string[] = []
  readonly statuses = new Map<string, Map<number, number>>()
  private readonly url: string
  private readonly described: DescribedResponses
  private readonly known: SeenIdentifiers

  constructor(url: string, described: DescribedResponses, known: SeenIdentifiers) {
    this.url = url
    this.described = described
    this.known = known
  }

  async ask(request: MadeRequest): Promise<void> {
    const { method, url, headers, body, operationId } = request
    const leaving = new AbortController()
    const response = await fetch(`${this.url}${url}`, {
      method,
      headers,
      signal: leaving.signal,
      ...(body === null ? {} : { body }),
    })
    // An event stream stays open as long as its reader wants.
    const isOpen = method === 'GET' && response.headers.get('content-type') === 'text/event-stream'
    const text = isOpen ? '' : await response.text()
    if (isOpen) leaving.abort()
    this.asked += 1
    const byStatus = this.statuses.get(operationId) ?? new Map<number, number>()
    this.statuses.set(operationId, byStatus.set(response.status, (byStatus.get(response.status) ?? 0) + 1))
    const found = (what: string) => {
      const sent = typeof body === 'string' ? body.slice(0, 1000) : body === null ? '' : '(bytes)'
      this.findings.push(
        `${what}\n  ${method} ${url.slice(0, 300)} ${sent}\n  → ${response.status} ${text.slice(0, 1000)}`,
      )
    }
    if (response.status >= 500) found(`a ${response.status}`)
    // HTTP clients remove `..` from the path.
    const { pathname, search } = new URL(`${this.url}${url}`)
    // The runtime itself refuses a request line with headers above 16 KiB.
    if (response.status === 431 && text === '' && pathname.length + search.length > REQUEST_LINE_MAX / 2) return
    const faults = this.described.faults(method, `${pathname}${search}`, {
      status: response.status,
      headers: response.headers,
      text,
    })
    if (faults.length > 0) found(faults.join('; '))
    const answer = `${text}\n${[...response.headers].join('\n')}`
    for (const secret of this.known.secrets) if (answer.includes(secret)) found(`the secret ${secret}`)
    this.learn(request, response, text)
  }

  private learn({ method, url }: MadeRequest, response: Response, text: string): void {
    const etag = response.headers.get('etag')
    if (etag !== null) this.known.addEtag(etag)
    const session = response.headers.get('mcp-session-id')
    if (session !== null) this.known.addSession(session)
    const kind = /^\/configs\/v1\/([^/?]+)/.exec(url)?.[1]
    if (method !== 'POST' || response.status !== 201 || kind === undefined) return
    const made = JSON.parse(text) as Record<string, unknown>
    if (typeof made.id === 'string') this.known.add(kind, made.id)
    // Returned this once, and never again.
    for (const name of ['api_key', 'token']) {
      if (typeof made[name] === 'string') this.known.secrets.add(made[name])
    }
  }
}

/** A project with an agent that has every permission, and one that has none of the needed ones. */
async function settle(
  url: string,
  token: string,
  organizationId: string,
  accountId: string,
  known: SeenIdentifiers,
): Promise<Callers> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const create = async (kind: string, body: object): Promise<Record<string, string>> => {
    const response = await fetch(`${url}/configs/v1/${kind}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const made = (await response.json()) as Record<string, string>
    if (response.status !== 201) throw new Error(`${kind}: ${response.status} ${JSON.stringify(made)}`)
    known.kept.add(made.id as string)
    known.add(kind, made.id as string)
    return made
  }
  const project = await create('projects', { organization_id: organizationId, name: 'home', region: 'local' })
  const application = await create('applications', { project_id: project.id, name: 'home' })
  const ofProject = { project_id: project.id, name: 'home', status: 'ACTIVE' }
  const policy = await create('authorization-policies', { ...ofProject, policy: contextPolicy })
  const query = JSON.stringify({ nodes: ['car.external_id', 'car.property.plate'], relationships: ['r'] })
  await create('knowledge-queries', { ...ofProject, policy_id: policy.id, query })
  const agentKeys: string[] = []
  for (const permissions of [apiPermissions.filter((one) => one !== 'Audit'), ['Audit']]) {
    const agent = await create('application-agents', {
      application_id: application.id,
      name: `agent-${permissions.length}`,
      api_permissions: permissions,
    })
    const credential = await create('application-agent-credentials', { application_agent_id: agent.id })
    agentKeys.push(credential.api_key as string)
  }
  // A project of its own, because a project has at most one MCP server, and the run creates some.
  const mcp = await create('projects', { organization_id: organizationId, name: 'mcp', region: 'local' })
  known.add('mcp-projects', mcp.id as string)
  const agent = await create('application-agents', {
    application_id: (await create('applications', { project_id: mcp.id, name: 'mcp' })).id,
    name: 'mcp',
    api_permissions: ['Authorization', 'CIQ'],
  })
  const userTokens = await userTokensFor(async (body) => {
    await create('token-introspects', { project_id: project.id, ...body })
    const introspect = await create('token-introspects', { project_id: mcp.id, ...body })
    await create('mcp-servers', {
      project_id: mcp.id,
      name: 'mcp',
      app_agent_id: agent.id,
      token_introspect_id: introspect.id,
      enabled: true,
      scopes_supported: ['openid'],
    })
  })
  for (const secret of [token, ...agentKeys, ...userTokens]) known.secrets.add(secret)
  for (const id of [organizationId, accountId]) known.kept.add(id)
  known.add('organizations', organizationId)
  known.add('service-accounts', accountId)
  return { agentKeys: [...Array(5).fill(agentKeys[0]), agentKeys[1] as string], tokens: [token], userTokens }
}

/** From an issuer with a pinned key: most are valid; one is expired, one is for another audience, one is forged. */
async function userTokensFor(introspect: (body: object) => Promise<unknown>): Promise<string[]> {
  const key = await makeKey('pinned')
  const [issuer, audience] = ['https://pinned.example', 'fuzz']
  await introspect({
    name: 'pinned',
    jwt_matcher: { issuer, audience },
    offline_validation: { public_jwks: [JSON.stringify(key.jwk)] },
    ikg_node_type: 'Person',
    claims_mapping: { mail: { selector: 'email' }, region: { selector: 'zone' } },
    perform_upsert: true,
  })
  const nowS = Math.floor(Date.now() / 1000)
  const sign = (signer: SigningKey, claims: object) =>
    new SignJWT({ iss: issuer, aud: audience, sub: 'a', iat: nowS, exp: nowS + 36_000, ...claims })
      .setProtectedHeader({ alg: signer.alg, kid: key.kid })
      .sign(signer.privateKey)
  return await Promise.all([
    ...['a', 'b', 'c', 'd'].map((sub) => sign(key, { sub, email: `${sub}@example.com`, zone: { deep: [1, null] } })),
    sign(key, { act: { sub: 'b' }, zone: 'north' }),
    sign(key, { iat: nowS - 100, exp: nowS - 50 }),
    sign(key, { aud: 'others' }),
    sign(await makeKey('forged'), {}),
  ])
}
