// Creates a temporary folder, prints it, and waits to be killed.
import { createStaging } from '../../../src/transfer/files/staging.ts'

const [parent = '', prefix = ''] = process.argv.slice(2)
const staging = createStaging(parent, prefix)
console.log(staging.folder)
// Without a reference it would be garbage-collected, and its lock released.
setInterval(() => staging.folder, 1000)
