// Opens many projects in one process, writes a node to each, and reads all of them while they are open.
// Run alone: bun test/long/many-projects.ts [--projects 1000]
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/kernel/clock.ts'
import { mintGid } from '../../src/kernel/ids.ts'
import { openCatalog } from '../../src/store/catalog.ts'
import { numberAfter } from './flags.ts'

const projects = numberAfter('--projects', 1000)
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-many-'))
const catalog = openCatalog(folder, { clock: systemClock, sync: false })
const ids = Array.from({ length: projects }, () => mintGid(Date.now()))
for (const id of ids) {
  await catalog.create(id)
  await catalog.graph(id, 'default')?.write((batch) => batch.upsertNode({ type: 'Person', externalId: id }))
}
const counts = ids.map((id) => {
  const snapshot = catalog.graph(id, 'default')?.snapshot()
  const count = snapshot?.nodeCount(null)
  snapshot?.close()
  return count
})
const read = counts.filter((count) => count === 1).length
const files = process.platform === 'linux' ? `, ${readdirSync('/proc/self/fd').length} files open` : ''
console.log(
  `${read} of ${projects} projects open and read${files}, ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`,
)
await catalog.close()
rmSync(folder, { recursive: true, force: true })
process.exit(read === projects ? 0 : 1)
