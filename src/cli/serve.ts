// The command `serve`: starts the service, and stops it on a signal.

import packageJson from '../../package.json' with { type: 'json' }
import { type App, createApp } from '../app.ts'
import { OperationalError } from '../kernel/errors.ts'
import { loadCertificate } from '../runtime/http-listener.ts'
import type { Settings } from '../settings.ts'
import { CliError } from './cli-error.ts'
import { colours } from './colours.ts'
import { issuedToken, TOKEN_LIFETIME_S, tokenLines } from './credentials.ts'
import { ownCommand } from './own-command.ts'
import { processCommands } from './self-command.ts'

/**
 * Runs `serve` in one process. Resolves after a clean stop. Rejects with CliError if it cannot listen, OperationalError
 * for other problems of the setup.
 */
export async function serve(settings: Settings, demo: boolean): Promise<void> {
  // Checked first: otherwise a failed start would create the organization, and its token would be lost.
  loadCertificate(settings)
  const app = await createApp(settings, processCommands())
  const stopped = stopOnSignal(async () => {
    // A full disk must not prevent the stop.
    await app.recordOperation('svc.audit.operations.service.stop', {}).catch(() => undefined)
    await app.close()
  })
  // Sent by log rotation after renaming a file, and by certificate renewal.
  process.on('SIGHUP', () => {
    app.reopenLogs()
    app.reloadCertificate()
  })
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
  console.log([colours.green(`listening on ${address.url}`), ...lines].join('\n'))
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
  const { loadDemo } = await import('./demo.ts')
  const docsServed = settings.descriptionAccess === 'public'
  return await loadDemo({ handle, organizationId, token, dataDir: settings.dataDir, address, docsServed })
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
