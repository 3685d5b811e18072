// `serve`: from settings to a listening service, and from a signal to a clean exit.

import { type App, createApp } from '../app.ts'
import { OperationalError } from '../kernel/errors.ts'
import { loadCertificate } from '../runtime/http-listener.ts'
import type { Settings } from '../settings.ts'
import { CliError } from './cli-error.ts'
import { colours } from './colours.ts'
import { TOKEN_LIFETIME_S, tokenLines } from './credentials.ts'
import { LANE_COMMAND, selfCommand } from './self-command.ts'

export async function serve(settings: Settings, demo: boolean): Promise<void> {
  // Before a folder is made ready whose first token nobody would see.
  loadCertificate(settings)
  const app = await createApp(settings, { laneCommand: selfCommand([LANE_COMMAND]) })
  const stopped = stopOnSignal(() => app.close())
  // What rotates log files sends this once it has renamed one, and what renews certificates.
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
      // The token that this start would have printed.
      ...(app.bootstrapped
        ? [`${dataDir} holds an organization now; \`verdigraph token --data ${dataDir}\` prints a token of its admin`]
        : []),
    ])
  })
  await printFirstToken(app)
  const lines = demo ? await demoLines(app, address.url) : []
  console.log(colours.green(`listening on ${address.url}`))
  for (const line of lines) console.log(line)
  await stopped
}

/** Where this start made the organization. */
export async function printFirstToken(app: App): Promise<void> {
  if (!app.bootstrapped) return
  const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
  for (const line of tokenLines(app.organizationId, app.serviceAccountId, token, TOKEN_LIFETIME_S)) console.log(line)
}

/** Loads the demo world, if need be; what to ask it at that address. */
export async function demoLines(app: App, address: string): Promise<readonly string[]> {
  const { handleInProcess: handle, organizationId, settings } = app
  const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
  const { loadDemo } = await import('./demo.ts')
  return (await loadDemo({ handle, organizationId, token, dataDir: settings.dataDir, address })).lines
}

/** The runtime has codes of its own for a port; for a host that it cannot use it gives whatever failed last. */
export function reasonOf(failure: unknown, host: string): string {
  const { code } = failure as { code?: string }
  if (code === 'EADDRINUSE') return 'the port is in use'
  if (code === 'EACCES') return 'no permission to use the port'
  return `\`${host}\` is not an address of this machine`
}

/** The first signal stops gracefully, a second one at once. */
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
