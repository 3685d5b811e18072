// `npm run test:stress -- isolation --short`: starts one of the measuring programs, or lists them.
import { join } from 'node:path'

const programs = {
  isolation: 'what a hostile tenant does to the decisions of another; --list prints its scenes',
  memory: 'what the processes hold before, during and after requests that ask for much memory',
  'lane-kill': 'mixed requests beside a naive model while lanes are killed',
} as const

const [name = '', ...rest] = process.argv.slice(2)
if (!Object.hasOwn(programs, name)) {
  console.log('npm run test:stress -- <program> [flags]')
  for (const [program, about] of Object.entries(programs)) console.log(`  ${program.padEnd(10)} ${about}`)
  process.exit(name === '' || name === '--list' ? 0 : 2)
}
const child = Bun.spawn([process.execPath, join(import.meta.dirname, `${name}.ts`), ...rest], {
  stdin: 'ignore',
  stdout: 'inherit',
  stderr: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
process.exit(await child.exited)
