// Compiles the program once for all process tests, unless VERDIGRAPH_TESTED names one: the executable starts with a third of the
// processor time that the sources need, and the tests start it some thousand times.
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

export default function setup(): (() => void) | undefined {
  if (process.env.VERDIGRAPH_TESTED !== undefined) return undefined
  const folder = join(root, 'node_modules', '.cache', 'verdigraph')
  mkdirSync(folder, { recursive: true })
  const program = join(folder, 'verdigraph')
  // Renamed, because another run may have started the last one.
  const compiled = `${program}.${process.pid}`
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'src/release/build.ts', compiled], { cwd: root })
  if (exitCode !== 0) throw new Error(`the program cannot be compiled: ${stderr}`)
  renameSync(compiled, program)
  process.env.VERDIGRAPH_TESTED = program
  return () => {
    delete process.env.VERDIGRAPH_TESTED
  }
}
