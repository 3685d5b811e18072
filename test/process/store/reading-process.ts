// Starts a read transaction on the store in the given folder, prints a line, and holds it until it is killed.
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'

const environment = openEnvironment(process.argv[2]!, { clock: systemClock, sync: false })
const snapshot = environment.snapshot()
snapshot.nodeCount(null)
process.stdout.write('reading\n')
await new Promise(() => {
  setInterval(() => snapshot, 1000)
})
