// The load generator, a separate process: keep-alive connections over raw sockets, one request in flight on each, every
// response compared with the expected one. Reads its job from standard input, writes one JSON line.
import type { Socket } from 'bun'
import { quantile } from '../harness.ts'

export interface LoadJob {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** Not counted. */
  readonly warmUpSeconds: number
  /** Complete requests with headers, and the body that must be returned with status 200. */
  readonly exchanges: readonly { readonly request: string; readonly answer: string }[]
}

export interface LoadResult {
  readonly requests: number
  /** Including those of the warm-up. */
  readonly served: number
  readonly requestsPerS: number
  readonly p50Us: number
  readonly p99Us: number
  readonly wrong: number
  readonly firstWrong: string | null
}

interface LoadConnection {
  at: number
  sentAt: number
  received: string
}

async function run(job: LoadJob): Promise<LoadResult> {
  const requests = job.exchanges.map(({ request }) => Buffer.from(request))
  const latencies = new Float64Array(4_000_000)
  const ended = Promise.withResolvers<void>()
  let counted = 0
  let served = 0
  let wrong = 0
  let firstWrong: string | null = null
  let open = job.connections
  let countFrom = Number.POSITIVE_INFINITY
  let stopAt = Number.POSITIVE_INFINITY

  const send = (socket: Socket<LoadConnection>): void => {
    const connection = socket.data
    connection.at = (connection.at + job.connections) % requests.length
    connection.received = ''
    connection.sentAt = Bun.nanoseconds()
    const request = requests[connection.at] as Buffer
    if (socket.write(request) !== request.length) throw new Error('a request did not fit into the socket buffer')
  }
  const close = (socket: Socket<LoadConnection>): void => {
    socket.end()
    open -= 1
    if (open === 0) ended.resolve()
  }

  const sockets = await Promise.all(
    Array.from({ length: job.connections }, (_, at) =>
      Bun.connect<LoadConnection>({
        hostname: '127.0.0.1',
        port: job.port,
        data: { at, sentAt: 0, received: '' },
        socket: {
          data(socket, bytes) {
            const connection = socket.data
            connection.received += bytes.toString('latin1')
            const body = wholeBody(connection.received)
            if (body === null) return
            const now = Bun.nanoseconds()
            served += 1
            const expected = job.exchanges[connection.at]?.answer
            if (body !== expected || !connection.received.startsWith('HTTP/1.1 200 ')) {
              wrong += 1
              firstWrong ??= `expected ${expected}, got ${connection.received}`
            }
            if (now >= countFrom && counted < latencies.length) latencies[counted++] = (now - connection.sentAt) / 1000
            if (now >= stopAt) close(socket)
            else send(socket)
          },
          error(_socket, error) {
            ended.reject(error)
          },
          close(socket) {
            if (Bun.nanoseconds() < stopAt) ended.reject(new Error('the server closed a connection'))
            void socket
          },
        },
      }),
    ),
  )
  const start = Bun.nanoseconds()
  countFrom = start + job.warmUpSeconds * 1e9
  stopAt = countFrom + job.seconds * 1e9
  for (const socket of sockets) send(socket)
  await ended.promise

  const sorted = latencies.subarray(0, counted).toSorted()
  return {
    requests: counted,
    served,
    requestsPerS: counted / job.seconds,
    p50Us: quantile(sorted, 0.5),
    p99Us: quantile(sorted, 0.99),
    wrong,
    firstWrong,
  }
}

/** The body once it is complete, else null. */
function wholeBody(received: string): string | null {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const length = /\r\ncontent-length: *(\d+)/i.exec(received)?.[1]
  if (length === undefined) throw new Error(`an answer without content-length: ${received}`)
  const end = headEnd + 4 + Number(length)
  return received.length < end ? null : received.slice(headEnd + 4, end)
}

if (import.meta.main) console.log(JSON.stringify(await run((await Bun.stdin.json()) as LoadJob)))
