// Neo4j as a peer of a bench: a running server over Bolt. The generated graph is loaded into an empty database, and removed at the end. The
// driver is loaded only when a bench asks for it.
import type { Driver, Session } from 'neo4j-driver-lite'
import { OperationalError } from '../../kernel/errors.ts'
import type { AskedPeer } from './asked-peer.ts'
import {
  documentId,
  type GeneratedAction,
  type GeneratedGraph,
  type GeneratedQuestion,
  groupId,
  groupsOf,
  ownedBy,
  personId,
  readableBy,
} from './generated-graph.ts'
import type { OpenedSystem } from './load.ts'

const SCHEMES = ['bolt:', 'bolt+s:', 'bolt+ssc:', 'neo4j:', 'neo4j+s:', 'neo4j+ssc:']
const ROWS_PER_WRITE = 5000
const CONNECT_MS = 10_000
/** Only nodes with this label are removed at the end. */
const MARK = 'VerdigraphBench'

/** The condition of each action, as a question about one pair. */
const queries: Readonly<Record<GeneratedAction, string>> = {
  open: 'RETURN EXISTS { (:Person {external_id: $person})-[:OWNS]->(:Document {external_id: $document}) } AS decision',
  read: 'RETURN EXISTS { (:Person {external_id: $person})-[:MEMBER]->(:Group)-[:MAY_READ]->(:Document {external_id: $document}) } AS decision',
  clear:
    'RETURN EXISTS { MATCH (p:Person {external_id: $person}), (d:Document {external_id: $document}) WHERE p.level >= d.level } AS decision',
}
const keyed = ['Person', 'Group', 'Document'] as const
const constraintOf = (label: string): string => `verdigraph_bench_${label.toLowerCase()}`

/** Why a text is not the address of a server; null: it is one. A password is not repeated. */
export function boltProblem(url: string): string | null {
  const expected = 'expected a URL such as bolt://127.0.0.1:7687'
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    return expected
  }
  if (!SCHEMES.includes(parsed.protocol) || parsed.hostname === '') return expected
  if (parsed.username !== '' || parsed.password !== '')
    return 'put the credentials into NEO4J_USERNAME and NEO4J_PASSWORD of the environment, and not into the URL, which other users of this machine can read'
  return null
}

/** Loads the graph. Throws OperationalError if the server cannot be reached, or its database has content. */
export async function loadIntoNeo4j(
  url: string,
  graph: GeneratedGraph,
  questions: readonly GeneratedQuestion[],
): Promise<AskedPeer> {
  const { default: neo4j } = await import('neo4j-driver-lite')
  const { NEO4J_USERNAME: principal = 'neo4j', NEO4J_PASSWORD: credentials = '' } = process.env
  const driver = neo4j.driver(
    url,
    { scheme: 'basic', principal, credentials },
    {
      disableLosslessIntegers: true,
      // Those of a bench are at most as many as its option allows.
      maxConnectionPoolSize: 2000,
      connectionAcquisitionTimeout: CONNECT_MS,
      connectionTimeout: CONNECT_MS,
      maxTransactionRetryTime: 0,
    },
  )
  const failure = (cause: unknown): OperationalError =>
    cause instanceof OperationalError ? cause : new OperationalError(`${url}: ${(cause as Error).message}`)
  let isLoaded = false
  const close = async (): Promise<void> => {
    try {
      if (isLoaded) await removeGraph(driver)
    } catch (cause) {
      throw failure(cause)
    } finally {
      await driver.close()
    }
  }
  try {
    const [version] = await rowsOf<{ version: string }>(
      driver,
      "CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel' RETURN versions[0] + ' ' + edition AS version",
    )
    await requireEmpty(driver, url)
    isLoaded = true
    await writeGraph(driver, graph)
    return {
      version: version?.version ?? 'unknown version',
      note: 'a running server over Bolt; each question is a Cypher query with parameters in a transaction of its own, with unique constraints on the ids',
      protocol: 'Bolt',
      cpuS: () => null,
      connect: async (connections) => connect(driver, questions, connections),
      close,
    }
  } catch (cause) {
    await close().catch(() => undefined)
    throw failure(cause)
  }
}

async function rowsOf<T extends object>(driver: Driver, query: string, parameters: object = {}): Promise<T[]> {
  const session = driver.session()
  try {
    const { records } = await session.run(query, parameters)
    return records.map((record) => record.toObject() as T)
  } finally {
    await session.close()
  }
}

