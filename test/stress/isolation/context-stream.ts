// Knowledge queries of one project compared with the service oracle: records, and after writes and captures the whole
// graph, read from an export. After a request that a lane refused, the graph must be either the old or the new one.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import type { Random } from '../../generate/random.ts'
import { INPUT, randomCase } from '../../oracle/service/context-case.ts'
import { type NaiveContextCase, naiveAnswer, writesOf } from '../../oracle/service/context-query.ts'
import { recordText } from '../../oracle/service/context-records.ts'
import { policyDocument, queryDocument } from '../../oracle/service/context-text.ts'
import { type NaiveGraph, readExport } from '../../oracle/service/graph.ts'
import { NaiveTooManyRowsError } from '../../oracle/service/match.ts'
import { randomGraph } from '../../oracle/service/random-graph.ts'
import { UnmodelledError } from '../../oracle/service/terms.ts'
import { makePeople, type People } from '../../support/user-tokens.ts'
import { LaneRefusalError, type Requests, StreamError } from './requests.ts'

const DRAWS = 12
const CLAIMS = { level: 2, roles: ['n1', 'p0'], act: { sub: 'p3' }, email: 'p1@example.org' }
const TRIES_MAX = 100
/** Queries that are kept for later runs. */
const QUERIES = 30
const NOTES = 8

interface PendingQuery {
  readonly one: NaiveContextCase
  readonly id: string
  readonly sub: string | null
}

export class ContextStream {
  private readonly requests: Requests
  private readonly random: Random
  private readonly name: string
  private readonly data: string
  private project = ''
  private key = ''
  private people: People | null = null
  private graph: NaiveGraph | null = null
  private queries: PendingQuery[] = []
  private dear = ''
  private named = 0

  constructor(requests: Requests, random: Random, number: number, data: string) {
    this.requests = requests
    this.random = random
    this.name = `context-${number}`
    this.data = data
  }

  async run(): Promise<void> {
    const { requests, random } = this
    const { id, key, application } = await requests.project(this.name)
    this.project = id
    this.key = key
    this.people = await makePeople('Person')
    await requests.create('token-introspects', {
      project_id: id,
      ...this.people.introspect,
      name: 'people',
      claims_mapping: { email: { selector: 'email' } },
    } as { name: string; project_id: string })
    const { nodes, relationships } = randomGraph(random, application)
    await requests.capture(key, 'nodes', { nodes })
    await requests.capture(key, 'relationships', { relationships })
    await this.addDearQuery()
    this.graph = await this.withCallers()
    while (!requests.isOver) {
      const step = random.weighted([
        [5, () => this.query()],
        [2, () => this.capture()],
        [1, () => this.writeDear()],
      ])
      await step()
    }
    await this.compare([this.graph], 'at the end')
  }

  /** The graph once it has the nodes of all applications and agents, which the service writes after their configuration. */
  private async withCallers(): Promise<NaiveGraph> {
    const { requests, project } = this
    const { admin: headers } = requests.fixture
    const listed = async (kind: string): Promise<number> => {
      const path = `/configs/v1/${kind}?project_id=${project}&full_fetch=true`
      const { status, text, body } = await requests.again(() => requests.send(path, { method: 'GET', headers }))
      if (status !== 200) throw new StreamError(`${path} answered ${status}: ${text}`)
      return (body.data as unknown[]).length
    }
    for (let tries = 1; ; tries++) {
      const callers = (await listed('applications')) + (await listed('application-agents'))
      const graph = await this.exported()
      const found = [...graph.nodes.values()].filter(({ type }) => type === '_Application' || type === '_AppAgent')
      if (found.length === callers) return graph
      if (tries === TRIES_MAX)
        throw new StreamError(`${this.name}: the graph has ${found.length} nodes of ${callers} applications and agents`)
      await Bun.sleep(100)
    }
  }

