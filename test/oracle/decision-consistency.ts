// Checks on generated graphs that all kinds of requests agree: evaluations, batches, the three searches, their pages,
// and explanations. The decisions are those of the service, over a real store, without HTTP.

import { DerivedSigner } from '../../src/identity/derived-signer.ts'
import type { ServiceError } from '../../src/kernel/errors.ts'
import type { AgentCaller } from '../../src/kernel/request/caller.ts'
import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import type { Result } from '../../src/kernel/result.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import type { DecisionDeps, EvaluationRequest } from '../../src/pdp/decision-deps.ts'
import { evaluate } from '../../src/pdp/evaluate.ts'
import { evaluateBatch } from '../../src/pdp/evaluate-batch.ts'
import { explainDecision } from '../../src/pdp/explain.ts'
import { PageTokens } from '../../src/pdp/page-token.ts'
import { ParameterMask } from '../../src/pdp/parameter-mask.ts'
import type { PageMembers } from '../../src/pdp/schema.ts'
import { searchResources, searchSubjects } from '../../src/pdp/search.ts'
import { searchActions } from '../../src/pdp/search-action.ts'
import { SearchCache } from '../../src/pdp/search-cache.ts'
import { type CompiledPolicy, compileDecisionPolicy, policySetOf } from '../../src/policy/compile-policy.ts'
import { randomFilter } from '../generate/filter.ts'
import { NODE_TYPES, randomGraph } from '../generate/graph.ts'
import { Random } from '../generate/random.ts'
import { storeGraph } from '../support/store-engine.ts'
import { randomCase, SHORT_CHUNKS } from './compare-conditions.ts'
import type { ReferenceGraph } from './cypher/values.ts'

export interface ConsistencyResult {
  readonly worlds: number
  readonly policies: number
  readonly pairs: number
  readonly permits: number
  /** Requests that were all refused: a parameter was missing, or a limit was reached. */
  readonly refused: number
  readonly differences: readonly string[]
}

export const caller: AgentCaller = {
  kind: 'agent',
  agentId: 'gid:agent',
  applicationId: 'gid:application',
  projectId: 'gid:project',
  permissions: new Set(['Authorization']),
  user: null,
}

const ACTIONS = ['a1', 'a2', 'a3'] as const
const limits = { stepsMax: 5_000_000, timeMs: 60_000 }
const signer = new DerivedSigner(new Uint8Array(32), 'page tokens')
const mask = new ParameterMask('*')

export function partsOver(
  store: ReturnType<DecisionDeps['graphsOf']>,
  policies: readonly CompiledPolicy[],
): DecisionDeps {
  const named = (subjectType: string, resourceType: string) =>
    policies.filter((policy) => policy.subjectType === subjectType && policy.resourceType === resourceType)
  const library: DecisionDeps['policies'] = {
    find: (_, subjectType, action, resourceType) =>
      policySetOf(named(subjectType, resourceType).filter((policy) => policy.actions.includes(action))),
    actions: (_, subjectType, resourceType) => [
      ...new Set(named(subjectType, resourceType).flatMap((policy) => policy.actions)),
    ],
    subjectTypes: (_, action, resourceType) => [
      ...new Set(
        policies
          .filter((policy) => policy.actions.includes(action) && policy.resourceType === resourceType)
          .map(({ subjectType }) => subjectType),
      ),
    ],
    ofSubjectType: (_, subjectType) => policySetOf(policies.filter((policy) => policy.subjectType === subjectType)),
    all: () => policySetOf(policies),
  }
  return {
    policies: library,
    // These worlds have no drafts.
    drafts: { ...library, broken: () => [], allBroken: () => [] },
    graphsOf: () => store,
    limits,
    inputStringMax: 1000,
    evaluationsMax: 100_000,
    batchTimeMs: 600_000,
    searchPageMax: 10_000,
    searchCache: new SearchCache(),
    pageTokens: new PageTokens(signer, systemClock, 600_000),
    onPolicyError: () => {},
    onServiceError: () => {},
    onDecided: null,
    decisionId: null,
  }
}

export const parameters = {
  number: 1,
  float: 1.5,
  text: 'a',
  id: 'n2',
  texts: ['a', 'ab', null],
  unset: null,
  claims: { level: 2, act: { sub: 'b' } },
}

/** Values that are not a pattern, a time, a list or a number. */
const unfit = ['(', 7, [], true, { a: 1 }]

/** Values of parameters. Sometimes one is missing or has the wrong type. */
export function randomParameters(random: Random): Record<string, unknown> {
  const sent = Object.entries(parameters).filter(() => random.odds(0.96))
  return Object.fromEntries(sent.map(([name, value]) => [name, random.odds(0.1) ? random.pick(unfit) : value]))
}

