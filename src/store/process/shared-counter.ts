// One number that all processes on a data folder see at once: a word of a file that each of them has mapped. Reading it
// costs some nanoseconds, so it can stand before every request. It survives no crash of the machine and need not: whoever
// uses it keeps the truth in the database, and asks there whenever the number is not the one that it knows.
import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'

const BYTES = 4

export interface SharedCounter {
  /** 32 bits, not negative. */
  load(): number
  store(value: number): void
  /** Makes it another number than any that was read before; no two processes make it the same. */
  bump(): void
}

/** Makes the file if need be; a new number is 0. */
export function openSharedCounter(path: string): SharedCounter {
  const file = openSync(path, 'a', 0o600)
  try {
    // Written, not only made longer: what a full disk has no room for ends the process that touches it in memory. And at the
    // end: of two processes that come here at once, neither takes away from the other.
    if (fstatSync(file).size < BYTES) writeSync(file, new Uint8Array(BYTES))
  } finally {
    closeSync(file)
  }
  const mapped = Bun.mmap(path, { shared: true })
  const words = new Uint32Array(mapped.buffer, mapped.byteOffset, 1)
  return {
    load: () => Atomics.load(words, 0),
    store: (value) => {
      Atomics.store(words, 0, value)
    },
    bump: () => {
      Atomics.add(words, 0, 1)
    },
  }
}
