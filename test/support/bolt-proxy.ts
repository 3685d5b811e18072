// A proxy in front of a server that speaks Bolt. Its connections can be cut, refused, stopped and slowed, at any time, exactly at a
// commit, or when a query is sent.
import { createConnection, createServer, type Socket } from 'node:net'

/** The message COMMIT, which has no fields, in a chunk of its own. */
const COMMIT = Buffer.from([0x00, 0x02, 0xb0, 0x12, 0x00, 0x00])

/**
 * A moment of a commit. `unsent`: the server has not received it. `sent`: the server has it, and its answer is on the way.
 * `answered`: the server has answered, and the client has not received the answer. `delivered`: the client has it.
 */
export type CommitMoment = 'unsent' | 'sent' | 'answered' | 'delivered'

interface CommitTrap {
  readonly moment: CommitMoment
  readonly spring: () => void
}

/** A query at which a connection is stopped. */
interface QueryHold {
  readonly text: string
  readonly spring: () => void
}

/** A proxy on 127.0.0.1. */
export class BoltProxy {
  private readonly sockets = new Set<Socket>()
  private isRefusing = false
  private isStopped = false
  private trap: CommitTrap | null = null
  private hold: QueryHold | null = null
  private delayMs = 0
  private readonly port: number
  private readonly server = createServer((client) => this.join(client))

  /** `port`: that of the server, on 127.0.0.1. */
  constructor(port: number) {
    this.port = port
  }

  /** Resolves with the URL of the proxy. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `bolt://127.0.0.1:${(this.server.address() as { readonly port: number }).port}`
  }

  private join(client: Socket): void {
    if (this.isRefusing) {
      client.destroy()
      return
    }
    const upstream = createConnection(this.port, '127.0.0.1')
    let answering: CommitTrap | null = null
    client.on('data', (bytes: Buffer) => {
      const caught = bytes.includes(COMMIT) ? this.takeTrap() : null
      if (caught?.moment === 'unsent') {
        this.cut()
        caught.spring()
        return
      }
      if (caught?.moment === 'sent') upstream.write(bytes, caught.spring)
      else upstream.write(bytes)
      if (caught?.moment === 'answered' || caught?.moment === 'delivered') answering = caught
      if (this.hold !== null && bytes.includes(this.hold.text)) {
        const { spring } = this.hold
        this.hold = null
        upstream.pause()
        spring()
      }
    })
    upstream.on('data', (bytes) => {
      const caught = answering
      answering = null
      if (caught?.moment === 'answered') {
        this.cut()
        caught.spring()
      } else if (caught?.moment === 'delivered') client.write(bytes, caught.spring)
      else if (this.delayMs > 0) setTimeout(() => client.write(bytes), this.delayMs)
      else client.write(bytes)
    })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => {
        this.sockets.delete(from)
        to.destroy()
      })
      if (this.isStopped) from.pause()
    }
  }

  private takeTrap(): CommitTrap | null {
    const { trap } = this
    this.trap = null
    return trap
  }

  /**
   * Resolves at that moment of the next commit. All connections are cut then if the moment is `unsent` or `answered`. Resolves with
   * false if nothing is committed in time.
   */
  async atCommit(moment: CommitMoment, limitMs = 240_000): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.trap = { moment, spring: () => resolve(true) }
    const timer = setTimeout(() => {
      this.trap = null
      resolve(false)
    }, limitMs)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves when a client has sent a query that contains a text. Its connection delivers no answer then, until `resume`. */
  async holdQuery(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.hold = { text, spring: resolve }
    await promise
  }

  /** Delivers each answer that many milliseconds later. */
  slowDown(ms: number): void {
    this.delayMs = ms
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  /** Cuts all connections and refuses new ones, until `accept`. */
  refuse(): void {
    this.isRefusing = true
    this.cut()
  }

  /** Accepts connections again. */
  accept(): void {
    this.isRefusing = false
  }

  /** Delivers nothing until `resume`; connections stay open. */
  stop(): void {
    this.isStopped = true
    for (const socket of this.sockets) socket.pause()
  }

  /** Delivers again, also what has arrived since `stop`. */
  resume(): void {
    this.isStopped = false
    for (const socket of this.sockets) socket.resume()
  }

  /** Cuts all connections for ever. */
  close(): void {
    this.cut()
    this.server.close()
  }
}
