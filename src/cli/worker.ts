// One of several processes that serve a folder: started by the supervising one, told by it what to do over a channel of
// their own, and gone as soon as that channel is.
import { type App, createApp } from '../app.ts'
import { OperatorFault } from '../kernel/errors.ts'
import type { Settings } from '../settings.ts'
import { CliError } from './cli-error.ts'
import { LANE_COMMAND, ownCommand } from './own-process.ts'
import { sayError } from './say.ts'
import { reasonOf } from './serve.ts'

/** What the parent says. */
export type Order =
  | { readonly order: 'open'; readonly settings: Settings; readonly number: number; readonly proof: string }
  | { readonly order: 'listen' }
  /** Another worker has ended, and may have been reading. */
  | { readonly order: 'check readers' }
  | { readonly order: 'stop' }

/** For a worker whose parent is gone, whatever it was in: longer than any drain that is usual, and nobody else would end it. */
const ALONE_MS = 60_000

/** What the worker says: it has its databases open, and it takes connections. */
export type Word = 'open' | 'listening'

export async function work(): Promise<void> {
  if (process.send === undefined) {
    throw new CliError(['a worker is started by `verdigraph serve --workers` alone'])
  }
  const say = (word: Word): void => void process.send?.(word)
  let opening: Promise<App> | null = null
  let stopping = false

  const stop = (): void => {
    // All of these may come at once: a terminal and a service manager signal whole groups of processes.
    if (stopping) return
    stopping = true
    const closed = opening === null ? Promise.resolve() : opening.then((app) => app.close())
    closed.then(
      () => process.exit(0),
      (failure: unknown) => {
        sayError(`stopping failed: ${String((failure as Error).stack ?? failure)}`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  // The parent gets it too, and says what to do.
  process.on('SIGINT', () => {})
  process.on('disconnect', () => {
    setTimeout(() => process.exit(1), ALONE_MS).unref()
    stop()
  })
  process.on('SIGHUP', () =>
    opening?.then((app) => {
      app.reopenLogs()
      app.lookAtCertificate()
    }),
  )

  process.on('message', (message: Order) => {
    obey(message).catch((failure: unknown) => {
      const known =
        failure instanceof CliError ? failure.lines : failure instanceof OperatorFault ? [failure.message] : null
      for (const line of known ?? [String((failure as Error).stack ?? failure)]) sayError(line)
      process.exit(1)
    })
  })

  async function obey(message: Order): Promise<void> {
    switch (message.order) {
      case 'open': {
        const { settings, number, proof } = message
        opening = createApp(settings, { worker: { number, proof }, laneCommand: ownCommand([LANE_COMMAND]) })
        await opening
        say('open')
        return
      }
      case 'listen': {
        const app = await opening
        if (app === null || stopping) return
        const { host, port } = app.settings
        await app.listen().catch((failure: unknown) => {
          if (failure instanceof OperatorFault) throw failure
          throw new CliError([`cannot listen on ${host}:${port}: ${reasonOf(failure, host)}`])
        })
        say('listening')
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
