// The command line. Each command imports what it needs when it runs, so that the others start faster.
import { type Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import { fileProblemOf } from '../kernel/folder/file-issue.ts'
import { addAskCommands } from './commands/ask.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addBackgroundWorkCommands } from './commands/background-work.ts'
import { addBenchCommand } from './commands/bench.ts'
import { CliCommand } from './commands/cli-command.ts'
import { addCompletionCommands } from './commands/completion.ts'
import { addConsoleCommands } from './commands/console.ts'
import { addContextCommands } from './commands/contexts.ts'
import { addDataFolderCommands } from './commands/data-folder.ts'
import { addDecisionCommands } from './commands/decisions.ts'
import { addEventCommands } from './commands/events.ts'
import { addModelCommands } from './commands/model.ts'
import { addPolicyCommands } from './commands/policies.ts'
import { addProjectCommands } from './commands/project.ts'
import { addServingCommands } from './commands/serving.ts'
import { addTestingCommands } from './commands/testing.ts'
import { CliError } from './output/cli-error.ts'
import { exitCodes } from './output/exit-codes.ts'
import { printError, printJson, printUsageError } from './output/print.ts'
import { nameOfThisProcess } from './settings/own-command.ts'

/** Runs the command line. Prints user errors and exits with one of `exitCodes`; rejects with all other errors. */
export async function runCli(argv: readonly string[]): Promise<void> {
  try {
    if (isVersionAsJson(argv.slice(2))) {
      printJson((await import('../release/build-info.ts')).versionInformation())
      return
    }
    const command = program(nameOfThisProcess())
    await command.parseAsync(unknownCommandOf(command, argv) ?? argv)
  } catch (error) {
    // Help and errors of the command line itself are printed already.
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage.code)
    const lines = linesOf(error)
    if (lines === null) throw error
    for (const line of lines) printError(line)
    process.exit(error instanceof CliError ? error.exitCode : exitCodes.failure.code)
  }
}

/** commander prints the version as soon as it reads the option. */
function isVersionAsJson(args: readonly string[]): boolean {
  return args.length === 2 && args.includes('--json') && args.some((one) => one === '--version' || one === '-V')
}

/**
 * For `help NAME` and `NAME --help` with an unknown name, for which commander would print the general help and succeed: the
 * command line with the name alone, which is refused. Otherwise null.
 */
function unknownCommandOf({ commands }: Command, argv: readonly string[]): string[] | null {
  const [program = '', script = '', first = '', second = ''] = argv
  const name = first === 'help' ? second : first
  const isUnknown =
    name !== '' && name !== 'help' && !name.startsWith('-') && !commands.some((one) => one.name() === name)
  return isUnknown ? [program, script, name] : null
}

/** The lines of a user or system error; null for a bug. */
function linesOf(error: unknown): readonly string[] | null {
  if (error instanceof CliError) return error.lines
  if (error instanceof OperationalError || (error instanceof ThrownServiceError && error.needsLogging))
    return error.message.split('\n')
  const problem = fileProblemOf(error)
  if (problem !== null) return [problem]
  const { code, syscall, message } = error as NodeJS.ErrnoException
  return typeof code === 'string' && typeof syscall === 'string' ? message.split('\n') : null
}

/**
 * The commands with their options; parsing a command line with it runs the command, or throws CommanderError. `name`: how the
 * help names the program.
 */
export function program(name = 'verdigraph'): CliCommand {
  const command = new CliCommand(name)
    .description(packageJson.description)
    .version(
      packageJson.version,
      '-V, --version',
      'print the version; with --json also the commit, the layouts and the runtime',
    )
    .showHelpAfterError(`(${name} --help lists the commands, ${name} serve --help its options)`)
    .exitOverride()
    // Commands inherit it, so it comes before them.
    .configureOutput({ outputError: printUsageError })

  addServingCommands(command)
  addConsoleCommands(command)
  addDataFolderCommands(command)
  addPolicyCommands(command)
  addProjectCommands(command)
  addModelCommands(command)
  addAskCommands(command)
  addDecisionCommands(command)
  addContextCommands(command)
  addCompletionCommands(command)
  addTestingCommands(command)
  addBenchCommand(command)
  addEventCommands(command)
  addAuditCommands(command)
  addBackgroundWorkCommands(command)

  for (const one of command.commands) addHelpAfterError(one, `${name} ${one.name()}`)
  return command
}

/** `path`: the command line up to the command. */
function addHelpAfterError(command: Command, path: string): void {
  command.showHelpAfterError(`(${path} --help lists its ${command.commands.length === 0 ? 'options' : 'commands'})`)
  for (const inner of command.commands) addHelpAfterError(inner, `${path} ${inner.name()}`)
}
