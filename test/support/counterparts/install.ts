// Message brokers and fakes that tests run: installed once into a cache folder outside the repository, by the ordinary
// clients of Maven and Go.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A counterpart cannot be installed here; the message is the reason. */
export class CounterpartMissing extends Error {}

/**
 * Returns the error of a counterpart that is not here: `CounterpartMissing`, by which its tests are skipped. Where all counterparts can be
 * installed (`TEST_REQUIRES_COUNTERPARTS`, set by `.ci/run`), it is an ordinary error, by which they fail.
 */
export function counterpartMissing(reason: string): Error {
  return process.env.TEST_REQUIRES_COUNTERPARTS === undefined ? new CounterpartMissing(reason) : new Error(reason)
}

/** The folder of all installed counterparts. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'verdigraph-test')
}

/** Whether the command is in PATH. */
export function hasCommand(name: string): boolean {
  return Bun.which(name) !== null
}

/**
 * Returns the folder `name` of the cache. Without it, `build` fills an empty folder, which then gets the name; a build
 * that fails leaves nothing.
 */
export async function installed(name: string, build: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder(), name)
  if (existsSync(folder)) return folder
  // Threads of one process may install the same.
  const building = `${folder}.${process.pid}-${crypto.randomUUID()}`
  mkdirSync(building, { recursive: true })
  try {
    await build(building)
    try {
      renameSync(building, folder)
    } catch (failure) {
      // Another process was faster.
      if (!existsSync(folder)) throw failure
    }
  } finally {
    rmSync(building, { recursive: true, force: true })
  }
  return folder
}

/** Throws `CounterpartMissing` without a Java development kit: brokers and their tools are started from source files. */
export function requireJava(): void {
  if (!hasCommand('javac')) throw counterpartMissing('there is no javac (Debian package default-jdk-headless)')
}

/** Copies the libraries of Maven artifacts (`group:artifact:version`) and their dependencies to `folder`/libs. */
export async function mavenLibraries(folder: string, artifacts: readonly string[]): Promise<void> {
  if (!hasCommand('mvn')) throw counterpartMissing('there is no mvn (Debian package maven)')
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version] = artifact.split(':')
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`
  })
  writeFileSync(
    join(folder, 'pom.xml'),
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>counterpart</artifactId><version>1</version>
<dependencies>${dependencies.join('')}</dependencies></project>`,
  )
  await download(['mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=libs'], folder)
}

/** Installs one npm package (`name@version`) as a program's only dependency. */
export function npmPackage(specification: string): Promise<string> {
  return installed(specification.replace(/\W+/g, '-'), async (target) => {
    writeFileSync(join(target, 'package.json'), '{"private": true, "type": "module"}')
    await download(['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', specification], target)
  })
}

/** Pauses before a download is tried again, in milliseconds. */
const DOWNLOAD_PAUSES_MS = [2_000, 10_000]

/**
 * Runs a command that downloads, and repeats it if it fails: what it has downloaded stays in its cache. Throws `CounterpartMissing` with
 * one line if it fails each time: there may be no network.
 */
export async function download(command: readonly string[], folder: string, tries = 0): Promise<void> {
  try {
    await run(command, folder)
  } catch (failure) {
    const pauseMs = DOWNLOAD_PAUSES_MS[tries]
    if (pauseMs !== undefined) {
      await Bun.sleep(pauseMs)
      return download(command, folder, tries + 1)
    }
    const output = failure instanceof CommandError ? failure.output : String(failure)
    const line =
      output.split('\n').find((one) => one.trim() !== '' && !one.startsWith('go: downloading')) ?? 'no output'
    throw counterpartMissing(`${command.slice(0, 3).join(' ')} failed: ${line.trim().slice(0, 200)}`)
  }
}

class CommandError extends Error {
  readonly output: string
  constructor(name: string, code: number, output: string) {
    super(`${name} ended with ${code}: ${output.slice(-500)}`)
    this.output = output
  }
}

/** Runs a command to its end at low priority and returns its output. Throws with its output if it fails. */
export async function run(command: readonly string[], folder: string, limitSeconds = 400): Promise<string> {
  const child = Bun.spawn(['nice', '-n', '10', ...command], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: limitSeconds * 1000,
    killSignal: 'SIGKILL',
  })
  const [output, faults, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new CommandError(command[0] ?? '', code, `${output}${faults}`.trim())
  return output
}
