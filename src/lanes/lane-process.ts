// One lane as the serving process sees it: a child process, its Unix socket, and the connections to it. A connection
// carries one request at a time and is used again after its answer, unless that was passed on as it came: then it may be
// paused, or be resumed by the reader of that answer.
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import type { ForwardedHead } from '../http/lane-job.ts'
import { type AnswerHead, readFrames, writeFrame } from './frames.ts'

/** Answers up to this many bytes are read whole before the client gets them; longer ones are passed on as they come. */
const WHOLE_ANSWER_BYTES = 1024 * 1024

export interface LaneAnswer extends AnswerHead {
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
}

/** What the serving process tells a lane. */
export type LaneOrder =
  /** `proof` shows that the serving process holds the data folder. */
  | {
      readonly order: 'serve'
      readonly settings: unknown
      readonly number: number
      readonly proof: string
      readonly socket: string
    }
  /** Another process on the folder was killed and may have been reading. */
  | { readonly order: 'check readers' }
  | { readonly order: 'reopen logs' }
  | { readonly order: 'stop' }

/** What a lane tells the serving process. `bytes`: memory of its own, without mapped files; null where the system does not say. */
export type LaneReport =
  | { readonly report: 'ready'; readonly bytes: number | null }
  | { readonly report: 'memory'; readonly bytes: number | null }

/** The connection ended before the answer was whole: the lane was killed, or it ended by itself. */
export class LaneEndedError extends Error {
  override readonly name = 'LaneEndedError'
}

export interface LaneProcessOptions {
  /** The identifier of this process is added as the last argument. */
  readonly command: readonly string[]
  readonly settings: unknown
  readonly number: number
  readonly proof: string
  /** Path of the Unix socket; at most 100 bytes. */
  readonly socket: string
  onReport(report: LaneReport): void
  /** `how`: `signal SIGKILL`, `exit code 1`. */
  onEnd(how: string): void
}

export class LaneProcess {
  readonly number: number
  private readonly options: LaneProcessOptions
  private readonly child: Bun.Subprocess
  private readonly idle: Connection[] = []
  private readonly busy = new Set<Connection>()

  constructor(options: LaneProcessOptions) {
    this.options = options
    this.number = options.number
    const { settings, number, proof, socket } = options
    this.child = Bun.spawn([...options.command, String(process.pid)], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      ipc: (report: LaneReport) => options.onReport(report),
    })
    lowerPriority(this.child.pid)
    this.tell({ order: 'serve', settings, number, proof, socket })
    void this.child.exited.then(() => {
      for (const connection of [...this.busy, ...this.idle]) connection.close()
      const { signalCode, exitCode } = this.child
      options.onEnd(signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`)
    })
  }

  tell(order: LaneOrder): void {
    try {
      this.child.send(order)
    } catch {
      // It has just ended; onEnd follows.
    }
  }

  /** Rejects with LaneEndedError. */
  async ask(head: ForwardedHead, body: Uint8Array): Promise<LaneAnswer> {
    const connection = this.idle.pop() ?? new Connection(this.options.socket)
    this.busy.add(connection)
    return connection.ask(head, body, (isUsable) => {
      this.busy.delete(connection)
      if (isUsable) this.idle.push(connection)
    })
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }

  async stopped(): Promise<void> {
    await this.child.exited
  }
}

/** Lanes leave the processor to the serving process, from their start on. */
const NICE = 10

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICE)
  } catch {
    // The system forbids it, or the process has ended already; a lane works at the usual priority too.
  }
}

type Free = (isUsable: boolean) => void

interface Pending {
  readonly resolve: (answer: LaneAnswer) => void
  readonly reject: (error: LaneEndedError) => void
  readonly free: Free
}

class Connection {
  private readonly socket: Socket
  private pending: Pending | null = null
  private free: Free | null = null
  private head: AnswerHead | null = null
  private pieces: Uint8Array[] = []
  private stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null
  private closed = false

  constructor(path: string) {
    const socket = connect(path)
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('close', () => this.ended())
    readFrames(socket, {
      head: (head, bodyBytes) => this.answered(head as AnswerHead, bodyBytes),
      piece: (bytes) => this.piece(bytes),
      end: () => this.whole(),
    })
  }

  ask(head: ForwardedHead, body: Uint8Array, free: Free): Promise<LaneAnswer> {
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject, free }
      this.free = free
      writeFrame(this.socket, head, body).catch(() => this.close())
    })
  }

  close(): void {
    this.socket.destroy()
    this.ended()
  }

  private answered(head: AnswerHead, bodyBytes: number): void {
    this.head = head
    if (bodyBytes <= WHOLE_ANSWER_BYTES) return
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

  private piece(bytes: Uint8Array): void {
    const own = new Uint8Array(bytes)
    if (this.stream === null) {
      this.pieces.push(own)
      return
    }
    this.stream.enqueue(own)
    if ((this.stream.desiredSize ?? 0) <= 0) this.socket.pause()
  }

  private whole(): void {
    const { head, pieces, stream, pending, free } = this
    this.head = null
    this.pieces = []
    this.stream = null
    this.pending = null
    this.free = null
    free?.(!this.closed && stream === null)
    if (stream !== null) {
      this.closed = true
      this.socket.destroy()
      stream.close()
    } else if (head !== null) pending?.resolve({ ...head, body: joined(pieces) })
  }

  private ended(): void {
    if (this.closed) return
    this.closed = true
    const { stream, pending, free } = this
    this.stream = null
    this.pending = null
    this.free = null
    const error = new LaneEndedError('the lane ended before its answer was whole')
    stream?.error(error)
    pending?.reject(error)
    free?.(false)
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [first] = pieces
  if (pieces.length === 1 && first !== undefined) return first as Uint8Array<ArrayBuffer>
  return new Uint8Array(Buffer.concat(pieces))
}
