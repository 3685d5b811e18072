// Random changes of random policies: a comparison must report exactly the decisions that change.
// Run alone: bun test/stress/compared-policies.ts [--worlds 3000] [--seed 1]
import { parseArgs } from 'node:util'
import { stressSeed } from '../generate/random.ts'
import { comparisons } from '../oracle/compared-policies.ts'

const { values } = parseArgs({ options: { worlds: { type: 'string', default: '3000' }, seed: { type: 'string' } } })
const seed = values.seed === undefined ? stressSeed() : Number(values.seed)
console.log(`seed ${seed}`)

const { differences, ...counts } = await comparisons(Number(values.worlds), seed)
console.log(JSON.stringify(counts))
for (const line of differences) console.log(line)
process.exit(differences.length > 0 ? 1 : 0)
