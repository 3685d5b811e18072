// Cypher engines from npm, in process, with the same graph. They are installed in `bench/peers` and are not
// dependencies of the product: without them the bench skips them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AuthorizationGraph,
  type BenchQuestion,
  ends,
  idOf,
  KNOWS_MAX,
  kindOf,
  levelOf,
  PARENTS_MAX,
  type QuestionName,
  type RelationshipType,
  sizeOf,
  type Type,
} from './authorization-graph.ts'
import type { BenchAnswers, BenchmarkedEngine } from './benchmarked-engine.ts'

const fromPeers = createRequire(join(import.meta.dirname, '..', 'peers', 'package.json'))

/** The peer, or the reason why it is skipped. */
export async function peer(
  name: keyof typeof peers,
  graph: AuthorizationGraph,
): Promise<BenchmarkedEngine | { readonly name: string; readonly absent: string }> {
  let loaded: unknown
  try {
    loaded = fromPeers(peers[name].package)
  } catch {
    return { name, absent: `${peers[name].package} is not installed: npm install in bench/peers` }
  }
  return peers[name].open(loaded, graph)
}

/** The common part of both dialects. `Group` and `IN` are keywords of one of them, so both use other names. */
const common = {
  owns: 'MATCH (s:User)-[:OWNS]->(r:Document) WHERE s.external_id = $a AND r.external_id = $b RETURN 1 LIMIT 1',
  can_view: `MATCH (s:User)-[:MEMBER_OF]->(:Team)-[:CAN_VIEW]->(:Folder)<-[:LIES_IN]-(r:Document)
    WHERE s.external_id = $a AND r.external_id = $b RETURN 1 LIMIT 1`,
  can_view_with_parents: `MATCH (s:User)-[:MEMBER_OF]->(:Team)-[:CHILD_OF*0..${PARENTS_MAX}]->(:Team)
    -[:CAN_VIEW]->(:Folder)<-[:LIES_IN]-(r:Document)
    WHERE s.external_id = $a AND r.external_id = $b RETURN 1 LIMIT 1`,
  node_by_id: 'MATCH (u:User {external_id: $a}) RETURN u.level AS level',
  folders_of_user: `MATCH (s:User {external_id: $a})-[:MEMBER_OF]->(:Team)-[:CAN_VIEW]->(f:Folder)
    RETURN DISTINCT f.external_id AS id`,
  search_10000: `MATCH (s:User {external_id: $a})-[:MEMBER_OF]->(:Team)-[:CAN_VIEW]->(:Folder)<-[:LIES_IN]-(d:Document)
    RETURN DISTINCT d.external_id AS id`,
  aggregate_10000: `MATCH (s:User {external_id: $a})-[:MEMBER_OF]->(:Team)-[:CAN_VIEW]->(:Folder)<-[:LIES_IN]-(d:Document)
    RETURN d.kind AS kind, count(*) AS documents, sum(d.size) AS size`,
}

const nameOf = { User: 'User', Group: 'Team', Folder: 'Folder', Document: 'Document', Account: 'Account' }
const typeOf = (type: RelationshipType): string => (type === 'IN' ? 'LIES_IN' : type)

function propertiesOf(type: Type, at: number): Readonly<Record<string, string | number>> {
  const external_id = idOf(type, at)
  return type === 'Document' ? { external_id, kind: kindOf(at), size: sizeOf(at) } : { external_id, level: levelOf(at) }
}

const typesOf = (graph: AuthorizationGraph) => Object.entries(graph.counts) as [Type, number][]
const relationshipsOf = (graph: AuthorizationGraph) =>
  Object.entries(graph.relationships) as [RelationshipType, readonly (readonly [number, number])[]][]

// ---------------------------------------------------------------- LadybugDB

interface LadybugResult {
  getAllSync(): Record<string, unknown>[]
  close(): void
}

interface LadybugConnection {
  querySync(text: string): LadybugResult
  prepareSync(text: string): object
  executeSync(prepared: object, parameters: object): LadybugResult
  setQueryTimeout(ms: number): void
  closeSync(): void
}

interface Ladybug {
  Database: new (path: string) => { closeSync(): void }
  Connection: new (database: object, threads?: number) => LadybugConnection
}

