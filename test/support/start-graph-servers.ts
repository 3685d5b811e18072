// Starts Neo4j servers for tests of graphs in database servers, and prints their URLs, separated by commas:
//   bun test/support/start-graph-servers.ts 3
// They end with this process.
import { startNeo4j } from './counterparts/neo4j.ts'

const count = Number(process.argv[2] ?? '1')
const servers = []
for (let i = 0; i < count; i++) servers.push(await startNeo4j())
console.log(servers.map(({ url }) => url).join(','))
await new Promise(() => undefined)
