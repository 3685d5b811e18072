// Answers of knowledge queries about elements that existed before their upserts, for random graphs, policies and
// queries. A model decides which values may be returned. Three more properties need no model: a second call has the same
// answer, elements that exist do not make a call fail, and an answer does not depend on anything that may not be returned.
import { expect, test } from 'vitest'
import { parse } from '../../../grammar/index.ts'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { compileStoredQuery } from '../../../src/context-query/compile-query.ts'
import { runWrites } from '../../../src/context-query/run-writes.ts'
import type { RecordData } from '../../../src/context-query/schema.ts'
import type { WriteBatch } from '../../../src/engine/store.ts'
import { noModel } from '../../../src/model/stored-model.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { Random, testSeed } from '../../generate/random.ts'
import {
  allNames,
  changedSecrets,
  policyOf,
  queryOf,
  type RepeatedUpsert,
  ROW_PATHS,
  randomRepeatedUpsert,
  SECRET,
  type SecretGraph,
  type SecretProperty,
  SUBJECT,
  writtenValue,
} from '../../generate/repeated-upsert.ts'
import type { Bindings } from '../../oracle/cypher/expression.ts'
import { Interpreter } from '../../oracle/cypher/interpreter.ts'
import { type GraphNode, type GraphRelationship, isNode, type ReferenceGraph } from '../../oracle/cypher/values.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const CASES = 150

// -- a case in an environment

function write(batch: WriteBatch, { nodes, relationships }: SecretGraph): void {
  const inputs = (properties: ReadonlyMap<string, SecretProperty>) =>
    [...properties].map(([name, { value, source }]) => ({
      name,
      value,
      ...(source !== null && { metadata: { source } }),
    }))
  for (const { type, externalId, labels, properties } of nodes) {
    batch.upsertNode({ type, externalId, labels, properties: inputs(properties) })
  }
  for (const { source, type, target, properties } of relationships) {
    batch.upsertRelationship({ source, type, target, properties: inputs(properties) })
  }
}

/** The order of names is the same in all environments. */
function intern(batch: WriteBatch): void {
  const key = { type: SUBJECT, externalId: 'names' }
  const labels = [...allNames.labels, ...Array.from({ length: 30 }, (_, i) => `Hidden${i + 1}`)]
  batch.upsertNode({ ...key, labels, properties: allNames.properties.map((name) => ({ name, value: '' })) })
  batch.deleteNode(key)
}

function clear(batch: WriteBatch): void {
  for (const type of allNames.labels) {
    for (const externalId of ['n0', 'n1', 'n2', 'n3', 'fresh']) batch.deleteNode({ type, externalId })
  }
}

type CallOutcome = { readonly data: readonly RecordData[] } | { readonly refused: string }

async function call(graph: LmdbEnvironment, one: RepeatedUpsert): Promise<CallOutcome> {
  const stored = (fields: object) => ({ id: 'gid:x', name: 'x', fields }) as unknown as StoredDocument
  const compiled = compileStoredQuery(
    stored({ query: JSON.stringify(queryOf(one)) }),
    stored({ policy: JSON.stringify(policyOf(one)), status: 'ACTIVE' }),
    noModel,
  )
  if (!compiled.ok) throw new Error(compiled.error.issue)
  const bound = compiled.value.writes?.bind(new Map())
  if (bound?.ok !== true) throw new Error('the query writes and binds')
  const written = await runWrites({
    graph,
    query: compiled.value,
    parameters: new Map(),
    bound: bound.value,
    limits: { stepsMax: 1_000_000, timeMs: 60_000 },
    deadlineMs: performance.now() + 60_000,
    rowsMax: 1000,
    writesMax: 10_000,
    answerMax: 10_000_000,
  })
  return written.ok ? { data: written.value.data } : { refused: JSON.stringify(written.error) }
}

/** The answer as text; the random parts of global ids are replaced by their order. */
function textOf(outcome: CallOutcome): string {
  const ids = new Map<string, string>()
  return JSON.stringify(outcome).replace(/gid:\w+/g, (id) => {
    if (!ids.has(id)) ids.set(id, `gid:${ids.size}`)
    return ids.get(id) as string
  })
}

// -- the model

/** Returns whether the policy allows to read a property under a name. */
function mayRead(paths: readonly string[], name: string, property: string): boolean {
  return ['.*', '.property.*', `.property.${property}`].some((part) => paths.includes(`${name}${part}`))
}

