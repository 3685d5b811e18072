// Bodies that are written as things come to pass, to a reader who may be slow and may leave: the next piece is asked for only
// when the one before it is on its way, so whoever writes knows how far behind a reader is, and nothing piles up here.
import type { HttpResponse } from './route.ts'

/** A reader who takes nothing for the idle time of the connection loses it; a writer must say something more often. */
export function toReadableStream(live: NonNullable<HttpResponse['live']>): ReadableStream<Uint8Array> {
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
