// The receiver of a soak run: checks that events arrive at least once and in order, with bounded memory.

interface ArrivedEvent {
  readonly id: string
  readonly source: string
  readonly subject: string
  readonly sequence: string
  readonly type: string
  readonly data?: { readonly snapshot?: boolean }
}

/** The numbers of one source that arrived, as ranges. */
class SequenceRanges {
  /** Ascending, disjoint; ends are included. */
  readonly ranges: [number, number][] = []

  /** False: the number was there. */
  add(number: number): boolean {
    const { ranges } = this
    let at = ranges.length - 1
    while (at >= 0 && ranges[at]![0] > number) at -= 1
    const before = ranges[at]
    if (before !== undefined && number <= before[1]) return false
    const after = ranges[at + 1]
    const joinsBefore = before !== undefined && before[1] === number - 1
    const joinsAfter = after !== undefined && after[0] === number + 1
    if (joinsBefore && joinsAfter) {
      before[1] = after[1]
      ranges.splice(at + 1, 1)
    } else if (joinsBefore) before[1] = number
    else if (joinsAfter) after[0] = number
    else ranges.splice(at + 1, 0, [number, number])
    return true
  }
}

export class EventOrder {
  readonly endpoint: string
  arrived = 0
  repeated = 0
  refused = 0
  /** Batches are refused with 503 while true. */
  isDown = false
  readonly faults: string[] = []
  readonly #server: Bun.Server<undefined>
  readonly #sources = new Map<string, SequenceRanges>()
  readonly #last = new Map<string, string>()

  /** `refuse`: whether to refuse a batch, for example at random. */
  constructor(refuse: () => boolean) {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const events = JSON.parse(await request.text()) as ArrivedEvent[]
        if (this.isDown || refuse()) {
          this.refused += 1
          return new Response('', { status: 503 })
        }
        for (const event of events) this.#accept(event)
        return new Response('', { status: 200 })
      },
    })
    this.endpoint = `http://127.0.0.1:${this.#server.port}/events`
  }

  #accept({ source, subject, sequence, data }: ArrivedEvent): void {
    if (data?.snapshot === true) return
    const ranges = this.#sources.get(source) ?? new SequenceRanges()
    this.#sources.set(source, ranges)
    if (!ranges.add(Number(sequence))) {
      this.repeated += 1
      return
    }
    this.arrived += 1
    const key = `${source} ${subject}`
    const last = this.#last.get(key) ?? ''
    if (sequence <= last) this.faults.push(`${subject}: event ${sequence} after ${last}`)
    this.#last.set(key, sequence)
  }

  /** By source: the missing numbers between the first and the last. */
  gaps(): Map<string, [number, number][]> {
    const gaps = new Map<string, [number, number][]>()
    for (const [source, { ranges }] of this.#sources)
      gaps.set(
        source,
        ranges.slice(1).map(([from], at) => [ranges[at]![1] + 1, from - 1]),
      )
    return gaps
  }

  /** The last number by source. */
  ends(): Map<string, number> {
    return new Map([...this.#sources].map(([source, { ranges }]) => [source, ranges.at(-1)?.[1] ?? 0]))
  }

  async stop(): Promise<void> {
    await this.#server.stop(true)
  }
}