function rowsOf({ cypher, graph }: RepeatedUpsert): readonly Bindings[] {
  const nodes = new Map(
    graph.nodes.map((node) => {
      const { type, externalId, labels } = node
      return [node, { kind: 'node', type, externalId, labels, isIdentity: false, properties: new Map() } as GraphNode]
    }),
  )
  const relationships = graph.relationships.map(
    ({ source, type, target }): GraphRelationship => ({
      kind: 'relationship',
      source: nodes.get(source)!,
      target: nodes.get(target)!,
      type,
      properties: new Map(),
    }),
  )
  const reference: ReferenceGraph = { nodes: [...nodes.values()], relationships }
  const parsed = parse(cypher)
  if (!parsed.ok) throw new Error(cypher)
  return new Interpreter(reference, new Map()).run(parsed.query)
}

/** The model of one call: which element each name denotes in a row, what the call wrote, what was there before. */
class AnswerModel {
  private readonly one: RepeatedUpsert
  private readonly before = new Map<
    string,
    { labels: readonly string[]; properties: ReadonlyMap<string, SecretProperty> }
  >()
  private readonly written = new Map<string, Set<string>>()

  constructor(one: RepeatedUpsert, rows: readonly Bindings[]) {
    this.one = one
    const keyOf = ({ type, externalId }: { type: string; externalId: string }) => `${type}/${externalId}`
    for (const node of one.graph.nodes) this.before.set(keyOf(node), node)
    for (const { source, type, target, properties } of one.graph.relationships) {
      this.before.set(`${keyOf(source)} ${type} ${keyOf(target)}`, { labels: [], properties })
    }
    for (const row of rows) {
      for (const { name, properties } of [
        ...one.nodes,
        ...one.relationships,
        ...(one.updated === null ? [] : [{ name: 'x', properties: one.updated }]),
      ]) {
        const key = this.elementOf(name, row)
        const names = this.written.get(key) ?? new Set()
        for (const { type } of properties) names.add(type)
        this.written.set(key, names)
      }
    }
  }

  /** The key of the element that a name denotes in a row. */
  elementOf(name: string, row: Bindings): string {
    const node = this.one.nodes.find((each) => each.name === name)
    if (node !== undefined) return `${node.type}/${node.external_id}`
    const relationship = this.one.relationships.find((each) => each.name === name)
    if (relationship !== undefined) {
      const { source, type, target } = relationship
      return `${this.elementOf(source, row)} ${type} ${this.elementOf(target, row)}`
    }
    const value = row.get(name) ?? null
    return isNode(value) ? `${value.type}/${value.externalId}` : 'nothing'
  }

  private pathsOf(name: string): readonly string[] {
    const { nodes, relationships } = this.one.reads
    return this.one.nodes.some((each) => each.name === name) ? nodes : relationships
  }

  /** The secrets that a record may contain under a name. */
  secretsOf(name: string, row: Bindings): string[] {
    const paths = this.pathsOf(name)
    const element = this.before.get(this.elementOf(name, row))
    if (element === undefined) return []
    const mayReadWhole = paths.includes(name) || paths.includes(`${name}.*`)
    return [
      ...(mayReadWhole ? element.labels : []),
      ...[...element.properties].flatMap(([property, { value, source }]) => [
        ...(mayReadWhole || mayRead(paths, name, property) ? [value] : []),
        ...(paths.includes(`${name}.property.${property}.metadata.source`) && source !== null ? [source] : []),
      ]),
    ]
  }

  /** The value of a property under a name; undefined: left out. Only for a case that deletes nothing. */
  propertyOf(name: string, property: string, row: Bindings): string | null | undefined {
    const element = this.elementOf(name, row)
    if (this.written.get(element)?.has(property)) return writtenValue(property)
    if (!mayRead(this.pathsOf(name), name, property)) return undefined
    return this.before.get(element)?.properties.get(property)?.value ?? null
  }
}

type PathValues = Readonly<Record<string, unknown>>
const entriesOf = (value: unknown) =>
  new Map((value as { type: string; value: unknown }[]).map((entry) => [entry.type, entry.value]))

