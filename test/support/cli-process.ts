// Runs the command line as a real process: the `bin` script of the package, or the file that VERDIGRAPH_TESTED names, for
// example the single binary.
import { join } from 'node:path'

/** The path of the program. */
export const bin = process.env.VERDIGRAPH_TESTED ?? join(import.meta.dirname, '..', '..', 'src', 'cli', 'verdigraph.sh')

/** The environment of this process without the variables of the test run: the program rejects `VERDIGRAPH_SEED` as unknown. */
export const ownEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('VERDIGRAPH_')),
)

/**
 * The settings of every server of a test, unless the test chooses others. On a busy machine a lane starts late, and a decision, a query
 * or a call may pause for longer than the limits of a service.
 */
export const patientEnvironment = {
  VERDIGRAPH_LANE_WAIT_MS: '60000',
  VERDIGRAPH_DECISION_TIME_MS: '60000',
  VERDIGRAPH_BATCH_TIME_MS: '60000',
  VERDIGRAPH_EXECUTE_TIME_MS: '60000',
  VERDIGRAPH_UPSTREAM_TIME_MS: '30000',
}

export interface Finished {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end. `through`: a program with arguments that runs the command, for example as another user. */
export async function runCommand(
  args: readonly string[],
  environment: Record<string, string> = {},
  through: readonly string[] = [],
): Promise<Finished> {
  const child = spawn(args, environment, through)
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { exitCode, stdout, stderr }
}

export interface Server {
  readonly url: string
  /** The standard output so far. */
  output(): string
  /** Resolves with the output once it contains the text. */
  printed(text: string): Promise<string>
  /** The standard error so far. */
  notices(): string
  /** Resolves with the standard error when the process has ended. */
  errors(): Promise<string>
  /**
   * Sends the signal. Resolves with the exit code when the process has ended; null if the signal ended it. After a stop, `output` and
   * `notices` are complete.
   */
  kill(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>
  readonly pid: number
}

/** Starts `serve` with `patientEnvironment`. Resolves when it reports that it listens. */
export async function startServer(
  args: readonly string[],
  environment: Record<string, string> = {},
  through: readonly string[] = [],
): Promise<Server> {
  const child = spawn(['serve', '--port', '0', ...args], { ...patientEnvironment, ...environment }, through)
  let output = ''
  let notices = ''
  const errors = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stderr) notices += decoder.decode(bytes, { stream: true })
    return notices
  })()
  const listening = Promise.withResolvers<string>()
  const printed = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      output += decoder.decode(bytes, { stream: true })
      const url = /listening on (https?:\/\/\S+)\n/.exec(output)?.[1]
      if (url !== undefined) listening.resolve(url)
    }
    listening.reject(new Error(`the server ended without listening: ${output}${await errors}`))
  })()
  const url = await listening.promise
  return {
    url,
    output: () => output,
    async printed(text) {
      while (!output.includes(text)) await Bun.sleep(5)
      return output
    },
    notices: () => notices,
    errors: () => errors,
    pid: child.pid,
    async kill(signal) {
      child.kill(signal)
      await child.exited
      // The children of a killed process may keep its streams open.
      if (signal !== 'SIGKILL') await Promise.all([printed, errors])
      return child.exitCode
    },
  }
}

export interface StartedCommand {
  /** The standard output so far. */
  output(): string
  /** The error stream so far. */
  notices(): string
  /** Resolves when a condition on both is fulfilled, or rejects after 60 s. */
  until(condition: (output: string, notices: string) => boolean): Promise<void>
  readonly ended: Promise<number | null>
}

/** Starts a command that ends later. */
export function startCommand(args: readonly string[], environment: Record<string, string> = {}): StartedCommand {
  const child = spawn(args, environment)
  const texts = { stdout: '', stderr: '' }
  const collect = async (stream: keyof typeof texts): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const bytes of child[stream]) texts[stream] += decoder.decode(bytes, { stream: true })
  }
  const collected = Promise.all([collect('stdout'), collect('stderr')])
  return {
    output: () => texts.stdout,
    notices: () => texts.stderr,
    async until(condition) {
      const end = performance.now() + 60_000
      while (!condition(texts.stdout, texts.stderr)) {
        if (performance.now() > end) throw new Error(`the command printed ${texts.stdout}\n${texts.stderr}`)
        await Bun.sleep(10)
      }
    },
    ended: (async () => {
      await collected
      await child.exited
      return child.exitCode
    })(),
  }
}

const running = new Set<Bun.Subprocess>()

/** Kills all processes that are still running, for example after a failed test. */
export async function killAll(): Promise<void> {
  for (const child of running) child.kill('SIGKILL')
  await Promise.all([...running].map((child) => child.exited))
}

function spawn(args: readonly string[], environment: Record<string, string>, through: readonly string[] = []) {
  const child = Bun.spawn([...through, bin, ...args], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  running.add(child)
  void child.exited.then(() => running.delete(child))
  return child
}
