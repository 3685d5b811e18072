// A counter that all processes on a data folder share: a 32-bit word in a file that each of them maps into memory. A read costs
// a few nanoseconds, so it can precede every request. The counter need not survive a crash of the machine: the database
// holds the truth, and a process reads it whenever the counter differs from the value that it knows.
import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'

const WORD_BYTES = 4

/** A 32-bit counter in shared memory. */
export interface SharedCounter {
  /** The current value, an unsigned 32-bit integer. */
  load(): number
  store(value: number): void
  /** Increments the counter atomically. */
  increment(): void
}

/** Opens the counter in the file at `path`, which it creates with value 0. */
export function openSharedCounter(path: string): SharedCounter {
  const words = openSharedWords(path, 1)
  return {
    load: () => Atomics.load(words, 0),
    store: (value) => {
      Atomics.store(words, 0, value)
    },
    increment: () => {
      Atomics.add(words, 0, 1)
    },
  }
}

/** Opens 32-bit words that all processes share, in the file at `path`, which it creates with zeros. */
export function openSharedWords(path: string, count: number): Uint32Array {
  const bytes = count * WORD_BYTES
  const file = openSync(path, 'a', 0o600)
  try {
    // Written, not only extended: touching mapped memory that has no disk space ends the process. Appended, so that
    // two processes that come here concurrently do not overwrite each other.
    if (fstatSync(file).size < bytes) writeSync(file, new Uint8Array(bytes))
  } finally {
    closeSync(file)
  }
  const mapped = Bun.mmap(path, { shared: true })
  return new Uint32Array(mapped.buffer, mapped.byteOffset, count)
}
