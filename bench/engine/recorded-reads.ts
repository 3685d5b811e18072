// The reads of a check: recorded with their keys, and repeated without anything around them.

/** One recorded read. */
interface RecordedRead {
  readonly database: Reader
  readonly key: unknown
  readonly reading: unknown
}

interface Reader {
  getBinaryFast(key: unknown, reading?: unknown): { readonly length: number } | undefined
}

export class RecordedReads {
  private readonly reads: RecordedRead[] = []
  /** First read of each recorded call; ends with the number of all reads. */
  private readonly starts: number[] = [0]

  get calls(): number {
    return this.starts.length - 1
  }

  get readsPerCall(): number {
    return this.reads.length / this.calls
  }

  /** Repeats the reads of the call with that number. Returns the number of bytes, so that no read is optimised away. */
  replay(call: number): number {
    let seen = 0
    const end = this.starts[call + 1] as number
    for (let at = this.starts[call] as number; at < end; at++) {
      const { database, key, reading } = this.reads[at] as RecordedRead
      seen += database.getBinaryFast(key, reading)?.length ?? 0
    }
    return seen
  }

  /** Records every read of every database in the environment of `database` while `calls` runs; `next` ends a call. */
  static of(database: object, calls: (next: () => void) => void): RecordedReads {
    const recorded = new RecordedReads()
    const prototype = readerPrototype(database)
    const original = prototype.getBinaryFast
    prototype.getBinaryFast = function recording(this: Reader, key: unknown, reading?: unknown) {
      // The store reuses its key objects from call to call.
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

/** The prototype that defines the read of a database and of all others in its environment. */
function readerPrototype(database: object): Reader {
  let holder: object | null = database
  while (holder !== null && !Object.hasOwn(holder, 'getBinaryFast')) holder = Object.getPrototypeOf(holder)
  if (holder === null) throw new Error('the lmdb package no longer has getBinaryFast')
  return holder as Reader
}
