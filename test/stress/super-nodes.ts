// A node with very many relationships: the store accesses to add one, delete one, check one, and read the first ones
// must be as few as for a node with few.
// Run alone: bun test/stress/super-nodes.ts [--degree 1000000]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Graph } from '../../src/engine/graph.ts'
import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import type { DecisionDeps } from '../../src/pdp/decision-deps.ts'
import { searchSubjects } from '../../src/pdp/search.ts'
import { compileDecisionPolicy } from '../../src/policy/compile-policy.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import { checkGraph } from '../../src/store/integrity/check-graph.ts'
import { caller, partsOver } from '../oracle/decision-consistency.ts'
import { countReads, type ReadStatistics, reset } from '../support/read-statistics.ts'
import { numberAfter } from './flags.ts'

const HUB = { type: 'Group', externalId: 'all' }
const member = (number: number) => ({ type: 'Person', externalId: `person-${number}` })
const LOAD_ITEMS = 50_000

/** Operations that grow with the node: they return or count everything. */
export const WHOLE = ['find all members', 'count the members of a search', 'all pages of its members'] as const

/** A page reads its results and a little ahead, in a long list through its index: a bounded amount at any length. */
export const PAGES = [
  'first page of those who belong',
  'second page of those who belong',
  'first page of those who open',
  'second page of those who open',
] as const
export const PAGE_READS_MAX = 400

const PAGE = 100
/** Of the pages that together are the whole result. */
const LARGE_PAGE = 10_000

export interface Work extends ReadStatistics {
  readonly ms: number
  readonly answer: unknown
}

export interface SuperNodeWork {
  readonly degree: number
  readonly work: Readonly<Record<string, Work>>
  readonly findings: readonly string[]
}

/** Each operation is done twice and the second one counted: the first may add names that are new to the process. */
export async function superNodeWork(degree: number): Promise<SuperNodeWork> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-super-'))
  // Without the cache, so that every read is counted.
  const environment = openEnvironment(folder, { clock: systemClock, sync: false, cacheBytes: 0 })
  try {
    const at = Math.floor(degree / 2)
    await environment.bulkLoad((batch) => {
      batch.upsertNode(HUB)
      batch.upsertNode({ type: 'Door', externalId: 'front' })
      batch.upsertRelationship({ source: HUB, type: 'OPENS', target: { type: 'Door', externalId: 'front' } })
      for (const number of [-4, -3, -2, -1]) batch.upsertNode(member(number))
    })
    for (let from = 0; from < degree; from += LOAD_ITEMS) {
      await environment.bulkLoad((batch) => {
        for (let number = from; number < Math.min(degree, from + LOAD_ITEMS); number++) {
          batch.upsertNode(member(number))
          batch.upsertRelationship({ source: member(number), type: 'IN', target: HUB })
        }
      })
    }
    const graph = new Graph(environment)
    const touched = countReads(environment)
    const work: Record<string, Work> = {}
    const measure = async (name: string, run: (time: 1 | 2) => unknown): Promise<void> => {
      await run(1)
      reset(touched)
      const start = performance.now()
      const answer = await run(2)
      work[name] = { ...touched, ms: Math.round((performance.now() - start) * 100) / 100, answer }
    }
    const enter = (number: number) =>
      environment.write((batch) => {
        batch.upsertRelationship({ source: member(number), type: 'IN', target: HUB })
      })
    const leave = (number: number) =>
      environment.write(
        (batch) => batch.deleteRelationship({ source: member(number), type: 'IN', target: HUB }) !== null,
      )
    // Nodes with low numbers precede all others in the list; those in the middle are inside it.
    await measure('add to the front of the list', (time) => enter(-time))
    await measure('add what is there', () => enter(at))
    await measure('delete from the middle', (time) => leave(at + time))
    await measure('add to the middle', (time) => enter(at + time))
    await measure('change the node itself', (time) =>
      environment.write((batch) => {
        batch.upsertNode({ ...HUB, properties: [{ name: 'note', value: time }] })
      }),
    )
    const belongs = graph.prepare('MATCH (subject:Person)-[:IN]->(resource:Group)')
    const opens = graph.prepare('MATCH (subject:Person)-[:IN]->(:Group)-[:OPENS]->(resource:Door)')
    const group = ['Group', 'all'] as const
    const door = ['Door', 'front'] as const
    for (const [who, number] of [
      ['a member', at],
      ['a stranger', -3],
    ] as const) {
      const subject = ['Person', `person-${number}`] as const
      await measure(`check ${who} against it`, () => belongs.exists({ subject, resource: group }))
      await measure(`check ${who} through it`, () => opens.exists({ subject, resource: door }))
    }
    await measure('the first ten rows', () => {
      return graph.query("MATCH (g:Group {external_id: 'all'})<-[:IN]-(p) RETURN p.external_id LIMIT 10").rows.length
    })
    await measure('is there any', () => {
      return graph.query("MATCH (g:Group {external_id: 'all'}) RETURN EXISTS { (g)<-[:IN]-() }").rows
    })
    const decisions = decisionsOver(environment)
    const search = (action: string, resource: typeof group | typeof door, page: object) => {
      const answer = searchSubjects(decisions, caller, noOrigin, {
        subject: { type: 'Person' },
        action: { name: action },
        resource: { type: resource[0], id: resource[1] },
        page,
      })
      if (!answer.ok) throw new Error(JSON.stringify(answer.error))
      return answer.value
    }
    for (const [action, end] of [
      ['belong', group],
      ['open', door],
    ] as const) {
      await measure(`first page of those who ${action}`, () => search(action, end, { limit: PAGE }).results.length)
      const { page } = search(action, end, { limit: PAGE })
      const token = page?.next_token ?? ''
      await measure(`second page of those who ${action}`, () => search(action, end, { token }).results.length)
    }
    const [all, count, pages] = WHOLE
    await measure(all, () => belongs.find('subject', { resource: group }).length)
    await measure(count, () => search('belong', group, { limit: 0 }).page?.total)
    await measure(pages, () => {
      let found = 0
      let page: object = { limit: LARGE_PAGE }
      for (;;) {
        const answer = search('belong', group, page)
        found += answer.results.length
        const token = answer.page?.next_token ?? ''
        if (token === '') return found
        page = { token }
      }
    })
    return { degree, work, findings: checkGraph(environment) }
  } finally {
    await environment.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

export function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name)
}

