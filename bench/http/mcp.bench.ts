// What does a decision through MCP cost compared with the same one over HTTP? One server, four kinds of requests, every
// response checked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { AnswerHash, type Bench, median, mustEqual, round } from '../harness.ts'
import { ownedBy, ownershipGraph, owns, questions } from '../ownership-graph.ts'
import { endAll } from './processes.ts'
import type { LoadTarget } from './rounds.ts'
import { loadRounds } from './rounds.ts'
import { type BenchService, headers, httpRequest, serve } from './service.ts'

const CONNECTIONS = 32
const ISSUER = 'https://people.example.org'
const AUDIENCE = 'bench'

export const mcp: Bench = {
  name: 'mcp',
  question:
    'tools/call authzen_evaluate over MCP, compared with the same decisions over /access/v1/evaluation (ratio_to_key)',
  async run({ small, seed, report }) {
    const nodes = small ? 1_000 : 10_000
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-mcp-'))
    const children: Bun.Subprocess[] = []
    try {
      const graph = ownershipGraph(nodes, seed)
      report.note(`capturing ${nodes} nodes over HTTP`)
      const service = await serve(folder, graph, [{ action: 'open', cypher: owns }], children)
      const sign = await people(service)
      const { url, pid, key } = service
      const path = `/mcp/v1/${service.projectId}`

      type Exchange = LoadTarget['exchanges'][number]
      const ways: Record<'stateless' | 'session' | 'key' | 'token', Exchange[]> = {
        stateless: [],
        session: [],
        key: [],
        token: [],
      }
      const hash = new AnswerHash()
      const tokens = new Map<string, { readonly token: string; readonly session: string }>()
      for (const { subject, resource, granted } of questions(graph, 1_000, seed + 1, ownedBy)) {
        let person = tokens.get(subject)
        if (person === undefined) {
          const token = await sign(subject)
          person = { token, session: await openSession(`${url}${path}`, token) }
          tokens.set(subject, person)
        }
        const question = {
          subject: { type: 'Person', id: subject },
          action: { name: 'open' },
          resource: { type: 'Document', id: resource },
        }
        const authorization = `Bearer ${person.token}`
        const decision = `{"decision":${granted}}`
        const body = JSON.stringify(question)
        ways.key.push({ request: httpRequest('/access/v1/evaluation', headers(key), body), answer: decision })
        const both = { ...headers(key), Authorization: authorization }
        ways.token.push({ request: httpRequest('/access/v1/evaluation', both, body), answer: decision })

        const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
        const params = { name: 'authzen_evaluate', arguments: question }
        const content = `"content":[{"type":"text","text":${JSON.stringify(decision)}}],"structuredContent":${decision}`
        const own = {
          Authorization: authorization,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
        }
        const inSession = { ...own, 'Mcp-Session-Id': person.session, 'MCP-Protocol-Version': '2025-11-25' }
        ways.session.push({
          request: httpRequest(path, inSession, JSON.stringify({ ...call, params })),
          answer: `{"jsonrpc":"2.0","id":1,"result":{${content}}}`,
        })
        const modern = {
          ...own,
          'MCP-Protocol-Version': '2026-07-28',
          'Mcp-Method': 'tools/call',
          'Mcp-Name': 'authzen_evaluate',
        }
        const _meta = {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        }
        const given = JSON.stringify({ ...call, params: { ...params, _meta } })
        const answer = await fetch(`${url}${path}`, { method: 'POST', headers: modern, body: given }).then((r) =>
          r.text(),
        )
        mustEqual(
          `the answer to ${given}`,
          answer.startsWith(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",${content},"_meta":{`),
          true,
        )
        hash.add(answer)
        ways.stateless.push({ request: httpRequest(path, modern, given), answer })
      }
      report.line({ record: 'answers', count: hash.count, hash: hash.hex })

      const plan = { rounds: small ? 3 : 8, seconds: small ? 0.5 : 2, connections: CONNECTIONS, note: report.note }
      const sides = Object.entries(ways).map(([name, exchanges]) => ({ name, url, pid, exchanges }))
      const found = await loadRounds(sides, plan)
      for (const { name } of sides) report.line(found.line(name))
      const ratio = (name: string, beside: string): number => round(median(found.throughput(name, beside)))
      const cpu = (name: string, beside: string): number | null => {
        const value = found.cpu(name, beside)
        return value === null ? null : round(value)
      }
      report.line({
        record: 'result',
        ratio_to_key: ratio('stateless', 'key'),
        ratio_to_token: ratio('stateless', 'token'),
        session_to_key: ratio('session', 'key'),
        cpu_ratio_to_key: cpu('stateless', 'key'),
        cpu_ratio_to_token: cpu('stateless', 'token'),
        cpu_ratio_of_session_to_key: cpu('session', 'key'),
      })
    } finally {
      await endAll(children)
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** An MCP server, and accepted tokens of people. */
async function people({
  create,
  projectId: project_id,
  agentId,
}: BenchService): Promise<(sub: string) => Promise<string>> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'people', alg: 'ES256', use: 'sig' }
  const introspect = await create('token-introspects', {
    project_id,
    name: 'people',
    ikg_node_type: 'Person',
    jwt_matcher: { issuer: ISSUER, audience: AUDIENCE },
    offline_validation: { public_jwks: [JSON.stringify(jwk)] },
  })
  await create('mcp-servers', {
    project_id,
    name: 'bench',
    app_agent_id: agentId,
    token_introspect_id: introspect.id,
    enabled: true,
    scopes_supported: ['bench'],
  })
  return (sub) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: 'people' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(sub)
      .setIssuedAt()
      .setExpirationTime('2 hours')
      .sign(privateKey)
}

async function openSession(url: string, token: string): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
  const response = await fetch(url, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  const session = response.headers.get('mcp-session-id')
  if (session === null) throw new Error(`no session: ${await response.text()}`)
  return session
}
