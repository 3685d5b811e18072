// Reads the messages of an event stream one by one, as a client does: skips comments, returns null at the end.

export interface Events {
  readonly status: number
  readonly type: string | null
  readonly headers: Headers
  /** The next message; null if the stream has ended. */
  next(): Promise<unknown>
  /** Of a response that is not a stream. */
  json(): Promise<Record<string, unknown>>
  leave(): Promise<void>
}

export function eventsOf(response: Response): Events {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  const messages: unknown[] = []
  let rest = ''
  let left = false
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    headers: response.headers,
    async next() {
      while (messages.length === 0) {
        const read = await reader?.read()
        if (read === undefined || read.done) return null
        const parts = (rest + decoder.decode(read.value, { stream: true })).split('\n\n')
        rest = parts.pop() ?? ''
        for (const part of parts) {
          const data = part.split('\n').find((line) => line.startsWith('data: '))
          if (data !== undefined) messages.push(JSON.parse(data.slice(6)))
        }
      }
      return messages.shift()
    },
    async json() {
      let text = ''
      for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
        text += decoder.decode(read.value, { stream: true })
      }
      return JSON.parse(text) as Record<string, unknown>
    },
    async leave() {
      if (left) return
      left = true
      await reader?.cancel().catch(() => undefined)
    },
  }
}
