// Imports a file in small batches, telling each, until it ends or is killed.
import { importFile } from '../../src/transfer/import.ts'

const [dataDir = '', from = '', batchWeight = '100'] = process.argv.slice(2)
await importFile({
  dataDir,
  from,
  dryRun: false,
  resume: true,
  batchWeight: Number(batchWeight),
  progress: (done) => process.stdout.write(`${done}\n`),
})