export function randomPolicies(random: Random, graph: ReferenceGraph): CompiledPolicy[] {
  const policies: CompiledPolicy[] = []
  for (let draws = 0; policies.length < 5 && draws < 50; draws++) {
    const { text, subjectType, resourceType } = randomCase(random, graph)
    const document = {
      ...(random.odds(0.25) && { effect: 'forbid' }),
      meta: { policy_version: random.pick(['2.0-kbac', '3.0-kbac']) },
      subject: { type: subjectType },
      actions: ACTIONS.filter((_, i) => i === policies.length % 3 || random.odds(0.3)),
      resource: { type: resourceType },
      condition: { cypher: text, ...(random.odds(0.4) ? { filter: randomFilter(random) } : {}) },
    }
    const compiled = compileDecisionPolicy(JSON.stringify(document))
    // The generator writes more than a policy may contain.
    if (!compiled.ok) continue
    const id = `policy-${policies.length}`
    policies.push({ ...compiled.value, id, name: id, revision: 1, tags: random.odds(0.5) ? ['t1'] : [] })
  }
  return policies
}

export async function agreement(worlds: number, seed: number): Promise<ConsistencyResult> {
  const tally = { worlds: 0, policies: 0, pairs: 0, permits: 0, refused: 0, differences: [] as string[] }
  for (let world = 0; world < worlds && tally.differences.length === 0; world++) {
    const random = new Random(seed + world)
    const graph = randomGraph(random)
    const stored = await storeGraph(graph, SHORT_CHUNKS)
    try {
      const policies = randomPolicies(random, graph)
      const graphs = { default: stored.environment, global: null, at: () => null }
      const asking = new ConsistencyCase(graph, partsOver(graphs, policies), random)
      asking.compare(tally)
      tally.worlds += 1
      tally.policies += policies.length
      if (tally.differences.length > 0) {
        tally.differences.push(`seed ${seed + world}`, ...policies.map(({ document }) => JSON.stringify(document)))
      }
    } finally {
      await stored.close()
    }
  }
  return tally
}

/** The outcome as one word. */
type DecisionOutcome = 'permit' | 'deny' | 'refused'

class ConsistencyCase {
  private readonly graph: ReferenceGraph
  private readonly parts: DecisionDeps
  private readonly random: Random

  constructor(graph: ReferenceGraph, parts: DecisionDeps, random: Random) {
    this.graph = graph
    this.parts = parts
    this.random = random
  }

  compare(tally: { pairs: number; permits: number; refused: number; differences: string[] }): void {
    const context = {
      input_params: randomParameters(this.random),
      ...(this.random.odds(0.2) ? { policy_tags: ['t1'] } : {}),
    }
    for (const subjectType of NODE_TYPES) {
      for (const resourceType of NODE_TYPES) {
        if (this.parts.policies.actions('', subjectType, resourceType).length === 0) continue
        const subjects = this.idsOf(subjectType)
        const resources = this.idsOf(resourceType)
        const answers = new Map<string, DecisionOutcome>()
        for (const action of ACTIONS) {
          const requests = subjects.flatMap((subject) =>
            resources.map((resource) => ({
              subject: { type: subjectType, id: subject },
              action: { name: action },
              resource: { type: resourceType, id: resource },
              context,
            })),
          )
          const found = this.evaluations(requests, tally.differences)
          for (const [i, request] of requests.entries()) answers.set(keyOf(request), found[i] as DecisionOutcome)
          this.searches(subjectType, action, resourceType, context, answers, tally.differences)
          tally.pairs += requests.length
          tally.permits += found.filter((answer) => answer === 'permit').length
          tally.refused += found.filter((answer) => answer === 'refused').length
        }
        this.actionSearches(subjectType, resourceType, context, answers, tally.differences)
      }
    }
  }

  /** Individually, all in one batch, and explained. */
  private evaluations(requests: readonly EvaluationRequest[], differences: string[]): DecisionOutcome[] {
    const { parts } = this
    const single = requests.map((request) => evaluate(parts, caller, noOrigin, request))
    const answers = single.map(answerOf)
    const batch = evaluateBatch(parts, caller, noOrigin, {
      kind: 'batch',
      evaluations: requests as unknown as Record<string, unknown>[],
      defaults: {},
      options: undefined,
    })
    requests.forEach((request, i) => {
      const one = single[i] as (typeof single)[number]
      const inBatch = batch.ok ? batch.value[i]?.decision : null
      if (inBatch !== (answers[i] === 'permit')) differences.push(`batch says ${inBatch} of ${keyOf(request)}`)
      const explained = explainDecision(parts, caller, mask, request)
      const says = explained.ok ? explained.value.decision : JSON.stringify(explained.error)
      const evaluated = one.ok ? one.value.decision : JSON.stringify(one.error)
      if (says !== evaluated) differences.push(`explain says ${says}, evaluate ${evaluated} of ${keyOf(request)}`)
      if (!explained.ok) return
      const { policies } = explained.value
      // A policy that forbids and needs a parameter has the outcome `forbidden` too.
      const isForbidden = policies.some(
        ({ effect, outcome }) => effect === 'forbid' && (outcome === 'forbidden' || outcome === 'faulted'),
      )
      const granted = policies.some(({ outcome }) => outcome === 'granted') && !isForbidden
      if (granted !== explained.value.decision) differences.push(`explained by none of its policies: ${keyOf(request)}`)
    })
    return answers
  }

