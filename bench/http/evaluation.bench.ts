// What does a decision over HTTP cost compared with a baseline server, and an item of a batch compared with a single
// request? Server, baseline servers and load generator are separate processes; rounds alternate between them; every
// response is checked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AnswerHash, type Bench, median, mustEqual, round } from '../harness.ts'
import { mayRead, ownedBy, ownershipGraph, owns, questions, readableBy } from '../ownership-graph.ts'
import { endAll, listening } from './processes.ts'
import { loadRounds } from './rounds.ts'
import { headers, httpRequest, serve } from './service.ts'

const CONNECTIONS = 32
const BATCH = 100

export const evaluation: Bench = {
  name: 'http',
  question:
    'single evaluations over HTTP, 32 connections, compared with a plain Bun.serve (ratio_to_echo), and batches of 100',
  async run({ small, seed, report }) {
    const nodes = small ? 1_000 : 10_000
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-http-'))
    const children: Bun.Subprocess[] = []
    try {
      const graph = ownershipGraph(nodes, seed)
      report.note(`capturing ${nodes} nodes over HTTP`)
      const policies = [
        { action: 'open', cypher: owns },
        { action: 'read', cypher: mayRead },
      ]
      const { url, pid, key } = await serve(folder, graph, policies, children)

      const oneHop = questions(graph, 2_000, seed + 1, ownedBy).map((question) => ({ ...question, action: 'open' }))
      const twoHop = questions(graph, 2_000, seed + 2, readableBy).map((question) => ({ ...question, action: 'read' }))
      const asked = oneHop.flatMap((question, at) => [question, twoHop[at] as typeof question])
      const singles = asked.map(({ subject, resource, action, granted }) => {
        const body = JSON.stringify({
          subject: { type: 'Person', id: subject },
          action: { name: action },
          resource: { type: 'Document', id: resource },
        })
        const request = httpRequest('/access/v1/evaluation', headers(key), body)
        return { request, answer: `{"decision":${granted}}`, body }
      })
      const batches = Array.from({ length: singles.length / BATCH }, (_, at) => {
        const items = singles.slice(at * BATCH, (at + 1) * BATCH)
        const body = `{"evaluations":[${items.map((item) => item.body).join(',')}]}`
        const request = httpRequest('/access/v1/evaluations', headers(key), body)
        return { request, answer: `{"evaluations":[${items.map(({ answer }) => answer).join(',')}]}`, body }
      })
      const hash = new AnswerHash()
      const post = (path: string, body: string) =>
        fetch(`${url}${path}`, { method: 'POST', headers: headers(key), body }).then(async (response) => {
          return { text: await response.text(), headers: response.headers }
        })
      for (const { body, answer } of singles) {
        const { text } = await post('/access/v1/evaluation', body)
        mustEqual(`the decision of ${body}`, text, answer)
        hash.add(text)
      }
      for (const { body, answer } of batches) {
        mustEqual('the decisions of a batch', (await post('/access/v1/evaluations', body)).text, answer)
      }
      report.line({
        record: 'answers',
        count: hash.count,
        hash: hash.hex,
        granted: asked.filter((q) => q.granted).length,
      })

      const sample = await post('/access/v1/evaluation', singles[0]?.body as string)
      const sampleHeaders = Object.fromEntries(
        [...sample.headers].filter(([name]) => !['date', 'content-length'].includes(name)),
      )
      const given = JSON.stringify({ headers: sampleHeaders, body: sample.text })
      const echoed = singles.map(({ request }) => ({ request, answer: sample.text }))
      const plan = { rounds: small ? 3 : 8, seconds: small ? 0.5 : 2, connections: CONNECTIONS, note: report.note }
      const found = await loadRounds(
        [
          { name: 'evaluation', url, pid, exchanges: singles },
          {
            name: 'echo',
            ...(await listening(['bench/http/baseline-server.ts', 'echo', given], children)),
            exchanges: echoed,
          },
          {
            name: 'least',
            ...(await listening(['bench/http/baseline-server.ts', 'least', given], children)),
            exchanges: echoed,
          },
          { name: 'batch', url, pid, exchanges: batches },
        ],
        plan,
      )
      for (const name of ['evaluation', 'echo', 'least', 'batch']) report.line(found.line(name))

      const ratios = found.throughput('evaluation', 'echo')
      const cpu = (name: string, beside: string): number | null => {
        const ratio = found.cpu(name, beside)
        return ratio === null ? null : round(ratio)
      }
      const batchCpu = found.cpu('evaluation', 'batch')
      report.line({
        record: 'result',
        nodes,
        ratio_to_echo: round(median(ratios)),
        lowest_round: round(Math.min(...ratios)),
        highest_round: round(Math.max(...ratios)),
        cpu_ratio_to_echo: cpu('evaluation', 'echo'),
        ratio_to_least: round(median(found.throughput('evaluation', 'least'))),
        cpu_ratio_to_least: cpu('evaluation', 'least'),
        cpu_ratio_of_least_to_echo: cpu('least', 'echo'),
        batch_item_to_single: round(median(found.throughput('evaluation', 'batch')) / BATCH),
        cpu_batch_item_to_single: batchCpu === null ? null : round(batchCpu / BATCH),
      })
    } finally {
      await endAll(children)
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
