// Memory for the entries that are sealed together: one allocation for each would take longer than its encoding.
import { BytePool } from './log/byte-pool.ts'

const CHUNK_BYTES = 1024 * 1024
const CHUNKS_KEPT = 16
const UTF8_BYTES_PER_UNIT = 3

const pool = new BytePool(CHUNKS_KEPT, CHUNK_BYTES)

/** Memory for entries. */
export class EntryMemory {
  private chunks: Buffer[] = []
  private last: Buffer | null = null
  private at = 0

  /** Encodes a text in UTF-8. Valid until `release`. */
  encode(text: string): Uint8Array {
    const bytesMax = text.length * UTF8_BYTES_PER_UNIT
    if (this.last === null || this.last.length - this.at < bytesMax) {
      this.last = pool.take(Math.max(CHUNK_BYTES, bytesMax))
      this.chunks.push(this.last)
      this.at = 0
    }
    const start = this.at
    this.at += this.last.write(text, start)
    return this.last.subarray(start, this.at)
  }

  /** Ends the use of all encoded texts. */
  release(): void {
    for (const chunk of this.chunks) pool.give(chunk)
    this.chunks = []
    this.last = null
  }
}
