// Imports a file in small batches, printing each, until it ends or is killed. With a number at the end, it stops after
// so many batches and waits to be killed.
import { writeSync } from 'node:fs'
import { importFile } from '../../../src/transfer/import/import.ts'

const [dataDir = '', from = '', batchWeight = '100', batchesMax = 'Infinity'] = process.argv.slice(2)
let batches = 0
await importFile({
  dataDir,
  from,
  dryRun: false,
  resume: true,
  batchWeight: Number(batchWeight),
  progress: (done) => {
    writeSync(1, `${done}\n`)
    batches += 1
    if (batches >= Number(batchesMax)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})
