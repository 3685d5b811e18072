// The reference page of the command line, from the declarations of the commands.
import type { CliCommand } from '../../src/cli/commands/cli-command.ts'
import { exitCodes } from '../../src/cli/output/exit-codes.ts'
import { code, row, table } from './markdown.ts'

/** The visible commands and groups below a command. */
function commandsOf(command: CliCommand): readonly CliCommand[] {
  return visibleBelow(command).flatMap((one) => [one, ...commandsOf(one)])
}

function visibleBelow(command: CliCommand): readonly CliCommand[] {
  const visible = new Set<unknown>(command.createHelp().visibleCommands(command))
  return command.commands.filter((one) => visible.has(one))
}

/** The sections of the page after its title. */
export function cliSections(program: CliCommand, note: string): string[] {
  const commands = commandsOf(program).filter(({ commands: inner }) => inner.length === 0)
  const operandsOf = ({ registeredArguments }: CliCommand): string =>
    registeredArguments
      .map((one) => {
        const name = `${one.name()}${one.variadic ? '…' : ''}`
        return one.required ? ` <${name}>` : ` [${name}]`
      })
      .join('')
  const sections = commands.map((command) => {
    const options = command.options.map(({ flags, description, defaultValue }) => {
      const shown =
        defaultValue === undefined || defaultValue === false || String(defaultValue) === ''
          ? ''
          : code(String(defaultValue))
      return row([code(flags), description, shown])
    })
    return [
      `## ${command.path}`,
      `${command.description()}.`,
      ...(command.registeredArguments.length === 0 ? [] : [code(`${command.path}${operandsOf(command)}`)]),
      ...(options.length === 0 ? [] : [table(['Option', 'Meaning', 'Default'], options)]),
      ...(command.exampleLines.length === 0
        ? []
        : [`\`\`\`text\n${command.exampleLines.map((line) => `verdigraph ${line}`).join('\n')}\n\`\`\``]),
    ].join('\n\n')
  })
  return [
    `${note} In a checkout or a project that depends on the package, \`npx verdigraph\` runs the program.`,
    'Every command also reads the [settings](settings.md) of the environment and of the file. `NO_COLOR` turns colours off, `FORCE_COLOR` on; ' +
      'they are used on terminals only.',
    'Long commands (`backup`, `restore`, `export`, `import`, `copy`, `verify`, `migrate`) show their progress on the error stream: on a terminal as a line ' +
      'that is rewritten, otherwise as one line every five seconds.',
    ...sections,
    `## Records of operations\n\nThe audit log of the organization has a record of each command that reads or changes a data folder as a whole ([events](events.md)).\n\n${table(
      ['Command', 'Record'],
      commandsOf(program)
        .filter(({ recordText }) => recordText !== '')
        .map(({ path, recordText }) => row([code(path), recordText])),
    )}`,
    `## Exit codes\n\n${table(
      ['Code', 'Meaning'],
      Object.values(exitCodes).map(({ code: number, meaning }) => row([String(number), meaning])),
    )}`,
  ]
}
