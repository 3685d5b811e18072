// A process beside a test of opening: `write N` writes the numbers 0, 1, 2… into a database of its own, each after the one
// before is acknowledged, until it is told to stop; `write slowly` takes its time for one; `open and stay` begins to open the
// folder and does not get to the end.
import { join } from 'node:path'
import { DATA_FILE, LmdbFile } from '../../src/store/lmdb/native.ts'
import { OpeningGate } from '../../src/store/lmdb/opening-gate.ts'

const [folder = '', role = ''] = process.argv.slice(2)

if (role === 'open and stay') {
  OpeningGate.of(join(folder, DATA_FILE)).whileStill(() => {
    process.stdout.write('ready\n')
    for (;;) Bun.sleepSync(1000)
  })
}

const file = new LmdbFile(folder, {})
if (role === 'write slowly') {
  const slow = file.numbered('numbers')
  await file.transaction(() => {
    process.stdout.write('ready\n')
    Bun.sleepSync(200)
    slow.put(7, new Uint8Array([1]))
  })
  process.exit(0)
}

const numbers = file.numbered(`numbers ${role.split(' ')[1]}`)
process.stdout.write('ready\n')
let stopped = false
process.stdin.once('data', () => {
  stopped = true
})
const missed: number[] = []
let written = 0
for (; !stopped || written === 0; written++) {
  await file.transaction(() => {
    if (written > 0 && numbers.getBinaryFast(written - 1) === undefined) missed.push(written - 1)
    numbers.put(written, new Uint8Array([1]))
  })
  // So that the order to stop is heard.
  if (written % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
}
process.stdout.write(`${JSON.stringify({ written, missed })}\n`)
await file.close()
process.exit(0)
