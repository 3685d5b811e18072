// Context queries write nothing outside the policy: after any query the graph differs only in what the policy allows
// around the rows of the reference interpreter. A refused query leaves no trace.
import { expect, test } from 'vitest'
import { parse } from '../../../grammar/index.ts'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { compileStoredQuery } from '../../../src/context-query/compile-query.ts'
import { runWrites } from '../../../src/context-query/run-writes.ts'
import { createChunk, type GraphStore } from '../../../src/engine/store.ts'
import { fromJson } from '../../../src/engine/value/json-conversion.ts'
import { noModel } from '../../../src/model/stored-model.ts'
import type { BoundParameters } from '../../../src/policy/value-reference.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { Random, testSeed } from '../../generate/random.ts'
import {
  documentOf,
  randomWritingCase,
  SUBJECT,
  type WritingCase,
  type WritingPolicy,
} from '../../generate/writing-query.ts'
import type { Bindings } from '../../oracle/cypher/expression.ts'
import { Interpreter } from '../../oracle/cypher/interpreter.ts'
import { isNode, isRelationship, type ReferenceValue } from '../../oracle/cypher/values.ts'
import { writeGraph } from '../../support/convert-graph.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const CASES = 300

interface WriteReport {
  readonly type: string
  readonly labels: readonly string[]
  readonly ends: readonly string[]
  /** As text, by name. */
  readonly properties: ReadonlyMap<string, string>
  /** All of the element except the properties that may be deleted. */
  readonly rest: string
}

/** The whole graph without ids and times: nodes by type and external id, relationships by end nodes and type. */
function dump(graph: GraphStore): { nodes: Map<string, WriteReport>; relationships: Map<string, WriteReport> } {
  const snapshot = graph.snapshot()
  const nodes = new Map<string, WriteReport>()
  const relationships = new Map<string, WriteReport>()
  const keyOf = (id: number): string => `${snapshot.nodeField(id, 'type')}/${snapshot.nodeField(id, 'external_id')}`
  const texts = (stored: ReadonlyMap<string, { value: unknown; metadata: unknown }>) =>
    new Map([...stored].map(([name, { value, metadata }]) => [name, JSON.stringify([value, metadata])]))
  try {
    const chunk = createChunk()
    const ids: number[] = []
    for (let from = 0, more = true; more; from = chunk.next) {
      snapshot.allNodes(from, chunk)
      ids.push(...chunk.ids.subarray(0, chunk.length))
      more = chunk.more
    }
    for (const id of ids) {
      const labels = snapshot.labels(id).map((label) => snapshot.symbolName('label', label))
      const identity = snapshot.nodeField(id, 'is_identity')
      nodes.set(keyOf(id), {
        type: String(snapshot.nodeField(id, 'type')),
        labels,
        ends: [],
        properties: texts(snapshot.nodeStoredProperties(id)),
        rest: JSON.stringify([[...labels].sort(), identity]),
      })
      for (const type of snapshot.relationshipTypesAt(id, 'out')) {
        snapshot.neighbours(id, 'out', type, 0, chunk)
        for (let i = 0; i < chunk.length; i++) {
          const name = snapshot.symbolName('type', type)
          const ends = [keyOf(id), keyOf(chunk.ids[i]!)]
          relationships.set(`${ends[0]} ${name} ${ends[1]}`, {
            type: name,
            labels: [],
            ends,
            properties: texts(snapshot.relationshipStoredProperties(chunk.relationships[i]!)),
            rest: '',
          })
        }
      }
    }
  } finally {
    snapshot.close()
  }
  return { nodes, relationships }
}

/** The elements that variables are bound to in any row. */
function bindings(rows: readonly Bindings[], names: readonly string[]): Set<string> {
  const keys = (value: ReferenceValue): string[] => {
    if (Array.isArray(value)) return (value as readonly ReferenceValue[]).flatMap(keys)
    if (isNode(value)) return [`${value.type}/${value.externalId}`]
    if (isRelationship(value)) return [`${keys(value.source)[0]} ${value.type} ${keys(value.target)[0]}`]
    return []
  }
  return new Set(rows.flatMap((row) => names.flatMap((name) => keys(row.get(name) ?? null))))
}

function same(before: WriteReport, after: WriteReport): boolean {
  return before.rest === after.rest && JSON.stringify([...before.properties]) === JSON.stringify([...after.properties])
}

/** True if the element only lost properties that some allowed path covers. */
function onlyLost(before: WriteReport, after: WriteReport, mayLose: (property: string) => boolean): boolean {
  if (before.rest !== after.rest) return false
  for (const [name, text] of after.properties) if (before.properties.get(name) !== text) return false
  return [...before.properties.keys()].every((name) => after.properties.has(name) || mayLose(name))
}

