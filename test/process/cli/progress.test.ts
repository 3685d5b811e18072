// The progress of long commands as a user sees it: on a terminal, whose width may be 0, and in a pipe.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { childrenOf } from '../../support/child-processes.ts'
import { bin, killAll, ownEnvironment, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let data: string

beforeAll(async () => {
  data = join(temporaryFolder(), 'data')
  await runCommand(['init', '--data', data])
})

afterEach(killAll)

// script(1) gives a command a terminal.
describe.skipIf(Bun.which('script') === null)('on a terminal of width 0', () => {
  it.each([
    ['verify', (): string[] => [], 'opening '],
    ['backup', (): string[] => ['--out', join(temporaryFolder(), 'out')], 'opening '],
    ['export', (): string[] => ['--out', join(temporaryFolder(), 'out')], 'opening '],
    ['migrate', (): string[] => [], 'opening '],
  ])('%s shows a line and removes it', async (command, more, what) => {
    const line = ['stty cols 0;', bin, command, '--data', data, ...more()].join(' ')
    const child = Bun.spawn(['script', '-qec', line, '/dev/null'], {
      env: { ...ownEnvironment, TERM: 'xterm', SHELL: '/bin/sh' },
      stdin: 'ignore',
      stdout: 'pipe',
    })
    const output = await child.stdout.text()
    expect(await child.exited, output).toBe(0)
    const [, shown = '', ...later] = output.split('\r\x1b[2K')
    expect(shown).toMatch(new RegExp(`^${what}.{1,70}$`))
    expect(later.length, output).toBeGreaterThan(0)
    expect(later.at(-1)).not.toContain('█')
  })
})

describe('in a pipe', () => {
  it('a short command writes nothing', async () => {
    expect((await runCommand(['verify', '--data', data])).stderr).toBe('')
  })

  // The process that reads is stopped until the line is written, so this does not depend on the speed of the machine.
  it.skipIf(!existsSync('/proc'))('verify writes a line while it waits for a slow disk', async () => {
    const child = Bun.spawn([bin, 'verify', '--data', data], { env: ownEnvironment, stdout: 'pipe', stderr: 'pipe' })
    let reader: number | undefined
    while (reader === undefined && child.exitCode === null) {
      reader = childrenOf(child.pid).find(({ words }) => words.includes('verify-folder'))?.pid
      await Bun.sleep(1)
    }
    process.kill(reader as number, 'SIGSTOP')
    const { value } = await child.stderr.getReader().read()
    process.kill(reader as number, 'SIGCONT')
    expect(new TextDecoder().decode(value)).toMatch(/^ +\d+ % {2}config: .+\n$/)
    expect(await child.exited).toBe(0)
  })

  it('import writes a line while it waits for its input', async () => {
    const child = Bun.spawn([bin, 'import', '--data', join(temporaryFolder(), 'new'), '--in', '-'], {
      env: ownEnvironment,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const exported = await runCommand(['export', '--data', data, '--out', '-'])
    const [header, ...lines] = exported.stdout.split('\n')
    child.stdin.write(`${header}\n`)
    await child.stdin.flush()
    const { value } = await child.stderr.getReader().read()
    expect(new TextDecoder().decode(value)).toBe('reading the standard input\n')
    child.stdin.write(lines.join('\n'))
    await child.stdin.end()
    expect(await child.exited).toBe(0)
  })
})
