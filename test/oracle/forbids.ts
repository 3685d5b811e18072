// Policies that grant and policies that forbid, on generated graphs: the reference interpreter says which pairs each grants or
// forbids, and combines them; evaluations and searches of the service must have the same answers. The conditions of policies that
// forbid are also compared alone, with and without optimizer rules.
import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import { evaluate } from '../../src/pdp/evaluate.ts'
import { searchResources, searchSubjects } from '../../src/pdp/search.ts'
import { searchActions } from '../../src/pdp/search-action.ts'
import { type CompiledPolicy, compileDecisionPolicy } from '../../src/policy/compile-policy.ts'
import { PARAMETERS } from '../generate/condition.ts'
import { NODE_TYPES, randomGraph } from '../generate/graph.ts'
import { Random } from '../generate/random.ts'
import { storeGraph } from '../support/store-engine.ts'
import { randomCase, SHORT_CHUNKS, settled } from './compare-conditions.ts'
import { decide, relation } from './cypher/decide.ts'
import type { ReferenceGraph } from './cypher/values.ts'
import { caller, partsOver, parameters as sent } from './decision-consistency.ts'

export interface ForbidResult {
  worlds: number
  forbids: number
  /** Conditions of policies that forbid, compared alone; and those that the engine refuses. */
  conditions: number
  refused: number
  questions: number
  permits: number
  /** Pairs that a policy grants and another one forbids. */
  forbidden: number
  /** Pairs that only an unknown condition forbids. */
  unknown: number
  differences: string[]
}

/** A policy, with the pairs that the reference finds. */
interface PolicyWithPairs {
  readonly compiled: CompiledPolicy
  readonly pairs: ReadonlySet<string>
}

const ACTIONS = ['a1', 'a2'] as const

/** Compares `worlds` graphs. */
export async function compareForbids(worlds: number, seed: number): Promise<ForbidResult> {
  const tally: ForbidResult = {
    ...{ worlds: 0, forbids: 0, conditions: 0, refused: 0, questions: 0, permits: 0, forbidden: 0, unknown: 0 },
    differences: [],
  }
  for (let world = 0; world < worlds && tally.differences.length === 0; world++) {
    const random = new Random(seed + world)
    const graph = randomGraph(random)
    const stored = await storeGraph(graph, SHORT_CHUNKS)
    try {
      for (let i = 0; i < 3; i++) {
        const outcome = settled({ ...randomCase(random, graph, 1), keepsUnknown: true }, stored)
        if (outcome.kind === 'refused') tally.refused += 1
        else if (outcome.kind === 'agree') tally.conditions += 1
        else if (outcome.kind === 'differ') tally.differences.push(outcome.why)
      }
      const policies = randomPolicies(random, graph)
      tally.forbids += policies.filter(({ compiled }) => compiled.effect === 'forbid').length
      const graphs = { default: stored.environment, global: null, at: () => null }
      compareWorld(
        graph,
        policies,
        partsOver(
          graphs,
          policies.map(({ compiled }) => compiled),
        ),
        tally,
      )
      tally.worlds += 1
      if (tally.differences.length > 0)
        tally.differences.push(
          `seed ${seed + world}`,
          ...policies.map(({ compiled }) => JSON.stringify(compiled.document)),
        )
    } finally {
      await stored.close()
    }
  }
  return tally
}

function randomPolicies(random: Random, graph: ReferenceGraph): PolicyWithPairs[] {
  const policies: PolicyWithPairs[] = []
  for (let draws = 0; policies.length < 6 && draws < 120; draws++) {
    const effect = random.odds(0.4) ? 'forbid' : 'permit'
    const { text, subjectType, resourceType } = randomCase(random, graph, effect === 'permit' ? 8 : 2)
    const document = {
      meta: { policy_version: '3.0-kbac' },
      effect,
      subject: { type: subjectType },
      actions: ACTIONS.filter((_, i) => i === policies.length % 2 || random.odds(0.6)),
      resource: { type: resourceType },
      condition: { cypher: text },
    }
    // Most forbid what another policy may grant.
    const isMet = policies.some(
      ({ compiled: other }) =>
        other.effect === 'permit' && other.subjectType === subjectType && other.resourceType === resourceType,
    )
    if (effect === 'forbid' && !isMet && random.odds(0.9)) continue
    const compiled = compileDecisionPolicy(JSON.stringify(document))
    if (!compiled.ok) continue
    const pairs = pairsOf(graph, text, subjectType, resourceType, effect === 'forbid')
    if (pairs === 'unmodelled') continue
    const id = `policy-${policies.length}`
    policies.push({ compiled: { ...compiled.value, id, name: id, revision: 1, tags: [] }, pairs })
  }
  return policies
}

