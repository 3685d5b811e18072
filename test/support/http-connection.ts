// One keep-alive connection to a served port, and so to one of its worker processes. A request is sent when the
// previous response has arrived.
import type { Socket } from 'bun'

export interface HttpReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class HttpConnection {
  private readonly socket: Socket
  private received = Buffer.alloc(0)
  private waiting: { resolve(reply: HttpReply): void; reject(fault: Error): void } | null = null
  private tail: Promise<unknown> = Promise.resolve()
  private isClosed = false
  /** The bytes that the socket has not taken yet: a busy process reads a long request in parts. */
  private unsent = Buffer.alloc(0)

  static async to(url: string): Promise<HttpConnection> {
    const { hostname, port } = new URL(url)
    const line = { current: null as HttpConnection | null }
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        data: (_, bytes) => line.current?.take(bytes),
        drain: () => line.current?.write(),
        close: () => line.current?.lose(),
        error: () => line.current?.lose(),
      },
    })
    line.current = new HttpConnection(socket)
    return line.current
  }

  private constructor(socket: Socket) {
    this.socket = socket
  }

  request(method: string, path: string, headers: Readonly<Record<string, string>>, body?: unknown): Promise<HttpReply> {
    const asked = this.tail.then(() => this.exchange(method, path, headers, body))
    this.tail = asked.catch(() => undefined)
    return asked
  }

  private exchange(method: string, path: string, headers: Readonly<Record<string, string>>, body: unknown) {
    const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body))
    const head = [
      `${method} ${path} HTTP/1.1`,
      ...('host' in headers ? [] : ['host: test']),
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${bytes.length}`]),
    ].join('\r\n')
    return new Promise<HttpReply>((resolve, reject) => {
      if (this.isClosed) return reject(new Error('the connection is closed'))
      this.waiting = { resolve, reject }
      this.unsent = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes])
      this.write()
    })
  }

  private write(): void {
    if (this.unsent.length === 0) return
    const sent = this.socket.write(this.unsent)
    if (sent < 0) this.lose()
    else this.unsent = this.unsent.subarray(sent)
  }

  private take(bytes: Buffer): void {
    this.received = Buffer.concat([this.received, bytes])
    const end = this.received.indexOf('\r\n\r\n')
    if (end < 0) return
    const [first = '', ...rest] = this.received.toString('latin1', 0, end).split('\r\n')
    const headers: Record<string, string> = {}
    for (const line of rest) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    const whole = end + 4 + Number(headers['content-length'] ?? 0)
    if (this.received.length < whole) return
    const body = this.received.toString('utf8', end + 4, whole)
    this.received = this.received.subarray(whole)
    const { waiting } = this
    this.waiting = null
    waiting?.resolve({ status: Number(first.split(' ')[1]), headers, body })
  }

  private lose(): void {
    this.isClosed = true
    this.unsent = Buffer.alloc(0)
    this.waiting?.reject(new Error('the connection was lost'))
    this.waiting = null
  }

  close(): void {
    this.socket.end()
  }
}

/** The number of the process that has the connection. */
async function workerOf(line: HttpConnection): Promise<number> {
  const { body } = await line.request('GET', '/health', {})
  return (JSON.parse(body) as { worker: number }).worker
}

/** So many connections to each of the workers 1 to `workers`, by worker. Waits for a worker that is about to start. */
export async function connectionsTo(url: string, workers: number, each: number): Promise<readonly HttpConnection[][]> {
  const lines: HttpConnection[][] = Array.from({ length: workers }, () => [])
  // The system distributes connections by a hash of both ports.
  for (let tries = 0; lines.some((ones) => ones.length < each); tries++) {
    if (tries > 8 * workers * each) await Bun.sleep(10)
    const line = await HttpConnection.to(url)
    const ones = lines[(await workerOf(line)) - 1]
    if (ones === undefined || ones.length === each) line.close()
    else ones.push(line)
  }
  return lines
}
