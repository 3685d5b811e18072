// Compares random changes of random policies on generated graphs, and decides every pair with both sets of policies. The decisions
// are those of the service, over a real store.
import type { AgentCaller } from '../../src/kernel/request/caller.ts'
import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import { type ComparedPolicy, comparePolicies, type DecisionChanges } from '../../src/pdp/compare-policies.ts'
import type { ComparisonScope } from '../../src/pdp/comparison-parameters.ts'
import type { DecisionDeps } from '../../src/pdp/decision-deps.ts'
import { evaluate } from '../../src/pdp/evaluate.ts'
import { type CompiledPolicy, compileDecisionPolicy } from '../../src/policy/compile-policy.ts'
import { NODE_TYPES, randomGraph } from '../generate/graph.ts'
import { Random } from '../generate/random.ts'
import { storeGraph } from '../support/store-engine.ts'
import { SHORT_CHUNKS } from './compare-conditions.ts'
import type { GraphNode, ReferenceGraph } from './cypher/values.ts'
import { caller, parameters, partsOver, randomParameters, randomPolicies } from './decision-consistency.ts'

export interface ComparisonTally {
  worlds: number
  /** Comparisons that left nothing out. */
  complete: number
  gained: number
  lost: number
  /** Comparisons with a small budget that left something out. */
  cut: number
  /** Examples with a path. */
  paths: number
  /** Worlds with several graphs, and their changed pairs of policies that name a graph. */
  composite: number
  placed: number
  differences: string[]
}

const ENOUGH = { timeMs: 60_000, stepsMax: Number.POSITIVE_INFINITY, rowsHeldMax: 2_000_000, sampleMax: 100_000 }

export async function comparisons(worlds: number, seed: number): Promise<ComparisonTally> {
  const tally: ComparisonTally = {
    worlds: 0,
    complete: 0,
    gained: 0,
    lost: 0,
    cut: 0,
    paths: 0,
    composite: 0,
    placed: 0,
    differences: [],
  }
  for (let world = 0; world < worlds && tally.differences.length === 0; world++) {
    const random = new Random(seed + world)
    const graph = randomGraph(random)
    // The graphs of other locations: their nodes have ids in common with those of the project's own graph.
    const others = world % 3 === 0 ? [randomGraph(random), randomGraph(random)] : []
    const stored = await Promise.all([graph, ...others].map((one) => storeGraph(one, SHORT_CHUNKS)))
    try {
      const more = (prefix: string) => [
        ...plainPolicies(random, prefix),
        ...(others.length > 0 ? placedPolicies(random, `placed-${prefix}`) : []),
      ]
      const before = [...randomPolicies(random, graph), ...more('plain')]
      const after = changedPolicies(random, before, [...randomPolicies(random, graph), ...more('other')])
      const [home, eu, us] = stored.map(({ environment }) => environment)
      const places = new Map([
        ['home', home],
        ['eu', eu],
        ['us', us],
      ])
      const graphs = { default: home!, global: null, at: (location: string) => places.get(location) ?? null }
      compareWorld(random, [graph, ...others], graphs, before, after, tally)
      tally.worlds += 1
      if (others.length > 0) tally.composite += 1
      if (tally.differences.length > 0) {
        const text = (policies: readonly CompiledPolicy[]) =>
          policies.map(({ id, document }) => `${id} ${JSON.stringify(document)}`)
        tally.differences.push(`seed ${seed + world}`, 'old:', ...text(before), 'new:', ...text(after))
      }
    } finally {
      await Promise.all(stored.map((one) => one.close()))
    }
  }
  return tally
}

/** Conditions that grant many pairs, so that policies overlap, and that read what differs from pair to pair. */
const plain = [
  'MATCH (subject), (resource)',
  'MATCH (subject)-->(resource)',
  'MATCH (subject), (resource) WHERE $token.sub <= resource.external_id AND $token.level < 3',
  "MATCH (subject), (resource) WHERE $svc_token.sub < 'n3'",
  'MATCH (subject), (resource) WHERE $subject_external_id <= $resource_external_id',
  "MATCH (subject), (resource) WHERE $resource_external_id > 'n2'",
  "MATCH (subject), (resource) WHERE $subject_external_id > 'n2' AND $subject_properties.num = 1",
]

function plainPolicies(random: Random, prefix: string): CompiledPolicy[] {
  return policiesOf(random, prefix, () => random.pick(plain))
}

/** Policies that read a graph by its name, by the name in a parameter, or several graphs. */
function placedPolicies(random: Random, prefix: string): CompiledPolicy[] {
  const place = (): string => `USE graph.byName(${random.pick(["'eu'", "'us'", "'home'", '$loc'])})`
  return policiesOf(random, prefix, () => {
    if (random.odds(0.6)) return `${place()} ${random.pick(plain)}`
    const branches = Array.from(
      { length: 2 },
      () => `${random.odds(0.8) ? place() : ''} ${random.pick(plain)} RETURN subject, resource`,
    )
    return `CALL () { ${branches.join(' UNION ')} }`
  })
}

