// The signal that a process on a data folder has committed, as the writers give it: a count in shared memory, and a write to its file
// that wakes the processes that wait for it. Processes that are awake read the count, so writers of a busy folder do not write.
// INVARIANT: a waiter declares that it waits before it reads the count the last time, and a writer counts before it looks for waiters.
// Whichever comes second sees the other, so no commit is missed.
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { COMMIT_SIGNAL_FILE } from '../../kernel/folder/data-folder.ts'
import { openSharedCounter, openSharedWords, type SharedCounter } from './shared-counter.ts'

/** Index of the word with the number of commits, modulo 2^32. */
const COUNT = 0
/** Index of the word that is 1 while a process waits for a write to the file. */
const WAITING = 1
const WORDS = 3
/** Position of the byte that is written. The system reports no change of mapped memory. */
const WRITTEN_AT = 8

/** The commits of a data folder, as all its processes count them. */
export class CommitCount {
  /** Path of the file in shared memory. It is written when a process waits for it. */
  readonly path: string
  private readonly words: Uint32Array

  /** Creates the file in the data folder if necessary. Throws the error of the system. */
  constructor(dataDir: string) {
    this.path = join(dataDir, COMMIT_SIGNAL_FILE)
    this.words = openSharedWords(this.path, WORDS)
  }

  /** The number of commits, modulo 2^32. */
  load(): number {
    return Atomics.load(this.words, COUNT)
  }

  /** Counts a commit and wakes the processes that wait. Call it when reads see the commit. */
  increment(): void {
    Atomics.add(this.words, COUNT, 1)
    if (Atomics.load(this.words, WAITING) !== 0 && Atomics.exchange(this.words, WAITING, 0) !== 0) this.wake()
  }

  /** Writes the file, which the system reports to the processes that watch it. */
  wake(): void {
    try {
      const file = openSync(this.path, 'r+')
      try {
        writeSync(file, new Uint8Array(1), 0, 1, WRITTEN_AT)
      } finally {
        closeSync(file)
      }
    } catch {
      // For lack of file descriptors, for example. Waiting processes look in a second at the latest.
    }
  }

  /** Declares that this process waits for a write to the file from now on. Read the count after that. */
  beginWaiting(): void {
    Atomics.exchange(this.words, WAITING, 1)
  }
}

/** Opens one of the counters of commits in the data folder. Its increments are also counted as commits of the folder. */
export function openCommitCounter(dataDir: string, file: string): SharedCounter {
  const counter = openSharedCounter(join(dataDir, file))
  const commits = new CommitCount(dataDir)
  return {
    ...counter,
    increment() {
      counter.increment()
      commits.increment()
    },
  }
}
