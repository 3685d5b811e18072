// The lane's side: listens on its Unix socket, hands each request to the service as the front would, and writes the answer
// back. Requests on different connections run side by side where they wait for something.
import { chmodSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { RequestHandler } from '../http/dispatch.ts'
import type { ForwardedRequestHead } from '../http/lane-job.ts'
import type { HttpRequest, HttpResponse } from '../http/route.ts'
import { type ResponseHead, readFrames, writeFrame } from './frames.ts'

class ForwardedRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  private readonly headerMap: ReadonlyMap<string, string>
  private readonly bytes: Uint8Array

  constructor({ method, path, query, headers, requestId }: ForwardedRequestHead, bytes: Uint8Array) {
    this.method = method
    this.path = path
    this.query = query
    this.headerMap = new Map([...headers, ['x-request-id', requestId]])
    this.bytes = bytes
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
}

export interface LaneServerOptions {
  readonly handle: RequestHandler
  /** Path of the Unix socket; only this user may connect. */
  readonly socket: string
  /** What was counted since the last call, for the metrics of the serving process. */
  takeCounts(): Readonly<Record<string, number>>
  /** Called after each answer: milliseconds from the request to its answer, and bytes of the answer. */
  onResponse(ms: number, bytes: number): void
}

export interface LaneServer {
  /** Resolves when no request is under way and the socket is closed. */
  close(): Promise<void>
}

export async function startLaneServer(options: LaneServerOptions): Promise<LaneServer> {
  const { handle, takeCounts, onResponse } = options
  const running = new Set<Promise<void>>()
  const sockets = new Set<Socket>()

  async function answer(socket: Socket, head: ForwardedRequestHead, body: Uint8Array): Promise<void> {
    const startMs = performance.now()
    const response = rejectStream(await handle(new ForwardedRequest(head, body)))
    const answered: ResponseHead = { status: response.status, headers: response.headers, counts: takeCounts() }
    const bytes = Buffer.from(response.body)
    onResponse(performance.now() - startMs, bytes.length)
    await writeFrame(socket, answered, bytes)
  }

  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    let head: ForwardedRequestHead | null = null
    let pieces: Uint8Array[] = []
    readFrames(socket, {
      head(received) {
        head = received as ForwardedRequestHead
      },
      chunk(bytes) {
        pieces.push(bytes)
      },
      end() {
        const asked = head
        const body = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
        head = null
        pieces = []
        if (asked === null || body === undefined) return
        // The serving process learns of a failure by the end of the connection.
        const run: Promise<void> = answer(socket, asked, body)
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

/** A stream lasts as long as its client listens; a lane answers and is free for the next request. */
function rejectStream(response: HttpResponse): HttpResponse {
  if (response.live === undefined) return response
  void response.live.return?.()
  const body = JSON.stringify({
    message: 'Content Too Large',
    errors: ['body: too large for a request that is answered with a stream'],
  })
  return { status: 413, headers: { ...response.headers, 'content-type': 'application/json' }, body }
}
