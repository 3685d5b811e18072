// One of several processes that serve a data folder. Started and controlled by the supervisor over IPC; exits when that
// channel closes (docs/decisions/0019-locks-and-processes.md).
import type { App } from '../app.ts'
import { OperationalError } from '../kernel/errors.ts'
import { exitWithParent, surviveParent } from '../lanes/parent-death.ts'
import type { Settings } from '../settings.ts'
import { CliError, UsageError } from './cli-error.ts'
import { printError } from './print.ts'
import { processCommands } from './self-command.ts'

/** A command of the supervisor. */
export type SupervisorCommand =
  | { readonly order: 'open'; readonly settings: Settings; readonly number: number; readonly proof: string }
  | { readonly order: 'listen' }
  /** Another worker has exited and may have left reader slots. */
  | { readonly order: 'check readers' }
  | { readonly order: 'stop' }

/**
 * A worker whose supervisor was killed exits after this time, milliseconds: it completes short requests, and the next
 * process on the folder does not wait for long ones. A supervisor that stops gracefully stops its workers first.
 */
const ORPHAN_TIMEOUT_MS = 500

/** An event of the worker: its databases are open, or it accepts connections. */
export type WorkerEvent = 'open' | 'listening'

/**
 * Runs a worker. `parent`: the process id of the supervisor. Until the worker listens, it exits together with it. Never
 * resolves; rejects with UsageError if it was not started by a supervisor.
 */
export async function runWorker(parent: number): Promise<void> {
  if (process.send === undefined) {
    throw new UsageError(['a worker is started by `verdigraph serve --workers` only'])
  }
  exitWithParent(parent)
  const send = (event: WorkerEvent): void => void process.send?.(event)
  let opening: Promise<App> | null = null
  let listens = false
  let stopping = false

  const stop = (): void => {
    // Several signals may arrive at once: terminals and service managers signal whole process groups.
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
  // Ignored: the supervisor receives it too and sends `stop`.
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
    handleCommand(message).catch((failure: unknown) => {
      const expected =
        failure instanceof CliError ? failure.lines : failure instanceof OperationalError ? [failure.message] : null
      for (const line of expected ?? [String((failure as Error).stack ?? failure)]) printError(line)
      process.exit(1)
    })
  })

  async function handleCommand(message: SupervisorCommand): Promise<void> {
    switch (message.order) {
      case 'open': {
        const { settings, number, proof } = message
        // Imported here, so that the end of the supervisor is detected while the service loads.
        opening = import('../app.ts').then(({ createApp }) =>
          createApp(settings, { worker: { number, proof }, ...processCommands() }),
        )
        await opening
        send('open')
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
        if (surviveParent(parent)) send('listening')
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

  // The IPC channel keeps the process alive.
  await new Promise(() => {})
}
