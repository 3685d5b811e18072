// Runs the stress programs.
//   npm run test:stress                            the short form of every program that has one
//   npm run test:stress -- kill isolation          the short form of these
//   npm run test:stress -- kill --rounds 500       one program with flags of its own
//   npm run test:stress -- --list                  what there is
import { join } from 'node:path'
import { programs, type StressProgram } from './programs.ts'

/** For each short form. Only a hang reaches it: they take at most two minutes, and some download programs first. */
const SHORT_SECONDS_MAX = 1200

const args = process.argv.slice(2)
const unknown = args
  .filter((arg) => !arg.startsWith('-'))
  .find((name, at) => at === 0 && !Object.hasOwn(programs, name))
if (args[0] === '--list' || unknown !== undefined) {
  if (unknown !== undefined) console.error(`there is no stress program ${unknown}\n`)
  console.log('npm run test:stress [-- <program> [flags]]')
  for (const [name, { about }] of Object.entries(programs)) console.log(`  ${name.padEnd(20)} ${about}`)
  process.exit(unknown === undefined ? 0 : 2)
}

if (args.length === 0) {
  const short = Object.entries(programs).filter(([, program]) => program.short !== null)
  process.exit(await runShortForms(short.map(([name]) => name)))
}
if (args.every((arg) => Object.hasOwn(programs, arg) && programs[arg]?.short)) process.exit(await runShortForms(args))
const [name, ...flags] = args as [string, ...string[]]
process.exit(await run(name, flags, null))

/** Runs one program after another, also after a failure; the last line is the sum. Resolves to the exit code. */
async function runShortForms(names: readonly string[]): Promise<number> {
  const failed: string[] = []
  for (const name of names) {
    const { flags } = (programs[name] as StressProgram).short as NonNullable<StressProgram['short']>
    console.log(`\n== ${name} ${flags}`)
    const start = performance.now()
    const code = await run(name, flags.split(' ').filter(Boolean), SHORT_SECONDS_MAX)
    if (code !== 0) failed.push(name)
    const seconds = Math.round((performance.now() - start) / 1000)
    console.log(`${code === 0 ? 'ok     ' : 'FAILED '} ${name} (${seconds}s)`)
  }
  console.log(
    `\n${names.length - failed.length} passed, ${failed.length} failed${failed.map((one) => ` ${one}`).join()}`,
  )
  return failed.length === 0 ? 0 : 1
}

/** Resolves to the exit code of the program; it is killed after the limit. */
async function run(name: string, flags: readonly string[], limitSeconds: number | null): Promise<number> {
  const child = Bun.spawn(commandOf(name, flags), {
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
    env: name === 'new-seeds' ? { ...process.env, BUN_JSC_useFTLJIT: '0', VERDIGRAPH_SEED: newSeed() } : process.env,
    ...(limitSeconds === null ? {} : { timeout: limitSeconds * 1000, killSignal: 'SIGKILL' as const }),
  })
  const forward = (signal: NodeJS.Signals): void => child.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward)
  const code = await child.exited
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, forward)
  return code
}

function commandOf(name: string, flags: readonly string[]): string[] {
  if (name === 'new-seeds') {
    const projects = ['--project', 'in-process', '--project', 'process', '--maxWorkers', '2']
    return [process.execPath, '--bun', 'vitest', 'run', ...projects, ...flags]
  }
  if (name === 'damage-structure') return commandOf('damage', ['--structure', ...flags])
  return [process.execPath, join(import.meta.dirname, `${name}.ts`), ...flags]
}

function newSeed(): string {
  const seed = String(Math.floor(Math.random() * 2 ** 31))
  console.log(`VERDIGRAPH_SEED=${seed}`)
  return seed
}
