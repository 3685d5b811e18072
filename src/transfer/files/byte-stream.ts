// Streams of bytes as async iterables, and back. The types of Bun know neither `ReadableStream.from` nor a web stream in `pipeline`.

/** A stream of chunks that are produced when they are read. Cancelling it ends the iteration. */
export function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** The chunks of a stream, which is cancelled if the iteration ends early. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of stream) yield chunk
}
