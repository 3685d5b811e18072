// Makes a temporary folder, tells it, and waits to be killed.
import { createStaging } from '../../../src/transfer/staging.ts'

const [parent = '', prefix = ''] = process.argv.slice(2)
const staging = createStaging(parent, prefix)
console.log(staging.folder)
// Forgotten, it would be collected, and its lock would go with it.
setInterval(() => staging.folder, 1000)