async function requireEmpty(driver: Driver, url: string): Promise<void> {
  const [found] = await rowsOf(driver, 'MATCH (n) RETURN 1 AS found LIMIT 1')
  const named = await rowsOf<{ name: string }>(driver, 'SHOW CONSTRAINTS YIELD name RETURN name')
  const [constraint] = named
  if (found === undefined && constraint === undefined) return
  const content = found === undefined ? `a constraint (${constraint?.name})` : 'nodes'
  throw new OperationalError(
    `${url}: the database has ${content}. A bench loads its graph into an empty database only, and removes it at the end. After a bench that was killed: MATCH (n:${MARK}) DETACH DELETE n, and drop the constraints verdigraph_bench_…`,
  )
}

async function writeGraph(driver: Driver, graph: GeneratedGraph): Promise<void> {
  for (const label of keyed)
    await rowsOf(driver, `CREATE CONSTRAINT ${constraintOf(label)} FOR (n:${label}) REQUIRE n.external_id IS UNIQUE`)
  const node = (label: string, count: number, rowOf: (at: number) => object): Promise<void> =>
    inBatches(driver, `UNWIND $rows AS row CREATE (n:${label}:${MARK}) SET n = row`, indices(count), rowOf)
  await node('Person', graph.people, (at) => ({ external_id: personId(at), level: graph.personLevels[at] }))
  await node('Group', graph.groups, (at) => ({ external_id: groupId(at) }))
  await node('Document', graph.documents, (at) => ({ external_id: documentId(at), level: graph.documentLevels[at] }))
  const link = (from: string, type: string, to: string, pairs: Iterable<readonly [string, string]>): Promise<void> =>
    inBatches(
      driver,
      `UNWIND $rows AS row MATCH (a:${from} {external_id: row.a}), (b:${to} {external_id: row.b}) CREATE (a)-[:${type}]->(b)`,
      pairs,
      ([a, b]) => ({ a, b }),
    )
  await link('Person', 'OWNS', 'Document', pairsOf(graph.people, ownedBy, personId, documentId))
  await link('Person', 'MEMBER', 'Group', pairsOf(graph.people, groupsOf, personId, groupId))
  await link('Group', 'MAY_READ', 'Document', pairsOf(graph.groups, readableBy, groupId, documentId))
  await rowsOf(driver, 'CALL db.awaitIndexes(300)')

  function* pairsOf(
    count: number,
    endsOf: (graph: GeneratedGraph, at: number) => Uint32Array,
    fromId: (at: number) => string,
    toId: (at: number) => string,
  ): Generator<readonly [string, string]> {
    for (let at = 0; at < count; at++) for (const end of endsOf(graph, at)) yield [fromId(at), toId(end)]
  }
}

function* indices(count: number): Generator<number> {
  for (let at = 0; at < count; at++) yield at
}

async function inBatches<T>(
  driver: Driver,
  query: string,
  items: Iterable<T>,
  rowOf: (item: T) => object,
): Promise<void> {
  let rows: object[] = []
  const write = async (): Promise<void> => {
    if (rows.length > 0) await rowsOf(driver, query, { rows })
    rows = []
  }
  for (const item of items) if (rows.push(rowOf(item)) === ROWS_PER_WRITE) await write()
  await write()
}

async function removeGraph(driver: Driver): Promise<void> {
  for (;;) {
    const query = `MATCH (n:${MARK}) WITH n LIMIT ${ROWS_PER_WRITE} DETACH DELETE n RETURN count(*) AS removed`
    const [counted] = await rowsOf<{ removed: number }>(driver, query)
    if ((counted?.removed ?? 0) === 0) break
  }
  for (const label of keyed) await rowsOf(driver, `DROP CONSTRAINT ${constraintOf(label)} IF EXISTS`)
}

/** A session for each caller. */
function connect(driver: Driver, questions: readonly GeneratedQuestion[], connections: number): OpenedSystem {
  const sessions: readonly Session[] = Array.from({ length: connections }, () =>
    driver.session({ defaultAccessMode: 'READ' }),
  )
  const asked = questions.map(({ action, person, document }) => ({
    query: queries[action],
    parameters: { person: personId(person), document: documentId(document) },
  }))
  return {
    callers: connections,
    async ask(caller, question) {
      const { query, parameters } = asked[question]!
      try {
        const { records } = await sessions[caller]!.run(query, parameters)
        const decision: unknown = records[0]?.get('decision')
        return typeof decision === 'boolean' ? decision : { error: 'the answer has no decision' }
      } catch (cause) {
        return { error: (cause as Error).message }
      }
    },
    async close() {
      await Promise.all(sessions.map((session) => session.close()))
    },
  }
}
