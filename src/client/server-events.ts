// Parses streams of server-sent events.

/** A connection without a keep-alive for this time is broken. The service sends one every 15 s. */
const SILENCE_MS_MAX = 60_000

/** An event of a stream. */
export interface ServerSentEvent {
  /** Empty: a keep-alive. */
  readonly name: string
  /** Empty: none. */
  readonly id: string
  readonly data: string
}

/** Yields the events of one connection until it ends, breaks, or is silent. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const value = await readInTime(reader)
      if (value === null) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) yield eventOf(block)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

interface ChunkReader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>
}

/** Null: the connection has ended, or nothing came in time. */
async function readInTime(reader: ChunkReader): Promise<Uint8Array | null> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), SILENCE_MS_MAX)
  })
  const read = reader.read().then(
    ({ value }) => value ?? null,
    () => null,
  )
  try {
    return await Promise.race([read, silence])
  } finally {
    clearTimeout(timer)
  }
}

function eventOf(block: string): ServerSentEvent {
  const event = { event: '', id: '', data: '' }
  for (const line of block.split('\n')) {
    const colon = line.indexOf(': ')
    const field = line.slice(0, colon)
    if (field === 'event' || field === 'id' || field === 'data') event[field] = line.slice(colon + 2)
  }
  return { name: event.event, id: event.id, data: event.data }
}
