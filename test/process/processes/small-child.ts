// A child process for tests of parents. Its task names what it does. The last argument is the process id of its parent.
import { existsSync, writeFileSync } from 'node:fs'
import { runChild } from '../../../src/processes/run-child.ts'

/** The work of the child. The child and the test see each other by files. */
export interface SmallTask {
  /** Written when it begins to open, and awaited before it has opened. */
  readonly opening?: { readonly begun: string; readonly go: string }
  /** Its event loop is busy for this time, and it reports that it works. */
  readonly busyMs?: number
  /** Written when its work has ended by a stop, with why it was stopped. */
  readonly stopped?: string
  /** It ends, and some of its work is still due. */
  readonly isUnfinished?: boolean
}

const memoryBytesMax = process.env.SMALL_CHILD_MEMORY_MAX

await runChild<SmallTask>({
  kind: 'matcher',
  parent: Number(process.argv.at(-1)),
  ...(memoryBytesMax !== undefined && { memoryBytesMax: Number(memoryBytesMax) }),
  async open({ opening, busyMs = 0, stopped, isUnfinished }, parent) {
    if (opening !== undefined) {
      writeFileSync(opening.begun, '')
      while (!existsSync(opening.go)) await Bun.sleep(5)
    }
    const work = async (): Promise<boolean> => {
      await Bun.sleep(0)
      for (const untilMs = performance.now() + busyMs; performance.now() < untilMs; ) parent.alive()
      return isUnfinished !== true
    }
    return {
      ...((isUnfinished !== undefined || busyMs > 0) && { done: work() }),
      async stop(isOutOfMemory) {
        if (stopped !== undefined) writeFileSync(stopped, isOutOfMemory ? 'out of memory' : 'asked')
      },
    }
  },
  failed(failure) {
    if (memoryBytesMax === undefined) throw failure
  },
})
