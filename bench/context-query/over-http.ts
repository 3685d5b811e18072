// Executions over HTTP compared with a baseline server that returns as much. An application is the subject, so no token
// is verified.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BenchReport, median, mustEqual, randomFrom, round } from '../harness.ts'
import { endAll, listening } from '../http/processes.ts'
import { type LoadTarget, loadRounds } from '../http/rounds.ts'
import { headers, httpRequest, serve } from '../http/service.ts'
import { documentId, ownedBy, ownershipGraph, personId } from '../ownership-graph.ts'

const CONNECTIONS = 32
const ASKED = 2_000

const policy = {
  meta: { policy_version: '1.0-ciq' },
  subject: { type: '_Application' },
  condition: {
    cypher: 'MATCH (subject:_Application {external_id: $_appId}), (p:Person {external_id: $who})-[:OWNS]->(d:Document)',
  },
  allowed_reads: { nodes: ['p.*', 'd.*'] },
}
const point = {
  ...policy,
  condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId}), (p:Person {external_id: $who})' },
  allowed_reads: { nodes: ['p.*'] },
}

export async function overHttp(small: boolean, seed: number, report: BenchReport): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-context-http-'))
  const children: Bun.Subprocess[] = []
  try {
    const graph = ownershipGraph(small ? 1_000 : 10_000, seed)
    const { url, pid, key, projectId: project_id, create } = await serve(folder, graph, [], children)
    const status = 'ACTIVE'
    for (const [name, document, query] of [
      ['point', point, { nodes: ['p.external_id', 'p.is_identity'] }],
      ['owned', policy, { nodes: ['d.external_id'] }],
    ] as const) {
      const of = { project_id, name: `${name}-policy`, policy: JSON.stringify(document), status }
      const { id } = await create('authorization-policies', of)
      await create('knowledge-queries', { project_id, name, policy_id: id, query: JSON.stringify(query), status })
    }
    const random = randomFrom(seed)
    const asked = Array.from({ length: ASKED }, () => random(graph.people))
    const path = '/contx-iq/v1/execute'
    const ask = async (id: string, person: number) => {
      const body = JSON.stringify({ id, input_params: { who: personId(person) } })
      const response = await fetch(`${url}${path}`, { method: 'POST', headers: headers(key), body })
      const answer = await response.text()
      return { request: httpRequest(path, headers(key), body), answer, headers: response.headers }
    }
    const sides: LoadTarget[] = []
    for (const id of ['point', 'owned']) {
      const exchanges = []
      for (const person of asked) exchanges.push(await ask(id, person))
      exchanges.forEach(({ answer }, at) => {
        const person = asked[at] as number
        const data = JSON.parse(answer).data as { nodes: Record<string, unknown> }[]
        const found = data.map(({ nodes }) => String(Object.values(nodes)[0])).toSorted()
        const expected = id === 'point' ? [personId(person)] : Array.from(ownedBy(graph, person), documentId).toSorted()
        mustEqual(`${id} of ${personId(person)}`, found.join(), expected.join())
      })
      const { answer, headers: told } = exchanges[0]!
      const same = Object.fromEntries([...told].filter(([name]) => !['date', 'content-length'].includes(name)))
      const echo = await listening(
        ['bench/http/baseline-server.ts', 'echo', JSON.stringify({ headers: same, body: answer })],
        children,
      )
      sides.push({ name: id, url, pid, exchanges })
      // The baseline server reads the subject from the parsed body.
      const body = JSON.stringify({ subject: {}, id, input_params: { who: personId(asked[0] as number) } })
      sides.push({
        name: `${id}_echo`,
        ...echo,
        exchanges: [{ request: httpRequest(path, headers(key), body), answer }],
      })
    }
    const plan = { rounds: small ? 3 : 6, seconds: small ? 0.5 : 1.5, connections: CONNECTIONS, note: report.note }
    const found = await loadRounds(sides, plan)
    for (const { name } of sides) report.line(found.line(name))
    for (const id of ['point', 'owned']) {
      const cpu = found.cpu(id, `${id}_echo`)
      report.line({
        record: `${id}_over_http`,
        ratio_to_echo: round(median(found.throughput(id, `${id}_echo`))),
        cpu_ratio_to_echo: cpu === null ? null : round(cpu),
      })
    }
  } finally {
    await endAll(children)
    rmSync(folder, { recursive: true, force: true })
  }
}
