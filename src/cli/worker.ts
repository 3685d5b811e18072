// One of several processes that serve a data folder. Started and controlled by the supervisor over IPC; exits when that
// channel closes (docs/decisions/0019-locks-and-processes.md).
import type { AppOverrides } from '../app/overrides.ts'
import type { App } from '../app.ts'
import { OperationalError } from '../kernel/errors.ts'
import { exitWithParent, surviveParent } from '../lanes/parent-death.ts'
import type { OwnFigures, WorkerFigures } from '../runtime/service-status.ts'
import type { Settings } from '../settings.ts'
import { CliError, UsageError } from './cli-error.ts'
import { printFailure } from './print.ts'
import { processCommands } from './self-command.ts'

/** A command of the supervisor. */
export type SupervisorCommand =
  | {
      readonly order: 'open'
      readonly settings: Settings
      readonly sources: NonNullable<AppOverrides['settingSources']>
      readonly number: number
      readonly proof: string
    }
  /** Accept connections, and report `listening`. `isWarm`: start a lane first, because the worker replaces one that has lanes. */
  | { readonly order: 'listen'; readonly isWarm: boolean }
  /** Report the own figures, for the collection `id`. */
  | { readonly order: 'report figures'; readonly id: number }
  /** The figures that this worker has asked for with `id`. */
  | { readonly order: 'figures'; readonly id: number; readonly workers: readonly WorkerFigures[] }
  /** Another worker has exited and may have left reader slots. */
  | { readonly order: 'check readers' }
  /** Report `answering` if all lanes answer within `timeoutMs`. */
  | { readonly order: 'check'; readonly timeoutMs: number }
  /** Send all new connections of the port to this worker, and report `taking`. */
  | { readonly order: 'take connections' }
  /** Let the system distribute the new connections again. */
  | { readonly order: 'share connections' }
  /** Another worker has taken the new connections: stop listening, report `released`, and exit when the open connections have ended. */
  | { readonly order: 'retire' }
  | { readonly order: 'stop' }

/**
 * A worker whose supervisor was killed exits after this time, milliseconds: it completes short requests, and the next
 * process on the folder does not wait for long ones. A supervisor that stops gracefully stops its workers first.
 */
const ORPHAN_TIMEOUT_MS = 500

/** A successor waits at most this long for its first lane before it accepts connections, milliseconds. */
const WARM_MAX_MS = 60_000

/**
 * An event of the worker: its databases are open, it accepts connections, it answers a check, it takes all new connections, it has
 * stopped listening, or it asks for figures or has them.
 */
export type WorkerEvent =
  | 'open'
  | 'listening'
  | 'answering'
  | 'taking'
  | 'released'
  | { readonly report: 'figures wanted'; readonly id: number }
  | { readonly report: 'figures'; readonly id: number; readonly figures: OwnFigures }

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
  const waiting = new Map<number, (workers: readonly WorkerFigures[]) => void>()
  let requests = 0
  /** The supervisor always answers; its end ends this process. */
  const readWorkers = (): Promise<readonly WorkerFigures[]> =>
    new Promise((resolve) => {
      requests += 1
      waiting.set(requests, resolve)
      send({ report: 'figures wanted', id: requests })
    })

  const stop = (): void => {
    // Several signals may arrive at once: terminals and service managers signal whole process groups.
    if (stopping) return
    stopping = true
    const closed = opening === null ? Promise.resolve() : opening.then((app) => app.close())
    closed.then(
      () => process.exit(0),
      (failure: unknown) => {
        printFailure(`stopping failed: ${String((failure as Error).stack ?? failure)}`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  // Ignored: the supervisor receives it too and sends `stop`.
  process.on('SIGINT', () => {})
  process.on('SIGUSR2', () => {})
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
      for (const line of expected ?? [String((failure as Error).stack ?? failure)]) printFailure(line)
      process.exit(1)
    })
  })

  async function handleCommand(message: SupervisorCommand): Promise<void> {
    switch (message.order) {
      case 'open': {
        const { settings, sources, number, proof } = message
        // Imported here, so that the end of the supervisor is detected while the service loads.
        opening = import('../app.ts').then(({ createApp }) =>
          createApp(settings, {
            worker: { number, proof },
            settingSources: sources,
            readWorkers,
            ...processCommands(),
          }),
        )
        await opening
        send('open')
        return
      }
      case 'listen': {
        const app = await opening
        if (app === null || stopping) return
        const { host, port } = app.settings
        if (message.isWarm) await app.warmLanes(WARM_MAX_MS)
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
      case 'report figures': {
        const app = await opening
        if (app !== null && !stopping) send({ report: 'figures', id: message.id, figures: app.ownFigures() })
        return
      }
      case 'figures':
        waiting.get(message.id)?.(message.workers)
        waiting.delete(message.id)
        return
      case 'check readers': {
        const app = await opening
        if (!stopping) app?.checkReaders()
        return
      }
      case 'check': {
        const app = await opening
        if (app !== null && (await app.checkLanes(message.timeoutMs))) send('answering')
        return
      }
      case 'take connections': {
        const app = await opening
        // Where that is not possible, connections are reset at the end of the other worker, as at any stop.
        app?.takeConnections()
        send('taking')
        return
      }
      case 'share connections': {
        const app = await opening
        app?.shareConnections()
        return
      }
      case 'retire': {
        const app = await opening
        if (stopping) return
        await app?.retire(() => send('released'))
        stop()
        return
      }
      case 'stop':
        stop()
    }
  }

  // The IPC channel keeps the process alive.
  await new Promise(() => {})
}
