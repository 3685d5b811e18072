// Marks of the requests of a lane that may be stored. A lane sets the mark of a request before a transaction commits that records
// it; the marks are in memory that the lane shares with the serving process, so they can be read after the lane was killed. A
// request with a mark must not run again: it would be recorded twice.
import { rmSync, writeFileSync } from 'node:fs'

/** A page of memory. A lane has far fewer requests at a time. */
const MARKS = 4096
const SET = 1

/** Returns the path of the file with the marks of a lane. `socket`: path of its Unix socket. */
function fileOf(socket: string): string {
  return `${socket}.marks`
}

/** The marks, as the serving process sees them. */
export class CommitMarks {
  private readonly bytes: Uint8Array
  private readonly free: number[] = []
  private used = 0

  /** Creates the file for a lane that has not started yet. Throws the error of the system. */
  constructor(socket: string) {
    const path = fileOf(socket)
    // A lane that still ends has the file of its own.
    rmSync(path, { force: true })
    // Written, not only extended: touching mapped memory that has no disk space ends the process.
    writeFileSync(path, new Uint8Array(MARKS), { mode: 0o600 })
    this.bytes = Bun.mmap(path, { shared: true })
  }

  /** Returns a mark that is not set. */
  take(): number {
    const mark = this.free.pop() ?? this.used++
    this.bytes[mark] = 0
    return mark
  }

  /** The request of the mark was answered. */
  release(mark: number): void {
    this.free.push(mark)
  }

  /** Whether the request may be stored. Final when the lane has exited. */
  isSet(mark: number): boolean {
    return mark >= MARKS || this.bytes[mark] === SET
  }
}

/** Returns the function with which a lane sets marks. Throws the error of the system. */
export function openCommitMarks(socket: string): (mark: number) => void {
  const bytes = Bun.mmap(fileOf(socket), { shared: true })
  return (mark) => {
    bytes[mark] = SET
  }
}
