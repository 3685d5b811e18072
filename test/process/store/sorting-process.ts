// Loads a graph by sorting into a folder, or continues a load that was killed. Prints `lists` before the edge lists are built, and a tick each
// millisecond in which the process waits for the disk while they are built. With a number at the end, it stops at so many ticks and waits to be
// killed. Exits with 0 when the graph is complete.
import { writeSync } from 'node:fs'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { loadedNode, loadedRelationship, RELATIONSHIPS, SORT_LIMITS, SORTED_NODES } from './sorted-graph.ts'

const PER_BATCH = 2000

const [folder = '', ticksMax = 'Infinity'] = process.argv.slice(2)
const environment = openEnvironment(folder, { clock: systemClock, entriesPerChunk: 16, forLoad: true })
let ticked = 0
const tick = (): void => {
  writeSync(1, '.\n')
  ticked += 1
  if (ticked >= Number(ticksMax)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
const ticks = (): ReturnType<typeof setInterval> => {
  writeSync(1, 'lists\n')
  return setInterval(tick, 1)
}
const snapshot = environment.snapshot()
const stored = snapshot.nodeCount(null)
snapshot.close()
// A load whose lists were being built is completed by its beginning.
const resuming = stored > 0 ? ticks() : null
const isOpen = await environment.beginSortedLoad(SORT_LIMITS)
if (resuming !== null) clearInterval(resuming)
if (isOpen) {
  if (stored === 0) {
    await environment.bulkLoad((batch) => {
      for (let at = 0; at < SORTED_NODES; at++) batch.upsertNode(loadedNode(at), loadedNode(at))
    })
    for (let from = 0; from < RELATIONSHIPS; from += PER_BATCH)
      await environment.bulkLoad((batch) => {
        for (let at = from; at < from + PER_BATCH; at++)
          if (batch.loadRelationship(loadedRelationship(at)) !== null) throw new Error('an end is missing')
      })
  }
  const building = ticks()
  await environment.finishSortedLoad()
  clearInterval(building)
}
await environment.close()
