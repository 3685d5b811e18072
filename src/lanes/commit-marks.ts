// Marks of the requests of a lane that may be stored. A lane sets the mark of a request before a transaction commits that records
// it; the marks are in memory that the lane shares with the serving process, so they can be read after the lane was killed. A
// request with a mark must not run again: it would be recorded twice.
import { existsSync, rmSync, writeFileSync } from 'node:fs'

/** A page of memory. A lane has far fewer requests at a time. */
const MARKS = 4096
const SET = 1

/** Returns the path of the file with the marks of a lane. `socket`: path of its Unix socket. */
function fileOf(socket: string): string {
  return `${socket}.marks`
}

/** The marks, as the serving process sees them. */
export class CommitMarks {
  /** Null: the disk is full. */
  private readonly bytes: Uint8Array | null
  private readonly free: number[] = []
  private used = 0

  /** Creates the file for a lane that has not started yet. Without a file, every request counts as marked. */
  constructor(socket: string) {
    this.bytes = createMarks(fileOf(socket))
  }

  /** Returns a mark that is not set. */
  take(): number {
    const mark = this.free.pop() ?? this.used++
    if (this.bytes !== null) this.bytes[mark] = 0
    return mark
  }

  /** The request of the mark was answered. */
  release(mark: number): void {
    this.free.push(mark)
  }

  /** Whether the request may be stored. Final when the lane has exited. */
  isSet(mark: number): boolean {
    return mark >= MARKS || this.bytes === null || this.bytes[mark] === SET
  }
}

function createMarks(path: string): Uint8Array | null {
  try {
    // A lane that still ends has the file of its own.
    rmSync(path, { force: true })
    // Written, not only extended: touching mapped memory that has no disk space ends the process.
    writeFileSync(path, new Uint8Array(MARKS), { mode: 0o600 })
    return Bun.mmap(path, { shared: true })
  } catch {
    rmSync(path, { force: true })
    return null
  }
}

/** Returns the function with which a lane sets marks. Throws the error of the system if they exist and cannot be opened. */
export function openCommitMarks(socket: string): (mark: number) => void {
  const path = fileOf(socket)
  const bytes = existsSync(path) ? Bun.mmap(path, { shared: true }) : null
  return (mark) => {
    if (bytes !== null) bytes[mark] = SET
  }
}
