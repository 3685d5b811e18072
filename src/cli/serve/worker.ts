// One of several processes that serve a data folder. Started and controlled by the supervisor (docs/decisions/0019-locks-and-processes.md).
import type { AppOverrides } from '../../app/overrides.ts'
import { OperationalError } from '../../kernel/errors.ts'
import type { OwnFigures, WorkerFigures } from '../../operator/service-status.ts'
import type { ProcessIdentity } from '../../processes/protocol.ts'
import { type OpenChild, type Parent, runChild } from '../../processes/run-child.ts'
import type { Settings } from '../../settings.ts'
import { CliError } from '../output/cli-error.ts'
import { printFailure } from '../output/print.ts'
import { processCommands } from '../settings/self-command.ts'

/** The task of a worker. */
export interface WorkerTask {
  readonly settings: Settings
  readonly sources: NonNullable<AppOverrides['settingSources']>
  readonly identity: ProcessIdentity
}

/** A command of the supervisor. */
export type WorkerCommand =
  /** Accept connections, and report `listening`. `isWarm`: start a lane first, because the worker replaces one that has lanes. */
  | { readonly command: 'listen'; readonly isWarm: boolean }
  /** Report the own figures, for the collection `id`. */
  | { readonly command: 'report figures'; readonly id: number }
  /** The figures that this worker has asked for with `id`. */
  | { readonly command: 'figures'; readonly id: number; readonly workers: readonly WorkerFigures[] }
  /** Send all new connections of the port to this worker, and report `taking`. */
  | { readonly command: 'take connections' }
  /** Let the system distribute the new connections again. */
  | { readonly command: 'share connections' }
  /** Another worker has taken the new connections: stop listening, report `released`, and exit when the open connections have ended. */
  | { readonly command: 'retire' }

/** An event of a worker: it accepts connections, it takes all new ones, it has stopped listening, or it asks for figures or has them. */
export type WorkerEvent =
  | 'listening'
  | 'taking'
  | 'released'
  | { readonly report: 'figures wanted'; readonly id: number }
  | { readonly report: 'figures'; readonly id: number; readonly figures: OwnFigures }

/**
 * A worker whose supervisor was killed exits after this time, milliseconds: it completes short requests, and the next
 * process on the folder does not wait for long ones. A supervisor that stops gracefully stops its workers first.
 */
const ORPHAN_TIMEOUT_MS = 500

/** A successor waits at most this long for its first lane before it accepts connections, milliseconds. */
const WARM_MAX_MS = 60_000

/** Runs a worker. `parent`: the process id of the supervisor. Until the worker listens, it exits together with it. Never resolves. */
export function runWorker(parent: number): Promise<never> {
  return runChild<WorkerTask, WorkerCommand, WorkerEvent>({
    kind: 'worker',
    parent,
    stopsOnSignal: true,
    open: openWorker,
    // For the person who has started the supervisor.
    failed(failure) {
      const expected =
        failure instanceof CliError ? failure.lines : failure instanceof OperationalError ? [failure.message] : null
      for (const line of expected ?? [String((failure as Error).stack ?? failure)]) printFailure(line)
    },
  })
}

async function openWorker(
  { settings, sources, identity }: WorkerTask,
  parent: Parent<WorkerEvent>,
): Promise<OpenChild<WorkerCommand>> {
  const waiting = new Map<number, (workers: readonly WorkerFigures[]) => void>()
  let requests = 0
  /** The supervisor always answers; its end ends this process. */
  const readWorkers = (): Promise<readonly WorkerFigures[]> =>
    new Promise((resolve) => {
      requests += 1
      waiting.set(requests, resolve)
      parent.report({ report: 'figures wanted', id: requests })
    })
  // Imported here, so that the end of the supervisor is detected while the service loads.
  const { createApp } = await import('../../app.ts')
  const app = await createApp(settings, {
    worker: identity,
    settingSources: sources,
    readWorkers,
    ...processCommands(),
  })
  const { promise: retired, resolve: onRetired } = Promise.withResolvers<boolean>()
  const { host, port } = app.settings
  let isStopping = false

  async function listen(isWarm: boolean): Promise<void> {
    if (isWarm) await app.warmLanes(WARM_MAX_MS)
    if (isStopping) return
    await app.listen().catch(async (failure: unknown) => {
      const { reasonOf } = await import('./serve.ts')
      if (failure instanceof OperationalError) throw failure
      throw new CliError([`cannot listen on ${host}:${port}: ${reasonOf(failure, host)}`])
    })
    if (parent.outlive(ORPHAN_TIMEOUT_MS)) parent.report('listening')
    else onRetired(true)
  }

  return {
    done: retired,
    isAnswering: (timeoutMs) => app.checkLanes(timeoutMs),
    checkReaders: () => app.checkReaders(),
    onHangUp() {
      app.reopenLogs()
      app.reloadCertificate()
    },
    async onCommand(message) {
      switch (message.command) {
        case 'listen':
          return listen(message.isWarm)
        case 'report figures':
          return parent.report({ report: 'figures', id: message.id, figures: app.ownFigures() })
        case 'figures':
          waiting.get(message.id)?.(message.workers)
          waiting.delete(message.id)
          return
        case 'take connections':
          // Where that is not possible, connections are reset at the end of the other worker, as at any stop.
          app.takeConnections()
          return parent.report('taking')
        case 'share connections':
          app.shareConnections()
          return
        case 'retire':
          await app.retire(() => parent.report('released'))
          onRetired(true)
      }
    },
    stop() {
      isStopping = true
      return app.close()
    },
  }
}
