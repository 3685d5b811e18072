// Clients of a service whose workers are replaced: each counts the errors that a client would see. They use HTTP/1.1 as RFC 9112 has it:
// a response with `connection: close` ends the connection, requests after it were not processed (section 9.6) and are sent again.
import { connect, type Socket } from 'node:net'

/** The outcome of the clients of one kind. */
export interface RestartOutcome {
  answers: number
  /** Connections that a response ended by `connection: close`. */
  closes: number
  /** Descriptions of errors, at most 20. */
  readonly errors: string[]
}

/** A request and the answers that are right. */
export interface LoadRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object | null
  isRight(status: number, body: string): boolean
}

/** The load. */
export interface RestartLoad {
  readonly url: string
  /** A decision, which a worker answers at once. */
  readonly decision: LoadRequest
  /** A write, which it answers later. `number`: distinguishes the writes. */
  write(number: number): LoadRequest
  /** An event stream. */
  readonly stream: Omit<LoadRequest, 'isRight'>
}

const ERRORS_MAX = 20
/** Requests that a pipelining client sends at once. */
const PIPELINED = 8
/** A quiet client waits up to this time between two requests, milliseconds: less than the drain time. */
const QUIET_MAX_MS = 3000

/** Runs all clients until `work` has settled. Resolves with the outcome by kind of client. */
export async function loadDuring(load: RestartLoad, work: Promise<unknown>): Promise<Record<string, RestartOutcome>> {
  let isOver = false
  const outcomes: Record<string, RestartOutcome> = {}
  let writes = 0
  const { decision } = load
  const clients: readonly (readonly [string, number, (outcome: RestartOutcome) => Promise<void>])[] = [
    [
      'keep-alive',
      4,
      (outcome) =>
        keepAsking(
          load,
          outcome,
          () => decision,
          1,
          () => 0,
        ),
    ],
    [
      'pipelining',
      3,
      (outcome) =>
        keepAsking(
          load,
          outcome,
          () => decision,
          PIPELINED,
          () => 0,
        ),
    ],
    [
      'quiet',
      8,
      (outcome) =>
        keepAsking(
          load,
          outcome,
          () => decision,
          1,
          () => Math.random() * QUIET_MAX_MS,
        ),
    ],
    [
      'writing',
      2,
      (outcome) =>
        keepAsking(
          load,
          outcome,
          () => load.write(++writes),
          1,
          () => 5,
        ),
    ],
    ['one connection each', 4, (outcome) => askOnNewConnections(outcome)],
    ['streams', 3, (outcome) => followStreams(outcome)],
  ]
  const running = clients.flatMap(([name, count, run]) => {
    const outcome: RestartOutcome = { answers: 0, closes: 0, errors: [] }
    outcomes[name] = outcome
    return Array.from({ length: count }, () => run(outcome))
  })
  await work.finally(() => {
    isOver = true
  })
  await Promise.all(running)
  return outcomes

  async function keepAsking(
    { url }: RestartLoad,
    outcome: RestartOutcome,
    next: () => LoadRequest,
    atOnce: number,
    pauseMs: () => number,
  ): Promise<void> {
    let connection: RawConnection | null = null
    let unsent: LoadRequest[] = []
    while (!isOver) {
      try {
        // A connection that the server has closed while no request was on its way is no error.
        connection = connection === null || connection.hasEnded ? await RawConnection.open(url) : connection
        // A client pipelines when a first response has shown that the connection is kept (RFC 9112, section 9.3.2).
        const count = connection.isProven ? atOnce : 1
        while (unsent.length < count) unsent.push(next())
        const sent = unsent.slice(0, count)
        unsent = unsent.slice(count)
        connection.send(sent.map(textOf).join(''))
        for (const [at, request] of sent.entries()) {
          const reply: RawReply = await connection.response()
          note(outcome, request, reply)
          if (!reply.closes) continue
          outcome.closes += 1
          unsent = [...sent.slice(at + 1), ...unsent]
          connection.close()
          connection = null
          break
        }
      } catch (error) {
        addError(outcome, `after ${connection?.responses ?? 0} responses of the connection: ${error}`)
        connection?.close()
        connection = null
        unsent = []
      }
      const pause = pauseMs()
      if (pause > 0) await Bun.sleep(pause)
    }
    connection?.close()
  }

  async function askOnNewConnections(outcome: RestartOutcome): Promise<void> {
    const closing = { ...decision, headers: { ...decision.headers, connection: 'close' } }
    while (!isOver) {
      try {
        const connection = await RawConnection.open(load.url)
        connection.send(textOf(closing))
        note(outcome, closing, await connection.response())
        connection.close()
      } catch (error) {
        addError(outcome, String(error))
      }
      await Bun.sleep(2)
    }
  }

  async function followStreams(outcome: RestartOutcome): Promise<void> {
    const { url, stream } = load
    while (!isOver) {
      try {
        const connection = await RawConnection.open(url)
        connection.send(textOf({ ...stream, isRight: () => true }))
        const { status } = await connection.responseHead()
        if (status !== 200) addError(outcome, `stream: status ${status}`)
        else outcome.answers += 1
        const end = connection.chunkedEnd()
        while (!isOver && (await Promise.race([end.then(() => true), Bun.sleep(50).then(() => false)])) === false) {}
        if (!isOver) outcome.closes += 1
        connection.close()
        await end.catch(() => undefined)
      } catch (error) {
        if (!isOver) addError(outcome, `stream: ${error}`)
      }
    }
  }
}

