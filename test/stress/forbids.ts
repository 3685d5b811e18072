// Policies that forbid, on generated graphs: evaluations and searches against the reference interpreter.
// Run alone: bun test/stress/forbids.ts [--worlds 500] [--seed 1]
import { parseArgs } from 'node:util'
import { stressSeed } from '../generate/random.ts'
import { compareForbids } from '../oracle/forbids.ts'

const { values } = parseArgs({ options: { worlds: { type: 'string', default: '500' }, seed: { type: 'string' } } })
const seed = values.seed === undefined ? stressSeed() : Number(values.seed)
console.log(`seed ${seed}`)

/** Worlds of one line of the output. */
const ROUND = 50
const totals: Record<string, number> = {}
const worlds = Number(values.worlds)
for (let done = 0; done < worlds; done += ROUND) {
  const { differences, ...counts } = await compareForbids(Math.min(ROUND, worlds - done), seed + done)
  for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count
  console.log(JSON.stringify(totals))
  if (differences.length === 0) continue
  for (const line of differences) console.log(line)
  process.exit(1)
}
