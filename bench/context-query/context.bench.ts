// What does a context query cost in process, compared with the reads that it needs?
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DocumentFields, StoredDocument } from '../../src/config/kind.ts'
import { compileStoredQuery } from '../../src/context-query/compile-query.ts'
import { type ContextQueryDeps, executeQuery } from '../../src/context-query/execute.ts'
import type { PropertyInput } from '../../src/engine/store.ts'
import type { AgentCaller } from '../../src/kernel/request/caller.ts'
import { InlineHistory } from '../../src/kernel/request/inline-history.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { noModel } from '../../src/model/stored-model.ts'
import { ExternalDataResolvers } from '../../src/pip/resolution.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import { RecordedReads } from '../engine/recorded-reads.ts'
import {
  AnswerHash,
  type Bench,
  type BenchRecord,
  interleaved,
  mustEqual,
  quantile,
  randomFrom,
  round,
  type TimedCall,
} from '../harness.ts'
import { overHttp } from './over-http.ts'

const BATCH = 10
const CARS_OF_EACH = 5
/** For the keeper of the fleet: paged and counted. */
const FLEET = 10_000
/** Cars of the lessor: the rows of `whole_relationships`. */
const LEASED = 40
const WRITES = 300

interface BenchQuery {
  readonly name: string
  readonly cypher: string
  readonly reads: object
  readonly query: object
  /** The subject: many people, or one person. */
  readonly of: 'people' | 'keeper' | 'lessor'
  readonly rows: number
  /** Throws if a record is not as the graph was loaded. */
  readonly check?: (record: unknown) => void
}

const subject = { operator: '=', attribute: 'subject.external_id', value: '$who' }
const queries: readonly BenchQuery[] = [
  {
    name: 'point_read',
    cypher: 'MATCH (subject:Person)',
    reads: { nodes: ['subject.*'] },
    query: { nodes: ['subject.external_id', 'subject.property.name', 'subject.property.age'] },
    of: 'people',
    rows: 1,
  },
  {
    name: 'two_hops_three_optional',
    cypher:
      'MATCH (subject:Person)-[:OWNS]->(car:Car)-[:PARKED]->(place:Place) OPTIONAL MATCH (car)-[:INSURED]->(insurer) OPTIONAL MATCH (place)-[:IN]->(city) OPTIONAL MATCH (car)-[:KEPT]->(keeper)',
    reads: { nodes: ['car.*', 'place.*', 'insurer.*', 'city.*', 'keeper.*'] },
    query: { nodes: ['car.property.price', 'place.external_id', 'insurer.external_id', 'city.external_id', 'keeper'] },
    of: 'people',
    rows: CARS_OF_EACH,
  },
  {
    name: 'page_of_100',
    cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
    reads: { nodes: ['car.*'] },
    query: { nodes: ['car.external_id', 'car.property.price'] },
    of: 'keeper',
    rows: 100,
  },
  {
    name: 'aggregate_10000',
    cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car) WITH subject, count(car) AS cars, avg(car.price) AS mean',
    reads: { aggregate_values: ['cars', 'mean'] },
    query: { aggregate_values: ['cars', 'mean'] },
    of: 'keeper',
    rows: 1,
  },
  {
    name: 'whole_relationships',
    cypher: 'MATCH (subject:Person)-[owns:OWNS]->(car:Car)-[parked:PARKED]->(place:Place)',
    reads: { relationships: ['owns', 'parked'] },
    query: { relationships: ['owns', 'parked'] },
    of: 'lessor',
    rows: LEASED,
    check: (record) => {
      const { owns, parked } = (record as { relationships: Record<'owns' | 'parked', WholeRelationship> }).relationships
      mustEqual('types', [owns.Type, parked.Type].join(), 'OWNS,PARKED')
      mustEqual('the car between', `${owns.EndId} ${owns.EndElementId}`, `${parked.StartId} ${parked.StartElementId}`)
      mustEqual('since', owns.Props.since, 2020)
      mustEqual('ids', [owns.ElementId, parked.ElementId].join(), [owns.Props.id, parked.Props.id].join())
    },
  },
]