async function openLadybug(loaded: unknown, graph: AuthorizationGraph): Promise<BenchmarkedEngine> {
  const { Database, Connection } = loaded as Ladybug
  const database = new Database(':memory:')
  // A second thread costs more than it gains for a small question: measured.
  const connection = new Connection(database, 1)
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-ladybug-'))
  const copy = (table: string, rows: readonly string[]): void => {
    const file = join(folder, `${table}.csv`)
    writeFileSync(file, rows.join('\n'))
    connection.querySync(`COPY ${table} FROM "${file}"`).close()
  }
  for (const [type, count] of typesOf(graph)) {
    const columns = type === 'Document' ? 'kind STRING, size INT64' : 'level INT64'
    connection
      .querySync(`CREATE NODE TABLE ${nameOf[type]}(external_id STRING, ${columns}, PRIMARY KEY(external_id))`)
      .close()
    copy(
      nameOf[type],
      Array.from({ length: count }, (_, at) => Object.values(propertiesOf(type, at)).join(',')),
    )
  }
  for (const [type, pairs] of relationshipsOf(graph)) {
    const [source, target] = ends[type]
    connection.querySync(`CREATE REL TABLE ${typeOf(type)}(FROM ${nameOf[source]} TO ${nameOf[target]})`).close()
    copy(
      typeOf(type),
      pairs.map(([from, to]) => `${idOf(source, from)},${idOf(target, to)}`),
    )
  }
  rmSync(folder, { recursive: true, force: true })

  const texts: Readonly<Record<QuestionName, string>> = {
    ...common,
    knows_1_to_8: `MATCH (a:Account)-[:KNOWS* SHORTEST 1..${KNOWS_MAX}]->(b:Account)
      WHERE a.external_id = $a AND b.external_id = $b RETURN 1`,
  }
  const run = (question: QuestionName) => {
    const prepared = connection.prepareSync(texts[question])
    const two = texts[question].includes('$b')
    return ({ first, second }: BenchQuestion): Record<string, unknown>[] => {
      const result = connection.executeSync(prepared, two ? { a: first, b: second } : { a: first })
      const rows = result.getAllSync()
      result.close()
      return rows
    }
  }
  return {
    name: 'ladybug',
    answers: answersFrom(run),
    close: () => {
      connection.closeSync()
      database.closeSync()
    },
  }
}

// ---------------------------------------------------------------- Grafeo

interface GrafeoDatabase {
  executeCypher(text: string, parameters?: object): Promise<{ toArray(): Record<string, unknown>[] }>
  batchCreateNodesWithProps(label: string, properties: readonly object[]): Promise<number[]>
  batchCreateEdges(edges: readonly { src: number; dst: number; type: string }[]): Promise<number[]>
  close(): void
}

async function openGrafeo(loaded: unknown, graph: AuthorizationGraph): Promise<BenchmarkedEngine> {
  const database = (loaded as { GrafeoDB: { create(): GrafeoDatabase } }).GrafeoDB.create()
  const nodes = {} as Record<Type, readonly number[]>
  for (const [type, count] of typesOf(graph)) {
    const label = nameOf[type]
    await database.executeCypher(`CREATE INDEX ${label.toLowerCase()}_id FOR (n:${label}) ON (n.external_id)`)
    const properties = Array.from({ length: count }, (_, at) => propertiesOf(type, at))
    nodes[type] = await database.batchCreateNodesWithProps(label, properties)
  }
  for (const [type, pairs] of relationshipsOf(graph)) {
    const [source, target] = ends[type]
    await database.batchCreateEdges(
      pairs.map(([from, to]) => ({ src: nodes[source][from]!, dst: nodes[target][to]!, type: typeOf(type) })),
    )
  }
  const texts: Readonly<Record<QuestionName, string>> = {
    ...common,
    knows_1_to_8: `MATCH p = shortestPath((a:Account {external_id: $a})-[:KNOWS*1..${KNOWS_MAX}]->(b:Account {external_id: $b}))
      RETURN 1 LIMIT 1`,
  }
  const run = (question: QuestionName) => {
    const text = texts[question]
    const two = text.includes('$b')
    return async ({ first, second }: BenchQuestion): Promise<Record<string, unknown>[]> =>
      (await database.executeCypher(text, two ? { a: first, b: second } : { a: first })).toArray()
  }
  return {
    name: 'grafeo',
    answers: answersFrom(run),
    close: () => database.close(),
  }
}

// ---------------------------------------------------------------- both

type PeerRows = readonly Record<string, unknown>[]

function answersFrom(
  run: (question: QuestionName) => (asked: BenchQuestion) => PeerRows | Promise<PeerRows>,
): BenchAnswers {
  /** A promise only if the peer returns one: awaiting nothing would cost it a turn of the event loop. */
  const then = <T>(rows: PeerRows | Promise<PeerRows>, read: (rows: PeerRows) => T): T | Promise<T> =>
    rows instanceof Promise ? rows.then(read) : read(rows)
  const granted = (question: QuestionName) => {
    const ask = run(question)
    return (asked: BenchQuestion) => then(ask(asked), (rows) => rows.length > 0)
  }
  const ids = (question: QuestionName) => {
    const ask = run(question)
    return (asked: BenchQuestion) => then(ask(asked), (rows) => rows.map((row) => row.id as string))
  }
  const byId = run('node_by_id')
  const byKind = run('aggregate_10000')
  return {
    node_by_id: (asked) => then(byId(asked), (rows) => Number(rows[0]!.level)),
    owns: granted('owns'),
    can_view: granted('can_view'),
    can_view_with_parents: granted('can_view_with_parents'),
    folders_of_user: ids('folders_of_user'),
    knows_1_to_8: granted('knows_1_to_8'),
    search_10000: ids('search_10000'),
    aggregate_10000: (asked) =>
      then(byKind(asked), (rows) => rows.map(({ kind, documents, size }) => [kind, documents, size])),
  }
}

const peers = {
  ladybug: { package: '@ladybugdb/core', open: openLadybug },
  grafeo: { package: '@grafeo-db/js', open: openGrafeo },
}

export const peerNames = ['ladybug', 'grafeo'] as const
