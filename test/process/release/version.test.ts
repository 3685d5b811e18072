// `--version --json` of the sources. Those of the artefacts are in the tests that build them.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { type Finished, runCommand } from '../../support/cli-process.ts'

const top = join(import.meta.dirname, '..', '..', '..')
const git = (...args: string[]): string => execFileSync('git', args, { cwd: top, encoding: 'utf8' }).trim()

/** Runs the sources, and not the executable, which may be of another commit. */
async function runSources(args: readonly string[]): Promise<Finished> {
  const child = Bun.spawn([join(top, 'src', 'cli', 'verdigraph.sh'), ...args], {
    env: { PATH: process.env.PATH ?? '' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { exitCode, stdout, stderr }
}

test('--version prints the version, and with --json what the program was built from', async () => {
  for (const option of ['--version', '-V']) {
    expect(await runSources([option])).toEqual({ exitCode: 0, stdout: `${packageJson.version}\n`, stderr: '' })
    const { exitCode, stdout, stderr } = await runSources([option, '--json'])
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      version: packageJson.version,
      commit: git('rev-parse', 'HEAD'),
      modified: git('status', '--porcelain', '--untracked-files=no') !== '',
      built_at: new Date(Number(git('log', '-1', '--format=%ct')) * 1000).toISOString(),
      layouts: { graph: 3, documents: 3, events: 1, audit: 1 },
      runtime: { name: 'bun', version: Bun.version },
      platform: `${process.platform}-${process.arch}`,
    })
  }
  expect((await runSources(['--json', '--version'])).stdout).toContain('"commit"')
})

test('--json without --version is refused', async () => {
  const { exitCode, stderr } = await runCommand(['--json'])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("unknown option '--json'")])
})
