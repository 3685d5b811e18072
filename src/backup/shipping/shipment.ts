// The content of a shipped object: frames of a type, a length and bytes. First the header, then for each environment its pages and its
// meta page, then files, and at the end the SHA-256 of everything before. An object without its end is incomplete.
import { createHash } from 'node:crypto'
import { z } from 'zod'

/** Name and version of the format, in each header. */
export const SHIPMENT_FORMAT = 'verdigraph-shipment'
export const SHIPMENT_VERSION = 1

/** Types of frames. Stored: never renumber them. */
export const FRAME = { header: 1, environment: 2, pages: 3, meta: 4, file: 5, content: 6, end: 7 } as const

/** Type and length of a frame, bytes. */
const FRAME_HEAD = 5
/** Longer than any frame that is written. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024

/** Names of environment folders in the data folder, and of files of the audit logs. No other path is written. */
const ENVIRONMENT_PATH = /^(?:[A-Za-z0-9][A-Za-z0-9-]{0,80})(?:\/[A-Za-z0-9][A-Za-z0-9-]{0,80}){0,3}$/
const FILE_PATH =
  /^(?:demo\.json|audit\/logs\/[A-Za-z0-9_-]{1,80}\/[a-z]{10}\/(?:checkpoint|pruned|bodies\/[0-9a-f]{64}|tile\/(?:entries|\d{1,2})\/(?:x\d{3}\/){0,6}\d{3}(?:\.p\/\d{1,3})?))$/

const environmentSchema = z.strictObject({
  /** The folder in the data folder. */
  path: z.string().regex(ENVIRONMENT_PATH),
  page_bytes: z.int().min(512).max(65_536),
  /** The transaction of the state in the object before; null: the environment is whole. */
  from: z.int().min(0).nullable(),
  to: z.int().min(0),
  last_page: z.int().min(1),
})

/** The schema of the header. */
export const shipmentHeaderSchema = z.strictObject({
  format: z.literal(SHIPMENT_FORMAT),
  version: z.literal(SHIPMENT_VERSION),
  made_by: z.string(),
  generation: z.string(),
  sequence: z.int().min(0),
  kind: z.enum(['base', 'segment']),
  /** The SHA-256 at the end of the object before; null in a base. */
  previous: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  /** The moment, and until when nothing had changed since the object before. RFC 3339. */
  time: z.iso.datetime(),
  unchanged_until: z.iso.datetime(),
  environments: z.array(environmentSchema),
  /** Environments that no longer exist. */
  removed: z.array(z.string().regex(ENVIRONMENT_PATH)),
})

/** The header of a shipped object. */
export type ShipmentHeader = z.infer<typeof shipmentHeaderSchema>
/** An environment in the header. */
export type ShippedEnvironment = ShipmentHeader['environments'][number]

/** The schema of the frame before the content of a file. */
export const shippedFileSchema = z.strictObject({
  path: z.string().regex(FILE_PATH),
  bytes: z.int().min(0),
})

/** A file of a shipment. */
export interface ShippedFile {
  /** In the data folder. */
  readonly path: string
  readonly bytes: Uint8Array
}

/** The pages and the meta page of an environment. */
interface EnvironmentPages {
  readonly metaPage: Uint8Array
  pages(): Iterable<{ readonly page: number; readonly bytes: Uint8Array }>
}

const CHUNK_BYTES = 1 << 18

/** Collects frames in chunks, and computes their hash. */
class FrameWriter {
  private readonly hash = createHash('sha256')
  private chunk = new Uint8Array(CHUNK_BYTES)
  private used = 0
  private readonly full: Uint8Array[] = []

  add(type: number, ...parts: readonly Uint8Array[]): void {
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    const head = new Uint8Array(FRAME_HEAD)
    head[0] = type
    new DataView(head.buffer).setUint32(1, length, true)
    for (const part of [head, ...parts]) this.append(part)
  }

