// How long does it take to see who gains and who loses when five policies change on a graph of a million nodes, and how much memory?
import { readFileSync } from 'node:fs'
import type { AgentCaller } from '../../src/kernel/request/caller.ts'
import { type ComparedPolicy, comparePolicies, type DecisionChanges } from '../../src/pdp/compare-policies.ts'
import type { ComparisonScope } from '../../src/pdp/comparison-parameters.ts'
import { compileDecisionPolicy } from '../../src/policy/compile-policy.ts'
import { type AuthorizationGraph, authorizationGraph, kindOf, levelOf } from '../engine/authorization-graph.ts'
import { openAuthorizationGraph } from '../engine/load-authorization-graph.ts'
import { partsOf } from '../engine/search.bench.ts'
import { type Bench, median, mustEqual, round } from '../harness.ts'

const caller: AgentCaller = {
  kind: 'agent',
  agentId: 'gid:agent',
  applicationId: 'gid:application',
  projectId: 'gid:project',
  permissions: new Set(['Authorization', 'ReadAuthZConfigs']),
  user: null,
}
const scope: ComparisonScope = {
  subject: {},
  action: {},
  resource: {},
  inputParams: undefined,
  policyTags: undefined,
  token: null,
}
/** The budget of `verdigraph plan`. */
const limits = { timeMs: 10_000, stepsMax: Number.POSITIVE_INFINITY, rowsHeldMax: 2_000_000, sampleMax: 3 }
const ROUNDS = 3

const owns = 'MATCH (subject)-[:OWNS]->(resource)'
const member = 'MATCH (subject)-[:MEMBER_OF]->(resource)'
const follows = 'MATCH (subject)-[:MEMBER_OF]->(:Group)-[:CHILD_OF]->(resource)'
const opens = 'MATCH (subject)-[:MEMBER_OF]->(:Group)-[:CAN_VIEW]->(resource)'

const stored = [
  policy('edit', 'Document', owns),
  policy('read', 'Document', `${owns} WHERE resource.kind = 'letter'`),
  policy('join', 'Group', member),
  policy('follow', 'Group', follows),
  policy('open', 'Folder', opens),
]

/** Changes of one policy, of four that are counted completely, and of all five. */
const scenes: Readonly<Record<string, readonly ComparedPolicy[]>> = {
  'one policy': [policy('edit', 'Document', `${owns} WHERE subject.level > 3`), ...stored.slice(1)],
  'one policy that only one person may use': [
    ...stored,
    policy('audit', 'Folder', "MATCH (subject:User), (resource:Folder) WHERE subject.external_id = 'user-1'"),
  ],
  'five policies': [
    policy('edit', 'Document', `${owns} WHERE subject.level > 3`),
    policy('read', 'Document', owns),
    policy('join', 'Group', `${member} WHERE subject.level > 3`),
    policy('open', 'Folder', `${opens} WHERE subject.level > 3`),
  ],
}

function policy(action: string, resourceType: string, cypher: string): ComparedPolicy {
  const compiled = compileDecisionPolicy(
    JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'User' },
      actions: [action],
      resource: { type: resourceType },
      condition: { cypher },
    }),
  )
  if (!compiled.ok) throw new Error(compiled.error[0])
  return { ...compiled.value, id: action, name: action, revision: 1, tags: [], isStored: true }
}

export const plan: Bench = {
  name: 'plan',
  question: 'who gains and who loses when five policies change on a graph of 1,000,000 nodes: time and memory',
  async run({ small, seed, report }) {
    const of = small
      ? { users: 4_000, groups: 200, folders: 800, documents: 5_000 }
      : { users: 400_000, groups: 20_000, folders: 80_000, documents: 500_000 }
    const graph = authorizationGraph(of, seed)
    report.line({ record: 'graph', ...graph.counts })
    const store = await openAuthorizationGraph(graph, seed, report.note)
    const parts = partsOf(store)
    const graphs = { default: store, global: null, at: () => null }
    const expected = expectedIn(graph)
    for (const [scene, proposed] of Object.entries(scenes)) {
      const times: number[] = []
      const cpuTimes: number[] = []
      let found: DecisionChanges | null = null
      // The arrays from which the graph was made are garbage by now, and are not part of a comparison.
      Bun.gc(true)
      const beforeMb = anonymousMb()
      for (let at = 0; at < ROUNDS; at++) {
        const startCpu = process.cpuUsage()
        const startMs = performance.now()
        const compared = comparePolicies(parts, graphs, caller, scope, { old: stored, new: proposed }, limits)
        times.push(performance.now() - startMs)
        const { user, system } = process.cpuUsage(startCpu)
        cpuTimes.push((user + system) / 1000)
        if (!compared.ok) throw new Error(JSON.stringify(compared.error))
        found = compared.value
        check(found, expected)
      }
      const { gains, losses, leftOut, steps } = found!
      const sum = (changes: typeof gains): number => changes.reduce((all, { pairs }) => all + pairs, 0)
      report.line({
        record: 'plan',
        scene,
        ms: round(median(times)),
        cpu_ms: round(median(cpuTimes)),
        gained: sum(gains),
        lost: sum(losses),
        complete: leftOut.length === 0,
        steps,
        memory_growth_mb: round(anonymousMb() - beforeMb),
      })
      for (const { policy: of, pairs = 0, read = 0, of: all = 0 } of leftOut)
        report.line({ record: 'left out', scene, policy: of.name, pairs_at_least: pairs, nodes_read: read, nodes: all })
    }
    await store.close()
  },
}

/** The numbers of pairs, from the arrays of the graph alone. */
function expectedIn({ relationships }: AuthorizationGraph): Readonly<Record<string, number>> {
  const pairs = (of: readonly (readonly [number, number])[]): Set<string> =>
    new Set(of.map(([from, to]) => `${from} ${to}`))
  const isLow = (pair: string): boolean => levelOf(Number(pair.split(' ')[0])) <= 3
  const owned = pairs(relationships.OWNS)
  return {
    'loss edit': [...owned].filter(isLow).length,
    'gain read': [...owned].filter((pair) => kindOf(Number(pair.split(' ')[1])) !== 'letter').length,
    'loss join': [...pairs(relationships.MEMBER_OF)].filter(isLow).length,
  }
}

function check({ gains, losses }: DecisionChanges, expected: Readonly<Record<string, number>>): void {
  for (const [change, found] of [
    ['gain', gains],
    ['loss', losses],
  ] as const) {
    for (const { policy: of, pairs, at_least } of found) {
      const right = expected[`${change} ${of.name}`]
      if (right !== undefined && !at_least) mustEqual(`${change} ${of.name}`, pairs, right)
    }
  }
}

/** Memory of the process without mapped files, such as the graph; 0 where the system does not say. */
function anonymousMb(): number {
  try {
    return Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
