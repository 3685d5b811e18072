// `npm run check`: types, lint and format, and the rules of the architecture, as many at a time as there are processors. Prints what
// failed: errors, or warnings if there is no error.
import { mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const cache = join(root, 'node_modules', '.cache', 'verdigraph')
mkdirSync(cache, { recursive: true })

interface CheckStep {
  readonly name: string
  readonly command: readonly string[]
  /** Prints the errors alone. If there are some, they are printed without the warnings. */
  readonly errorsOnly?: readonly string[]
}

/** Files that a change cannot have affected are not checked again. */
const incremental = (name: string) => ['--incremental', '--tsBuildInfoFile', join(cache, `${name}.tsbuildinfo`)]
const lint = ['biome', 'check', '.', '--max-diagnostics=none']

/** The longest ones first. */
const checks: readonly CheckStep[] = [
  { name: 'types', command: ['tsc', '--noEmit', '--pretty', ...incremental('types')] },
  {
    name: 'lint and format',
    command: [...lint, '--error-on-warnings'],
    errorsOnly: [...lint, '--diagnostic-level=error'],
  },
  { name: 'architecture', command: ['npm', 'run', '--silent', 'test', '--', 'test/architecture'] },
  {
    name: 'types of the console',
    command: ['tsc', '--noEmit', '--pretty', '-p', 'src/console/page', ...incremental('console')],
  },
]

interface Output {
  readonly isGood: boolean
  readonly text: string
}

async function run([program = '', ...args]: readonly string[]): Promise<Output> {
  const path = `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`
  const child = Bun.spawn([Bun.which(program, { PATH: path }) ?? program, ...args], {
    cwd: root,
    env: { ...process.env, PATH: path },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { isGood: exitCode === 0, text: `${stdout}${stderr}` }
}

async function runCheck({ name, command, errorsOnly }: CheckStep): Promise<boolean> {
  const start = performance.now()
  const { isGood, text } = await run(command)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  const errors = isGood || errorsOnly === undefined ? null : await run(errorsOnly)
  if (errors?.isGood === false) process.stdout.write(errors.text)
  else if (!isGood) process.stdout.write(text)
  console.log(`${isGood ? 'ok     ' : 'FAILED '} ${name} (${seconds}s)`)
  return isGood
}

const waiting = [...checks]
const failed: string[] = []
const workers = Array.from({ length: Math.max(2, availableParallelism()) }, async () => {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    if (!(await runCheck(check))) failed.push(check.name)
  }
})
await Promise.all(workers)
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
