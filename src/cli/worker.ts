// One of several processes that serve a folder: started by the supervising one, told by it what to do over a channel of
// their own, and gone as soon as that channel is.
import type { App } from '../app.ts'
import { OperationalError } from '../kernel/errors.ts'
import { exitWithParent, surviveParent } from '../lanes/parent-death.ts'
import type { Settings } from '../settings.ts'
import { CliError } from './cli-error.ts'
import { printError } from './print.ts'
import { LANE_COMMAND, selfCommand } from './self-command.ts'

/** What the parent says. */
export type SupervisorCommand =
  | { readonly order: 'open'; readonly settings: Settings; readonly number: number; readonly proof: string }
  | { readonly order: 'listen' }
  /** Another worker has ended, and may have been reading. */
  | { readonly order: 'check readers' }
  | { readonly order: 'stop' }

/**
 * A worker whose parent was killed ends after this time at the latest, milliseconds: requests under way are answered, and
 * the next process on the folder does not wait for long drains. A parent that stops gracefully stops its workers first.
 */
const ORPHAN_TIMEOUT_MS = 500

/** What the worker says: it has its databases open, and it takes connections. */
export type WorkerEvent = 'open' | 'listening'

/** `parent`: the id of the supervising process. Until the worker listens it has nothing to finish, and ends with it. */
export async function runWorker(parent: number): Promise<void> {
  if (process.send === undefined) {
    throw new CliError(['a worker is started by `verdigraph serve --workers` alone'])
  }
  exitWithParent(parent)
  const say = (word: WorkerEvent): void => void process.send?.(word)
  let opening: Promise<App> | null = null
  let listens = false
  let stopping = false

  const stop = (): void => {
    // All of these may come at once: a terminal and a service manager signal whole groups of processes.
    if (stopping) return
    stopping = true
    const closed = opening === null ? Promise.resolve() : opening.then((app) => app.close())
    closed.then(
      () => process.exit(0),
      (failure: unknown) => {
        printError(`stopping failed: ${String((failure as Error).stack ?? failure)}`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  // The parent gets it too, and says what to do.
  process.on('SIGINT', () => {})
  process.on('disconnect', () => {
    if (!listens) process.exit(1)
    setTimeout(() => process.exit(1), ORPHAN_TIMEOUT_MS)
    stop()
  })
  process.on('SIGHUP', () =>
    opening?.then((app) => {
      app.reopenLogs()
      app.reloadCertificate()
    }),
  )

  process.on('message', (message: SupervisorCommand) => {
    obey(message).catch((failure: unknown) => {
      const known =
        failure instanceof CliError ? failure.lines : failure instanceof OperationalError ? [failure.message] : null
      for (const line of known ?? [String((failure as Error).stack ?? failure)]) printError(line)
      process.exit(1)
    })
  })

  async function obey(message: SupervisorCommand): Promise<void> {
    switch (message.order) {
      case 'open': {
        const { settings, number, proof } = message
        // Loaded here, so that the parent's end is seen before the many modules of the service are read.
        opening = import('../app.ts').then(({ createApp }) =>
          createApp(settings, { worker: { number, proof }, laneCommand: selfCommand([LANE_COMMAND]) }),
        )
        await opening
        say('open')
        return
      }
      case 'listen': {
        const app = await opening
        if (app === null || stopping) return
        const { host, port } = app.settings
        await app.listen().catch(async (failure: unknown) => {
          const { reasonOf } = await import('./serve.ts')
          if (failure instanceof OperationalError) throw failure
          throw new CliError([`cannot listen on ${host}:${port}: ${reasonOf(failure, host)}`])
        })
        listens = true
        if (surviveParent(parent)) say('listening')
        else stop()
        return
      }
      case 'check readers': {
        const app = await opening
        if (!stopping) app?.checkReaders()
        return
      }
      case 'stop':
        stop()
    }
  }

  // The channel keeps the process alive.
  await new Promise(() => {})
}
