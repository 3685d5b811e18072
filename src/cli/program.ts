// The commands of `verdigraph` and their options. Each command imports what it needs when it runs, so that the others
// start faster.
import { existsSync, readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import { environmentNameOf, type SettingField, type Settings, settingFields, settingSpecs } from '../settings.ts'
import { folderPermissionWarning } from '../store/process/folder-permissions.ts'
import { addAuditCommands } from './audit.ts'
import type { ExportLogFlags, LogKeysFlags } from './audit-export.ts'
import { CliError, UsageError } from './cli-error.ts'
import {
  agentKeyVariable,
  settingsFileVariable,
  tokenVariable,
  unknownVariables,
  withoutServiceLinks,
} from './environment-variables.ts'
import type { LettersFlags, ListFlags, RoutingTestFlags, TailFlags } from './events.ts'
import { exitCodes } from './exit-codes.ts'
import type { FormatFlags } from './fmt.ts'
import { formatSettings } from './format-settings.ts'
import type { NameFlags } from './language-files.ts'
import type { LintFlags } from './lint.ts'
import type { MatchDecideFlags, MatchFlags, MatchReportFlags, MatchRunFlags } from './match.ts'
import { nameOfThisProcess } from './own-command.ts'
import { printError, printNotice } from './print.ts'
import { readSettings, resolveSettings, type SettingSources } from './read-settings.ts'
import {
  BACKGROUND_COMMAND,
  LANE_COMMAND,
  MATCHER_COMMAND,
  VERIFY_FOLDER_COMMAND,
  WORKER_COMMAND,
} from './self-command.ts'
import type { ExportFlags, ImportFlags } from './transfer.ts'

/** Options of a command by name: settings, `--settings`, and the command's own. */
type Flags = Readonly<Record<string, unknown>>

/** Runs the command line. Prints user errors and exits with one of `exitCodes`; rejects with all other errors. */
export async function runCli(argv: readonly string[]): Promise<void> {
  try {
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
    return [error.message]
  const { code, syscall, message } = error as NodeJS.ErrnoException
  return typeof code === 'string' && typeof syscall === 'string' ? [message] : null
}

/**
 * The commands with their options; parsing a command line with it runs the command, or throws CommanderError. `name`: how the
 * help names the program.
 */
export function program(name = 'verdigraph'): Command {
  const command = new Command(name)
    .description(packageJson.description)
    .version(packageJson.version)
    .showHelpAfterError(`(${name} --help lists the commands, ${name} serve --help its options)`)
    .exitOverride()

  withListening(withSettings(command.command('serve')))
    .description('serve the HTTP API; on an empty data folder create an organization and print a token')
    .option('--demo', 'load the demo and print example requests', false)
    .action(async (flags: Flags & { demo: boolean }) => {
      // The service logs the warning about its folder itself.
      const settings = readSettingsFrom(flags)
      if (settings.workers === 1) await (await import('./serve.ts')).serve(settings, flags.demo)
      else await (await import('./supervise.ts')).supervise(settings, flags.demo)
    })

  // Started only by `serve --workers`, which sends it its settings.
  command
    .command(WORKER_COMMAND, { hidden: true })
    .argument('[parent]')
    .action(async (parent = '0') => (await import('./worker.ts')).runWorker(Number(parent)))

  // Started only by a serving process, which sends it its settings.
  command
    .command(LANE_COMMAND, { hidden: true })
    .argument('<parent>', 'process id of the serving process')
    .action(async (parent: string) => (await import('./lane.ts')).runLane(Number(parent)))

  // Started only by a serving process, which sends it its settings.
  command
    .command(BACKGROUND_COMMAND, { hidden: true })
    .argument('<parent>', 'process id of the serving process')
    .action(async (parent: string) => (await import('./background.ts')).runBackground(Number(parent)))

  // Started only by a background process, which sends it the settings.
  command
    .command(MATCHER_COMMAND, { hidden: true })
    .argument('<parent>', 'process id of the background process')
    .action(async (parent: string) => (await import('./matcher.ts')).runMatcher(Number(parent)))

  withSettings(command.command('init'))
    .description('create the organization and its admin service account in an empty data folder, and print a token')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('./credentials.ts')).initialise(settingsFrom(flags), flags.json)
    })

  withSettings(command.command('token'))
    .description('issue and print another token of the admin service account')
    .option('--json', 'print one line of JSON', false)
    .option('--lifetime <seconds>', 'from 120 (2 minutes) to 86400 (24 hours)', '86400')
    .action(async (flags: Flags & { json: boolean; lifetime: string }) => {
      await (await import('./credentials.ts')).issueToken(settingsFrom(flags), flags.json, lifetimeFrom(flags.lifetime))
    })

  withSettings(command.command('demo-token'))
    .description("issue and print a token of one of the demo's people, for its MCP server")
    .option('--person <id>', 'the person', 'dara')
    .option('--lifetime <seconds>', 'from 120 (2 minutes) to 86400 (24 hours)', '28800')
    .action(async (flags: Flags & { person: string; lifetime: string }) => {
      await (await import('./demo-tokens.ts')).printMemberToken(
        settingsFrom(flags),
        flags.person,
        lifetimeFrom(flags.lifetime),
      )
    })

  withSettings(command.command('rotate-master-key'))
    .description('encrypt all secrets with a new master key and delete the old one; the folder must not be served')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('./rotate-master-key.ts')).rotateMasterKey(settingsFrom(flags), flags.json)
    })

  withSettings(command.command('backup'))
    .description(
      'write a consistent copy of all projects and their configuration to one file; the folder may be served',
    )
    .requiredOption('--out <file>', 'the file to write; must not exist')
    .option('--project <id>', 'only this project, with the configuration that it needs')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { out: string; project?: string; json: boolean }) => {
      await (await import('./backup.ts')).backupFolder(settingsFrom(flags), flags.out, flags.project, flags.json)
    })

  withSettings(command.command('restore'))
    .description('create a data folder from a backup; the folder must be new or empty')
    .requiredOption('--in <file>', 'the backup file')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { in: string; json: boolean }) => {
      // No warning about the folder: restore replaces an empty folder with its own.
      await (await import('./backup.ts')).restoreFolder(readSettingsFrom(flags), flags.in, flags.json)
    })

  withSettings(command.command('export'))
    .description('write a consistent copy of configuration and graphs as lines of JSON; the folder may be served')
    .requiredOption('--out <file>', 'the file to write; must not exist; - is the standard output')
    .option('--project <id>', 'only this project, with the configuration that it needs')
    .option(
      '--audit-logs <folder>',
      'write the audit logs to this folder; must not exist (default: the file with .audit appended; with - they are left out)',
    )
    .option('--no-audit-logs', 'leave out the audit logs')
    .action(async (flags: Flags & ExportFlags) => {
      await (await import('./transfer.ts')).exportTo(settingsFrom(flags), flags)
    })

  withSettings(command.command('import'))
    .description('import lines of an export, or of your own, into a data folder that is not served')
    .requiredOption('--in <file>', 'the file to read; - is the standard input')
    .option('--project <id>', 'import the graphs into this project, without configuration')
    .option('--dry-run', 'validate every line and write nothing', false)
    .option('--resume', 'continue an interrupted import of the same file', false)
    .action(async (flags: Flags & ImportFlags) => {
      await (await import('./transfer.ts')).importFrom(settingsFrom(flags), flags)
    })

  withListening(withSettings(command.command('settings')))
    .description('print every setting with its value and source')
    .option('--json', 'print one line of JSON', false)
    .action((flags: Flags & { json: boolean }) => {
      const resolved = resolveSettings(sourcesFrom(flags))
      if (!resolved.ok) throw new UsageError(resolved.error)
      for (const line of formatSettings(resolved.value, process.env, flags.json)) console.log(line)
      const unknown = unknownVariables(process.env)
      if (unknown.length > 0) throw new UsageError(unknown)
    })

  withSettings(command.command('verify'))
    .description('verify all stored data; the folder may be served')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('./verify.ts')).verify(settingsFrom(flags).dataDir, flags.json)
    })

  withSettings(command.command('migrate'))
    .description(
      'upgrade a data folder of an earlier version to the current storage format; the folder must not be served',
    )
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('./migrate.ts')).migrate(settingsFrom(flags), flags.json)
    })

  const events = command.command('events').description('watch and test the delivery of events of a running service')

  withService(events.command('tail'))
    .description('print events as they happen; events exist only where a route of the event sink matches')
    .option('--type <filter>', 'only these event types; a wildcard * at the end matches all below', '*')
    .option('--oldest', 'begin with the oldest event that is stored', false)
    .option('--count <n>', 'end after this number of events')
    .option('--json', 'print each event as one line of JSON (CloudEvents)', false)
    .action(async (flags: Flags & TailFlags) => {
      await (await import('./events.ts')).tailEvents(readSettingsFrom(flags), flags)
    })

  withService(events.command('test'))
    .description('print which routes an event takes and why')
    .requiredOption('--type <type>', 'the event type')
    .option('--context <key=value>', 'the value of a context key; may be repeated', appended, [])
    .option('--send', 'send a test event to the providers that would receive the event', false)
    .option('--draft <file>', 'test the event sink in this JSON file, which need not be stored')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & RoutingTestFlags) => {
      await (await import('./events.ts')).testRoutes(readSettingsFrom(flags), flags)
    })

  const letters = events
    .command('dead-letters')
    .description('handle the events that a provider refused for good; requires the role all_editor')

  withService(letters.command('list'))
    .description('print one line for each dead letter: id, type, subject, reason')
    .option('--provider <id>', 'only those of this provider')
    .option('--count <n>', 'end after this number of dead letters')
    .option('--json', 'print each dead letter as one line of JSON', false)
    .action(async (flags: Flags & ListFlags) => {
      await (await import('./events.ts')).listDeadLetters(readSettingsFrom(flags), flags)
    })

  withService(letters.command('show <id>'))
    .description('print a dead letter with its event as JSON')
    .option('--json', 'print one line of JSON', false)
    .action(async (id: string, flags: Flags & LettersFlags) => {
      await (await import('./events.ts')).showDeadLetter(readSettingsFrom(flags), id, flags)
    })

  withService(letters.command('resend [ids...]'))
    .description('send dead letters again; each is removed when the provider accepts it')
    .option('--provider <id>', 'all dead letters of this provider')
    .option('--json', 'print one line of JSON', false)
    .action(async (ids: readonly string[], flags: Flags & LettersFlags) => {
      await (await import('./events.ts')).resendDeadLetters(readSettingsFrom(flags), ids, flags)
    })

  withService(letters.command('delete [ids...]'))
    .description('delete dead letters')
    .option('--provider <id>', 'all dead letters of this provider')
    .option('--json', 'print one line of JSON', false)
    .action(async (ids: readonly string[], flags: Flags & LettersFlags) => {
      await (await import('./events.ts')).deleteDeadLetters(readSettingsFrom(flags), ids, flags)
    })
  const audit = command
    .command('audit')
    .description(
      'verify and export audit logs, cosign their checkpoints as an independent witness, and replace the key that signs them',
    )
  addAuditCommands(audit)

  withSettings(audit.command('rotate-key'))
    .description('replace the platform key, which signs the audit logs; the folder may be served')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('./rotate-audit-key.ts')).rotateAuditKey(settingsFrom(flags), flags.json)
    })

  const reading = (name: string): Command =>
    withListening(withSettings(audit.command(name)))
      .requiredOption('--project <id>', 'the project, or the organization')
      .option('--url <url>', 'the service (default: where the settings say that it listens)')
  reading('export')
    .description(
      `write an audit log with its proofs to a file that \`audit verify\` reads; the token is that of ${tokenVariable}, or from the data folder`,
    )
    .requiredOption('--out <file>', 'the new file')
    .option('--type <type>', 'only this event type; a wildcard `*` at the end matches all that begin so')
    .option('--actor <id>', 'only records that this account, agent, credential or user caused')
    .option('--resource <id>', 'only records about this resource')
    .option('--from <time>', 'only records at or after this time (RFC 3339)')
    .option('--to <time>', 'only records before this time (RFC 3339)')
    .option('--generation <name>', 'the history of the log (default: the newest)')
    .action(async (flags: Flags & ExportLogFlags) => {
      await (await import('./audit-export.ts')).exportAuditLog(settingsFrom(flags), flags)
    })
  reading('keys')
    .description('print the public keys of an audit log, as `audit verify --key` reads them')
    .option('--generation <name>', 'the history of the log (default: the newest)')
    .action(async (flags: Flags & LogKeysFlags) => {
      await (await import('./audit-export.ts')).printLogKeys(settingsFrom(flags), flags)
    })
  withSettings(audit.command('hash'))
    .description(
      'print the hash that stands for input parameters in an audit log, to check suspected values; reads a JSON object from the standard input',
    )
    .requiredOption('--project <id>', 'the project of the log')
    .action(async (flags: Flags & { project: string }) => {
      await (await import('./audit-hash.ts')).printValuesHash(settingsFrom(flags), flags.project)
    })

  const trust = command.command('trust').description('run passes of trust score profiles')

  withSettings(trust.command('run'))
    .description('score the nodes of a trust score profile now; if the folder is served, the service runs the pass')
    .requiredOption('--profile <id>', 'the id of the profile')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { profile: string; json: boolean }) => {
      await (await import('./trust.ts')).runTrustPass(settingsFrom(flags), flags.profile, flags.json)
    })

  const match = command
    .command('match')
    .description('run entity matching pipelines, read their reports, and decide about pairs')
  const matching = (name: string): Command =>
    withListening(withSettings(match.command(name)))
      .requiredOption('--pipeline <id>', 'the id of the pipeline')
      .option(
        '--url <url>',
        `the service (default: the service of the folder, or the folder if it is not served); ${tokenVariable} may hold a token for it`,
      )
      .option('--json', 'print lines of JSON', false)

  matching('run')
    .description('run a pipeline now and wait for its end; if the folder is served, the service runs it')
    .option('--cutoff <score>', 'pairs with a lower score do not match (default: that of the pipeline)')
    .option(
      '--mapping <source=target>',
      'compare these properties; may be repeated (default: as suggested)',
      appended,
      [],
    )
    .option(
      '--labels <file>',
      'lines of JSON with pairs that are known to be the same or not, for precision and recall',
    )
    .action(async (flags: Flags & MatchRunFlags) => {
      await (await import('./match.ts')).runMatching(settingsFrom(flags), flags)
    })

  matching('status')
    .description('print the states of a pipeline and the progress of its run')
    .action(async (flags: Flags & MatchFlags) => {
      await (await import('./match.ts')).printMatchStatus(settingsFrom(flags), flags)
    })

  matching('report')
    .description('print the report of the last run of a pipeline')
    .option('--format <format>', 'json, ndjson (all matches), or html', 'json')
    .option('--out <file>', 'write it to this file')
    .action(async (flags: Flags & MatchReportFlags) => {
      await (await import('./match.ts')).writeMatchReport(settingsFrom(flags), flags)
    })

  matching('decide')
    .description('decide that two nodes are the same entity, or are not; all later runs keep the decision')
    .requiredOption('--source <id>', 'external id of the node of the source type')
    .requiredOption('--target <id>', 'external id of the node of the target type')
    .option('--same', 'they are the same', false)
    .option('--not-same', 'they are not the same', false)
    .option('--comment <text>', 'the reason')
    .action(async (flags: Flags & MatchDecideFlags) => {
      await (await import('./match.ts')).decideMatch(settingsFrom(flags), flags)
    })

  matching('decisions')
    .description('print the decisions about pairs of a pipeline')
    .action(async (flags: Flags & MatchFlags) => {
      await (await import('./match.ts')).listMatchDecisions(settingsFrom(flags), flags)
    })

  matching('undecide')
    .description('delete a decision; the next run decides about the pair')
    .requiredOption('--decision <id>', 'the id of the decision')
    .action(async (flags: Flags & MatchFlags & { decision: string }) => {
      await (await import('./match.ts')).deleteMatchDecision(settingsFrom(flags), flags, flags.decision)
    })

  withNames(command.command('lint [paths...]'))
    .description(
      'check policies and Cypher in files and project folders, or the policies that a project stores; docs/reference/lint-rules.md has the rules',
    )
    .option('--action <name>', 'an action that callers ask for; may be repeated', appended, [])
    .option('--strict', 'fail for warnings too', false)
    .option('--json', 'print one line of JSON', false)
    .option('--sarif', 'print a SARIF log, as code hosts read it', false)
    .action(async (paths: readonly string[], flags: Flags & LintFlags) => {
      await (await import('./lint.ts')).lintFiles(() => settingsFrom(flags), paths, flags)
    })

  command
    .command('fmt [paths...]')
    .description('format the Cypher in files and project folders; - formats the standard input')
    .option('--check', 'write nothing, and fail if a file is not formatted', false)
    .action(async (paths: readonly string[], flags: FormatFlags) => {
      ;(await import('./fmt.ts')).formatFiles(paths, flags)
    })

  withNames(command.command('lsp'))
    .description(
      'serve editors as a language server on the standard input and output: diagnostics, completion, hover, format',
    )
    .action(async (flags: Flags & NameFlags) => {
      await (await import('./lsp.ts')).serveEditor(() => settingsFrom(flags), flags)
    })

  // Started by `verify` for each environment.
  command
    .command(`${VERIFY_FOLDER_COMMAND} <folder>`, { hidden: true })
    .action(async (folder: string) => (await import('./verify.ts')).runVerifyFolder(folder))

  for (const one of command.commands) addHelpAfterError(one, `${name} ${one.name()}`)
  return command
}

