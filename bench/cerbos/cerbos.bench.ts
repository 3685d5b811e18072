// The same decisions by this service and by Cerbos over the same standard interface, at 1 and at 32 connections, in the
// same run.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AnswerHash, type Bench, median, mustEqual, round } from '../harness.ts'
import { endAll } from '../http/processes.ts'
import { loadRounds } from '../http/rounds.ts'
import { headers, httpRequest, serve } from '../http/service.ts'
import { mayRead, ownedBy, ownershipGraph, owns, questions, readableBy } from '../ownership-graph.ts'
import { factsOf } from './facts.ts'
import { startCerbos } from './server.ts'

const PATH = '/access/v1/evaluation'

export const cerbos: Bench = {
  name: 'cerbos',
  question:
    'the same model and decisions on Cerbos over its AuthZEN endpoint: p50, p99, requests/s at 1 and 32 connections',
  async run({ small, seed, report }) {
    const nodes = small ? 1_000 : 10_000
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-cerbos-'))
    const children: Bun.Subprocess[] = []
    try {
      const peer = await startCerbos(folder, children)
      if (peer === null) {
        report.line({ record: 'absent', engine: 'cerbos', why: 'npm install in bench/cerbos brings it' })
        return
      }
      const graph = ownershipGraph(nodes, seed)
      report.note(`capturing ${nodes} nodes over HTTP`)
      const policies = [
        { action: 'open', cypher: owns },
        { action: 'read', cypher: mayRead },
      ]
      const ours = await serve(join(folder, 'data'), graph, policies, children)

      const { groups, owners, readers } = factsOf(graph)
      const count = small ? 500 : 5_000
      const oneHop = questions(graph, count, seed + 1, ownedBy).map((question) => ({ ...question, action: 'open' }))
      const twoHop = questions(graph, count, seed + 2, readableBy).map((question) => ({ ...question, action: 'read' }))
      const asked = oneHop.flatMap((question, at) => [question, twoHop[at] as typeof question])
      const json = { 'Content-Type': 'application/json' }
      const exchanges = (more: Record<string, string>, withFacts: boolean) =>
        asked.map(({ subject, resource, action, granted }) => {
          const body = JSON.stringify({
            subject: {
              type: 'Person',
              id: subject,
              ...(withFacts ? { properties: { groups: groups.get(subject) ?? [] } } : {}),
            },
            action: { name: action },
            resource: {
              type: 'Document',
              id: resource,
              ...(withFacts
                ? { properties: { owners: owners.get(resource) ?? [], readers: readers.get(resource) ?? [] } }
                : {}),
            },
          })
          return { request: httpRequest(PATH, more, body), answer: `{"decision":${granted}}`, body }
        })
      const sides = [
        { name: 'verdigraph', ...ours, headers: headers(ours.key), exchanges: exchanges(headers(ours.key), false) },
        { name: 'cerbos', ...peer, headers: json, exchanges: exchanges(json, true) },
      ]
      const hash = new AnswerHash()
      for (const side of sides) {
        for (const { body, answer } of side.exchanges) {
          const response = await fetch(`${side.url}${PATH}`, { method: 'POST', headers: side.headers, body })
          const text = await response.text()
          mustEqual(`${side.name}, the decision of ${body}`, text, answer)
          if (side.name === 'verdigraph') hash.add(text)
        }
      }
      report.line({
        record: 'answers',
        count: hash.count,
        hash: hash.hex,
        granted: asked.filter((question) => question.granted).length,
      })

      for (const connections of [1, 32]) {
        const plan = { rounds: small ? 2 : 5, seconds: small ? 0.5 : 2, connections, note: report.note }
        const found = await loadRounds(sides, plan)
        for (const { name } of sides) report.line({ ...found.line(name), record: 'side', side: name })
        const cpu = found.cpu('verdigraph', 'cerbos')
        const latency = (pick: 'p50Us' | 'p99Us'): number =>
          round(
            median(found.of('verdigraph').map((one) => one[pick])) / median(found.of('cerbos').map((one) => one[pick])),
          )
        report.line({
          record: 'result',
          connections,
          requests_to_cerbos: round(median(found.throughput('verdigraph', 'cerbos'))),
          p50_to_cerbos: latency('p50Us'),
          p99_to_cerbos: latency('p99Us'),
          cpu_of_cerbos_to_ours: cpu === null ? null : round(cpu),
        })
      }
    } finally {
      await endAll(children)
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
