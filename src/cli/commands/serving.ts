// The commands that serve a data folder, create it, and issue tokens; and the hidden commands of the processes of a service.

import type { ChildKind } from '../../processes/child-kinds.ts'
import { UsageError } from '../output/cli-error.ts'
import { printLine } from '../output/print.ts'
import { unknownVariables } from '../settings/environment-variables.ts'
import { formatSettings } from '../settings/format-settings.ts'
import { resolveSettings } from '../settings/read-settings.ts'
import type { CliCommand } from './cli-command.ts'
import {
  type Flags,
  lifetimeFrom,
  readSettingsFrom,
  settingSourcesOf,
  settingsFrom,
  sourcesFrom,
  timeoutFrom,
  withListening,
  withSettings,
} from './options.ts'

/** The programs of the processes that a service starts. */
const childPrograms: Readonly<Record<ChildKind, () => Promise<(parent: number) => Promise<never>>>> = {
  worker: async () => (await import('../serve/worker.ts')).runWorker,
  lane: async () => (await import('../serve/lane.ts')).runLane,
  background: async () => (await import('../serve/background.ts')).runBackground,
  matcher: async () => (await import('../serve/matcher.ts')).runMatcher,
  shipper: async () => (await import('../serve/shipper.ts')).runShipper,
  'backup-job': async () => (await import('../serve/backup-job.ts')).runBackupProcess,
}

/** Adds `serve`, `init`, `token`, `demo-token`, `health`, `metrics-token`, `restart`, `settings`, and the hidden commands. */
export function addServingCommands(command: CliCommand): void {
  withListening(withSettings(command.command('serve')))
    .description('serve the HTTP API; on an empty data folder create an organization and print a token')
    .examples('serve', 'serve --demo', 'serve --data /var/lib/verdigraph --host 0.0.0.0 --port 8080 --workers 4')
    .records('service.start, service.stop')
    .option('--demo', 'load the demo and print example requests', false)
    .action(async (flags: Flags & { demo: boolean }) => {
      // The service logs the warning about its folder itself.
      const read = readSettingsFrom(flags)
      if (flags.demo && read.configStore !== '')
        throw new UsageError(['--demo: the graph of the demo is in the data folder, which config_store does not allow'])
      // Everything that the console shows works in the demo.
      const isDefaulted = flags.demo && read.backupFolder === ''
      const settings = isDefaulted ? { ...read, backupFolder: `${read.dataDir}-backups` } : read
      const sources = { ...settingSourcesOf(flags), ...(isDefaulted && { backupFolder: '--demo' }) }
      const isSupervised = settings.workers > 1 || settings.supervisor === 'on'
      if (!isSupervised) await (await import('../serve/serve.ts')).serve(settings, flags.demo, sources)
      else await (await import('../serve/supervise.ts')).supervise(settings, flags.demo, sources)
    })

  for (const [kind, run] of Object.entries(childPrograms))
    command
      .command(kind, { hidden: true })
      .argument('[parent]', 'the process that has started it, which sends it its settings')
      .action(async (parent = '0') => {
        if (process.send === undefined) throw new UsageError([`${kind} is started by \`verdigraph serve\` only`])
        await (await run())(Number(parent))
      })

  withSettings(command.command('init'))
    .description('create the organization and its admin service account in an empty data folder, and print a token')
    .examples('init', 'init --data /var/lib/verdigraph --json')
    .records('token.issue')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('../serve/credentials.ts')).initialise(settingsFrom(flags), flags.json)
    })

  withSettings(command.command('token'))
    .description('issue and print another token of the admin service account')
    .examples('token', 'token --lifetime 3600 --json')
    .records('token.issue')
    .option('--json', 'print one line of JSON', false)
    .option('--lifetime <seconds>', 'from 120 (2 minutes) to 86400 (24 hours)', '86400')
    .action(async (flags: Flags & { json: boolean; lifetime: string }) => {
      await (await import('../serve/credentials.ts')).issueToken(
        settingsFrom(flags),
        flags.json,
        lifetimeFrom(flags.lifetime),
      )
    })

  withSettings(command.command('demo-token'))
    .description("issue and print a token of one of the demo's people, for its MCP server")
    .examples('demo-token', 'demo-token --person erik')
    .records('token.issue')
    .option('--person <id>', 'the person', 'dara')
    .option('--lifetime <seconds>', 'from 120 (2 minutes) to 86400 (24 hours)', '28800')
    .action(async (flags: Flags & { person: string; lifetime: string }) => {
      await (await import('../demo/demo-tokens.ts')).printMemberToken(
        settingsFrom(flags),
        flags.person,
        lifetimeFrom(flags.lifetime),
      )
    })

  withListening(withSettings(command.command('health')))
    .description('ask a running service whether it is alive and ready')
    .examples('health', 'health --url https://authz.example.com --json')
    .records('no record: it reads no data folder')
    .option('--url <url>', 'the URL of the service (default: from the settings)')
    .option('--timeout <seconds>', 'for each of the two requests, from 1 to 60', '5')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { url?: string; timeout: string; json: boolean }) => {
      const { url = null, json } = flags
      const timeoutMs = timeoutFrom(flags.timeout)
      await (await import('../serve/health.ts')).checkHealth(readSettingsFrom(flags), { url, timeoutMs, json })
    })

  command
    .command('metrics-token')
    .description('write a new token for Prometheus to the file of `metrics_token_file`, and keep the one before')
    .examples(
      'metrics-token --file /etc/verdigraph/metrics-token',
      'metrics-token --file /etc/verdigraph/metrics-token --only',
    )
    .records('no record: it reads no data folder')
    .requiredOption('--file <file>', 'the file; created if it does not exist')
    .option('--only', 'keep no token but the newest of the file, and make no new one', false)
    .action(async (flags: { file: string; only: boolean }) => {
      await (await import('../serve/metrics-token.ts')).writeMetricsToken(flags.file, flags.only)
    })

  withSettings(command.command('restart'))
    .description('replace the workers of a running service one after another, without refusing a request')
    .examples('restart', 'restart --data /var/lib/verdigraph --json')
    .records('no record: it replaces processes by others of the same service')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { json: boolean }) => {
      await (await import('../serve/restart.ts')).restart(settingsFrom(flags), flags.json)
    })

  withListening(withSettings(command.command('settings')))
    .description('print the settings with their values and sources')
    .examples('settings', 'settings --all', 'settings --settings verdigraph.json --json')
    .records('no record: it reads no data folder')
    .option('--all', 'print advanced settings that have their defaults, too', false)
    .option('--json', 'print one line of JSON with every setting', false)
    .action((flags: Flags & { all: boolean; json: boolean }) => {
      const resolved = resolveSettings(sourcesFrom(flags))
      if (!resolved.ok) throw new UsageError(resolved.error)
      for (const line of formatSettings(resolved.value, process.env, flags)) printLine(line)
      const unknown = unknownVariables(process.env)
      if (unknown.length > 0) throw new UsageError(unknown)
    })
}
