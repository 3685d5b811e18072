// Completions in the real shells: Tab in bash and zsh on a pseudo-terminal, and the completion engine of fish.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bin, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { onTerminal, type TerminalProgram } from '../../support/terminal.ts'

let home: string
let environment: Record<string, string>
let running: TerminalProgram | null = null

beforeAll(async () => {
  home = temporaryFolder()
  const programs = join(home, 'bin')
  mkdirSync(programs)
  mkdirSync(join(home, 'policies-of-cars'))
  writeFileSync(join(programs, 'verdigraph'), `#!/bin/sh\nexec "${bin}" "$@"\n`)
  chmodSync(join(programs, 'verdigraph'), 0o755)
  environment = { PATH: `${programs}:${process.env.PATH ?? ''}`, HOME: home, XDG_CONFIG_HOME: join(home, '.config') }
  const own = { XDG_CONFIG_HOME: environment.XDG_CONFIG_HOME ?? '' }
  await runCommand(['context', 'set', 'production', '--url', 'https://authz.example.com'], own)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { exitCode, stdout } = await runCommand(['completion', shell])
    expect(exitCode).toBe(0)
    writeFileSync(join(home, `completion.${shell}`), stdout)
  }
})
afterEach(() => running?.kill())

/** Whether the shell is on this machine; if not, its test is skipped. */
const has = (shell: string): boolean => Bun.which(shell) !== null

async function shellOf(command: readonly string[]): Promise<TerminalProgram> {
  const shell = onTerminal(command, environment)
  running = shell
  shell.write(`cd '${home}'; PS1='ready> '; echo be''gin\r`)
  await shell.until('begin\r\n')
  await shell.until('ready> ')
  return shell
}

/** Types a line with Tab, and expects what it becomes; then empties the line. */
async function completes(shell: TerminalProgram, typed: string, expected: string): Promise<void> {
  shell.write(`${typed}\t`)
  await shell.until(expected)
  shell.write('\x15\r')
  await shell.until('ready> ')
}

const lines = [
  ['verdigraph che', 'check'],
  ['verdigraph events dead-letters resen', 'resend'],
  ['verdigraph query x --prof', '--profile'],
  ['verdigraph query x --format cs', 'csv'],
  ['verdigraph query x --format=js', 'json'],
  ['verdigraph check Person:ann wash Car:c1 --context prod', 'production'],
  ['verdigraph context use pro', 'production'],
  ['verdigraph completion fi', 'fish'],
  ['verdigraph apply policies', 'policies-of-cars'],
] as const

test.skipIf(!has('bash'))('bash completes commands, options, values, contexts and folders', async () => {
  const shell = await shellOf(['bash', '--norc', '--noprofile', '-i'])
  shell.write(`source completion.bash\r`)
  await shell.until('ready> ')
  for (const [typed, expected] of lines) await completes(shell, typed, expected)
})

test.skipIf(!has('zsh'))('zsh completes commands, options, values, contexts and folders', async () => {
  const shell = await shellOf(['zsh', '-f', '-i'])
  shell.write(`autoload -U compinit; compinit -D -u; source completion.zsh; echo load''ed\r`)
  await shell.until('loaded\r\n')
  await shell.until('ready> ')
  for (const [typed, expected] of lines) await completes(shell, typed, expected)
})

test.skipIf(!has('fish'))('fish completes commands, options, values, contexts and folders', async () => {
  for (const [typed, expected] of lines) {
    const child = Bun.spawn(
      ['fish', '--no-config', '-c', `cd '${home}'; source completion.fish; complete -C '${typed}'`],
      {
        env: environment,
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      },
    )
    expect([typed, await child.stdout.text()]).toEqual([typed, expect.stringContaining(expected)])
  }
})

describe('the hidden command', () => {
  test('prints nothing for a line that it does not know, and no error for a broken contexts file', async () => {
    mkdirSync(join(home, 'broken', 'verdigraph'), { recursive: true })
    writeFileSync(join(home, 'broken', 'verdigraph', 'contexts.json'), '{')
    const broken = { XDG_CONFIG_HOME: join(home, 'broken') }
    const nothing = { exitCode: 0, stdout: '', stderr: '' }
    expect(await runCommand(['complete', '--', 'no-such-command', ''])).toEqual(nothing)
    expect(await runCommand(['complete', '--', 'check', '--context', ''], broken)).toEqual(nothing)
    expect(await runCommand(['complete', '--line', 'verdigraph query "MATCH (n'])).toEqual(nothing)
  })

  test('an unknown shell is an error that names the known ones', async () => {
    const { exitCode, stderr } = await runCommand(['completion', 'tcsh'])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish')])
  })
})