function decisionsOver(environment: LmdbEnvironment): DecisionDeps {
  const policies = [
    ['belong', 'Group', 'MATCH (subject:Person)-[:IN]->(resource:Group)'],
    ['open', 'Door', 'MATCH (subject:Person)-[:IN]->(:Group)-[:OPENS]->(resource:Door)'],
  ].map(([action = '', type, cypher]) => {
    const compiled = compileDecisionPolicy(
      JSON.stringify({
        meta: { policy_version: '3.0-kbac' },
        subject: { type: 'Person' },
        actions: [action],
        resource: { type },
        condition: { cypher },
      }),
    )
    if (!compiled.ok) throw new Error(compiled.error[0])
    return { ...compiled.value, id: action, name: action, revision: 1, tags: [] }
  })
  return partsOver({ default: environment, global: null, at: () => null }, policies)
}

if (import.meta.main) {
  const outcomes = []
  for (const degree of [2000, numberAfter('--degree', 1_000_000)]) {
    outcomes.push(await superNodeWork(degree))
  }
  const [few, many] = outcomes.map(({ work }) => work) as [SuperNodeWork['work'], SuperNodeWork['work']]
  const told = Object.entries(many).map(([name, { ms, reads, bytesRead, writes, bytesWritten }]) => {
    const readsMax = isOneOf(PAGES, name) ? PAGE_READS_MAX : few[name]!.reads
    const grows = reads > readsMax || writes > few[name]!.writes || bytesWritten > few[name]!.bytesWritten
    return { name, ms, reads, bytesRead, writes, bytesWritten, grows }
  })
  console.table(told)
  const isFound = outcomes.some(({ findings }) => findings.length > 0)
  process.exit(isFound || told.some(({ name, grows }) => grows && !isOneOf(WHOLE, name)) ? 1 : 0)
}
