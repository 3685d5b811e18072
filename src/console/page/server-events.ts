// Reads server-sent events from a response. EventSource sends no headers, and so cannot name the project.

/** A server-sent event. */
export interface StreamEvent {
  readonly name: string
  readonly data: string
}

/** Calls `onEvents` with the events of each chunk, until the stream ends. Rejects if the connection breaks. */
export async function readServerEvents(
  body: ReadableStream<Uint8Array>,
  onEvents: (events: readonly StreamEvent[]) => void,
): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    const events = blocks.flatMap(eventOf)
    if (events.length > 0) onEvents(events)
  }
}

/** Empty for a comment, which only keeps the connection open. */
function eventOf(block: string): StreamEvent[] {
  let name = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(event|data): ?(.*)$/s.exec(line) ?? []
    if (field === 'event') name = value
    else if (field === 'data') data.push(value)
  }
  return data.length === 0 ? [] : [{ name, data: data.join('\n') }]
}