  private async exported(): Promise<NaiveGraph> {
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-naive-'))
    const out = join(folder, 'graph.ndjson')
    try {
      await exportFolder({ dataDir: this.data, out, projectId: this.project, progress: () => undefined })
      return readExport(readFileSync(out, 'utf8'))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  /** Reads the current graph, which must be one of these; returns which. */
  private async compare(expected: readonly NaiveGraph[], after: string): Promise<number> {
    const found = await this.exported()
    this.requests.count('graphs compared')
    const lines = found.lines()
    const at = expected.findIndex((graph) => graph.lines().join('\n') === lines.join('\n'))
    if (at < 0) {
      const differences = expected.map((graph) => {
        const want = graph.lines()
        const missing = want.filter((line) => !lines.includes(line))
        const beyond = lines.filter((line) => !want.includes(line))
        return `missing ${missing.join('\n  ')}\nbeyond ${beyond.join('\n  ')}`
      })
      throw new StreamError(`${this.name}: the graph is not as expected ${after}\n${differences.join('\nor\n')}`)
    }
    this.graph = found
    return at
  }

  // -- knowledge queries

  private parameters(sub: string | null): Record<string, unknown> {
    return { ...INPUT, token: sub === null ? {} : { ...CLAIMS, sub } }
  }

  private async headers(sub: string | null): Promise<Record<string, string>> {
    const token = sub === null ? null : await this.people?.tokenOf(sub, CLAIMS)
    return { 'x-svc-clientkey': this.key, ...(token !== null && { authorization: `Bearer ${token}` }) }
  }

  /** The result of the oracle, and the graph that it leaves; null if the oracle does not model the case. */
  private expected({ one, sub }: Pick<PendingQuery, 'one' | 'sub'>) {
    const after = (this.graph as NaiveGraph).copy()
    try {
      return { after, answer: naiveAnswer(one, after, this.parameters(sub)) }
    } catch (fault) {
      if (!(fault instanceof NaiveTooManyRowsError) && !(fault instanceof UnmodelledError)) throw fault
      return null
    }
  }

  private async query(): Promise<void> {
    const { random, queries } = this
    const isNew = queries.length === 0 || random.odds(0.3)
    const asked = isNew ? await this.store() : random.pick(queries)
    await this.ask(asked)
  }

  /** Most conditions find nothing in a small graph: draws several and takes the first that does. */
  private async store(): Promise<PendingQuery> {
    const { random } = this
    let draft: Pick<PendingQuery, 'one' | 'sub'>
    for (let draws = 1; ; draws++) {
      const subjectType = random.weighted([
        [5, 'Person'],
        [1, '_Application'],
        [1, 'Car'],
      ] as const)
      const sub = subjectType === '_Application' ? null : random.pick(['p0', 'p1', 'p2'])
      draft = { one: randomCase(random, subjectType), sub }
      const answer = this.expected(draft)?.answer
      if (draws === DRAWS || (Array.isArray(answer) && answer.length > 0)) break
    }
    this.named += 1
    const id = await this.addQuery(`q${this.named}`, policyDocument(draft.one), queryDocument(draft.one))
    const asked = { ...draft, id }
    this.queries = [...this.queries, asked].slice(-QUERIES)
    return asked
  }

  private async addQuery(name: string, policy: object, query: object): Promise<string> {
    const common = { project_id: this.project, status: 'ACTIVE' }
    const text = JSON.stringify({ meta: { policy_version: '1.0-ciq' }, ...policy })
    const policy_id = await this.requests.create('authorization-policies', {
      ...common,
      name: `${name}-policy`,
      policy: text,
    } as { name: string; project_id: string })
    this.requests.count('policies')
    const body = { ...common, name, policy_id, query: JSON.stringify(query) }
    return this.requests.create('knowledge-queries', body)
  }

  private execute(id: string, headers: Record<string, string>, input_params: object) {
    const body = { id, input_params, page_size: 10_000 }
    return this.requests.send('/contx-iq/v1/execute', { headers, body })
  }

  private async ask(asked: PendingQuery): Promise<void> {
    const { requests } = this
    const { one, id, sub } = asked
    const text = `query ${JSON.stringify(policyDocument(one))} ${JSON.stringify(queryDocument(one))} of ${sub}`
    const writes = writesOf(one) > 0
    const headers = await this.headers(sub)
    for (let tries = 1; ; tries++) {
      const expected = this.expected(asked)
      if (expected === null) return requests.count('not modelled')
      const { after, answer } = expected
      const before = this.graph as NaiveGraph
      try {
        const { status, text: found, body } = await this.execute(id, headers, INPUT)
        if (!Array.isArray(answer)) {
          requests.count('refused by the model')
          if (!answer.statuses.includes(status))
            throw new StreamError(`${text}\nexpected ${answer.statuses}, found ${found}`)
          return
        }
        if (status !== 200) throw new StreamError(`${text}\nexpected 200, found ${status} ${found}`)
        const want = answer.map((record) => recordText({ ...record })).sort()
        const records = (body.data as Record<string, unknown>[]).map(recordText).sort()
        if (want.join('\n') !== records.join('\n')) {
          throw new StreamError(
            `${text}\nexpected ${want.length}: ${want.slice(0, 5)}\nfound ${records.length}: ${records.slice(0, 5)}`,
          )
        }
        requests.count(records.length === 0 ? 'no rows' : writes ? 'wrote' : 'rows')
        if (writes && records.length > 0) await this.compare([after], `after ${text}`)
        return
      } catch (fault) {
        if (!(fault instanceof LaneRefusalError)) throw fault
        if (tries === TRIES_MAX) throw new StreamError(`${text} was refused ${tries} times: ${fault.message}`)
        if (!writes) continue
        const at = await this.compareRefused(
          before,
          Array.isArray(answer) ? after : before,
          `after ${text} was refused`,
        )
        requests.count(at === 0 ? 'refused and not written' : 'refused and written')
      }
    }
  }

  /** A killed lane may still be committing. */
  private async compareRefused(before: NaiveGraph, after: NaiveGraph, text: string): Promise<number> {
    await Bun.sleep(20)
    return this.compare([before, after], text)
  }

  // -- slow requests that write

  private async addDearQuery(): Promise<void> {
    const cypher =
      'MATCH (subject:_Application {external_id: $_appId}), (n:Note {external_id: $note}) WHERE reduce(s = 0, x IN $items | s + reduce(t = 0, y IN $few | t + y)) = $sum'
    this.dear = await this.addQuery(
      'dear',
      {
        subject: { type: '_Application' },
        condition: { cypher },
        allowed_reads: { nodes: ['n.*'] },
        allowed_upserts: { nodes: { existing_nodes: ['n'] } },
      },
      { nodes: ['n.external_id'], upsert_nodes: [{ name: 'n', properties: [{ type: 'num', value: '$value' }] }] },
    )
  }

  private async writeDear(): Promise<void> {
    const { random, requests } = this
    const items = Array.from({ length: random.between(1, 2000) }, (_, i) => i)
    const few = Array.from({ length: 300 }, () => random.between(0, 3))
    const right = items.length * few.reduce((sum, one) => sum + one, 0)
    const isRight = random.odds(0.7)
    const note = random.pick(['n0', 'n1', 'k0', 'k1', 'zz'])
    const value = random.between(0, 3)
    const input = { items, few, sum: isRight ? right : right - 1, note, value }
    const headers = await this.headers(null)
    for (let tries = 1; ; tries++) {
      const before = this.graph as NaiveGraph
      const after = before.copy()
      const node = isRight ? after.nodes.get(`Note/${note}`) : undefined
      node?.properties.set('num', { value, metadata: {} })
      try {
        const { status, text } = await this.execute(this.dear, headers, input)
        const want = JSON.stringify({ data: node === undefined ? [] : [{ nodes: { 'n.external_id': note } }] })
        if (status !== 200 || text !== want)
          throw new StreamError(`${this.name}: dear query: ${status} ${text}, not ${want}`)
        requests.count('dear writes')
        await this.compare([after], `after a dear query of ${note}`)
        return
      } catch (fault) {
        if (!(fault instanceof LaneRefusalError)) throw fault
        if (tries === TRIES_MAX) throw new StreamError(`a dear query was refused ${tries} times: ${fault.message}`)
        const at = await this.compareRefused(before, after, `after a dear query of ${note} was refused`)
        requests.count(at === 0 ? 'refused and not written' : 'refused and written')
      }
    }
  }

  // -- captures

  private async capture(): Promise<void> {
    const { random, requests } = this
    const { path, body, apply } = this.batch()
    const headers = { 'x-svc-clientkey': this.key }
    for (let tries = 1; ; tries++) {
      const before = this.graph as NaiveGraph
      const after = before.copy()
      apply(after)
      try {
        const { status, text } = await requests.send(`/capture/v1/${path}`, { headers, body })
        if (status !== 200) throw new StreamError(`${this.name}: ${path} ${JSON.stringify(body)}: ${status} ${text}`)
        requests.count('captured')
        if (random.odds(0.3)) await this.compare([after], `after ${path} ${JSON.stringify(body)}`)
        else this.graph = after
        return
      } catch (fault) {
        if (!(fault instanceof LaneRefusalError)) throw fault
        if (tries === TRIES_MAX) throw new StreamError(`${path} was refused ${tries} times: ${fault.message}`)
        await this.compareRefused(before, after, `after ${path} ${JSON.stringify(body)} was refused`)
      }
    }
  }

  /** Several nodes at a time, so that a partly stored batch is visible. */
  private batch(): { path: string; body: object; apply: (graph: NaiveGraph) => void } {
    const { random } = this
    const ids = Array.from({ length: NOTES }, (_, i) => `k${i}`).filter(() => random.odds(0.6))
    const notes = ids.length === 0 ? ['k0'] : ids
    const there = notes.filter((id) => (this.graph as NaiveGraph).nodes.has(`Note/${id}`))
    const key = (external_id: string) => ({ type: 'Note', external_id })
    if (there.length > 0 && random.odds(0.3)) {
      return {
        path: 'nodes/delete',
        body: { nodes: there.map(key) },
        apply(graph) {
          for (const id of there) {
            const node = graph.nodes.get(`Note/${id}`)
            if (node !== undefined) graph.removeNode(node)
          }
        },
      }
    }
    const car = { type: 'Car', external_id: 'c0' }
    if (there.length > 0 && (this.graph as NaiveGraph).nodes.has('Car/c0') && random.odds(0.4)) {
      return {
        path: 'relationships',
        body: { relationships: there.map((id) => ({ source: key(id), type: 'ABOUT', target: car })) },
        apply(graph) {
          const target = graph.nodes.get('Car/c0')
          for (const id of there) {
            const source = graph.nodes.get(`Note/${id}`)
            if (source !== undefined && target !== undefined) graph.putRelationship(source, 'ABOUT', target)
          }
        },
      }
    }
    const value = random.between(0, 3)
    const name = random.pick(['n0', 'n1', 'p1'])
    const properties = [
      { type: 'num', value },
      { type: 'name', value: name },
    ]
    return {
      path: 'nodes',
      body: { nodes: notes.map((id) => ({ ...key(id), properties })) },
      apply(graph) {
        for (const id of notes) {
          const { node } = graph.putNode('Note', id)
          node.properties.set('num', { value, metadata: {} })
          node.properties.set('name', { value: name, metadata: {} })
        }
      },
    }
  }
}
