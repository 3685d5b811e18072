// The artefacts of `npm run release`, for the tests of test/release. They test what was built last; `.ci/run` builds first.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { freePorts } from './counterparts/broker-process.ts'

export const top = join(import.meta.dirname, '..', '..')
export const { version } = packageJson
export const releaseFolder = join(top, 'dist', 'release')
/** The bare program for this machine. */
export const program = join(top, 'dist', 'programs', 'linux-x64', 'verdigraph')

if (!existsSync(join(releaseFolder, 'SHA256SUMS'))) throw new Error('run `npm run release` first')

export interface Ended {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. */
export async function run(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...options.env }
  const child = Bun.spawn([...command], {
    cwd: options.cwd ?? top,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { exitCode, stdout, stderr }
}

/** As `run`. Rejects if the program fails; resolves with its output. */
export async function succeed(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const { exitCode, stdout, stderr } = await run(command, options)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: exit code ${exitCode}\n${stdout}${stderr}`)
  return stdout
}

/** Whether all programs are installed; `.ci/run` prints which tests are skipped. */
export const has = (...names: string[]): boolean => names.every((name) => Bun.which(name) !== null)

/** A port that no process uses at present, and that nothing takes by chance. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port as number
}

/** Resolves with the milliseconds until the service is ready. Rejects after 150 s, or when its process ends. */
export async function untilReady(url: string, sinceMs: number, service: Bun.Subprocess): Promise<number> {
  const end = performance.now() + 150_000
  while (performance.now() < end) {
    if (service.exitCode !== null) throw new Error(`the service ended with exit code ${service.exitCode}`)
    const isReady = await fetch(`${url}/ready`).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (isReady) return Math.round(performance.now() - sinceMs)
    await Bun.sleep(10)
  }
  throw new Error(`${url} was not ready within 150 s`)
}
