// Printed queries answer on Neo4j as the engine answers over the embedded store. Skips without Java and Maven.
// bun test/stress/printed-queries.ts [--rounds 400] [--seed N] [--bolt URL]
import { stressSeed } from '../generate/random.ts'
import { Neo4jConnection } from '../judge/neo4j-side.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { startNeo4j } from '../support/counterparts/neo4j.ts'
import {
  judgeModels,
  judgeRandom,
  judgeScenarios,
  judgeValues,
  type PrintedCounts,
} from '../support/printed-campaign.ts'
import { numberAfter, textsAfter } from './flags.ts'

async function run(url: string): Promise<void> {
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const connection = new Neo4jConnection(url)
  let [equal, different] = [0, 0]
  const report = (name: string, counts: PrintedCounts): void => {
    for (const line of counts.lines()) console.log(`${name}: ${line}`)
    for (const difference of counts.differences.slice(0, 10)) console.log(`\n${difference}\n`)
    equal += counts.count('equal') + counts.count('equal with rows')
    different += counts.differences.length
  }
  const { counts, policies } = await judgeScenarios(connection, true)
  report('scenarios', counts)
  console.log(`${policies.printable} policies printable, ${policies.other} not`)
  report('values', await judgeValues(connection))
  const rounds = numberAfter('--rounds', 400)
  report('random', await judgeRandom(connection, { seed, rounds }))
  report('definitions', await judgeModels(connection, { seed, rounds: Math.ceil(rounds / 10) }))
  await connection.close()
  console.log(`${equal} passed, ${different} failed`)
  process.exitCode = different > 0 ? 1 : 0
}

const [given] = textsAfter('--bolt')
try {
  const server = given === undefined ? await startNeo4j() : null
  await run(server?.url ?? given!)
  await server?.stop()
} catch (failure) {
  if (!(failure instanceof CounterpartMissing)) throw failure
  console.log(`skipped: ${failure.message}`)
}