function trespasses(
  policy: WritingPolicy,
  rows: readonly Bindings[],
  before: ReturnType<typeof dump>,
  after: ReturnType<typeof dump>,
): string[] {
  const found: string[] = []
  const named = (paths: readonly string[], ends: readonly string[]) =>
    paths.flatMap((path) => {
      const [name = '', ...rest] = path.split('.')
      return ends.includes(rest.join('.')) ? [name] : []
    })
  const isReserved = ({ type }: WriteReport): boolean => type.startsWith('_')

  const writable = bindings(rows, policy.existingNodes)
  const removable = bindings(rows, named(policy.deleteNodes, ['']))
  const gone = new Set<string>()
  for (const key of new Set([...before.nodes.keys(), ...after.nodes.keys()])) {
    const [was, is] = [before.nodes.get(key), after.nodes.get(key)]
    const told = (was ?? is)!
    const byType = policy.nodeTypes.includes(told.type)
    if (was !== undefined && is !== undefined && same(was, is)) continue
    if (isReserved(told)) found.push(`${key} is the service's own`)
    else if (was === undefined) {
      if (!byType) found.push(`${key} was made`)
    } else if (is === undefined) {
      gone.add(key)
      if (!removable.has(key)) found.push(`${key} was deleted`)
    } else if (!writable.has(key) && !byType) {
      const mayLose = (property: string): boolean =>
        bindings(rows, named(policy.deleteNodes, ['*', `property.${property}`])).has(key)
      if (!onlyLost(was, is, mayLose)) found.push(`${key} was changed`)
    }
  }

  const rewritable = bindings(rows, policy.existingRelationships)
  const cuttable = bindings(rows, named(policy.deleteRelationships, ['']))
  for (const key of new Set([...before.relationships.keys(), ...after.relationships.keys()])) {
    const [was, is] = [before.relationships.get(key), after.relationships.get(key)]
    const told = (was ?? is)!
    const [source, target] = told.ends.map((end) => after.nodes.get(end)?.labels ?? [])
    const byRule = policy.rules.some(
      (rule) =>
        rule.type === told.type && source?.includes(rule.source_node_label) && target?.includes(rule.target_node_label),
    )
    if (was !== undefined && is !== undefined && same(was, is)) continue
    if (is === undefined && told.ends.some((end) => gone.has(end))) continue
    if (isReserved(told)) found.push(`${key} is the service's own`)
    else if (was === undefined) {
      if (!byRule) found.push(`${key} was made`)
    } else if (is === undefined) {
      if (!cuttable.has(key)) found.push(`${key} was deleted`)
    } else if (!rewritable.has(key) && !byRule) {
      const mayLose = (property: string): boolean =>
        bindings(rows, named(policy.deleteRelationships, ['*', property])).has(key)
      if (!onlyLost(was, is, mayLose)) found.push(`${key} was changed`)
    }
  }
  return found
}

type PolicyWriteOutcome = 'refused when stored' | 'refused when run' | 'no rows' | 'no change' | 'changed'

async function tried(
  graph: GraphStore,
  { policy, query, parameters, graph: world }: WritingCase,
): Promise<PolicyWriteOutcome> {
  const stored = (fields: object) => ({ id: 'gid:x', name: 'x', fields }) as unknown as StoredDocument
  const before = dump(graph)
  const compiled = compileStoredQuery(
    stored({ query: JSON.stringify(query) }),
    stored({ policy: JSON.stringify(documentOf(policy)), status: 'ACTIVE' }),
    noModel,
  )
  if (!compiled.ok) return 'refused when stored'
  if (compiled.value.writes === null) return 'no change'
  const given: BoundParameters = new Map(Object.entries(parameters).map(([name, value]) => [name, fromJson(value)]))
  const bound = compiled.value.writes.bind(given)
  if (!bound.ok) return 'refused when run'
  const written = await runWrites({
    graph,
    query: compiled.value,
    parameters: given,
    bound: bound.value,
    limits: { stepsMax: 1_000_000, timeMs: 60_000 },
    deadlineMs: performance.now() + 60_000,
    rowsMax: 1000,
    writesMax: 10_000,
    answerMax: 1_000_000,
  })
  const after = dump(graph)
  if (!written.ok) {
    expect(after).toEqual(before)
    return 'refused when run'
  }
  const parsed = parse(policy.cypher)
  if (!parsed.ok) throw new Error(policy.cypher)
  const rows = new Interpreter(world, new Map()).run(parsed.query).filter((row) => {
    const subject = row.get('subject') ?? null
    return isNode(subject) && subject.type === SUBJECT
  })
  expect(written.value.data).toHaveLength(rows.length)
  expect(trespasses(policy, rows, before, after)).toEqual([])
  if (rows.length === 0) {
    expect(after).toEqual(before)
    return 'no rows'
  }
  const isSame = JSON.stringify(plain(after)) === JSON.stringify(plain(before))
  return isSame ? 'no change' : 'changed'
}

function plain({ nodes, relationships }: ReturnType<typeof dump>): unknown {
  return [...nodes, ...relationships].map(([key, { rest, properties }]) => [key, rest, [...properties]])
}

test(`${CASES} random queries write only what their random policies allow`, async () => {
  const seed = testSeed()
  console.log(`VERDIGRAPH_SEED=${seed}`)
  const outcomes = new Map<PolicyWriteOutcome, number>()
  const clock = new ManualClock(1_750_000_000_000)
  const environment = openEnvironment(temporaryFolder(), { clock, sync: false })
  try {
    for (let i = 0; i < CASES; i++) {
      const random = new Random(seed + i)
      const one = randomWritingCase(random)
      await environment.write((batch) => {
        for (const key of kept) batch.deleteNode(key)
        writeGraph(one.graph, batch)
      })
      const outcome = await tried(environment, one).catch((fault: unknown) => {
        throw new Error(
          `case ${i}: ${JSON.stringify({ policy: one.policy, query: one.query, parameters: one.parameters })}`,
          { cause: fault },
        )
      })
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  } finally {
    await environment.close()
  }
  console.log(JSON.stringify(Object.fromEntries(outcomes)))
  // Without enough writes and refusals the test would prove nothing.
  expect(outcomes.get('changed') ?? 0).toBeGreaterThan(CASES / 8)
  expect(outcomes.get('refused when run') ?? 0).toBeGreaterThan(CASES / 40)
  expect(outcomes.get('refused when stored') ?? 0).toBeGreaterThan(CASES / 40)
})

/** All keys that a case may leave in the graph. */
const kept = ['TA', 'TB', 'TC', '_Own'].flatMap((type) =>
  [...Array.from({ length: 7 }, (_, i) => `n${i}`), 'fresh'].map((externalId) => ({ type, externalId })),
)