function note(outcome: RestartOutcome, request: LoadRequest, { status, body }: RawReply): void {
  if (request.isRight(status, body)) outcome.answers += 1
  else addError(outcome, `${request.path}: ${status} ${body.slice(0, 200)}`)
}

function addError({ errors }: RestartOutcome, error: string): void {
  if (errors.length < ERRORS_MAX) errors.push(`${new Date().toISOString()} ${error}`)
}

function textOf({ method, path, headers, body }: LoadRequest): string {
  const text = body === null ? '' : JSON.stringify(body)
  const lines = Object.entries({
    host: 'test',
    ...headers,
    ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}

interface RawReply {
  readonly status: number
  readonly body: string
  /** The server closes the connection after it. */
  readonly closes: boolean
}

class RawConnection {
  private readonly socket: Socket
  private received = ''
  private end: Error | null = null
  private wake: (() => void) | null = null
  /** Those that have arrived. */
  responses = 0

  static open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      const connection = new RawConnection(socket)
      socket.once('connect', () => resolve(connection))
      socket.once('error', (error) => reject(new Error(`connecting: ${error.message}`)))
    })
  }

  private constructor(socket: Socket) {
    this.socket = socket
    // One byte is one character.
    socket.on('data', (bytes) => this.take(bytes.toString('latin1')))
    socket.on('error', (error) => this.stop(error))
    socket.on('close', () => this.stop(new Error('the connection was closed')))
  }

  /** A response has arrived. */
  get isProven(): boolean {
    return this.responses > 0
  }

  get hasEnded(): boolean {
    return this.end !== null
  }

  send(text: string): void {
    this.socket.write(Buffer.from(text))
  }

  close(): void {
    this.socket.destroy()
  }

  async response(): Promise<RawReply> {
    const { status, headers } = await this.responseHead()
    const length = Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? 0)
    await this.until(() => this.received.length >= length)
    const body = this.received.slice(0, length)
    this.received = this.received.slice(length)
    this.responses += 1
    return { status, body, closes: /\r\nconnection: close/i.test(headers) }
  }

  async responseHead(): Promise<{ readonly status: number; readonly headers: string }> {
    await this.until(() => this.received.includes('\r\n\r\n'))
    const end = this.received.indexOf('\r\n\r\n')
    const headers = this.received.slice(0, end)
    this.received = this.received.slice(end + 4)
    return { status: Number(headers.split(' ')[1]), headers }
  }

  /** Resolves at the end of a chunked body. Rejects if the connection ends before. */
  async chunkedEnd(): Promise<void> {
    await this.until(() => this.received.endsWith('\r\n0\r\n\r\n') || this.received === '0\r\n\r\n')
  }

  private async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.end !== null) throw this.end
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  private take(text: string): void {
    this.received += text
    this.wake?.()
  }

  private stop(error: Error): void {
    this.end ??= error
    this.wake?.()
  }
}
