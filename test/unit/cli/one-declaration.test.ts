// A command is declared in one place: help, completion, the reference page and the table of records have one that a test adds, and every
// command of the program has the parts that they need.
import { expect, test } from 'vitest'
import type { CliCommand } from '../../../src/cli/commands/cli-command.ts'
import { program } from '../../../src/cli/program.ts'
import { completionsFor } from '../../../src/cli/shell/completion.ts'
import { cliSections } from '../../docs/cli-page.ts'

function helpOf(command: CliCommand): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

test('a command that is declared is in help, completion, the reference page and the table of records', () => {
  const all = program('graph')
  const measure = all
    .command('measure')
    .description('measure something')
    .command('depth <name>')
    .description('measure how deep a graph is')
    .option('--feet', 'in feet', false)
    .examples('measure depth cars', 'measure depth cars --feet')
    .records('no record: it reads no data folder')
  expect(helpOf(all)).toMatch(/^ {2}measure +measure something$/m)
  expect(helpOf(measure)).toContain('Examples:\n  $ graph measure depth cars\n  $ graph measure depth cars --feet\n')
  expect(completionsFor(all, [], 'meas')).toMatchObject({ candidates: [{ value: 'measure' }] })
  expect(completionsFor(all, ['measure', 'depth'], '--f')).toMatchObject({ candidates: [{ value: '--feet' }] })
  const page = cliSections(all, '').join('\n\n')
  expect(page).toContain('## measure depth\n\nmeasure how deep a graph is.\n\n`measure depth <name>`')
  expect(page).toContain('```text\nverdigraph measure depth cars\nverdigraph measure depth cars --feet\n```')
  expect(page).toContain('| `measure depth` | no record: it reads no data folder |')
})

function visibleBelow(command: CliCommand): readonly CliCommand[] {
  const visible = new Set<unknown>(command.createHelp().visibleCommands(command))
  return command.commands.filter((one) => visible.has(one)).flatMap((one) => [one, ...visibleBelow(one)])
}

const commands = visibleBelow(program())

test.each(commands.map((command) => [command.path, command] as const))(
  '%s states what other places need',
  (path, command) => {
    expect(command.description()).not.toBe('')
    const isGroup = command.commands.length > 0
    expect(command.exampleLines.length > 0).toBe(!isGroup)
    for (const line of command.exampleLines) expect(`${line} `).toMatch(new RegExp(`^${path} `))
    // A record is stated by each command, or once by its group.
    if (isGroup) return
    const [group = ''] = path.split(' ')
    const records = commands
      .filter(({ path: other }) => other === path || other === group)
      .map(({ recordText }) => recordText)
    expect(records.some((text) => text !== '')).toBe(true)
  },
)
