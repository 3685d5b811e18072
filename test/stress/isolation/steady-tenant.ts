// The steady tenant: sends simple decisions at a fixed rate without waiting for responses, and measures the time of
// each. Runs as a separate process, controlled over IPC, so that work of the other drivers does not delay it.
import type { Socket } from 'bun'
import { Random } from '../../generate/random.ts'
import { type IsolationFixture, LIMITS, STEADY_PEOPLE } from './fixture.ts'

/** Decisions per second. */
export const RATE = 200
/** Connections that are opened before the first request. */
const CONNECTIONS = 16
const CONNECTIONS_MAX = 4000
/** Requests to `/health`: one per so many decisions. */
const HEALTH_EVERY = 20

export type SteadyCommand =
  | { readonly do: 'open'; readonly fixture: IsolationFixture; readonly seed: number }
  | { readonly do: 'start' }
  /** `waitMs`: how long to wait for missing responses. */
  | { readonly do: 'stop'; readonly waitMs: number }

/** Times are in milliseconds. */
export interface SteadyResult {
  readonly sent: number
  readonly p50: number
  readonly p99: number
  /** The longest time of a decision; for one without a response, the time waited so far. */
  readonly longest: number
  readonly healthLongest: number
  /** Responses with another status than 200, and lost connections. */
  readonly errors: number
  /** Decisions that do not match the graph, except denials at the time limit of a decision: these are late. */
  readonly wrong: number
  readonly unanswered: number
  /** The maximum lateness of this process itself: not part of the other times. */
  readonly driverLate: number
}

interface PendingDecision {
  /** The send time: when it was due, plus the lateness of this process. */
  readonly atMs: number
  readonly expected: string | null
}

class SteadyConnection {
  asked: PendingDecision | null = null
  received = ''
  socket: Socket | null = null
  toSend: string | null = null
}

class Steady {
  private readonly fixture: IsolationFixture
  private readonly random: Random
  private readonly host: string
  private readonly port: number
  private readonly free: SteadyConnection[] = []
  private readonly all = new Set<SteadyConnection>()
  private timer: ReturnType<typeof setTimeout> | null = null
  private dueMs = 0
  private sent = 0
  private times: number[] = []
  private healthTimes: number[] = []
  private errors = 0
  private wrong = 0
  private driverLate = 0

  constructor(fixture: IsolationFixture, seed: number) {
    this.fixture = fixture
    this.random = new Random(seed)
    const { hostname, port } = new URL(fixture.url)
    this.host = hostname
    this.port = Number(port)
  }

