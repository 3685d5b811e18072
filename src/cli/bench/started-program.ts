// Programs that a bench starts: the service itself, and those it is compared with.

import { createServer } from 'node:net'
import { OperationalError } from '../../kernel/errors.ts'
import { processorTicks } from '../../processes/processor-ticks.ts'

const START_MS_MAX = 120_000
const OUTPUT_SHOWN = 1000

/** A running program. */
export interface StartedProgram {
  /** What `isReady` returned. */
  readonly ready: string
  readonly pid: number
  /** Processor time so far in seconds; null: the system does not tell. */
  cpuS(): number | null
  stop(): Promise<void>
}

interface StartedProgramOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly workingFolder?: string
  /** Called with the output so far: a value when the program answers, else null. */
  isReady(output: string): string | null | Promise<string | null>
}

/** Starts a program and waits until it is ready. Throws OperationalError. */
export async function startProgram(
  command: readonly string[],
  { environment, workingFolder, isReady }: StartedProgramOptions,
): Promise<StartedProgram> {
  let child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  try {
    child = Bun.spawn([...command], {
      env: { ...environment },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      ...(workingFolder !== undefined && { cwd: workingFolder }),
    })
  } catch (cause) {
    throw new OperationalError(`${command[0]} cannot be started: ${(cause as Error).message}`)
  }
  // A bench that is killed must not leave the program behind.
  const kill = (): void => child.kill('SIGKILL')
  process.once('exit', kill)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      const decoder = new TextDecoder()
      for await (const bytes of stream) output = (output + decoder.decode(bytes, { stream: true })).slice(-100_000)
    })()
  }
  const stop = async (): Promise<void> => {
    process.off('exit', kill)
    child.kill('SIGTERM')
    await Promise.race([child.exited, Bun.sleep(10_000)])
    child.kill('SIGKILL')
    await child.exited
  }
  const endMs = performance.now() + START_MS_MAX
  for (;;) {
    const ready = await isReady(output)
    if (ready !== null) return { ready, pid: child.pid, cpuS: () => cpuSecondsOf(child.pid), stop }
    if (child.exitCode !== null || performance.now() > endMs) {
      await stop()
      const shown = output.trim().slice(-OUTPUT_SHOWN)
      throw new OperationalError(`${command[0]} did not start${shown === '' ? '' : `: ${shown}`}`)
    }
    await Bun.sleep(50)
  }
}

function cpuSecondsOf(pid: number): number | null {
  const ticks = processorTicks(pid)
  // In hundredths of a second.
  return ticks === null ? null : ticks / 100
}

/** A port of the loopback address that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })
}
