// Makes a temporary folder, tells it, and waits to be killed.
import { stage } from '../../src/transfer/staging.ts'

const [parent = '', prefix = ''] = process.argv.slice(2)
console.log(stage(parent, prefix).folder)
setInterval(() => {}, 1000)
