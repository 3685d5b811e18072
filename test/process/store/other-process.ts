// Another process that writes to a store on command: the handle for tests, and, when run as a program, the process.
import { join } from 'node:path'
import { Float } from '../../../src/kernel/float.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { openSharedCounter, type SharedCounter } from '../../../src/store/process/shared-counter.ts'
import { type BatchStep, take } from '../../generate/store-inputs.ts'
import { ManualClock } from '../../support/manual-clock.ts'

interface WriteCommand {
  readonly folder: string
  /** The time of its clock. */
  readonly now: number
  readonly steps: readonly BatchStep[]
}

const encode = (order: WriteCommand): string =>
  `${JSON.stringify(order, (_, value: unknown) => {
    if (value instanceof Float) return { float: value.value }
    return typeof value === 'bigint' ? { bigint: String(value) } : value
  })}\n`

function decode(line: string): WriteCommand {
  return JSON.parse(line, (_, value) => {
    if (value === null || typeof value !== 'object') return value
    if ('float' in value) return new Float(value.float)
    return 'bigint' in value ? BigInt(value.bigint) : value
  })
}

/**
 * The commit counter of all writers to the folder, which lets snapshots of one event-loop turn share a read
 * transaction.
 */
export function commitsIn(folder: string): SharedCounter {
  return openSharedCounter(join(folder, 'commits'))
}

export class OtherProcess {
  private readonly child = Bun.spawn([process.execPath, join(import.meta.dirname, 'other-process.ts')], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  private readonly answers = lines(this.child.stdout)

  /** Resolves when the other process has committed its batch. */
  async write(order: WriteCommand): Promise<void> {
    this.child.stdin.write(encode(order))
    this.child.stdin.flush()
    const { value } = await this.answers.next()
    if (value !== 'done') throw new Error('the other process did not write')
  }

  async end(): Promise<void> {
    this.child.stdin.end()
    await this.child.exited
  }
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const part of stream) {
    const found = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = found.pop()!
    yield* found
  }
  return undefined
}

if (import.meta.main) {
  const clock = new ManualClock(0)
  const open = new Map<string, LmdbEnvironment>()
  for await (const line of lines(Bun.stdin.stream())) {
    const { folder, now, steps } = decode(line)
    clock.advance(now - clock.now())
    let environment = open.get(folder)
    if (environment === undefined) {
      environment = openEnvironment(folder, {
        clock,
        sync: false,
        entriesPerChunk: 4,
        commitCounter: commitsIn(folder),
      })
      open.set(folder, environment)
    }
    await environment.write((batch) => {
      for (const step of steps) take(step, batch)
    })
    process.stdout.write('done\n')
  }
  for (const environment of open.values()) await environment.close()
}
