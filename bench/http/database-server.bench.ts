// What does a graph in a database server cost? The same questions over HTTP to two services, one with the embedded store and one with
// Neo4j on the same machine, one after the other on one connection; every answer is checked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNeo4j } from '../../test/support/counterparts/neo4j.ts'
import { type Bench, mustEqual, round } from '../harness.ts'
import { mayRead, ownedBy, ownershipGraph, owns, questions, readableBy } from '../ownership-graph.ts'
import { endAll } from './processes.ts'
import { type BenchService, headers, serve } from './service.ts'

const WARM_UP = 100

interface CheckedRequest {
  readonly path: string
  readonly body: string
  check(answer: Record<string, unknown>): void
}

export const databaseServer: Bench = {
  name: 'servers',
  question:
    'decisions, searches and captures on a graph in Neo4j, compared with the embedded store (needs Java and Maven)',
  async run({ small, seed, report }) {
    const nodes = small ? 1_000 : 10_000
    const rounds = small ? 300 : 2_000
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-servers-'))
    const children: Bun.Subprocess[] = []
    const neo4j = await startNeo4j({ purpose: 'measured' })
    try {
      const graph = ownershipGraph(nodes, seed)
      const policies = [
        { action: 'open', cypher: owns },
        { action: 'read', cypher: mayRead },
      ]
      report.note(`capturing ${nodes} nodes into both`)
      const services = {
        embedded: await serve(join(folder, 'embedded'), graph, policies, children),
        server: await serve(join(folder, 'server'), graph, policies, children, neo4j.url),
      }
      const evaluation = (action: string, reach: typeof ownedBy): CheckedRequest[] =>
        questions(graph, rounds, seed + 1, reach).map(({ subject, resource, granted }) => ({
          path: '/access/v1/evaluation',
          body: JSON.stringify({
            subject: { type: 'Person', id: subject },
            action: { name: action },
            resource: { type: 'Document', id: resource },
          }),
          check: ({ decision }) => mustEqual('a decision', decision, granted),
        }))
      const search = questions(graph, rounds, seed + 2, readableBy).map(
        ({ subject }): CheckedRequest => ({
          path: '/access/v1/search/resource',
          body: JSON.stringify({
            subject: { type: 'Person', id: subject },
            action: { name: 'read' },
            resource: { type: 'Document' },
          }),
          check: ({ results }) => {
            const person = Number(subject.split('-')[1])
            mustEqual('the number of results', (results as unknown[]).length, readableBy(graph, person).length)
          },
        }),
      )
      const captures = Array.from(
        { length: rounds },
        (_, at): CheckedRequest => ({
          path: '/capture/v1/nodes',
          body: JSON.stringify({
            nodes: [{ type: 'Person', external_id: `new-${at}`, properties: [{ type: 'age', value: at }] }],
          }),
          check: ({ results }) => mustEqual('the number of ids', (results as unknown[]).length, 1),
        }),
      )
      const asked = {
        check_one_hop: evaluation('open', ownedBy),
        check_two_hops: evaluation('read', readableBy),
        search_resources: search,
        capture_one_node: captures,
      }
      for (const [question, requests] of Object.entries(asked)) {
        const times: Record<string, number[]> = { embedded: [], server: [] }
        for (const [at, request] of requests.entries()) {
          for (const [name, service] of Object.entries(services)) {
            const tookMs = await ask(service, request)
            if (at >= WARM_UP) times[name]!.push(tookMs)
          }
        }
        const [embedded, server] = [percentiles(times.embedded!), percentiles(times.server!)]
        report.line({
          question,
          embedded_p50_ms: embedded.p50,
          embedded_p99_ms: embedded.p99,
          server_p50_ms: server.p50,
          server_p99_ms: server.p99,
          ratio_p50: round(server.p50 / embedded.p50, 1),
        })
      }
    } finally {
      await endAll(children)
      await neo4j.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function ask({ url, key }: BenchService, { path, body, check }: CheckedRequest): Promise<number> {
  const startedMs = performance.now()
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: headers(key), body })
  const answer = (await response.json()) as Record<string, unknown>
  const tookMs = performance.now() - startedMs
  mustEqual('the status', response.status, 200)
  check(answer)
  return tookMs
}

function percentiles(times: number[]): { readonly p50: number; readonly p99: number } {
  const sorted = times.sort((a, b) => a - b)
  const at = (part: number): number => round(sorted[Math.floor(sorted.length * part)] ?? 0, 3)
  return { p50: at(0.5), p99: at(0.99) }
}