/** Checks each value of a record against the model. */
function checkRecord(record: Record<string, PathValues>, row: Bindings, one: RepeatedUpsert, model: AnswerModel): void {
  for (const [member, requested] of Object.entries(one.requested)) {
    const values = record[member]!
    const others = Object.keys(values).filter((path) => !requested.includes(path) && !ROW_PATHS.includes(path))
    expect(others).toEqual([])
    for (const path of requested) {
      const [name = '', part, property, metadata] = path.split('.')
      const value = values[path]
      const permitted = model.secretsOf(name, row)
      const found = JSON.stringify(value ?? null).match(SECRET) ?? []
      expect({ path, secrets: found.filter((text) => !permitted.includes(text)) }).toEqual({ path, secrets: [] })
      if (part !== undefined && part !== 'property' && part !== '*' && part !== 'trust_score') {
        // An own field.
        expect({ path, value }).toEqual({ path, value: part === 'is_identity' ? false : expect.any(String) })
      }
      if (one.deleted.length > 0) continue
      const all = allNames.properties.map((each) => [each, model.propertyOf(name, each, row)] as const)
      const visible = new Map(all.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
      if (part === 'property' && property !== '*' && metadata === undefined) {
        expect({ path, value }).toEqual({ path, value: model.propertyOf(name, property!, row) })
      } else if (part === 'property' && property === '*') {
        expect({ path, value: entriesOf(value) }).toEqual({ path, value: visible })
      } else if (part === '*') {
        for (const [each, text] of visible)
          expect({ path, value: entriesOf(value).get(each) }).toEqual({ path, value: text })
      } else if (part === undefined) {
        const { Props } = value as { Props: PathValues }
        for (const [each, text] of visible) expect({ path, value: Props[each] }).toEqual({ path, value: text })
      }
    }
  }
}

test(`${CASES} random queries return of what existed only own fields, what they wrote, and what their policy allows`, async () => {
  const seed = testSeed()
  console.log(`VERDIGRAPH_SEED=${seed}`)
  const counts = { refused: 0, answered: 0, values: 0, leftOut: 0, readable: 0 }
  const open = () => openEnvironment(temporaryFolder(), { clock: new ManualClock(1_750_000_000_000), sync: false })
  const [first, changed, without] = [open(), open(), open()]
  try {
    for (const environment of [first, changed, without]) await environment.write(intern)
    for (let i = 0; i < CASES; i++) {
      const random = new Random(seed + i)
      const one = randomRepeatedUpsert(random)
      if (one.nodes.length + one.relationships.length === 0) continue
      await runCase(one, random).catch((cause: unknown) => {
        throw new Error(`case ${i}: ${JSON.stringify({ policy: policyOf(one), query: queryOf(one) })}`, { cause })
      })
    }
  } finally {
    for (const environment of [first, changed, without]) await environment.close()
  }
  console.log(JSON.stringify(counts))
  // Without enough answers, and values of each kind, the test would prove nothing.
  expect(counts.answered).toBeGreaterThan(CASES / 3)
  expect(counts.refused).toBeGreaterThan(CASES / 40)
  expect(counts.leftOut).toBeGreaterThan(CASES)
  expect(counts.readable).toBeGreaterThan(CASES / 10)

  async function runCase(one: RepeatedUpsert, random: Random): Promise<void> {
    const rows = rowsOf(one)
    const model = new AnswerModel(one, rows)
    const load = (environment: LmdbEnvironment, graph: SecretGraph) =>
      environment.write((batch) => {
        clear(batch)
        write(batch, graph)
      })
    await load(first, one.graph)
    const outcome = await call(first, one)

    // Whether the relationships that the query writes exist does not decide whether the call succeeds.
    const { nodes, relationships } = one.graph
    await load(without, { nodes, relationships: relationships.filter(({ type }) => type === 'R') })
    const fresh = await call(without, one)
    expect('refused' in outcome ? outcome.refused : null).toBe('refused' in fresh ? fresh.refused : null)

    // Nor does the outcome depend on what may not be returned.
    const namesOf = (type: string) =>
      [...one.nodes, ...one.relationships].filter((each) => each.type === type).map(({ name }) => name)
    const paths = [...one.reads.nodes, ...one.reads.relationships]
    const isSecret: Parameters<typeof changedSecrets>[2] = (type, what) =>
      namesOf(type).every((name) => {
        if (what !== 'labels' && 'source' in what) {
          return !paths.includes(`${name}.property.${what.source}.metadata.source`)
        }
        if (paths.includes(name) || paths.includes(`${name}.*`)) return false
        return what === 'labels' || !mayRead(paths, name, what.property)
      })
    await load(changed, changedSecrets(random, one.graph, isSecret))
    expect(textOf(await call(changed, one))).toBe(textOf(outcome))

    if ('refused' in outcome) {
      counts.refused += 1
      return
    }
    expect(textOf(await call(first, one))).toBe(textOf(outcome))
    expect(outcome.data).toHaveLength(rows.length)
    if (rows.length > 0) counts.answered += 1
    const left = [...rows]
    for (const record of outcome.data) {
      const values = { nodes: { ...record.nodes }, relationships: { ...record.relationships } } as Record<
        string,
        PathValues
      >
      const found = ROW_PATHS.map((path) => values.nodes![path]).join('/')
      const at = left.findIndex((row) => model.elementOf('x', row) === found)
      expect({ found, isRow: at >= 0 }).toEqual({ found, isRow: true })
      checkRecord(values, left.splice(at, 1)[0]!, one, model)
      for (const [member, requested] of Object.entries(one.requested)) {
        counts.values += Object.keys(values[member]!).length
        counts.leftOut += requested.filter((path) => !(path in values[member]!)).length
        counts.readable += new Set(JSON.stringify(values[member]).match(SECRET)).size
      }
    }
  }
})
