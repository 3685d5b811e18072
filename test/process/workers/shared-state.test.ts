import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkWorkers } from '../../stress/workers.ts'
import { killAll } from '../../support/cli-process.ts'
import { eventsOf } from '../../support/event-stream.ts'
import { makeKey } from '../../support/token-issuer.ts'
import {
  ask,
  bodyOf,
  connectionsTo,
  type HttpConnection,
  makeProject,
  policyBody,
  startWorkers,
  type WorkerFixture,
  type WorkerProject,
} from '../../support/worker-fixture.ts'

const SEED = 20261120
const may = ['Authorization', 'Capture']

let folder: string
let fixture: WorkerFixture
let one: HttpConnection
let other: HttpConnection
let project: WorkerProject

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-workers-'))
  fixture = await startWorkers(join(folder, 'data'), 2)
  const [[first], [second]] = (await connectionsTo(fixture.server.url, 2, 1)) as [[HttpConnection], [HttpConnection]]
  one = first
  other = second
  project = await makeProject(fixture, one, 'together')
})

afterAll(async () => {
  await fixture?.close()
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

const configure = (
  line: HttpConnection,
  method: string,
  path: string,
  body?: object,
  more: Record<string, string> = {},
) => line.request(method, `/configs/v1/${path}`, { ...fixture.admin, ...more }, body)

describe('an acknowledged change of one worker', () => {
  it('is seen by the next request to another: writes, revoked relationships and policies', async () => {
    const outcome = await checkWorkers(fixture, { workers: 2, pairs: 100, revokes: 100, policies: 30, seed: SEED })
    expect(outcome).toMatchObject({ pairs: 100, revokes: 100, policies: 30, stalePermits: 0, staleDenials: 0 })
  })

  it('makes an MCP session valid for all of them, with notifications on its stream, and ended for all', async () => {
    const { privateKey, jwk, alg, kid } = await makeKey('people')
    const create = async (kind: string, body: object) =>
      bodyOf(await configure(one, 'POST', kind, { project_id: project.id, ...body }), 201).id
    const introspect = await create('token-introspects', {
      name: 'people',
      jwt_matcher: { issuer: 'https://people.example.org', audience: 'crew' },
      offline_validation: { public_jwks: [JSON.stringify(jwk)] },
    })
    const server = { name: 'agents', app_agent_id: project.agent, token_introspect_id: introspect, enabled: true }
    await create('mcp-servers', { ...server, scopes_supported: ['any'] })
    const token = await new SignJWT({ iss: 'https://people.example.org', aud: 'crew', sub: 'ann' })
      .setProtectedHeader({ alg, kid })
      .setExpirationTime('5 minutes')
      .sign(privateKey)
    const path = `/mcp/v1/${project.id}`
    const headers = { authorization: `Bearer ${token}` }
    const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
    const opened = await one.request('POST', path, headers, message('initialize', { protocolVersion: '2025-11-25' }))
    const named = { ...headers, 'mcp-session-id': opened.headers['mcp-session-id'] as string }
    for (const line of [one, other]) expect((await line.request('POST', path, named, message('ping'))).status).toBe(200)

    // Whichever worker has the stream, it delivers changes of the others.
    bodyOf(
      await configure(one, 'PUT', `application-agents/${project.agent}`, { api_permissions: ['CIQ', ...may] }),
      200,
    )
    const policy = JSON.stringify({
      ...{ meta: { policy_version: '1.0-ciq' }, subject: { type: 'Person' }, allowed_reads: { nodes: ['page.*'] } },
      condition: { cypher: 'MATCH (subject:Person)-[:WROTE]->(page:Page)' },
    })
    const policy_id = await create('authorization-policies', { name: 'pages', status: 'ACTIVE', policy })
    const told = eventsOf(
      await fetch(`${fixture.server.url}${path}`, { headers: { ...named, accept: 'text/event-stream' } }),
    )
    for (const [name, line] of Object.entries({ one, other })) {
      const query = JSON.stringify({ nodes: ['page.external_id'] })
      const members = { project_id: project.id, name: `pages-${name}`, status: 'ACTIVE', policy_id, query }
      bodyOf(await configure(line, 'POST', 'knowledge-queries', members), 201)
      expect(await told.next()).toMatchObject({ method: 'notifications/resources/list_changed' })
    }
    expect((await other.request('DELETE', path, named)).status).toBe(204)
    for (const line of [one, other]) expect((await line.request('POST', path, named, message('ping'))).status).toBe(404)
    expect(await told.next()).toBe(null)
  })

  it('refuses a revoked key at another at once', async () => {
    for (let round = 0; round < 5; round++) {
      const made = bodyOf(
        await configure(one, 'POST', 'application-agent-credentials', { application_agent_id: project.agent }),
        201,
      )
      const holder = { ...project, key: made.api_key as string }
      expect((await ask(other, holder, 'nobody', 'read', 'nothing')).status).toBe(200)
      bodyOf(await configure(one, 'DELETE', `application-agent-credentials/${made.id}`), 200)
      expect((await ask(other, holder, 'nobody', 'read', 'nothing')).status).toBe(401)
    }
  })

  it('deletes a project: another returns 404 at once, and closes its files', async () => {
    for (const [maker, remover] of [
      [one, other],
      [other, one],
    ] as const) {
      const gone = await makeProject(fixture, maker, 'gone')
      for (const line of [one, other]) expect((await ask(line, gone, 'nobody', 'read', 'nothing')).status).toBe(200)
      bodyOf(await configure(remover, 'DELETE', `projects/${gone.id}`), 200)
      for (const line of [maker, remover]) {
        expect((await ask(line, gone, 'nobody', 'read', 'nothing')).status).toBe(404)
        expect((await configure(line, 'GET', `projects/${gone.id}`)).status).toBe(404)
      }
    }
  })
})

describe('concurrent changes at two workers', () => {
  const both = <T>(change: (line: HttpConnection, at: number) => Promise<T>): Promise<T[]> =>
    Promise.all([one, other].map((line, at) => change(line, at)))

  it('create one document of a name, and the other caller gets an error', async () => {
    for (let round = 0; round < 10; round++) {
      const body = policyBody(project, `same-${round}`, 'MATCH (subject:Person), (resource:Page)')
      const answers = await both((line) => configure(line, 'POST', 'authorization-policies', body))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    }
  })

  it('update by an ETag that only one of them still matches', async () => {
    const path = `applications/${project.application}`
    for (let round = 0; round < 10; round++) {
      const etag = (await configure(one, 'GET', path)).headers.etag as string
      const answers = await both((line, at) =>
        configure(line, 'PUT', path, { description: `round ${round} at ${at}` }, { 'if-match': etag }),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
      const winner = answers.findIndex(({ status }) => status === 200)
      const read = bodyOf(await configure(round % 2 === 0 ? one : other, 'GET', path), 200)
      expect(read.description).toBe(`round ${round} at ${winner}`)
    }
  })

  it('lose no update of one document', async () => {
    const path = `application-agents/${project.agent}`
    const etagOf = async () => (await configure(one, 'GET', path)).headers.etag
    const seen = new Set([await etagOf()])
    const rounds = 10
    await both(async (line, at) => {
      for (let round = 0; round < rounds; round++) {
        const answer = await configure(line, 'PUT', path, { description: `update ${round} at ${at}` })
        expect(answer.status).toBe(200)
        seen.add(answer.headers.etag)
      }
    })
    expect(seen.size).toBe(1 + 2 * rounds)
    expect(seen).toContain(await etagOf())
  })
})
