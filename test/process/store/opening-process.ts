// A helper process for tests of opening. `write N` writes the numbers 0, 1, 2… to its own database, each after the
// previous one is acknowledged, until it gets a line to stop. `write slowly` takes a while for one write, `write until
// told` does not end it. `open and stay` starts to open the folder and never finishes. `write and open FOLDER` writes
// to its own database and concurrently opens the other one repeatedly. `open a minute later` starts to open, and its
// clock advances by a minute.
import { join } from 'node:path'
import { DATA_FILE } from '../../../src/kernel/folder/data-folder.ts'
import { LmdbFile } from '../../../src/store/lmdb/lmdb-file.ts'
import { openWhenUnwritten } from '../../../src/store/lmdb/open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS, OpenLock } from '../../../src/store/lmdb/open-lock.ts'

const [folder = '', role = ''] = process.argv.slice(2)
const OPENINGS = 30

if (role === 'open and stay') {
  OpenLock.of(join(folder, DATA_FILE)).runExclusive(() => {
    process.stdout.write('ready\n')
    for (;;) Bun.sleepSync(1000)
  })
}

if (role.startsWith('open a minute later')) {
  const lockTimeoutMs = role.endsWith('patiently') ? COMMAND_LOCK_TIMEOUT_MS : undefined
  process.stdin.once('data', async () => {
    const now = Date.now
    const opening = openWhenUnwritten(folder, () => new LmdbFile(folder, { readOnly: true }), lockTimeoutMs)
    Date.now = () => now() + 60_000
    console.log(await opening.then(() => 'opened').catch(({ message }: Error) => message))
    process.exit(0)
  })
  process.stdout.write('ready\n')
  await new Promise(() => {})
}

const file = new LmdbFile(folder, {})
if (role === 'write slowly') {
  const slow = file.openNumbered('numbers')
  await file.transaction(() => {
    process.stdout.write('ready\n')
    Bun.sleepSync(200)
    slow.put(7, new Uint8Array([1]))
  })
  process.exit(0)
}

if (role === 'write until told') {
  await OpenLock.of(join(folder, DATA_FILE)).beginWrite()
  process.stdin.once('data', () => process.exit(0))
  process.stdout.write('ready\n')
  await new Promise(() => {})
}

const other = /^write and open (.*)$/.exec(role)?.[1]
if (other !== undefined) {
  const own = file.openNumbered('numbers')
  let opened = false
  const write = async (): Promise<void> => {
    for (let i = 0; !opened; i++) await file.transaction(() => own.put(i, new Uint8Array([1])))
  }
  const writers = [write(), write()]
  process.stdout.write('ready\n')
  // So that both run concurrently.
  process.stdin.once('data', async () => {
    for (let i = 0; i < OPENINGS; i++) {
      const theirs = await openWhenUnwritten(other, () => new LmdbFile(other, {}))
      await theirs.close()
    }
    process.stdout.write('opened\n')
    // So that the other process meets a writer until the end.
    process.stdin.once('data', async () => {
      opened = true
      await Promise.all(writers)
      process.exit(0)
    })
  })
  await new Promise(() => {})
}

// An environment creates its databases in one order.
for (let before = 0; before < Number(role.split(' ')[1]); before++) file.openNumbered(`numbers ${before}`)
const numbers = file.openNumbered(`numbers ${role.split(' ')[1]}`)
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
  // So that the line to stop is read.
  if (written % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
}
process.stdout.write(`${JSON.stringify({ written, missed })}\n`)
await file.close()
process.exit(0)
