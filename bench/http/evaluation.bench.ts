// What does a decision over HTTP cost beside a bare server? Server, echo and load generator are processes of their own;
// rounds alternate between the two servers; every answer is checked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AnswerHash, type Bench, median, mustEqual, round } from '../harness.ts'
import {
  documentId,
  groupId,
  mayRead,
  type OwnershipGraph,
  ownedBy,
  ownershipGraph,
  owns,
  personId,
  questions,
  readableBy,
} from '../ownership-graph.ts'
import type { Job, Outcome } from './load.ts'

const top = join(import.meta.dirname, '..', '..')
const CONNECTIONS = 32
const CAPTURE_ITEMS = 250

export const evaluation: Bench = {
  name: 'http',
  question: 'single evaluations over HTTP, 32 connections: requests/s beside a bare Bun.serve (ratio_to_echo)',
  async run({ small, seed, report }) {
    const nodes = small ? 1_000 : 10_000
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-http-'))
    const children: Bun.Subprocess[] = []
    try {
      const { token, organization_id } = JSON.parse(await output(['src/main.ts', 'init', '--data', folder, '--json']))
      const served = await listening(['src/main.ts', 'serve', '--data', folder, '--port', '0'], children)
      report.note(`capturing ${nodes} nodes over HTTP`)
      const graph = ownershipGraph(nodes, seed)
      const key = await setUp(served, token, organization_id, graph)

      const oneHop = questions(graph, 2_000, seed + 1, ownedBy).map((question) => ({ ...question, action: 'open' }))
      const twoHop = questions(graph, 2_000, seed + 2, readableBy).map((question) => ({ ...question, action: 'read' }))
      const asked = oneHop.flatMap((question, at) => [question, twoHop[at] as typeof question])
      const exchanges = asked.map(({ subject, resource, action, granted }) => {
        const body = JSON.stringify({
          subject: { type: 'Person', id: subject },
          action: { name: action },
          resource: { type: 'Document', id: resource },
        })
        return { request: httpRequest('/access/v1/evaluation', key, body), answer: `{"decision":${granted}}`, body }
      })
      const hash = new AnswerHash()
      for (const { body, answer } of exchanges) {
        const response = await fetch(`${served}/access/v1/evaluation`, { method: 'POST', headers: headers(key), body })
        const text = await response.text()
        mustEqual(`the decision of ${body}`, text, answer)
        hash.add(text)
      }
      report.line({
        record: 'answers',
        count: hash.count,
        hash: hash.hex,
        granted: asked.filter((q) => q.granted).length,
      })

      const sample = await fetch(`${served}/access/v1/evaluation`, {
        method: 'POST',
        headers: headers(key),
        body: exchanges[0]?.body as string,
      })
      const sampleBody = await sample.text()
      const sampleHeaders = Object.fromEntries(
        [...sample.headers].filter(([name]) => !['date', 'content-length'].includes(name)),
      )
      const echoed = await listening(
        ['bench/http/echo.ts', JSON.stringify({ headers: sampleHeaders, body: sampleBody })],
        children,
      )

      const rounds = small ? 3 : 8
      const seconds = small ? 0.5 : 2
      const found: Record<'evaluation' | 'echo', Outcome[]> = { evaluation: [], echo: [] }
      const sides = [
        { name: 'evaluation', url: served, answers: exchanges },
        { name: 'echo', url: echoed, answers: exchanges.map((exchange) => ({ ...exchange, answer: sampleBody })) },
      ] as const
      for (let at = 0; at < rounds; at++) {
        for (const { name, url, answers } of at % 2 === 0 ? sides : sides.toReversed()) {
          const job: Job = {
            port: Number(new URL(url).port),
            connections: CONNECTIONS,
            seconds,
            warmUpSeconds: at === 0 ? 1 : 0.2,
            exchanges: answers.map(({ request, answer }) => ({ request, answer })),
          }
          const outcome = JSON.parse(await output(['bench/http/load.ts'], JSON.stringify(job))) as Outcome
          mustEqual(`wrong answers of ${name} (${outcome.firstWrong})`, outcome.wrong, 0)
          report.note(`round ${at + 1} ${name}: ${Math.round(outcome.requestsPerS)} requests/s`)
          found[name].push(outcome)
        }
      }

      for (const name of ['evaluation', 'echo'] as const) {
        const outcomes = found[name]
        report.line({
          record: name,
          connections: CONNECTIONS,
          requests: outcomes.reduce((sum, { requests }) => sum + requests, 0),
          requests_per_s: Math.round(median(outcomes.map(({ requestsPerS }) => requestsPerS))),
          p50_us: round(median(outcomes.map(({ p50Us }) => p50Us)), 1),
          p99_us: round(median(outcomes.map(({ p99Us }) => p99Us)), 1),
        })
      }
      // Each round's pair ran side by side, so the ratio is taken within the pair.
      const ratios = found.evaluation.map(
        ({ requestsPerS }, at) => requestsPerS / (found.echo[at] as Outcome).requestsPerS,
      )
      report.line({
        record: 'result',
        nodes,
        ratio_to_echo: round(median(ratios)),
        lowest_round: round(Math.min(...ratios)),
        highest_round: round(Math.max(...ratios)),
      })
    } finally {
      for (const child of children) child.kill()
      await Promise.all(children.map((child) => child.exited))
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

const headers = (key: string): Record<string, string> => ({
  'X-SVC-ClientKey': key,
  'Content-Type': 'application/json',
})

function httpRequest(path: string, key: string, body: string): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `X-SVC-ClientKey: ${key}`,
    'Content-Type: application/json',
  ]
  return `${lines.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

async function output(args: readonly string[], input?: string): Promise<string> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: top,
    stdin: input === undefined ? 'ignore' : Buffer.from(input),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await child.stdout.text()
  mustEqual(`the exit code of ${args.slice(0, 2).join(' ')}`, await child.exited, 0)
  return text
}

async function listening(args: readonly string[], children: Bun.Subprocess[]): Promise<string> {
  const child = Bun.spawn([process.execPath, ...args], { cwd: top, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  children.push(child)
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    text += decoder.decode(bytes, { stream: true })
    const url = /listening on (http:\/\/\S+)/.exec(text)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`${args[0]} ended without listening: ${text}`)
}

/** Project, application, agent, key, policies and graph, all through the public interface. Answers the agent key. */
async function setUp(url: string, token: string, organization: string, graph: OwnershipGraph): Promise<string> {
  const send = async (path: string, auth: Record<string, string>, body?: unknown): Promise<Record<string, string>> => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': 'application/json', ...auth },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const admin = { Authorization: `Bearer ${token}` }
  const create = (kind: string, body: object) => send(`/configs/v1/${kind}`, admin, body)
  const project_id = (await create('projects', { organization_id: organization, name: 'bench', region: 'local' })).id
  while ((await send(`/configs/v1/projects/${project_id}`, admin)).ikg_status === 'PENDING') await Bun.sleep(5)
  const application_id = (await create('applications', { project_id, name: 'bench' })).id
  const api_permissions = ['Authorization', 'Capture']
  const agent = await create('application-agents', { application_id, name: 'bench', api_permissions })
  const credentials = await create('application-agent-credentials', { application_agent_id: agent.id })
  for (const [action, cypher] of [
    ['open', owns],
    ['read', mayRead],
  ] as const) {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: [action],
      resource: { type: 'Document' },
      condition: { cypher },
    })
    await create('authorization-policies', { project_id, name: action, policy, status: 'ACTIVE' })
  }

  const key = credentials.api_key as string
  const capture = async (kind: 'nodes' | 'relationships', items: readonly unknown[]): Promise<void> => {
    for (let from = 0; from < items.length; from += CAPTURE_ITEMS) {
      await send(`/capture/v1/${kind}`, { 'X-SVC-ClientKey': key }, { [kind]: items.slice(from, from + CAPTURE_ITEMS) })
    }
  }
  const node = (type: string, external_id: string) => ({ external_id, type, is_identity: type === 'Person' })
  const count = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at))
  await capture('nodes', [
    ...count(graph.people, (at) => node('Person', personId(at))),
    ...count(graph.groups, (at) => node('Group', groupId(at))),
    ...count(graph.documents, (at) => node('Document', documentId(at))),
  ])
  const person = (at: number) => ({ type: 'Person', external_id: personId(at) })
  const group = (at: number) => ({ type: 'Group', external_id: groupId(at) })
  const document = (at: number) => ({ type: 'Document', external_id: documentId(at) })
  const relationships: unknown[] = []
  for (let at = 0; at < graph.ofPerson.length; at++) {
    const source = person(Math.floor(at / 10))
    const end = graph.ofPerson[at] as number
    if (at % 10 < 5) relationships.push({ source, type: 'OWNS', target: document(end) })
    else relationships.push({ source, type: 'MEMBER', target: group(end) })
  }
  for (let at = 0; at < graph.ofGroup.length; at++) {
    const target = document(graph.ofGroup[at] as number)
    relationships.push({ source: group(Math.floor(at / 10)), type: 'MAY_READ', target })
  }
  await capture('relationships', relationships)
  return key
}
