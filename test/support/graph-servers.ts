// Where the graphs of test services are: in this process, or in the database servers that `TEST_GRAPH_SERVERS` names, separated by
// commas. The same tests then run on both. A server has one database, which a service clears when it starts, so only one test runs
// at a time on each server.
import type { Driver } from 'neo4j-driver-lite'

/** URLs of the servers; empty: graphs are in this process. */
export const graphServers: readonly string[] = (process.env.TEST_GRAPH_SERVERS ?? '')
  .split(',')
  .filter((url) => url !== '')

/**
 * The results of a search for a comparison with the order of capture. A database server orders them by ids that it may use again, so that
 * there they are sorted by their external ids.
 */
export function inOrderOfCapture<T>(results: readonly T[], idOf: (result: T) => string = String): readonly T[] {
  if (graphServers.length === 0) return results
  return results.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
}

const drivers = new Map<string, Promise<Driver>>()

function driverOf(url: string): Promise<Driver> {
  let driver = drivers.get(url)
  if (driver === undefined) {
    driver = import('neo4j-driver-lite').then(({ default: neo4j }) =>
      neo4j.driver(url, { scheme: 'none', principal: '', credentials: '' }, { useBigInt: true }),
    )
    drivers.set(url, driver)
  }
  return driver
}

/** Runs a query on a server, past the service. */
export async function runOnServer(
  url: string,
  text: string,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const session = (await driverOf(url)).session()
  try {
    return (await session.run(text, parameters)).records.map((record) => record.toObject())
  } finally {
    await session.close()
  }
}

/** Deletes all nodes and constraints of a server. */
export async function clearServer(url: string): Promise<void> {
  await runOnServer(url, 'MATCH (n) DETACH DELETE n')
  for (const { name } of await runOnServer(url, 'SHOW CONSTRAINTS YIELD name')) {
    await runOnServer(url, `DROP CONSTRAINT \`${String(name).replaceAll('`', '``')}\``)
  }
}

/** A place for the graph of a project of a test. */
export interface TestConnection {
  /** The `db_connection` of the project, on an empty server; absent: the graph is in this process. */
  readonly fields: { readonly db_connection?: { readonly url: string } }
  /** The same connection, in which each database is on a server of its own. */
  of(connection: EmbeddedConnection): Promise<EmbeddedConnection>
  /** The server may be used by another test. */
  release(): void
}

/** A `db_connection` of the embedded store, as tests write it. */
export interface EmbeddedConnection {
  readonly url: string
  readonly name?: string
  readonly composite_db_name?: string
  readonly alias_mapping?: string
}

const free = [...graphServers]

function takeServer(): string {
  const url = free.shift()
  if (url === undefined) throw new Error(`the test needs more than ${graphServers.length} servers at once`)
  return url
}

/** Takes a server. Throws if all are in use. */
export async function testConnection(): Promise<TestConnection> {
  if (graphServers.length === 0) {
    return { fields: {}, of: (connection) => Promise.resolve(connection), release: () => undefined }
  }
  const url = takeServer()
  await clearServer(url)
  const taken = new Set([url])
  const servers = new Map<string, string>()
  const serverOf = async (database: string): Promise<string> => {
    let server = servers.get(database)
    if (server === undefined) {
      server = takeServer()
      taken.add(server)
      servers.set(database, server)
      await clearServer(server)
    }
    return server
  }
  return {
    fields: { db_connection: { url } },
    async of({ name, composite_db_name, alias_mapping }) {
      if (name !== undefined) servers.set(name, url)
      const pairs: string[] = []
      for (const pair of alias_mapping?.split('&') ?? []) {
        const [location, database] = pair.split('=')
        pairs.push(`${location}=${await serverOf(database!)}`)
      }
      return {
        url,
        ...(name === undefined ? {} : { name: url }),
        ...(composite_db_name === undefined ? {} : { composite_db_name: await serverOf(composite_db_name) }),
        ...(alias_mapping === undefined ? {} : { alias_mapping: pairs.join('&') }),
      }
    },
    release() {
      free.push(...taken)
      taken.clear()
    },
  }
}
