// The hostile tenant: applies one load for some seconds and reports how each of its requests ended. Runs as a separate
// process with low priority, one per load.
import { connect, type Socket } from 'node:net'
import { type IsolationFixture, LIMITS, type LimitName } from './fixture.ts'
import type { HostileLoadName } from './loads.ts'
import { sceneOf } from './loads.ts'

/** Requests without a response so long after the end of the load are abandoned. */
export const GRACE_MS = 15_000

export interface HostileCommand {
  readonly fixture: IsolationFixture
  readonly scene: HostileLoadName
  readonly seconds: number
  readonly folder: string
}

export interface RequestOutcome {
  readonly what: string
  /** 0: no response. */
  readonly status: number
  readonly ms: number
  /** The limit of the request in milliseconds if it was the only one in progress; else null. */
  readonly limitMs: number | null
  /** Start of the body of a response that is not 200. */
  readonly text: string
}

export interface HostileResult {
  readonly outcomes: readonly RequestOutcome[]
  /** Further remarks. */
  readonly notes: readonly string[]
}

export interface Request {
  readonly method?: string
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
  /** Given if the request is the only one of its load in progress. */
  readonly limit?: LimitName
}

export class Hostile {
  readonly fixture: IsolationFixture
  /** For files of the load. */
  readonly folder: string
  readonly outcomes: RequestOutcome[] = []
  readonly notes: string[] = []
  endMs = 0
  /** Several loads at once: no request is alone. */
  isCrowded = false

  constructor({ fixture, folder }: HostileCommand) {
    this.fixture = fixture
    this.folder = folder
  }

  get isOver(): boolean {
    return performance.now() >= this.endMs
  }

  /** Sends a request and records how it ended; never throws. */
  async send(what: string, { method = 'POST', path, body, headers = {}, limit }: Request): Promise<RequestOutcome> {
    const startMs = performance.now()
    const leftMs = Math.max(1, this.endMs + GRACE_MS - startMs)
    const limitMs = limit === undefined || this.isCrowded ? null : LIMITS[limit]
    let outcome: RequestOutcome
    try {
      const response = await fetch(`${this.fixture.url}${path}`, {
        method,
        headers: {
          // A key would take precedence over the token of a service account.
          ...(headers['x-project-id'] === undefined && { 'x-svc-clientkey': this.fixture.hostile.key }),
          'content-type': 'application/json',
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(leftMs),
      })
      const bytes = await response.arrayBuffer()
      const ms = performance.now() - startMs
      const text = response.status === 200 ? '' : Buffer.from(bytes).toString('utf8', 0, 200)
      outcome = { what, status: response.status, ms, limitMs, text }
    } catch (fault) {
      const text = fault instanceof Error ? fault.message : String(fault)
      outcome = { what, status: 0, ms: performance.now() - startMs, limitMs, text }
    }
    this.outcomes.push(outcome)
    return outcome
  }

  /** Sends one request after another until the end of the load, from so many concurrent callers. */
  async loop(what: string, callers: number, request: () => Request): Promise<void> {
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (!this.isOver) {
          const { status } = await this.send(what, request())
          // A refusal is cheap: without a pause the load would be a flood of refusals.
          if (status === 503 || status === 429 || status === 0) await Bun.sleep(50)
        }
      }),
    )
  }

  /** So many concurrent requests, repeated when all have a response. */
  async rounds(what: string, atOnce: number, request: () => Request): Promise<void> {
    while (!this.isOver) await Promise.all(Array.from({ length: atOnce }, () => this.send(what, request())))
  }

  configure(what: string, method: string, path: string, body?: object): Promise<RequestOutcome> {
    const headers = { authorization: `Bearer ${this.fixture.admin}`, 'content-type': 'application/json' }
    return this.send(what, {
      method,
      path: `/configs/v1/${path}`,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
  }

  /** A plain connection; null if it is refused. */
  connection(): Promise<Socket | null> {
    const { hostname, port } = new URL(this.fixture.url)
    return new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('connect', () => resolve(socket))
      socket.on('error', () => resolve(null))
    })
  }

  async untilOver(): Promise<void> {
    await Bun.sleep(Math.max(0, this.endMs - performance.now()))
  }
}

if (import.meta.main) {
  let run: (() => Promise<void>) | null = null
  let hostile: Hostile | null = null
  process.on('message', async (command: HostileCommand | { go: number }) => {
    if ('go' in command) {
      const over = performance.now() + command.go * 1000
      if (hostile !== null) hostile.endMs = over
      await Promise.race([run?.(), Bun.sleep(command.go * 1000 + GRACE_MS + 1000)]).catch((fault: unknown) => {
        hostile?.notes.push(`the scene failed: ${fault instanceof Error ? fault.message : String(fault)}`)
      })
      if (performance.now() > over + GRACE_MS) hostile?.notes.push('not all requests had ended')
      process.send?.({ outcomes: hostile?.outcomes, notes: hostile?.notes })
      return
    }
    hostile = new Hostile(command)
    run = await sceneOf(command.scene).prepare(hostile)
    process.send?.({ ready: true })
  })
  process.on('disconnect', () => process.exit(0))
}