interface WholeRelationship {
  readonly Type: string
  readonly ElementId: string
  readonly StartId: number
  readonly StartElementId: string
  readonly EndId: number
  readonly EndElementId: string
  readonly Props: Readonly<Record<string, unknown>>
}

export const context: Bench = {
  name: 'context',
  question:
    'context queries: in process compared with their raw reads, a write, and over HTTP compared with a baseline server',
  async run({ small, seed, report }) {
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-context-'))
    const people = small ? 2_000 : 50_000
    const environment = openEnvironment(join(folder, 'graph'), { clock: systemClock, sync: false })
    const uncached = openEnvironment(join(folder, 'graph'), { clock: systemClock, sync: false, cacheBytes: 0 })
    try {
      await load(environment, people)
      const random = randomFrom(seed)
      const asked = Array.from({ length: 500 }, () => `p${random(people)}`)
      const answers = new AnswerHash()
      const calls: Record<string, TimedCall> = {}
      const readsPerCall: Record<string, number> = {}
      for (const query of queries) {
        const run = runner(environment, query)
        const bare = runner(uncached, query)
        const whom = query.of === 'people' ? asked : [query.of]
        for (const who of whom) {
          const rows = await run(who)
          mustEqual(`rows of ${query.name} for ${who}`, rows.length, query.rows)
          // Whole elements contain ids and times, which differ in each run.
          if (query.check === undefined) answers.add(JSON.stringify(rows))
          else rows.forEach(query.check)
        }
        const recorded = RecordedReads.of(uncached.databases.nodes.raw, (next) => {
          for (const who of whom) {
            void bare(who)
            next()
          }
        })
        readsPerCall[query.name] = recorded.readsPerCall
        calls[query.name] = (at) => void run(whom[at % whom.length] as string)
        calls[`${query.name}_raw`] = (at) => void recorded.replay(at % whom.length)
      }
      report.line({ record: 'answers', count: answers.count, hash: answers.hex })
      const plan = { rounds: small ? 4 : 12, batchesPerRound: small ? 10 : 40, batch: BATCH }
      const timings = interleaved(plan, calls)
      for (const { name } of queries) {
        const [ours, raw] = [timings[name]!, timings[`${name}_raw`]!]
        report.line({
          record: name,
          p50_us: round(ours.p50Us),
          p99_us: round(ours.p99Us),
          raw_p50_us: round(raw.p50Us),
          reads: round(readsPerCall[name] as number, 1),
          ratio_to_raw_gets: round(ours.p50Us / raw.p50Us),
        })
      }
      report.line(await timeWrites(environment))
      await overHttp(small, seed, report)
    } finally {
      await environment.close()
      await uncached.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Nothing here is external: no request leaves the process. */
const resolvers = new ExternalDataResolvers({
  documents: { snapshot: () => ({ get: () => null, getByName: () => null }) },
  openSecret: () => null,
  upstream: null as never,
  clock: systemClock,
  report: console.error,
  limits: { timeMs: 1, maxBytes: 1, maxCalls: 1, maxConcurrent: 1, cacheTtlMs: 0 },
})

type RunQuery = (who: string) => Promise<readonly unknown[]>

function runner(environment: LmdbEnvironment, { name, cypher, reads, query }: BenchQuery): RunQuery {
  return runnerOf(environment, name, { cypher, filter: [subject] }, { allowed_reads: reads }, query)
}

function runnerOf(
  environment: LmdbEnvironment,
  name: string,
  condition: object,
  allowed: object,
  query: object,
): RunQuery {
  const policy = JSON.stringify({
    meta: { policy_version: '1.0-ciq' },
    subject: { type: 'Person' },
    condition,
    ...allowed,
  })
  const compiled = compileStoredQuery(stored(name, { query: JSON.stringify(query) }), stored(name, { policy }), noModel)
  if (!compiled.ok) throw new Error(`${name}: ${compiled.error.issue}`)
  const parts: ContextQueryDeps = {
    queries: { find: () => compiled.value, policyViolation: () => null },
    graphsOf: () => ({ default: environment, global: null, at: () => null }),
    limits: { stepsMax: 20_000_000, timeMs: 10_000 },
    inlineHistory: new InlineHistory(),
    batchReadTimeMs: 300_000,
    inputStringMax: 65_536,
    writesMax: 10_000,
    answerMax: 64 * 1024 * 1024,
    pageTokenCounts: () => 'rows',
    resolvers,
  }
  return async (who) => {
    const executed = await executeQuery(parts, caller, { id: name, input_params: { who } })
    if (!executed.ok) throw new Error(`${name}: ${JSON.stringify(executed.error)}`)
    return executed.value.data
  }
}

function stored(name: string, fields: DocumentFields): StoredDocument {
  const [id, time] = ['bench', '']
  return {
    kind: '',
    id,
    name,
    parent_id: id,
    project_id: id,
    organization_id: id,
    revision: 1,
    create_time: time,
    created_by: id,
    update_time: time,
    updated_by: id,
    fields,
  }
}

const caller: AgentCaller = {
  kind: 'agent',
  agentId: 'bench',
  applicationId: 'bench',
  projectId: 'bench',
  permissions: new Set(['CIQ']),
  user: { nodeType: 'Person', subjectId: 'bench', claims: {}, delegation: null },
}

/** Each execution changes one node, one after another; commits are not flushed to disk here. */
async function timeWrites(environment: LmdbEnvironment): Promise<BenchRecord> {
  const run = runnerOf(
    environment,
    'upsert',
    { cypher: 'MATCH (subject:Person)', filter: [subject] },
    { allowed_reads: { nodes: ['subject.*'] }, allowed_upserts: { nodes: { existing_nodes: ['subject'] } } },
    {
      nodes: ['subject.property.name'],
      upsert_nodes: [{ name: 'subject', properties: [{ type: 'name', value: '$who' }] }],
    },
  )
  const times = new Float64Array(WRITES)
  for (let at = 0; at < WRITES; at++) {
    const start = Bun.nanoseconds()
    const rows = await run(`p${at}`)
    times[at] = (Bun.nanoseconds() - start) / 1000
    mustEqual(
      'what was written',
      JSON.stringify(rows),
      JSON.stringify([{ nodes: { 'subject.property.name': `p${at}` } }]),
    )
  }
  const sorted = times.toSorted()
  return { record: 'upsert_one_node', p50_us: round(quantile(sorted, 0.5)), p99_us: round(quantile(sorted, 0.99)) }
}

async function load(environment: LmdbEnvironment, people: number): Promise<void> {
  await environment.bulkLoad((batch) => {
    const node = (
      type: string,
      externalId: string,
      properties: readonly { name: string; value: string | number }[] = [],
    ) => {
      batch.upsertNode({ type, externalId, properties })
      return { type, externalId }
    }
    const places = Array.from({ length: 100 }, (_, i) => node('Place', `place${i}`))
    const city = node('City', 'city')
    const insurer = node('Insurer', 'insurer')
    for (const place of places.slice(0, 50)) batch.upsertRelationship({ source: place, type: 'IN', target: city })
    const keeper = node('Person', 'keeper')
    let cars = 0
    const giveCar = (owner: { type: string; externalId: string }, properties: readonly PropertyInput[] = []): void => {
      const car = node('Car', `c${cars}`, [{ name: 'price', value: cars % 1000 }])
      batch.upsertRelationship({ source: owner, type: 'OWNS', target: car, properties })
      batch.upsertRelationship({ source: car, type: 'PARKED', target: places[cars % 100]! })
      if (cars % 2 === 0) batch.upsertRelationship({ source: car, type: 'INSURED', target: insurer })
      cars += 1
    }
    for (let i = 0; i < people; i++) {
      const person = node('Person', `p${i}`, [
        { name: 'name', value: `Person ${i}` },
        { name: 'age', value: i % 90 },
      ])
      for (let car = 0; car < CARS_OF_EACH; car++) giveCar(person)
    }
    for (let car = 0; car < FLEET; car++) giveCar(keeper)
    const lessor = node('Person', 'lessor')
    for (let car = 0; car < LEASED; car++) giveCar(lessor, [{ name: 'since', value: 2020 }])
  })
}
