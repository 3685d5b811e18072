// A receiver of events as a process of its own, which can be killed: appends each batch to a file, and then acknowledges it.
//   bun test/support/event-receiver-process.ts PORT FILE
import { appendFileSync } from 'node:fs'

const [port, file] = process.argv.slice(2) as [string, string]
const server = Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  async fetch(request) {
    appendFileSync(file, `${await request.text()}\n`)
    return new Response('', { status: 200 })
  },
})
console.log(`listening on ${server.port}`)