function policiesOf(random: Random, prefix: string, cypherOf: () => string): CompiledPolicy[] {
  return Array.from({ length: random.between(0, 4) }, (_, at) => {
    const document = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: random.pick(NODE_TYPES.slice(0, 2)) },
      actions: ['a1', 'a2', 'a3'].filter((_, i) => i === at % 3 || random.odds(0.3)),
      resource: { type: random.pick(NODE_TYPES.slice(0, 2)) },
      condition: { cypher: cypherOf() },
    }
    const compiled = compileDecisionPolicy(JSON.stringify(document))
    if (!compiled.ok) throw new Error(compiled.error.join())
    const id = `${prefix}-${at}`
    return { ...compiled.value, id, name: id, revision: 1, tags: random.odds(0.5) ? ['t1'] : [] }
  })
}

/** Policies are kept, dropped, added, replaced, given other actions, or written twice. */
function changedPolicies(
  random: Random,
  before: readonly CompiledPolicy[],
  others: readonly CompiledPolicy[],
): CompiledPolicy[] {
  const kept = before.flatMap((policy) =>
    random.weighted<() => CompiledPolicy[]>([
      [4, () => [policy]],
      [2, () => []],
      [1, () => [{ ...policy, actions: ['a1', 'a2', 'a3'].filter(() => random.odds(0.6)) }]],
      [1, () => [policy, { ...policy, id: `${policy.id}-again`, name: `${policy.name}-again` }]],
    ])(),
  )
  const added = others.filter(() => random.odds(0.5)).map((policy) => ({ ...policy, id: `new-${policy.id}` }))
  return random.odds(0.5) ? [...kept, ...added] : [...added, ...kept]
}

function compareWorld(
  random: Random,
  world: readonly ReferenceGraph[],
  graphs: NonNullable<ReturnType<DecisionDeps['graphsOf']>>,
  before: readonly CompiledPolicy[],
  after: readonly CompiledPolicy[],
  tally: ComparisonTally,
): void {
  const nodes = [
    ...new Map(world.flatMap((one) => one.nodes).map((node) => [`${node.type} ${node.externalId}`, node])).values(),
  ]
  const scope = randomScope(random, nodes, world.length > 1)
  const parts = partsOver(graphs, before)
  const sets = { old: before.map(asCompared), new: after.map(asCompared) }
  const enough = { ...ENOUGH, searchedPartnersMin: random.pick([1, 24]) }
  const compared = comparePolicies(parts, graphs, caller, scope, sets, enough)
  if (!compared.ok) {
    tally.differences.push(`refused: ${JSON.stringify(compared.error)}`)
    return
  }
  const expected = decideAll(nodes, scope, parts, partsOver(graphs, after))
  const found = pairsOf(compared.value)
  for (const change of ['gains', 'losses'] as const) {
    const isWrong = (pair: string) => !expected[change].has(pair) && !expected.unknown.has(pair)
    const wrong = [...found[change]].filter(isWrong)
    if (wrong.length > 0) tally.differences.push(`${change} that are wrong: ${wrong.join(', ')}`)
    const leftOut = compared.value.leftOut.length
    const absent = [...expected[change]].filter((pair) => !found[change].has(pair))
    if (leftOut === 0 && absent.length > 0) tally.differences.push(`${change} not found: ${absent.join(', ')}`)
    const counted = compared.value[change].reduce((sum, { pairs, actions }) => sum + pairs * actions.length, 0)
    if (counted !== found[change].size)
      tally.differences.push(`${change}: ${counted} counted, ${found[change].size} found`)
  }
  if (compared.value.leftOut.length === 0) tally.complete += 1
  if (world.length > 1) {
    const isPlaced = ({ policy }: { readonly policy: { readonly name: string } }): boolean =>
      policy.name.includes('placed')
    tally.placed += [...compared.value.gains, ...compared.value.losses].filter(isPlaced).length
  }
  tally.gained += found.gains.size
  tally.lost += found.losses.size
  tally.paths += [...compared.value.gains, ...compared.value.losses]
    .flatMap(({ sample }) => sample)
    .filter(({ matched }) => matched !== undefined && matched.nodes.length > 0).length

  const small = { ...enough, stepsMax: random.between(0, 400), rowsHeldMax: random.between(1, 40) }
  const cut = comparePolicies(parts, graphs, caller, scope, sets, small)
  if (!cut.ok) {
    tally.differences.push(`refused: ${JSON.stringify(cut.error)}`)
    return
  }
  const part = pairsOf(cut.value)
  for (const change of ['gains', 'losses'] as const) {
    const wrong = [...part[change]].filter((pair) => !expected[change].has(pair) && !expected.unknown.has(pair))
    if (wrong.length > 0) tally.differences.push(`${change} within a small budget that are wrong: ${wrong.join(', ')}`)
    const isIncomplete = cut.value.leftOut.some(({ reason }) => reason === 'budget')
    if (!isIncomplete && part[change].size !== found[change].size) {
      tally.differences.push(`${change} left out and not listed: ${JSON.stringify(small)}`)
    }
  }
  if (cut.value.leftOut.some(({ reason }) => reason === 'budget')) tally.cut += 1
}

