// Creates many projects in one process that may have fewer open, writes a node to each, reads all of them in another
// order while some are held open, and measures the cost of reopening one. Every count must be right, and the number of
// files bounded.
// Run alone: bun test/stress/many-projects.ts [--projects 5000] [--open 0] [--seed N]; --open 0: the default limit
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mintGid } from '../../src/kernel/ids.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { numberAfter } from './flags.ts'

const projects = numberAfter('--projects', 5000)
const seed = numberAfter('--seed', stressSeed())
console.log(`seed ${seed}`)
const random = new Random(seed)
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-many-'))
let closed = 0
const catalog = openCatalog(folder, { clock: systemClock, sync: false, graphsMax: numberAfter('--open', 0) })
catalog.onEvicted(() => {
  closed += 1
})
const ids = Array.from({ length: projects }, () => mintGid(Date.now()))
let filesMax = 0
const countFiles = (): void => {
  if (process.platform === 'linux') filesMax = Math.max(filesMax, readdirSync('/proc/self/fd').length)
}
const write = (id: string, externalId: string) =>
  catalog.graph(id, 'default')!.write((batch) => batch.upsertNode({ type: 'Person', externalId }))

let wrong = 0
for (const [at, id] of ids.entries()) {
  await catalog.create(id)
  await write(id, id)
  if (at % 100 === 0) countFiles()
}

// Snapshots that stay open while all others are opened, and writes in progress while others are closed.
const held = ids.slice(0, 20).map((id) => ({ id, snapshot: catalog.graph(id, 'default')!.snapshot() }))
const stores = ids.slice(20, 40).map((id) => ({ id, store: catalog.graph(id, 'default')! }))
const times: number[] = []
for (let question = 0; question < projects; question += 10) {
  const group = Array.from({ length: 10 }, () => random.pick(ids))
  const found = await Promise.all(
    group.map(async (id) => {
      const start = performance.now()
      await catalog.openAll(id)
      const graph = catalog.graph(id, 'default')!
      const snapshot = graph.snapshot()
      const isThere = snapshot.findNode(snapshot.symbol('label', 'Person'), id) !== 0
      snapshot.close()
      times.push(performance.now() - start)
      await graph.write((batch) => batch.upsertNode({ type: 'Person', externalId: `${id} again` }))
      return isThere
    }),
  )
  wrong += found.filter((isThere) => !isThere).length
  if (question % 100 === 0) countFiles()
}
for (const { id, snapshot } of held) {
  if (snapshot.findNode(snapshot.symbol('label', 'Person'), id) === 0) wrong += 1
  snapshot.close()
}
for (const { id, store } of stores) {
  await store.write((batch) => batch.upsertNode({ type: 'Person', externalId: 'late' }))
  const snapshot = store.snapshot()
  if (snapshot.findNode(snapshot.symbol('label', 'Person'), id) === 0) wrong += 1
  if (snapshot.findNode(snapshot.symbol('label', 'Person'), 'late') === 0) wrong += 1
  snapshot.close()
}
const sorted = times.toSorted((a, b) => a - b)
const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(2)
console.log(
  `${projects} projects, ${closed} closed to make way, ${wrong} wrong; at most ${filesMax} files open; ` +
    `opened (ten at once) and read: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms; ` +
    `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`,
)
await catalog.close()
rmSync(folder, { recursive: true, force: true })
process.exit(wrong === 0 ? 0 : 1)
