// What does a search cost that finds 10,000 of a million resources: in one answer compared with other engines, and page
// by page as the service returns it?

import { DerivedSigner } from '../../src/identity/derived-signer.ts'
import type { AgentCaller } from '../../src/kernel/request/caller.ts'
import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import type { DecisionDeps } from '../../src/pdp/decision-deps.ts'
import { PageTokens } from '../../src/pdp/page-token.ts'
import { searchResources } from '../../src/pdp/search.ts'
import { SearchCache } from '../../src/pdp/search-cache.ts'
import { compileDecisionPolicy, policySetOf } from '../../src/policy/compile-policy.ts'
import type { LmdbEnvironment } from '../../src/store/graph/environment.ts'
import type { ProjectGraphs } from '../../src/store/tenancy/project-graphs.ts'
import { AnswerHash, type Bench, median, mustEqual, round } from '../harness.ts'
import { authorizationGraph, type BenchQuestion, questionsAbout, sortedText } from './authorization-graph.ts'
import type { BenchmarkedEngine } from './benchmarked-engine.ts'
import { compiledPlans, conditions } from './compiled-plans.ts'
import { peer, peerNames } from './cypher-peers.ts'
import { handWritten } from './hand-written.ts'
import { openAuthorizationGraph } from './load-authorization-graph.ts'
import { contest } from './rounds.ts'
import { sqlite } from './sqlite.ts'

const PAGES = [100, 1_000] as const

export const search: Bench = {
  name: 'search',
  question:
    'a search that finds 10,000 of 1,000,000 resources: in one answer, compared with other engines, and page by page',
  async run({ small, seed, report }) {
    const of = small
      ? { users: 2_000, groups: 200, folders: 3_000, documents: 60_000 }
      : { users: 20_000, groups: 2_000, folders: 50_000, documents: 960_000 }
    const graph = authorizationGraph(of, seed)
    const asked = questionsAbout(graph, of, 16, seed).search_10000
    report.line({ record: 'graph', ...graph.counts })
    const store = await openAuthorizationGraph(graph, seed, report.note)
    const contestants: BenchmarkedEngine[] = [compiledPlans(store), handWritten(store), sqlite(graph)]
    for (const name of peerNames) {
      const found = await peer(name, graph)
      if ('absent' in found) report.line({ record: 'absent', engine: name, why: found.absent })
      else contestants.push(found)
    }
    const hash = new AnswerHash()
    for (const { answer } of asked) hash.add(answer)
    report.line({ record: 'answers', count: hash.count, hash: hash.hex, found: asked[0]!.answer.split(',').length })

    const runners = contestants.map(({ name, answers }) => ({ name, ask: answers.search_10000 }))
    const { percentiles } = await contest('search_10000', runners, asked, small ? 4 : 12, report.note)
    const ours = percentiles.get('engine')!.p50Us
    for (const [engine, { calls, p50Us, p99Us }] of percentiles) {
      const times = { p50_us: round(p50Us, 1), p99_us: round(p99Us, 1), ours_to_it: round(ours / p50Us) }
      report.line({ record: 'one_answer', engine, calls, ...times })
    }
    const parts = partsOf(store)
    const readers: readonly [string, ReadPage][] = [
      ['engine', (one, after, limit) => servedPage(parts, one, after, limit)],
      ...contestants.flatMap(({ name, searchPage }): [string, ReadPage][] =>
        searchPage === undefined ? [] : [[name, (one, after, limit) => keysetPage(searchPage, one, after, limit)]],
      ),
    ]
    for (const page of PAGES) {
      for (const [engine, read] of readers) {
        report.line({ record: 'paged', engine, page, ...paged(read, asked, page, small ? 8 : 24) })
      }
    }
    for (const contestant of contestants) await contestant.close()
    await store.close()
  },
}

/** A page and the token of the next one; '' after the last. */
interface PageRead {
  readonly ids: readonly string[]
  readonly next: string
}
type ReadPage = (asked: BenchQuestion, after: string | null, limit: number) => PageRead

