// The vendor's SDK for queues, which sends one message: an oracle for the login by token and for the form of a message.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { npmPackage, run } from './install.ts'

const SDK = '@azure/service-bus@7.9.5'

/** Sends a message with a session id. Throws `CounterpartMissing` if the SDK cannot be installed. */
export async function sendWithQueueSdk(connectionString: string, queue: string, message: object): Promise<void> {
  const folder = await npmPackage(SDK)
  const program = join(folder, 'send.js')
  writeFileSync(
    program,
    `import { ServiceBusClient } from '@azure/service-bus'
const [connectionString, queue, message] = process.argv.slice(2)
const client = new ServiceBusClient(connectionString, { retryOptions: { maxRetries: 0, timeoutInMs: 15_000 } })
await client.createSender(queue).sendMessages(JSON.parse(message))
await client.close()
process.exit(0)
`,
  )
  await run([process.execPath, program, connectionString, queue, JSON.stringify(message)], folder, 60)
}