  private append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + CHUNK_BYTES - this.used)
      this.chunk.set(part, this.used)
      this.used += part.length
      at += part.length
      if (this.used === CHUNK_BYTES) this.endChunk()
    }
  }

  private endChunk(): void {
    const chunk = this.chunk.subarray(0, this.used)
    this.hash.update(chunk)
    this.full.push(chunk)
    this.chunk = new Uint8Array(CHUNK_BYTES)
    this.used = 0
  }

  takeFull(): Uint8Array[] {
    return this.full.splice(0)
  }

  /** The last chunks, with the end frame, and the hash of everything before it. */
  finish(): { readonly chunks: Uint8Array[]; readonly digest: string } {
    this.endChunk()
    const digest = this.hash.digest()
    const end = new Uint8Array(FRAME_HEAD + digest.length)
    end[0] = FRAME.end
    new DataView(end.buffer).setUint32(1, digest.length, true)
    end.set(digest, FRAME_HEAD)
    return { chunks: [...this.takeFull(), end], digest: digest.toString('hex') }
  }
}

/**
 * Encodes a shipment in chunks. `environments`: in the order of the header. Returns the hash for the next one. Uses memory for one
 * file and some pages.
 */
export async function* encodeShipment(
  header: ShipmentHeader,
  environments: readonly EnvironmentPages[],
  files: AsyncIterable<ShippedFile> | Iterable<ShippedFile>,
): AsyncGenerator<Uint8Array, string> {
  const writer = new FrameWriter()
  writer.add(FRAME.header, Buffer.from(JSON.stringify(header)))
  for (const [index, { metaPage, pages }] of environments.entries()) {
    writer.add(FRAME.environment, uint(index))
    for (const { page, bytes } of pages()) {
      writer.add(FRAME.pages, uint(page), bytes)
      yield* writer.takeFull()
    }
    writer.add(FRAME.meta, metaPage)
  }
  for await (const { path, bytes } of files) {
    writer.add(FRAME.file, Buffer.from(JSON.stringify({ path, bytes: bytes.length })))
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
      writer.add(FRAME.content, bytes.subarray(at, at + CHUNK_BYTES))
    yield* writer.takeFull()
  }
  const { chunks, digest } = writer.finish()
  yield* chunks
  return digest
}

function uint(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true)
  return bytes
}

/** A decoded frame. `bytes` is valid until the next one. */
export interface Frame {
  readonly type: number
  readonly bytes: Uint8Array
}

/** The bytes are not a complete shipment. The message is a phrase about the object. */
export class ShipmentDamagedError extends Error {
  override readonly name = 'ShipmentDamagedError'
}

/**
 * Decodes the frames before the end, and returns the hash. Throws ShipmentDamagedError if a frame is cut off, bytes follow the end, or
 * the hash differs: what was yielded until then must be discarded.
 */
export async function* decodeFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, string> {
  const hash = createHash('sha256')
  let rest = new Uint8Array(0)
  let digest: string | null = null
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    for (;;) {
      if (bytes.length - at === 0) break
      if (digest !== null) throw new ShipmentDamagedError('has bytes after its end')
      if (bytes.length - at < FRAME_HEAD) break
      const view = new DataView(bytes.buffer, bytes.byteOffset + at)
      const length = view.getUint32(1, true)
      const type = view.getUint8(0)
      if (length > FRAME_BYTES_MAX) throw new ShipmentDamagedError('has a frame of impossible length')
      if (bytes.length - at < FRAME_HEAD + length) break
      const frame = bytes.subarray(at + FRAME_HEAD, at + FRAME_HEAD + length)
      if (type === FRAME.end) {
        digest = hash.digest('hex')
        if (Buffer.from(frame).toString('hex') !== digest)
          throw new ShipmentDamagedError('does not have the content that was shipped')
      } else {
        hash.update(bytes.subarray(at, at + FRAME_HEAD + length))
        yield { type, bytes: frame }
      }
      at += FRAME_HEAD + length
    }
    rest = Uint8Array.from(bytes.subarray(at))
  }
  if (digest === null) throw new ShipmentDamagedError('is incomplete')
  return digest
}

/** The number at the start of a frame. */
export function uintOf(bytes: Uint8Array): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true))
}
