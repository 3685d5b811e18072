// A fake of the event topic: accepts what the vendor's own SDK sends, over TLS. The SDK is installed into the cache and sends to
// the fake too, so that both requests can be compared.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { npmPackage, run } from './install.ts'

const SDK = '@azure/eventgrid@5.12.0'
const certificates = join(import.meta.dirname, '..', 'data', 'certificates')

/** A request that the fake received. */
export interface TopicRequest {
  readonly method: string
  readonly path: string
  readonly contentType: string
  readonly key: string
  readonly body: string
}

/** A running fake. */
export interface EventTopicFake {
  /** `https://localhost:…/api/events`. */
  readonly endpoint: string
  readonly requests: TopicRequest[]
  stop(): Promise<void>
}

/** Starts the fake. `answer`: status and body for a request; 200 by default. */
export async function startEventTopic(
  answer: (request: TopicRequest) => { readonly status: number; readonly body?: string } = () => ({ status: 200 }),
): Promise<EventTopicFake> {
  const read = (name: string): Buffer => readFileSync(join(certificates, name))
  const requests: TopicRequest[] = []
  const server = createServer(
    { key: read('localhost.key'), cert: read('localhost.pem') },
    async (incoming, response) => {
      const parts: Buffer[] = []
      for await (const part of incoming) parts.push(part)
      const request = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        contentType: String(incoming.headers['content-type']),
        key: String(incoming.headers['aeg-sas-key']),
        body: Buffer.concat(parts).toString(),
      }
      requests.push(request)
      const { status, body = '' } = answer(request)
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    endpoint: `https://localhost:${(server.address() as AddressInfo).port}/api/events`,
    requests,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Sends CloudEvents with the vendor's SDK. Throws `CounterpartMissing` if it cannot be installed. */
export async function sendWithSdk(endpoint: string, key: string, events: readonly object[]): Promise<void> {
  const folder = await npmPackage(SDK)
  const program = join(folder, 'send.js')
  if (!existsSync(program)) {
    writeFileSync(
      program,
      `import { AzureKeyCredential, EventGridPublisherClient } from '@azure/eventgrid'
const [endpoint, key, events] = process.argv.slice(2)
await new EventGridPublisherClient(endpoint, 'CloudEvent', new AzureKeyCredential(key)).send(
  JSON.parse(events).map((event) => ({ ...event, time: new Date(event.time) })),
)
`,
    )
  }
  const authority = join(certificates, 'authority.pem')
  await run(
    ['env', `NODE_EXTRA_CA_CERTS=${authority}`, process.execPath, program, endpoint, key, JSON.stringify(events)],
    folder,
    60,
  )
}