/**
 * As the service does it, without the socket: from request to response, each page with the token of the previous one.
 */
function servedPage(parts: DecisionDeps, { first }: BenchQuestion, token: string | null, limit: number): PageRead {
  const answered = searchResources(parts, caller, noOrigin, {
    subject: { type: 'User', id: first },
    action: { name: 'view' },
    resource: { type: 'Document' },
    page: token === null ? { limit } : { limit, token },
  })
  if (!answered.ok) throw new Error(`a page was refused: ${JSON.stringify(answered.error)}`)
  return { ids: answered.value.results.map(({ id }) => id), next: answered.value.page?.next_token ?? '' }
}

/** By the key of the last row. One more row than needed shows that there are more. */
function keysetPage(
  read: NonNullable<BenchmarkedEngine['searchPage']>,
  asked: BenchQuestion,
  after: string | null,
  limit: number,
): PageRead {
  const rows = read(asked, after === null ? null : Number(after), limit + 1)
  const shown = rows.slice(0, limit)
  return { ids: shown.map(([, id]) => id), next: rows.length > limit ? String(shown.at(-1)![0]) : '' }
}

/** Page after page, until there are no more. */
function paged(read: ReadPage, asked: readonly BenchQuestion[], limit: number, rounds: number) {
  const firstUs: number[] = []
  const allUs: number[] = []
  for (let at = 0; at < rounds; at++) {
    const one = asked[at % asked.length]!
    const found: string[] = []
    const start = Bun.nanoseconds()
    let firstAt = 0
    for (let after: string | null = null; after !== ''; ) {
      const { ids, next } = read(one, after, limit)
      if (firstAt === 0) firstAt = Bun.nanoseconds()
      for (const id of ids) found.push(id)
      after = next
    }
    const end = Bun.nanoseconds()
    mustEqual(`the pages of ${one.first}`, sortedText(found), one.answer)
    // The first round compiles the plan.
    if (at === 0) continue
    firstUs.push((firstAt - start) / 1000)
    allUs.push((end - start) / 1000)
  }
  return {
    searches: allUs.length,
    first_page_p50_us: round(median(firstUs), 1),
    all_pages_p50_us: round(median(allUs), 1),
  }
}

const caller: AgentCaller = {
  kind: 'agent',
  agentId: 'bench',
  applicationId: 'bench',
  projectId: 'bench',
  permissions: new Set(['Authorization']),
  user: null,
}

export function partsOf(store: LmdbEnvironment): DecisionDeps {
  const { text, subjectType, resourceType } = conditions.can_view
  const compiled = compileDecisionPolicy(
    JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: subjectType },
      actions: ['view'],
      resource: { type: resourceType },
      condition: { cypher: text },
    }),
  )
  if (!compiled.ok) throw new Error(compiled.error[0])
  const policies = policySetOf([{ ...compiled.value, id: 'bench', name: 'bench', revision: 1, tags: [] }])
  const graphs: ProjectGraphs = { default: store, global: null, at: () => null }
  const library: DecisionDeps['policies'] = {
    find: () => policies,
    actions: () => ['view'],
    subjectTypes: () => [],
    ofSubjectType: () => policies,
    all: () => policies,
  }
  return {
    policies: library,
    drafts: { ...library, broken: () => [], allBroken: () => [] },
    graphsOf: () => graphs,
    limits: { stepsMax: 20_000_000, timeMs: 10_000 },
    inputStringMax: 1_000,
    evaluationsMax: 1,
    batchTimeMs: 1_000,
    searchPageMax: 10_000,
    searchCache: new SearchCache(),
    pageTokens: new PageTokens(new DerivedSigner(new Uint8Array(32), 'bench'), systemClock, 600_000),
    onPolicyError(fault) {
      throw new Error(fault.message)
    },
    onServiceError(fault) {
      throw new Error(`a service fault: ${JSON.stringify(fault)}`)
    },
    onDecided: null,
    decisionId: null,
  }
}
