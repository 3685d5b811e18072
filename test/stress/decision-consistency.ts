// Generated graphs on which all kinds of requests must agree; then revocations, each followed by a decision at once.
// Run alone: bun test/stress/decision-consistency.ts [--worlds 2000] [--revokes 100000] [--seed 1]
import { parseArgs } from 'node:util'
import { stressSeed } from '../generate/random.ts'
import { agreement } from '../oracle/decision-consistency.ts'
import { revokeAndAsk } from '../oracle/revocations.ts'

const { values } = parseArgs({
  options: {
    worlds: { type: 'string', default: '2000' },
    revokes: { type: 'string', default: '100000' },
    seed: { type: 'string' },
  },
})
const seed = values.seed === undefined ? stressSeed() : Number(values.seed)
console.log(`seed ${seed}`)

const { differences, ...counts } = await agreement(Number(values.worlds), seed)
console.log(JSON.stringify(counts))
for (const line of differences) console.log(line)

const startedMs = performance.now()
const revoked = await revokeAndAsk(Number(values.revokes), seed)
console.log(JSON.stringify({ ...revoked, seconds: Math.round((performance.now() - startedMs) / 1000) }))
process.exit(differences.length > 0 || revoked.stalePermits > 0 || revoked.staleDenials > 0 ? 1 : 0)
