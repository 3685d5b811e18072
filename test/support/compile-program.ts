// Compiles the program once for all process tests, unless VERDIGRAPH_TESTED names one: the executable starts with a third of the
// processor time that the sources need, and the tests start it some thousand times.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function setup(): (() => void) | undefined {
  if (process.env.VERDIGRAPH_TESTED !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-tested-'))
  // Tests also start it as other users.
  chmodSync(folder, 0o755)
  const program = join(folder, 'verdigraph')
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'src/cli/build.ts', program], {
    cwd: join(import.meta.dirname, '..', '..'),
  })
  if (exitCode !== 0) throw new Error(`the program cannot be compiled: ${stderr}`)
  process.env.VERDIGRAPH_TESTED = program
  return () => {
    delete process.env.VERDIGRAPH_TESTED
    rmSync(folder, { recursive: true, force: true })
  }
}
