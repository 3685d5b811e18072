// Streamed response bodies with backpressure: the next chunk is requested only when the previous one was sent, so nothing is
// buffered here, and the producer notices a slow or disconnected reader.
import type { HttpResponse } from './route.ts'

/**
 * Converts an iterator of text chunks to a body. The connection is closed if nothing is sent for its idle timeout, so the
 * producer must send keep-alives.
 */
export function toReadableStream(live: NonNullable<HttpResponse['stream']>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return toByteStream(live, (text) => encoder.encode(text))
}

/** Converts an iterator to a body of bytes. If the iterator throws, the connection is closed without the end of the body. */
export function toByteStream<T>(
  chunks: AsyncIterator<T, void>,
  encode: (chunk: T) => Uint8Array<ArrayBuffer>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(encode(value))
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
