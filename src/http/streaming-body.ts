// Streamed response bodies with backpressure: the next chunk is requested only when the previous one was sent, so nothing is
// buffered here, and the producer notices a slow or disconnected reader.
import type { HttpResponse } from './route.ts'

/**
 * Converts an iterator of text chunks to a body. The connection is closed if nothing is sent for its idle timeout, so the
 * producer must send keep-alives.
 */
export function toReadableStream(live: NonNullable<HttpResponse['stream']>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await live.next()
        if (done === true) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        await live.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
