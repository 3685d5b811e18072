// Asks over HTTP with keep-alive connections and one request in flight on each. Raw sockets and prepared requests: the asking process
// takes less processor time than the service that answers.
import type { Socket } from 'bun'
import { OperationalError } from '../../kernel/errors.ts'
import type { MeasuredAnswer, OpenedSystem } from './load.ts'

/** How questions are sent. */
export interface HttpRequests {
  /** Only its origin is used. */
  readonly url: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON, by question. */
  readonly bodies: readonly string[]
  readonly connections: number
  /** The decision in a response with status 200; null: with another status. */
  decisionOf(body: string): boolean | null
}

interface OpenConnection {
  received: string
  answer: ((answer: MeasuredAnswer) => void) | null
  isClosed: boolean
}

/** Opens the connections. Throws OperationalError if there is no service. */
export async function openConnections(requests: HttpRequests): Promise<OpenedSystem> {
  const { url, path, headers, bodies, connections, decisionOf } = requests
  const { hostname, port, protocol, host } = new URL(url)
  const isSecure = protocol === 'https:'
  const messages = bodies.map((body) => Buffer.from(messageOf(path, { host, ...headers }, body)))
  const open = async (): Promise<Socket<OpenConnection>> => {
    try {
      return await Bun.connect<OpenConnection>({
        // Brackets belong to the URL.
        hostname: hostname.replace(/^\[|\]$/g, ''),
        port: Number(port) || (isSecure ? 443 : 80),
        ...(isSecure && { tls: true }),
        data: { received: '', answer: null, isClosed: false },
        socket: {
          data: (socket, bytes) => receive(socket.data, bytes, decisionOf),
          close: (socket) => lose(socket.data),
          error: (socket) => lose(socket.data),
        },
      })
    } catch (cause) {
      throw new OperationalError(`${url} cannot be reached: ${(cause as Error).message}`)
    }
  }
  const sockets = await Promise.all(Array.from({ length: connections }, open))
  return {
    callers: connections,
    async ask(caller, question) {
      let socket = sockets[caller]!
      if (socket.data.isClosed) {
        // The service closed it, for example after the maximum of its requests.
        socket = await open()
        sockets[caller] = socket
      }
      return new Promise<MeasuredAnswer>((resolve) => {
        socket.data.answer = resolve
        const message = messages[question]!
        if (socket.write(message) !== message.length)
          lose(socket.data, 'the request did not fit into the socket buffer')
      })
    },
    close() {
      for (const socket of sockets) socket.end()
    },
  }
}

function messageOf(path: string, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = Buffer.byteLength(body)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`
}

function receive(connection: OpenConnection, bytes: Buffer, decisionOf: HttpRequests['decisionOf']): void {
  connection.received += bytes.toString('latin1')
  const { received, answer } = connection
  const body = wholeBody(received)
  if (body === null || answer === null) return
  connection.received = ''
  connection.answer = null
  const status = received.slice(9, 12)
  const decision = status === '200' ? decisionOf(body) : null
  answer(decision ?? { error: `status ${status}: ${body.slice(0, 200)}` })
}

function lose(connection: OpenConnection, error = 'the service closed the connection'): void {
  connection.isClosed = true
  connection.answer?.({ error })
  connection.answer = null
}

const CHUNKED_END = '\r\n0\r\n\r\n'

/** The body once it is complete, else null. */
function wholeBody(received: string): string | null {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const head = received.slice(0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) {
    const end = headEnd + 4 + Number(length)
    return received.length < end ? null : received.slice(headEnd + 4, end)
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return ''
  if (!received.endsWith(CHUNKED_END)) return null
  let body = ''
  for (let at = headEnd + 4; ; ) {
    const lineEnd = received.indexOf('\r\n', at)
    const size = Number.parseInt(received.slice(at, lineEnd), 16)
    if (!(size > 0)) return body
    body += received.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 4 + size
  }
}
