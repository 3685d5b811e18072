// `serve`: from settings to a listening service, and from a signal to a clean exit.
import picocolors from 'picocolors'
import { createApp } from '../app.ts'
import type { Settings } from '../settings.ts'
import { CliError } from './cli-error.ts'
import { TOKEN_LIFETIME_S, tokenLines } from './credentials.ts'
import { loadDemo } from './demo.ts'

export async function serve(settings: Settings, demo: boolean): Promise<void> {
  const app = await createApp(settings)
  const stopped = stopOnSignal(() => app.close())
  const address = await app.listen().catch((error: unknown) => {
    throw new CliError([
      `cannot listen on ${settings.host}:${settings.port}: ${error instanceof Error ? error.message : error}`,
    ])
  })
  if (app.bootstrapped) {
    const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
    const lines = tokenLines(app.organizationId, app.serviceAccountId, token, TOKEN_LIFETIME_S)
    for (const line of lines) console.log(line)
  }
  const lines = demo
    ? await loadDemo({
        handle: app.handle,
        organizationId: app.organizationId,
        token: await app.issueAdminToken(TOKEN_LIFETIME_S),
        dataDir: settings.dataDir,
        address: address.url,
      }).then((loaded) => loaded.lines)
    : []
  console.log(picocolors.green(`listening on ${address.url}`))
  for (const line of lines) console.log(line)
  await stopped
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
