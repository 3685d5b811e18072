// What a check reads, taken from a check: the reads that it asks of LMDB, recorded with their keys, and read again without
// anything around them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'

/** One read as it was asked. */
interface Read {
  readonly database: Reader
  readonly key: unknown
  readonly reading: unknown
}

interface Reader {
  getBinaryFast(key: unknown, reading?: unknown): { readonly length: number } | undefined
}

export class RecordedReads {
  private readonly reads: Read[] = []
  /** First read of each recorded call; ends with the number of all reads. */
  private readonly starts: number[] = [0]

  get calls(): number {
    return this.starts.length - 1
  }

  get readsPerCall(): number {
    return this.reads.length / this.calls
  }

  /** Reads what the call with that number read. Answers the bytes seen, so that no read is left out. */
  replay(call: number): number {
    let seen = 0
    const end = this.starts[call + 1] as number
    for (let at = this.starts[call] as number; at < end; at++) {
      const { database, key, reading } = this.reads[at] as Read
      seen += database.getBinaryFast(key, reading)?.length ?? 0
    }
    return seen
  }

  /** Records every read of every database of this process while `calls` runs; `next` begins another call. */
  static async of(calls: (next: () => void) => void): Promise<RecordedReads> {
    const recorded = new RecordedReads()
    const prototype = await readerPrototype()
    const original = prototype.getBinaryFast
    prototype.getBinaryFast = function recording(this: Reader, key: unknown, reading?: unknown) {
      // The store uses its key objects again from call to call.
      recorded.reads.push({ database: this, key: typeof key === 'object' ? { ...key } : key, reading })
      return original.call(this, key, reading)
    }
    try {
      calls(() => recorded.starts.push(recorded.reads.length))
    } finally {
      prototype.getBinaryFast = original
    }
    return recorded
  }
}

/** Where the package defines its read, found on a database of our own. */
async function readerPrototype(): Promise<Reader> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-lmdb-'))
  const database = open({ path: folder, encoding: 'binary' })
  let holder: object | null = database
  while (holder !== null && !Object.hasOwn(holder, 'getBinaryFast')) holder = Object.getPrototypeOf(holder)
  await database.close()
  rmSync(folder, { recursive: true })
  if (holder === null) throw new Error('the lmdb package no longer has getBinaryFast')
  return holder as Reader
}