function pairsOf(
  graph: ReferenceGraph,
  cypher: string,
  subjectType: string,
  resourceType: string,
  keepsUnknown: boolean,
): ReadonlySet<string> | 'unmodelled' {
  try {
    return relation(graph, { cypher, subjectType, resourceType, keepsUnknown }, PARAMETERS)
  } catch {
    // It is too large, or it fails: which of the pairs meets the row that fails depends on the plan.
    return 'unmodelled'
  }
}

function compareWorld(
  graph: ReferenceGraph,
  policies: readonly PolicyWithPairs[],
  parts: ReturnType<typeof partsOver>,
  tally: ForbidResult,
): void {
  const idsOf = (type: string): string[] =>
    graph.nodes.filter((node) => node.type === type).map(({ externalId }) => externalId)
  const context = { input_params: sent }
  for (const subjectType of NODE_TYPES) {
    for (const resourceType of NODE_TYPES) {
      const named = policies.filter(
        ({ compiled }) => compiled.subjectType === subjectType && compiled.resourceType === resourceType,
      )
      if (named.length === 0) continue
      const [subjects, resources] = [idsOf(subjectType), idsOf(resourceType)]
      const permitted = new Set<string>()
      for (const action of ACTIONS) {
        const asked = named.filter(({ compiled }) => compiled.actions.includes(action))
        const holds = (effect: string, pair: string): boolean =>
          asked.some(({ compiled, pairs }) => compiled.effect === effect && pairs.has(pair))
        for (const subject of subjects) {
          for (const resource of resources) {
            const pair = `${subject}|${resource}`
            const isGranted = holds('permit', pair)
            const isForbidden = isGranted && holds('forbid', pair)
            const expected = isGranted && !isForbidden
            if (expected) permitted.add(`${action} ${pair}`)
            tally.questions += 1
            if (expected) tally.permits += 1
            if (isForbidden) {
              tally.forbidden += 1
              const isCertain = asked.some(
                ({ compiled }) =>
                  compiled.effect === 'forbid' &&
                  decide(
                    graph,
                    { cypher: compiled.document.condition.cypher, subjectType, resourceType },
                    PARAMETERS,
                  ).has(pair),
              )
              if (!isCertain) tally.unknown += 1
            }
            const answer = evaluate(parts, caller, noOrigin, {
              subject: { type: subjectType, id: subject },
              action: { name: action },
              resource: { type: resourceType, id: resource },
              context,
            })
            const found = answer.ok ? answer.value.decision : JSON.stringify(answer.error)
            if (found !== expected) tally.differences.push(`${action} ${pair}: decided ${found}, expected ${expected}`)
          }
        }
        const compare = (
          what: string,
          expected: readonly string[],
          answer: ReturnType<typeof searchResources>,
        ): void => {
          const found = answer.ok ? answer.value.results.map(({ id }) => id).sort() : [JSON.stringify(answer.error)]
          if (String(found) !== String([...expected].sort()))
            tally.differences.push(`${what}: found ${found}, expected ${expected}`)
          tally.questions += 1
        }
        const is = (subject: string, resource: string): boolean => permitted.has(`${action} ${subject}|${resource}`)
        for (const id of subjects)
          compare(
            `resources of ${id}, ${action}`,
            resources.filter((resource) => is(id, resource)),
            searchResources(parts, caller, noOrigin, {
              ...{ subject: { type: subjectType, id }, action: { name: action }, context },
              resource: { type: resourceType },
            }),
          )
        for (const id of resources)
          compare(
            `subjects of ${id}, ${action}`,
            subjects.filter((subject) => is(subject, id)),
            searchSubjects(parts, caller, noOrigin, {
              ...{ resource: { type: resourceType, id }, action: { name: action }, context },
              subject: { type: subjectType },
            }),
          )
      }
      for (const subject of subjects)
        for (const resource of resources) {
          const answer = searchActions(parts, caller, noOrigin, {
            ...{ subject: { type: subjectType, id: subject }, resource: { type: resourceType, id: resource }, context },
          })
          const found = answer.ok ? answer.value.results.map(({ name }) => name).sort() : []
          const expected = ACTIONS.filter((action) => permitted.has(`${action} ${subject}|${resource}`))
          if (String(found) !== String(expected))
            tally.differences.push(`actions of ${subject} on ${resource}: found ${found}, expected ${expected}`)
          tally.questions += 1
        }
    }
  }
}