function asCompared(policy: CompiledPolicy): ComparedPolicy {
  return { ...policy, isStored: true }
}

function randomScope(random: Random, nodes: readonly GraphNode[], isComposite: boolean): ComparisonScope {
  const properties = random.odds(isComposite ? 0.9 : 0.7) ? { properties: { num: 1, name: 'a' } } : {}
  const node = random.pick(nodes)
  const placed = isComposite && random.odds(0.9) ? { loc: random.pick(['eu', 'us', 'home']) } : {}
  const one = { type: node.type, id: node.externalId }
  return {
    subject: { ...properties, ...(random.odds(0.1) ? one : {}) },
    action: { ...properties, ...(random.odds(0.2) ? { name: 'a1' } : {}) },
    resource: { ...properties, ...(random.odds(0.1) ? one : {}) },
    inputParams: { ...(random.odds(0.6) ? parameters : randomParameters(random)), ...placed },
    policyTags: random.odds(0.2) ? ['t1'] : undefined,
    // A composite world has more policies, each with parameters of its own.
    token: random.odds(isComposite ? 0.9 : 0.6)
      ? {
          claims: { level: random.between(0, 3), act: { sub: 'b' } },
          delegation: random.odds(isComposite ? 0.9 : 0.7) ? { act: { sub: 'b' } } : null,
        }
      : null,
  }
}

/** Decides every pair in the scope with both sets of policies. `unknown`: a decision reached a limit, which a comparison does not have. */
function decideAll(nodes: readonly GraphNode[], scope: ComparisonScope, old: DecisionDeps, proposed: DecisionDeps) {
  const changes = { gains: new Set<string>(), losses: new Set<string>(), unknown: new Set<string>() }
  let isLimited = false
  const watched = (parts: DecisionDeps): DecisionDeps => ({
    ...parts,
    onPolicyError: ({ code }) => {
      isLimited ||= code === 'budget'
    },
  })
  const permits = (parts: DecisionDeps, subject: GraphNode, action: string, resource: GraphNode): boolean => {
    const request = {
      subject: { type: subject.type, id: subject.externalId, properties: scope.subject.properties },
      action: { name: action, properties: scope.action.properties },
      resource: { type: resource.type, id: resource.externalId, properties: scope.resource.properties },
      context: {
        ...(scope.inputParams && { input_params: scope.inputParams }),
        ...(scope.policyTags && { policy_tags: [...scope.policyTags] }),
      },
    }
    const decided = evaluate(parts, callerFor(scope, subject), noOrigin, request)
    return decided.ok && decided.value.decision
  }
  const [before, after] = [watched(old), watched(proposed)]
  const isIn = (end: 'subject' | 'resource', { type, externalId }: GraphNode): boolean =>
    (scope[end].type ?? type) === type && (scope[end].id ?? externalId) === externalId
  for (const subject of nodes.filter((node) => isIn('subject', node))) {
    for (const resource of nodes.filter((node) => isIn('resource', node))) {
      for (const action of scope.action.name === undefined ? ['a1', 'a2', 'a3'] : [scope.action.name]) {
        isLimited = false
        const isPermitted = permits(after, subject, action, resource)
        const isChange = permits(before, subject, action, resource) !== isPermitted
        const pair = `${subject.type} ${subject.externalId} ${action} ${resource.type} ${resource.externalId}`
        if (isLimited) changes.unknown.add(pair)
        else if (isChange) changes[isPermitted ? 'gains' : 'losses'].add(pair)
      }
    }
  }
  return changes
}

/** Each subject has a token of its own. */
function callerFor({ token }: ComparisonScope, { type, externalId }: GraphNode): AgentCaller {
  if (token === null) return caller
  const { claims, delegation } = token
  const sub = { sub: externalId }
  const user = {
    nodeType: type,
    subjectId: externalId,
    claims: { ...claims, ...sub },
    delegation: delegation && { ...delegation, ...sub },
  }
  return { ...caller, user }
}

function pairsOf({ gains, losses }: DecisionChanges) {
  const of = (changes: typeof gains) =>
    new Set(
      changes.flatMap(({ sample, actions }) =>
        sample.flatMap(({ subject, resource }) =>
          actions.map((action) => `${subject.type} ${subject.id} ${action} ${resource.type} ${resource.id}`),
        ),
      ),
    )
  return { gains: of(gains), losses: of(losses) }
}
