// The command `serve`: starts the service, and stops it on a signal.

import packageJson from '../../../package.json' with { type: 'json' }
import type { AppOverrides } from '../../app/overrides.ts'
import { openProcessLog } from '../../app/process-log.ts'
import { type App, createApp } from '../../app.ts'
import { LINK_LIFETIME_S } from '../../console/sign-in-link.ts'
import { loadCertificate } from '../../http/listener/http-listener.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { CliError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { printLines } from '../output/print.ts'
import { ownCommand } from '../settings/own-command.ts'
import { processCommands } from '../settings/self-command.ts'
import { issuedToken, TOKEN_LIFETIME_S, tokenLines } from './credentials.ts'
import { removeRestartState } from './rolling-restart.ts'
import { serviceManager } from './service-manager.ts'

/** Where settings have their values from, for the operator. */
type SettingSourceNames = NonNullable<AppOverrides['settingSources']>

/**
 * Runs `serve` in one process. Resolves after a clean stop. Rejects with CliError if it cannot listen, OperationalError
 * for other problems of the setup.
 */
export async function serve(settings: Settings, demo: boolean, sources: SettingSourceNames): Promise<void> {
  // Checked first: otherwise a failed start would create the organization, and its token would be lost.
  loadCertificate(settings)
  const app = await createApp(settings, { ...processCommands(), settingSources: sources })
  const log = openProcessLog(settings, systemClock)
  // A supervisor that was killed left it.
  removeRestartState(settings.dataDir)
  const manager = serviceManager(process.env, log)
  const stopped = stopOnSignal(async () => {
    manager.stopping()
    // A full disk must not prevent the stop.
    await app.recordOperation('svc.audit.operations.service.stop', {}).catch(() => undefined)
    await app.close()
  })
  // Sent by log rotation after renaming a file, and by certificate renewal.
  process.on('SIGHUP', () => {
    app.reopenLogs()
    app.reloadCertificate()
  })
  // Without a handler the signal would end the process.
  process.on('SIGUSR2', () =>
    log({ level: 'error', message: 'a rolling restart needs `--workers 2`, or the setting `supervisor` `on`' }),
  )
  const address = await app.listen().catch(async (failure: unknown) => {
    await app.close()
    if (failure instanceof OperationalError) throw failure
    const { host, port, dataDir } = settings
    throw new CliError([
      `cannot listen on ${host}:${port}: ${reasonOf(failure, host)}`,
      // This start would have printed the first token.
      ...(app.bootstrapped
        ? [
            `${dataDir} now has an organization; \`${ownCommand(['token', '--data', dataDir])}\` issues a token of its admin account`,
          ]
        : []),
    ])
  })
  await recordStart(app, settings, app.isAfterCrash)
  const lines = demo ? await demoLines(app, address.url) : await firstTokenLines(app)
  printLines([colours.green(`listening on ${address.url}`), ...lines])
  manager.ready(`listening on ${address.url}`)
  manager.watch((timeoutMs) => app.checkLanes(timeoutMs / 2))
  await stopped
}

/** Records a start for the audit log. A start that cannot be recorded is reported by the log, and serves. */
export async function recordStart(app: App, settings: Settings, isAfterCrash: boolean): Promise<void> {
  const { version } = packageJson
  const { workers } = settings
  const members = { version, workers, isAfterCrash, audit: auditSettings(settings) }
  await app.recordOperation('svc.audit.operations.service.start', members).catch(() => undefined)
}

/** The settings that decide what the audit logs contain until the next start. */
function auditSettings(settings: Settings): object {
  const { audit, auditDecisions: decisions, auditDecisionsSampleRate, clientAddressHeader } = settings
  return {
    recording: audit,
    decisions,
    ...(decisions === 'sampled' && { sampleRate: auditDecisionsSampleRate }),
    isStrict: settings.eventActivityStrict === 'on',
    keyRotationDays: settings.auditKeyRotationDays,
    retentionDays: settings.auditRetentionDays,
    ...(clientAddressHeader !== '' && { clientAddressHeader }),
  }
}

/** The lines with an admin token if this start created the organization. */
export async function firstTokenLines(app: App): Promise<readonly string[]> {
  if (!app.bootstrapped) return []
  const { organizationId, serviceAccountId, settings } = app
  const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
  await app.recordOperation('svc.audit.operations.token.issue', issuedToken(serviceAccountId, TOKEN_LIFETIME_S))
  return tokenLines({ organizationId, serviceAccountId, token }, settings, TOKEN_LIFETIME_S)
}

/** Loads the demo if it is not loaded. Returns the lines to print. `address`: the base URL. */
export async function demoLines(app: App, address: string): Promise<readonly string[]> {
  const { handleInProcess: handle, organizationId, settings } = app
  const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
  const { loadDemo } = await import('../demo/demo.ts')
  const docsServed = settings.descriptionAccess === 'public'
  const lines = await loadDemo({ handle, organizationId, token, dataDir: settings.dataDir, address, docsServed })
  return [...(await consoleLines(app, address)), ...lines]
}

/** The lines with a link to the console; empty: the console is off. */
async function consoleLines(app: App, address: string): Promise<readonly string[]> {
  const link = app.consoleLink(address)
  if (link === null) return []
  const { serviceAccountId, settings } = app
  await app.recordOperation('svc.audit.operations.token.issue', issuedToken(serviceAccountId, LINK_LIFETIME_S))
  const command = ownCommand(['console-link', '--data', settings.dataDir, '--port', new URL(address).port])
  return ['', 'The console, for the next two minutes and once:', `  ${link}`, `  \`${command}\` prints another link.`]
}

/**
 * Explains why listening failed. The runtime has error codes for port problems only; for an unusable host it reports an
 * unrelated error.
 */
export function reasonOf(failure: unknown, host: string): string {
  const { code } = failure as { code?: string }
  if (code === 'EADDRINUSE') return `the port is in use; choose another one with ${portOption()}`
  if (code === 'EACCES') return 'no permission to use the port'
  return `\`${host}\` is not an address of this machine`
}

/** npm passes only the options after `--`. */
function portOption(): string {
  return process.env.npm_lifecycle_event === 'start' ? '`npm start -- --port 8081`' : '--port'
}

/** Rejects if closing fails. The first signal stops gracefully, the second one at once. */
function stopOnSignal(close: () => Promise<void>): Promise<void> {
  return new Promise((_, reject) => {
    let stopping = false
    const onSignal = () => {
      if (stopping) process.exit(1)
      stopping = true
      close().then(() => process.exit(0), reject)
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}
