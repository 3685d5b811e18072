// Streams of bytes as async iterables, and back. The types of Bun know neither `ReadableStream.from` nor a web stream in `pipeline`.
import { open } from 'node:fs/promises'

/** One read of a file that is sent to a client: few reads, and a chunk keeps the serving loop for less than a millisecond. */
const READ_BYTES = 256 * 1024

/**
 * The bytes of a file, read when they are asked for. `Bun.file(…).stream()` kept the loop of the process for up to 0.6 s, because it reads on
 * while chunks are taken at once.
 */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const file = await open(path)
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(READ_BYTES), 0, READ_BYTES)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

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
