// Where the graphs of test services are: in this process, or in the database servers that `TEST_GRAPH_SERVERS` names, separated by
// commas. The same tests then run on both. A server has one database, which a service clears when it starts, so only one test runs
// at a time on each server.
import type { Driver } from 'neo4j-driver-lite'

/** URLs of the servers; empty: graphs are in this process. */
export const graphServers: readonly string[] = (process.env.TEST_GRAPH_SERVERS ?? '').split(',').filter((url) => url !== '')

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
  /** The server may be used by another test. */
  release(): void
}

const free = [...graphServers]

/** Takes a server. Throws if all are in use. */
export async function testConnection(): Promise<TestConnection> {
  if (graphServers.length === 0) return { fields: {}, release: () => undefined }
  const url = free.shift()
  if (url === undefined) throw new Error(`the test needs more than ${graphServers.length} servers at once`)
  await clearServer(url)
  let isReleased = false
  return {
    fields: { db_connection: { url } },
    release() {
      if (!isReleased) free.push(url)
      isReleased = true
    },
  }
}