/** `path`: the command line up to the command. */
function addHelpAfterError(command: Command, path: string): void {
  command.showHelpAfterError(`(${path} --help lists its ${command.commands.length === 0 ? 'options' : 'commands'})`)
  for (const inner of command.commands) addHelpAfterError(inner, `${path} ${inner.name()}`)
}

/** Settings that `serve` also accepts as options. */
const listeningFields = ['host', 'port', 'workers'] as const

function withListening(command: Command): Command {
  for (const field of listeningFields) addSettingOption(command, field)
  return command
}

/** For commands that call a running service. */
function withService(command: Command): Command {
  return withSettings(command)
    .requiredOption('--project <id>', 'the project')
    .option(
      '--url <url>',
      `the URL of the service (default: from the settings); ${tokenVariable} may hold a token for it`,
    )
}

/** For commands that compare names with those of the data. */
function withNames(command: Command): Command {
  return withSettings(command)
    .option('--schema <file>', 'the data schema: the answer of GET /data-schema/v1')
    .option('--project <id>', 'the project whose data has the names')
    .option(
      '--url <url>',
      `read the project from this service, not from the data folder; ${tokenVariable} may hold a token for it, ${agentKeyVariable} a key for its data schema`,
    )
}

/** Collects an option that may be repeated. */
function appended(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

function withSettings(command: Command): Command {
  return addSettingOption(command, 'dataDir').option(
    '--settings <file>',
    `JSON file with settings (${settingsFileVariable})`,
  )
}

function addSettingOption(command: Command, field: (typeof listeningFields)[number] | 'dataDir'): Command {
  const setting = settingSpecs[field]
  const about = `${environmentNameOf(setting)}, default ${setting.default}`
  return command.option(`--${setting.name} <${setting.option}>`, `${asHelp(setting.description)} (${about})`)
}

/** Help texts start in lower case and end without a full stop. */
function asHelp(description: string): string {
  const text = description.replace(/\.$/, '').replaceAll('. ', '; ')
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** Reads the settings, and prints a warning if other users can access the data folder. */
function settingsFrom(flags: Flags): Settings {
  const settings = readSettingsFrom(flags)
  const warning = folderPermissionWarning(settings.dataDir)
  if (warning !== null) printNotice(`warning: ${warning}`)
  return settings
}

function readSettingsFrom(flags: Flags): Settings {
  const read = readSettings(sourcesFrom(flags))
  const unknown = unknownVariables(process.env)
  if (!read.ok || unknown.length > 0) throw new UsageError([...unknown, ...(read.ok ? [] : read.error)])
  return read.value
}

/** Flags take precedence over the environment, which takes precedence over the file. */
function sourcesFrom(flags: Flags): SettingSources {
  const { settings } = flags
  const path = typeof settings === 'string' ? settings : process.env[settingsFileVariable]
  const values: Partial<Record<SettingField, string>> = {}
  for (const field of settingFields) {
    const value = flags[settingSpecs[field].name]
    if ('option' in settingSpecs[field] && typeof value === 'string') values[field] = value
  }
  return {
    flags: values,
    environment: withoutServiceLinks(process.env),
    file: path === undefined || path === '' ? undefined : { path, content: readFile(path) },
  }
}

function readFile(path: string): unknown {
  if (!existsSync(path)) throw new UsageError([`${path}: the settings file does not exist`])
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError([`${path}: ${error instanceof Error ? error.message : 'invalid JSON'}`])
  }
}

function lifetimeFrom(text: string): number {
  const seconds = Number(text)
  if (Number.isInteger(seconds) && seconds >= 120 && seconds <= 86_400) return seconds
  throw new UsageError([`--lifetime: expected an integer from 120 to 86400 seconds, found \`${text}\``])
}
