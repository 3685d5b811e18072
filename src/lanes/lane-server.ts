// The server side of a lane: listens on its Unix socket, passes each request to the dispatcher as the HTTP server does, and
// writes the response back. Requests on different connections run concurrently.
import { chmodSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { RequestHandler } from '../http/dispatch.ts'
import type { HttpRequest, HttpResponse } from '../http/route.ts'
import { openCommitMarks } from './commit-marks.ts'
import { type MarkedRequestHead, type ResponseHead, readFrames, writeFrame } from './frames.ts'

class ForwardedRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly clientAddress: string
  readonly introspected: readonly string[]
  private readonly headerMap: ReadonlyMap<string, string>
  private readonly bytes: Uint8Array
  private readonly mark: number
  private readonly setMark: (mark: number) => void

  constructor(head: MarkedRequestHead, bytes: Uint8Array, setMark: (mark: number) => void) {
    const { method, path, query, headers, requestId, address, introspected, mark } = head
    this.method = method
    this.path = path
    this.query = query
    this.clientAddress = address
    this.introspected = introspected
    this.headerMap = new Map([...headers, ['x-request-id', requestId]])
    this.bytes = bytes
    this.mark = mark
    this.setMark = setMark
  }

  header(name: string): string | null {
    return this.headerMap.get(name) ?? null
  }

  headers(): Iterable<readonly [string, string]> {
    return this.headerMap
  }

  body(): Uint8Array {
    return this.bytes
  }

  noteCommit(): void {
    this.setMark(this.mark)
  }
}

/** Options of the server in a lane. */
interface LaneServerOptions {
  readonly handle: RequestHandler
  /** Path of the Unix socket. Only the current user may connect. */
  readonly socket: string
  /** Metric increments since the last call, for the metrics of the serving process. */
  takeCounts(): Readonly<Record<string, number>>
  /** Called after each response with its duration in milliseconds and its body length in bytes. */
  onResponse(ms: number, bytes: number): void
}

/** A running server. */
interface LaneServer {
  /** Resolves when all running requests have ended and the socket is closed. */
  close(): Promise<void>
}

/** Starts the server. Rejects with the error of the system if the socket cannot be created. */
export async function startLaneServer(options: LaneServerOptions): Promise<LaneServer> {
  const { handle, takeCounts, onResponse } = options
  const running = new Set<Promise<void>>()
  const sockets = new Set<Socket>()
  const setMark = openCommitMarks(options.socket)

  async function answer(socket: Socket, head: MarkedRequestHead, body: Uint8Array): Promise<void> {
    const startMs = performance.now()
    const response = rejectStream(await handle(new ForwardedRequest(head, body, setMark)))
    const responseHead: ResponseHead = { status: response.status, headers: response.headers, counts: takeCounts() }
    const bytes = response.bytes instanceof Uint8Array ? response.bytes : Buffer.from(response.body)
    onResponse(performance.now() - startMs, bytes.length)
    await writeFrame(socket, responseHead, bytes)
  }

  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    let head: MarkedRequestHead | null = null
    let chunks: Uint8Array[] = []
    readFrames(socket, {
      head(frameHead) {
        head = frameHead as MarkedRequestHead
      },
      chunk(bytes) {
        chunks.push(bytes)
      },
      end() {
        const received = head
        const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
        head = null
        chunks = []
        if (received === null || body === undefined) return
        // The serving process sees a failure as a closed connection.
        const run: Promise<void> = answer(socket, received, body)
          .catch(() => socket.destroy())
          .then(() => void running.delete(run))
        running.add(run)
      },
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.socket, () => resolve())
  })
  chmodSync(options.socket, 0o600)
  return {
    async close() {
      await Promise.all(running)
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A lane cannot serve a stream, because it would stay occupied until the client disconnects. */
function rejectStream(response: HttpResponse): HttpResponse {
  if (response.stream === undefined) return response
  void response.stream.return?.()
  const body = JSON.stringify({
    message: 'Content Too Large',
    errors: ['body: too large for a request with a streamed response'],
  })
  return { status: 413, headers: { ...response.headers, 'content-type': 'application/json' }, body }
}
