// The exit codes of the real program: 0 for success, 1 for a failure, 2 if the command line or a setting is wrong.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it, test } from 'vitest'
import { program } from '../../../src/cli/program.ts'
import { bin, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A command with the words that name it, for example `events dead-letters list`. */
interface NamedCommand {
  readonly words: readonly string[]
  readonly command: Command
}

function commandsBelow(parent: Command, words: readonly string[]): readonly NamedCommand[] {
  return parent.commands.flatMap((command) => {
    const own = [...words, command.name()]
    return [{ words: own, command }, ...commandsBelow(command, own)]
  })
}

const commands = new Map(commandsBelow(program(), []).map((one) => [one.words.join(' '), one]))
const verbs = [...commands.keys()]

/** Values for the options and arguments without which a command cannot start. */
function required(verb: string): string[] {
  const { options, registeredArguments } = commandOf(verb)
  return [
    ...options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [String(long), 'x']),
    ...registeredArguments.filter((argument) => argument.required).map(() => '1'),
  ]
}

function commandOf(verb: string): Command {
  return (commands.get(verb) as NamedCommand).command
}

function wordsOf(verb: string): readonly string[] {
  return (commands.get(verb) as NamedCommand).words
}

describe('every command has exit code 2 and does nothing', () => {
  it.concurrent.each(verbs)('%s with an unknown option', async (verb) => {
    const folder = temporaryFolder()
    const data = commandOf(verb).options.some(({ long }) => long === '--data')
    const flags = data ? ['--data', join(folder, 'data')] : []
    const { exitCode, stdout, stderr } = await runCommand([...wordsOf(verb), ...required(verb), ...flags, '--bogus'])
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain("unknown option '--bogus'")
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  const withValues = verbs.flatMap((verb) =>
    commandOf(verb)
      .options.filter((option) => option.required)
      .map(({ long }) => [verb, String(long)] as const),
  )
  it.concurrent.each(withValues)('%s with %s and no value', async (verb, option) => {
    const { exitCode, stdout, stderr } = await runCommand([...wordsOf(verb), ...required(verb), option])
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain('argument missing')
  })

  const withRequired = verbs.filter((verb) => required(verb).length > 0)
  it.concurrent.each(withRequired)('%s without what it requires', async (verb) => {
    const { exitCode, stdout, stderr } = await runCommand(wordsOf(verb))
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/required option|missing required argument/)
  })

  const takesNoMore = (verb: string): boolean =>
    !['worker', 'lane', 'verify-folder'].includes(verb) &&
    !commandOf(verb).registeredArguments.some((argument) => argument.variadic)
  it.concurrent.each(verbs.filter(takesNoMore))('%s with an operand', async (verb) => {
    const optional = commandOf(verb).registeredArguments.filter((argument) => !argument.required)
    const operands = [...optional.map(() => 'operand'), 'extra']
    const { exitCode, stderr } = await runCommand([...wordsOf(verb), ...required(verb), ...operands])
    expect(exitCode).toBe(2)
    expect(stderr).toContain(commandOf(verb).commands.length > 0 ? 'unknown command' : 'too many arguments')
  })

  it('an unknown command, and none', async () => {
    const unknown = await runCommand(['srve'])
    expect(unknown.exitCode).toBe(2)
    expect(unknown.stderr).toContain("unknown command 'srve'")
    expect(unknown.stderr).toContain(' --help')
    for (const asked of [
      ['srve', '--help'],
      ['srve', '-h'],
      ['help', 'srve'],
    ]) {
      const help = await runCommand(asked)
      expect([asked, help.exitCode, help.stdout]).toEqual([asked, 2, ''])
      expect(help.stderr).toContain("unknown command 'srve'\n(Did you mean serve?)")
    }
    expect((await runCommand([])).exitCode).toBe(2)
  })
})

test('help and version have exit code 0', async () => {
  for (const flags of [['--help'], ['--version'], ['verify', '--help'], ['help', 'verify']]) {
    const { exitCode, stdout, stderr } = await runCommand(flags)
    expect([exitCode, stderr], flags.join(' ')).toEqual([0, ''])
    expect(stdout).not.toBe('')
  }
})

test('an unknown setting is refused with a command that lists all, by the name of the program', async () => {
  const { exitCode, stderr } = await runCommand(['settings'], { VERDIGRAPH_QQQQQQQQ: '1' })
  expect(exitCode).toBe(2)
  expect(stderr).toContain(`VERDIGRAPH_QQQQQQQQ: unknown setting; \`${bin} settings\` prints all of them`)
})

test('an occupied port names the option for another one, as `npm start` takes it too', async () => {
  using taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const serve = ['serve', '--port', String(taken.port), '--data', join(temporaryFolder(), 'data')]
  const ownOption = await runCommand(serve, { npm_lifecycle_event: '' })
  expect([ownOption.exitCode, ownOption.stderr]).toEqual([
    1,
    expect.stringContaining('choose another one with --port\n'),
  ])
  const throughNpm = await runCommand(serve, { npm_lifecycle_event: 'start' })
  expect(throughNpm.stderr).toContain('choose another one with `npm start -- --port 8081`\n')
})

test('a command that ran and failed has exit code 1', async () => {
  const folder = temporaryFolder()
  const failed = await runCommand(['backup', '--data', join(folder, 'none'), '--out', join(folder, 'out')])
  expect([failed.exitCode, failed.stdout]).toEqual([1, ''])
})

test('verify has exit code 2 if it cannot read the folder: 1 means damage only', async () => {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  const { exitCode, stderr } = await runCommand(['verify', '--data', file])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('ENOTDIR')])
})