  private searches(
    subjectType: string,
    action: string,
    resourceType: string,
    context: EvaluationRequest['context'],
    answers: ReadonlyMap<string, DecisionOutcome>,
    differences: string[],
  ): void {
    const { parts } = this
    const [subjects, resources] = [this.idsOf(subjectType), this.idsOf(resourceType)]
    const answer = (subject: string, resource: string) =>
      answers.get(`${subjectType} ${subject} ${action} ${resourceType} ${resource}`)
    for (const id of subjects) {
      const request = { subject: { type: subjectType, id }, action: { name: action }, context }
      const ask = (page?: object) =>
        searchResources(parts, caller, noOrigin, {
          ...request,
          resource: { type: resourceType },
          ...(page ? { page } : {}),
        })
      const expected = new Map(resources.map((resource) => [resource, answer(id, resource)]))
      this.compareSearch(`resources of ${id} ${action}`, ask, expected, differences)
    }
    for (const id of resources) {
      const request = { resource: { type: resourceType, id }, action: { name: action }, context }
      const ask = (page?: object) =>
        searchSubjects(parts, caller, noOrigin, {
          ...request,
          subject: { type: subjectType },
          ...(page ? { page } : {}),
        })
      const expected = new Map(subjects.map((subject) => [subject, answer(subject, id)]))
      this.compareSearch(`subjects of ${id} ${action}`, ask, expected, differences)
    }
  }

  private actionSearches(
    subjectType: string,
    resourceType: string,
    context: EvaluationRequest['context'],
    answers: ReadonlyMap<string, DecisionOutcome>,
    differences: string[],
  ): void {
    for (const subject of this.idsOf(subjectType)) {
      for (const resource of this.idsOf(resourceType)) {
        const request = {
          subject: { type: subjectType, id: subject },
          resource: { type: resourceType, id: resource },
          context,
        }
        const ask = (page?: object) =>
          searchActions(this.parts, caller, noOrigin, { ...request, ...(page ? { page } : {}) })
        const answer = (action: string) =>
          answers.get(`${subjectType} ${subject} ${action} ${resourceType} ${resource}`)
        const expected = new Map(ACTIONS.map((action) => [action, answer(action)]))
        this.compareSearch(`actions of ${subject} on ${resource}`, ask, expected, differences)
      }
    }
  }

  /** Complete, and in pages. */
  private compareSearch(
    what: string,
    ask: (page?: object) => Result<{ results: readonly object[]; page?: PageMembers | undefined }, ServiceError>,
    answers: ReadonlyMap<string, DecisionOutcome | undefined>,
    differences: string[],
  ): void {
    const expected = [...answers].filter(([, answer]) => answer === 'permit').map(([name]) => name)
    const whole = ask()
    // A search that reaches a limit is refused, never incomplete; there is nothing to compare then.
    if (!whole.ok && whole.error.kind === 'budget') return
    const found = whole.ok ? whole.value.results.map(nameOf).sort() : []
    if (String(found) !== String([...expected].sort())) {
      const said = whole.ok ? found : JSON.stringify(whole.error)
      differences.push(`${what}: the search says ${said}, evaluations ${expected}`)
    }
    // Refused if some evaluations are refused and nothing is found (a parameter is missing, or wrong).
    const isRefused = expected.length === 0 && [...answers.values()].includes('refused')
    if (answers.size > 0 && whole.ok === isRefused) {
      differences.push(`${what}: the search is ${whole.ok ? 'answered' : 'refused'}, evaluations are not`)
    }
    if (!whole.ok) return
    const joined: string[] = []
    let page: object = { limit: this.random.between(1, 3) }
    for (;;) {
      const part = ask(page)
      if (!part.ok) {
        differences.push(`${what}: a page is refused: ${JSON.stringify(part.error)}`)
        return
      }
      joined.push(...part.value.results.map(nameOf))
      const token = part.value.page?.next_token ?? ''
      if (token === '') break
      page = { token }
    }
    if (String(joined.sort()) !== String(found))
      differences.push(`${what}: pages join to ${joined}, the whole is ${found}`)
  }

  private idsOf(type: string): string[] {
    return this.graph.nodes.filter((node) => node.type === type).map((node) => node.externalId)
  }
}

function nameOf(result: object): string {
  const { id, name } = result as { id?: string; name?: string }
  return id ?? name ?? ''
}

function keyOf({ subject, action, resource }: EvaluationRequest): string {
  return `${subject.type} ${subject.id} ${action.name} ${resource.type} ${resource.id}`
}

function answerOf(evaluated: ReturnType<typeof evaluate>): DecisionOutcome {
  if (!evaluated.ok) return 'refused'
  return evaluated.value.decision ? 'permit' : 'deny'
}
