// A receiver of events: an event topic over HTTP that records what it accepts. Tests script its answers and stop it.

/** A CloudEvent as it arrived. */
export interface AcceptedEvent {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly subject: string
  readonly sequence: string
  readonly partitionkey: string
  readonly traceparent?: string
  readonly tracestate?: string
  readonly data: Readonly<Record<string, unknown>>
  /** As it arrived, to compare repeated deliveries byte by byte. */
  readonly text: string
}

/** The status for a batch; the events are recorded as accepted if it is 200. */
export type ReceiverAnswer = (events: readonly AcceptedEvent[]) => number | Promise<number>

export interface EventReceiver {
  readonly endpoint: string
  /** In the order of arrival, with repetitions. */
  readonly accepted: AcceptedEvent[]
  /** Every event of every request, also of refused ones. */
  readonly seen: AcceptedEvent[]
  /** The access key of each request. */
  readonly keys: string[]
  answer: ReceiverAnswer
  /** Closes all connections. The next `start` uses the same port. */
  stop(): Promise<void>
  start(): void
  /** Resolves when the accepted events fulfil the condition, or rejects after 120 s: the last wait before a retry has up to 60 s. */
  until(condition: (accepted: readonly AcceptedEvent[]) => boolean): Promise<void>
}

/**
 * Ports below those that operating systems choose. While a receiver is stopped, no connection or other server gets its port, and a
 * sender that tries again and again cannot connect to itself.
 */
const PORTS = { first: 15_000, count: 16_000 }

function serveOnFreePort(serve: (port: number) => Bun.Server<undefined>): Bun.Server<undefined> {
  for (;;) {
    try {
      return serve(PORTS.first + Math.floor(Math.random() * PORTS.count))
    } catch (failure) {
      if ((failure as { readonly code?: string }).code !== 'EADDRINUSE') throw failure
    }
  }
}

/** Starts a receiver on a free port of the loopback address. */
export function startReceiver(): EventReceiver {
  let server: Bun.Server<undefined> | null = null
  let port = 0
  const serve = (on: number): Bun.Server<undefined> =>
    Bun.serve({
      port: on,
      hostname: '127.0.0.1',
      async fetch(request) {
        const events = eventsIn(await request.text())
        receiver.keys.push(request.headers.get('aeg-sas-key') ?? '')
        receiver.seen.push(...events)
        const status = await receiver.answer(events)
        if (status === 200) receiver.accepted.push(...events)
        return new Response('', { status })
      },
    })
  const receiver: EventReceiver = {
    get endpoint() {
      return `http://127.0.0.1:${port}/events`
    },
    accepted: [],
    seen: [],
    keys: [],
    answer: () => 200,
    async stop() {
      await server?.stop(true)
      server = null
    },
    start() {
      server = port === 0 ? serveOnFreePort(serve) : serve(port)
      port = server.port as number
    },
    async until(condition) {
      const end = performance.now() + 120_000
      while (!condition(receiver.accepted)) {
        if (performance.now() > end) {
          throw new Error(`not received; accepted ${JSON.stringify(receiver.accepted.map(({ type }) => type))}`)
        }
        await Bun.sleep(5)
      }
    },
  }
  receiver.start()
  return receiver
}

/** Splits a batch into its events, each with its own text. The JSON batch has one event per attribute object. */
function eventsIn(body: string): AcceptedEvent[] {
  const parsed = JSON.parse(body) as Omit<AcceptedEvent, 'text'>[]
  const texts = body.slice(1, -1).split(/,(?=\{"specversion")/)
  return parsed.map((event, at) => ({ ...event, text: texts[at] as string }))
}

/** A provider of a sink that sends to the receiver. */
export function receiverProvider(receiver: EventReceiver, more: object = {}, access_key = 'key-1'): object {
  return { event_topic: { topic_endpoint: receiver.endpoint, access_key }, ...more }
}

/** Fails if the events of one element are not in the order of their sequences, ignoring repetitions. Returns the repetitions. */
export function checkOrder(accepted: readonly AcceptedEvent[]): number {
  const last = new Map<string, string>()
  const ids = new Set<string>()
  let repeated = 0
  for (const { id, source, subject, sequence } of accepted) {
    const known = ids.has(`${source} ${id}`)
    if (known) repeated += 1
    ids.add(`${source} ${id}`)
    const key = `${source} ${subject}`
    if (!known && sequence <= (last.get(key) ?? '')) throw new Error(`${subject}: ${sequence} after ${last.get(key)}`)
    if (!known) last.set(key, sequence)
  }
  return repeated
}
