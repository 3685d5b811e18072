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

/** The `db_connection` of a project of a test, on an empty server; empty: the graph is in this process. */
export async function testConnection(): Promise<{ readonly db_connection?: { readonly url: string } }> {
  const [url] = graphServers
  if (url === undefined) return {}
  await clearServer(url)
  return { db_connection: { url } }
}
