// Writes a shipment to a local file, compressed and if wanted encrypted, so that read transactions end as soon as it is written, and
// the same bytes can be sent again.
import { createReadStream, createWriteStream, readFileSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { syncPath } from '../../transfer/files/sync-path.ts'

/** Fast: pages compress well, and the process must keep up with the writers. */
const COMPRESSION_LEVEL = 1

/** Shorter objects are sent from memory, in one request. */
const INLINE_BYTES_MAX = 8 * 1024 * 1024

/** Encrypts or decrypts a stream. */
export type StreamCipher = (stream: ReadableStream<Uint8Array>) => Promise<ReadableStream<Uint8Array>>

/** Writes the shipment to `path`, synced to disk. `encrypt`: null: it is not encrypted. Returns what `content` returns. */
export async function writeSpool(
  path: string,
  content: AsyncGenerator<Uint8Array, string>,
  encrypt: StreamCipher | null,
): Promise<{ readonly digest: string; readonly bytes: number }> {
  let digest = ''
  async function* chunks(): AsyncGenerator<Uint8Array> {
    digest = yield* content
  }
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: COMPRESSION_LEVEL } })
  const target = createWriteStream(path, { mode: 0o600 })
  const source = Readable.from(chunks(), { objectMode: false })
  if (encrypt === null) await pipeline(source, compress, target)
  else {
    const compressing = pipeline(source, compress)
    const encrypted = await encrypt(Readable.toWeb(compress) as ReadableStream<Uint8Array>)
    await Promise.all([compressing, pipeline(chunksOf(encrypted), target)])
  }
  syncPath(path)
  return { digest, bytes: statSync(path).size }
}

/** The body of a request that sends the file. */
export function spoolBody(path: string): ReadableStream<Uint8Array> | Uint8Array {
  if (statSync(path).size <= INLINE_BYTES_MAX) return readFileSync(path)
  return Readable.toWeb(createReadStream(path, { highWaterMark: 1 << 20 })) as ReadableStream<Uint8Array>
}

/** The content of an object of a place. `decrypt`: null: it is not encrypted. */
export async function* readObject(
  body: ReadableStream<Uint8Array>,
  decrypt: StreamCipher | null,
): AsyncGenerator<Uint8Array> {
  const plain = decrypt === null ? body : await decrypt(body)
  const decompress = createZstdDecompress()
  const feeding = pipeline(chunksOf(plain), decompress)
  feeding.catch(() => undefined)
  for await (const chunk of decompress) yield chunk as Uint8Array
  await feeding
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of stream) yield chunk
}