  async open(): Promise<void> {
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.connect(new SteadyConnection())))
  }

  private async connect(connection: SteadyConnection): Promise<void> {
    this.all.add(connection)
    try {
      connection.socket = await Bun.connect({
        hostname: this.host,
        port: this.port,
        socket: {
          data: (_, bytes) => this.take(connection, bytes),
          close: () => this.lose(connection),
          error: () => this.lose(connection),
        },
      })
      if (connection.toSend === null) this.free.push(connection)
      else connection.socket.write(connection.toSend)
    } catch {
      this.lose(connection)
    }
  }

  start(): void {
    this.times = []
    this.healthTimes = []
    this.errors = 0
    this.wrong = 0
    this.sent = 0
    this.driverLate = 0
    this.dueMs = performance.now()
    this.turn()
  }

  private turn(): void {
    const now = performance.now()
    while (this.dueMs <= now) {
      this.driverLate = Math.max(this.driverLate, now - this.dueMs)
      this.dueMs += 1000 / RATE
      this.sent += 1
      this.decision(now)
      if (this.sent % HEALTH_EVERY === 0) this.send(now, null, 'GET /health HTTP/1.1\r\nhost: steady\r\n\r\n')
    }
    this.timer = setTimeout(() => this.turn(), Math.max(0, this.dueMs - performance.now()))
  }

  private decision(atMs: number): void {
    const person = this.random.between(0, STEADY_PEOPLE - 1)
    const isGranted = this.random.odds(0.5)
    const page = isGranted ? person : (person + 1) % STEADY_PEOPLE
    const body = JSON.stringify({
      subject: { type: 'Person', id: `person-${person}` },
      action: { name: 'edit' },
      resource: { type: 'Page', id: `page-${page}` },
    })
    const head = `POST /access/v1/evaluation HTTP/1.1\r\nhost: steady\r\nx-svc-clientkey: ${this.fixture.steady.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    this.send(atMs, `{"decision":${isGranted}}`, head + body)
  }

  private send(atMs: number, expected: string | null, message: string): void {
    const asked: PendingDecision = { atMs, expected }
    const connection = this.free.pop()
    if (connection !== undefined) {
      connection.asked = asked
      connection.socket?.write(message)
      return
    }
    if (this.all.size >= CONNECTIONS_MAX) {
      this.errors += 1
      return
    }
    const fresh = new SteadyConnection()
    fresh.asked = asked
    fresh.toSend = message
    void this.connect(fresh)
  }

  private take(connection: SteadyConnection, bytes: Buffer): void {
    connection.received += bytes.toString('latin1')
    const end = connection.received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(connection.received)?.[1] ?? 0)
    if (connection.received.length < end + 4 + length) return
    const { asked, received } = connection
    connection.received = ''
    connection.asked = null
    connection.toSend = null
    const isClosing = /\r\nconnection: *close/i.test(received.slice(0, end))
    if (isClosing) connection.socket?.end()
    else this.free.push(connection)
    if (asked === null) return
    this.note(asked)
    if (!received.startsWith('HTTP/1.1 200')) this.errors += 1
    else if (asked.expected !== null && received.slice(end + 4) !== asked.expected) {
      const isLateDenial =
        received.slice(end + 4).startsWith('{"decision":false') && performance.now() - asked.atMs >= LIMITS.decision
      if (!isLateDenial) this.wrong += 1
    }
  }

  private note({ atMs, expected }: PendingDecision): void {
    const times = expected === null ? this.healthTimes : this.times
    times.push(performance.now() - atMs)
  }

  private lose(connection: SteadyConnection): void {
    if (!this.all.delete(connection)) return
    const at = this.free.indexOf(connection)
    if (at >= 0) this.free.splice(at, 1)
    if (connection.asked === null) return
    this.errors += 1
    this.note(connection.asked)
    connection.asked = null
  }

  async stop(waitMs: number): Promise<SteadyResult> {
    if (this.timer !== null) clearTimeout(this.timer)
    const open = () => [...this.all].filter(({ asked }) => asked !== null)
    for (const endMs = performance.now() + waitMs; open().length > 0 && performance.now() < endMs; ) await Bun.sleep(10)
    const missing = open()
    for (const connection of missing) {
      this.note(connection.asked as PendingDecision)
      connection.asked = null
      this.all.delete(connection)
      connection.socket?.terminate()
    }
    const times = this.times.toSorted((a, b) => a - b)
    const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0
    return {
      sent: this.sent,
      p50: at(0.5),
      p99: at(0.99),
      longest: at(1),
      healthLongest: Math.max(0, ...this.healthTimes),
      errors: this.errors + missing.length,
      wrong: this.wrong,
      unanswered: missing.length,
      driverLate: this.driverLate,
    }
  }
}

if (import.meta.main) {
  let steady: Steady | null = null
  process.on('message', async (command: SteadyCommand) => {
    if (command.do === 'open') {
      steady = new Steady(command.fixture, command.seed)
      await steady.open()
      process.send?.({ opened: true })
    } else if (command.do === 'start') {
      steady?.start()
      process.send?.({ started: true })
    } else process.send?.(await (steady as Steady).stop(command.waitMs))
  })
  process.on('disconnect', () => process.exit(0))
}
