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
  const address = await app.listen().catch(async (failure: unknown) => {
    await app.close()
    const { host, port, dataDir } = settings
    throw new CliError([
      `cannot listen on ${host}:${port}: ${reasonOf(failure, host)}`,
      // The token that this start would have printed.
      ...(app.bootstrapped
        ? [`${dataDir} holds an organization now; \`verdigraph token --data ${dataDir}\` prints a token of its admin`]
        : []),
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

/** The runtime has codes of its own for a port; for a host that it cannot use it gives whatever failed last. */
function reasonOf(failure: unknown, host: string): string {
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
