// Reads the folder of a graph again and again while a service writes to it, as another process does.
import type { Snapshot } from '../../src/engine/store.ts'
import { OperationalError } from '../../src/kernel/errors.ts'
import { openStore } from '../../src/store/graph/open-store.ts'
import type { Server } from './cli-process.ts'

/** Pause between two reads, milliseconds. */
const PAUSE_MS = 50
/** Nodes of one request. */
const BATCH = 250

export class RepeatedReads {
  readonly #path: string
  readonly #read: (snapshot: Snapshot) => void
  #timer: ReturnType<typeof setInterval> | null = null

  /** `path`: of the folder of the graph. */
  constructor(path: string, read: (snapshot: Snapshot) => void) {
    this.#path = path
    this.#read = read
  }

  start(): void {
    this.#timer = setInterval(() => {
      try {
        this.once(this.#read)
      } catch (failure) {
        // On a busy machine another process may hold the lock of openings for long.
        if (!(failure instanceof OperationalError)) throw failure
      }
    }, PAUSE_MS)
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** Reads one snapshot of the present state. `lockTimeoutMs`: how long it waits while another process opens the folder. */
  once<T>(read: (snapshot: Snapshot) => T, lockTimeoutMs?: number): T {
    const store = openStore(this.#path, { readOnly: true, ...(lockTimeoutMs !== undefined && { lockTimeoutMs }) })
    const snapshot = store.snapshot()
    try {
      return read(snapshot)
    } finally {
      snapshot.close()
      void store.close()
    }
  }
}

/** Captures nodes over HTTP in batches. `nodeOf`: the node with a number below `count`. */
export async function captureNodes(
  server: Server,
  key: string,
  count: number,
  nodeOf: (index: number) => object,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const nodes = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => nodeOf(from + i))
    const answered = await fetch(`${server.url}/capture/v1/nodes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-clientkey': key },
      body: JSON.stringify({ nodes }),
    })
    if (answered.status !== 200) throw new Error(`a capture was answered ${answered.status}: ${await answered.text()}`)
  }
}
