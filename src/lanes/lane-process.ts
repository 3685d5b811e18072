// The client side of one lane: a child process, and connections to its Unix socket. A connection carries one request at a
// time. It is reused unless its response was streamed, because the reader of the stream may still pause or resume it.
import { connect, type Socket } from 'node:net'
import type { ForwardedRequestHead } from '../http/lane-job.ts'
import { ChildProcess, type ChildProcessOptions } from '../processes/child-process.ts'
import type { ProcessIdentity } from '../processes/protocol.ts'
import { CommitMarks } from './commit-marks.ts'
import { type MarkedRequestHead, type ResponseHead, readFrames, writeFrame } from './frames.ts'

/** Responses up to this size are buffered; longer ones are streamed to the client. */
const BUFFERED_RESPONSE_BYTES = 1024 * 1024

/** A response of a lane; a large body is a stream. */
export interface LaneResponse extends ResponseHead {
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
}

/** The task of a lane. */
export interface LaneTask {
  readonly settings: unknown
  readonly identity: ProcessIdentity
  /** Path of the Unix socket; at most 100 bytes. */
  readonly socket: string
}

export type LaneCommand = 'reopen logs'

/** `memoryBytes`: private memory without mapped files; null if the system does not report it. */
export interface LaneEvent {
  readonly memoryBytes: number | null
}

/** The connection closed before the response was complete: the lane was killed, or it crashed. */
export class LaneEndedError extends Error {
  override readonly name = 'LaneEndedError'
  /** See `LaneProcess.mayBeStored`. */
  readonly mark: number
  constructor(mark: number) {
    super('the lane exited before its response was complete')
    this.mark = mark
  }
}

/** A lane as a child process. The constructor starts it. */
export class LaneProcess extends ChildProcess<LaneTask, LaneCommand, LaneEvent> {
  private readonly socket: string
  private readonly idle: LaneConnection[] = []
  private readonly busy = new Set<LaneConnection>()
  private readonly marks: CommitMarks

  constructor(options: Omit<ChildProcessOptions<LaneTask, LaneEvent>, 'kind'>) {
    const { socket } = options.task
    // The file of the marks exists before the lane starts.
    const marks = new CommitMarks(socket)
    super({
      ...options,
      kind: 'lane',
      onExit: (exit) => {
        for (const connection of [...this.busy, ...this.idle]) connection.close()
        options.onExit?.(exit)
      },
    })
    this.socket = socket
    this.marks = marks
  }

  /** Sends a request and resolves to its response. Rejects with LaneEndedError. */
  async request(head: ForwardedRequestHead, body: Uint8Array): Promise<LaneResponse> {
    const connection = this.takeIdle() ?? new LaneConnection(this.socket)
    this.busy.add(connection)
    const mark = this.marks.take()
    const response = await connection.request({ ...head, mark }, body, (isUsable) => {
      this.busy.delete(connection)
      if (isUsable) this.idle.push(connection)
    })
    this.marks.release(mark)
    return response
  }

  /** The lane may have closed an idle connection, and its exit is reported later. */
  private takeIdle(): LaneConnection | null {
    for (;;) {
      const connection = this.idle.pop()
      if (connection === undefined) return null
      if (!connection.isClosed) return connection
    }
  }

  /** Whether a request that was not answered may be stored. Call it when the process has exited. */
  mayBeStored({ mark }: LaneEndedError): boolean {
    return this.marks.isSet(mark)
  }
}

type ReleaseConnection = (isUsable: boolean) => void

interface PendingResponse {
  readonly resolve: (answer: LaneResponse) => void
  readonly reject: (error: LaneEndedError) => void
  readonly free: ReleaseConnection
}

class LaneConnection {
  /** Nothing settles a request on a closed connection. */
  isClosed = false
  private readonly socket: Socket
  private pending: PendingResponse | null = null
  private mark = 0
  private free: ReleaseConnection | null = null
  private head: ResponseHead | null = null
  private pieces: Uint8Array[] = []
  private stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null

  constructor(path: string) {
    const socket = connect(path)
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('close', () => this.onClose())
    readFrames(socket, {
      head: (head, bodyBytes) => this.onHead(head as ResponseHead, bodyBytes),
      chunk: (bytes) => this.onChunk(bytes),
      end: () => this.onFrameEnd(),
    })
  }

  request(head: MarkedRequestHead, body: Uint8Array, free: ReleaseConnection): Promise<LaneResponse> {
    this.mark = head.mark
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject, free }
      this.free = free
      writeFrame(this.socket, head, body).catch(() => this.close())
    })
  }

  close(): void {
    this.socket.destroy()
    this.onClose()
  }

  private onHead(head: ResponseHead, bodyBytes: number): void {
    this.head = head
    if (bodyBytes <= BUFFERED_RESPONSE_BYTES) return
    const { socket } = this
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => {
          this.stream = controller
        },
        pull: () => {
          socket.resume()
        },
        cancel: () => this.close(),
      },
      { highWaterMark: 1024 * 1024, size: (piece) => piece?.length ?? 0 },
    )
    this.pending?.resolve({ ...head, body })
    this.pending = null
  }

  private onChunk(bytes: Uint8Array): void {
    const own = new Uint8Array(bytes)
    if (this.stream === null) {
      this.pieces.push(own)
      return
    }
    this.stream.enqueue(own)
    if ((this.stream.desiredSize ?? 0) <= 0) this.socket.pause()
  }

  private onFrameEnd(): void {
    const { head, pieces, stream, pending, free } = this
    this.head = null
    this.pieces = []
    this.stream = null
    this.pending = null
    this.free = null
    free?.(!this.isClosed && stream === null)
    if (stream !== null) {
      this.isClosed = true
      this.socket.destroy()
      stream.close()
    } else if (head !== null) pending?.resolve({ ...head, body: concatenate(pieces) })
  }

  private onClose(): void {
    if (this.isClosed) return
    this.isClosed = true
    const { stream, pending, free } = this
    this.stream = null
    this.pending = null
    this.free = null
    const error = new LaneEndedError(this.mark)
    stream?.error(error)
    pending?.reject(error)
    free?.(false)
  }
}

function concatenate(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [first] = pieces
  if (pieces.length === 1 && first !== undefined) return first as Uint8Array<ArrayBuffer>
  return new Uint8Array(Buffer.concat(pieces))
}
