// The password of the user neo4j, which a new server wants to be changed before anything else.
import neo4j from 'neo4j-driver-lite'

/** Changes the password of the user neo4j. A new server has the password `neo4j`. */
export async function setNeo4jPassword(url: string, from: string, to: string): Promise<void> {
  const driver = neo4j.driver(url, { scheme: 'basic', principal: 'neo4j', credentials: from })
  const session = driver.session({ database: 'system' })
  await session.run('ALTER CURRENT USER SET PASSWORD FROM $from TO $to', { from, to })
  await session.close()
  await driver.close()
}
