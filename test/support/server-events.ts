// A reader of server-sent events, for tests.

export interface ServerEvent {
  readonly name: string
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
}

/** An open stream of server-sent events. */
export class EventStreamReader implements AsyncDisposable {
  /** All events received so far. */
  readonly events: ServerEvent[] = []
  /** The id of the last event, or of a later comment. */
  lastId = ''
  readonly ended: Promise<void>
  private readonly stopping = new AbortController()
  private waiting: (() => void)[] = []
  private hasEnded = false

  private constructor(response: Response, stopping: AbortController) {
    this.stopping = stopping
    this.ended = this.read(response)
  }

  /** Opens a stream. Throws if it is refused. */
  static async open(url: string, headers: Record<string, string>): Promise<EventStreamReader> {
    const stopping = new AbortController()
    const response = await fetch(url, { headers, signal: stopping.signal })
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
    return new EventStreamReader(response, stopping)
  }

  /** Resolves with the first event from position `from` on that passes the test. Rejects if the stream ends before. */
  async until(test: (event: ServerEvent) => boolean, from = 0): Promise<ServerEvent> {
    for (let at = from; ; ) {
      for (; at < this.events.length; at++) if (test(this.events[at]!)) return this.events[at]!
      if (this.hasEnded) throw new Error(`the stream ended: ${JSON.stringify(this.events)}`)
      await new Promise<void>((resolve) => this.waiting.push(resolve))
    }
  }

  async close(): Promise<void> {
    this.stopping.abort()
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private async read(response: Response): Promise<void> {
    let text = ''
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        const blocks = text.split('\n\n')
        text = blocks.pop()!
        for (const block of blocks) this.take(block)
        this.wake()
      }
    } catch {
      // The connection was closed.
    }
    this.hasEnded = true
    this.wake()
  }

  private take(block: string): void {
    const fields = new Map(
      block.split('\n').map((line) => {
        const colon = line.indexOf(': ')
        return [line.slice(0, colon), line.slice(colon + 2)] as const
      }),
    )
    this.lastId = fields.get('id') ?? this.lastId
    const data = fields.get('data')
    if (data === undefined) return
    this.events.push({ name: fields.get('event') ?? 'message', id: this.lastId, data: JSON.parse(data) })
  }

  private wake(): void {
    const { waiting } = this
    this.waiting = []
    for (const resolve of waiting) resolve()
  }
}
