// The background process: delivers events and seals the audit logs. Started by a serving process, controlled over IPC, and
// terminated with it. It listens on no port (docs/decisions/0035-event-delivery.md, 0038-audit-sealing.md).
import { AuditTrail } from '../app/audit.ts'
import { createEventDispatcher } from '../app/event-delivery.ts'
import { createEventRecording } from '../app/events.ts'
import { leadership, openPlatform } from '../app/platform.ts'
import { createTrustScoring } from '../app/trust.ts'
import { systemClock } from '../kernel/clock.ts'
import { exitWithParent } from '../lanes/parent-death.ts'
import type { BackgroundCommand } from '../runtime/background-process.ts'
import { MatchingProcess } from '../runtime/matching-process.ts'
import { openProcessLog } from '../runtime/process-log.ts'
import { defaultSettings, type Settings } from '../settings.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import { UsageError } from './cli-error.ts'
import { logFailure } from './log-failure.ts'
import { ownMemory } from './own-memory.ts'
import { MATCHER_COMMAND, selfCommand } from './self-command.ts'

/** Beyond this the process ends and is started again: a client library may leak memory. */
const MEMORY_BYTES_MAX = 768 * 1024 * 1024
const MEMORY_CHECK_MS = 5000
/** Exit code for too much memory. */
const EXIT_MEMORY = 3

interface BackgroundWork {
  checkReaders(): void
  close(): Promise<void>
}

/**
 * Delivers events and seals the audit logs. `parent`: the id of the serving process. Never resolves; rejects with UsageError if it was not started by a
 * serving process.
 */
export async function runBackground(parent: number): Promise<void> {
  if (process.send === undefined) throw new UsageError(['background is started by `verdigraph serve` only'])
  exitWithParent(parent)
  let settings = defaultSettings
  let work: Promise<BackgroundWork> | null = null

  // Ignored: terminals and service managers signal whole process groups, and the serving process decides when this one stops.
  process.on('SIGTERM', () => {})
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  process.on('disconnect', () => process.exit(0))

  async function stop(code: number): Promise<void> {
    await (await work)?.close()
    process.exit(code)
  }

  async function handleCommand(message: BackgroundCommand): Promise<void> {
    switch (message.order) {
      case 'work':
        settings = message.settings as Settings
        work = startWork(settings, message.number, message.proof)
        await work
        process.send?.('working')
        return
      case 'check readers':
        ;(await work)?.checkReaders()
        return
      case 'stop':
        await stop(0)
    }
  }

  process.on('message', (message: BackgroundCommand) => {
    handleCommand(message).catch((failure: unknown) => {
      logFailure(settings, 'the background process failed', failure, { order: message.order })
      process.exit(1)
    })
  })
  setInterval(() => {
    const bytes = ownMemory()
    if (bytes === null || bytes <= MEMORY_BYTES_MAX) return
    const log = openProcessLog(settings, systemClock)
    log({ level: 'error', message: 'the background process uses too much memory and is started again', bytes })
    stop(EXIT_MEMORY).catch(() => process.exit(EXIT_MEMORY))
  }, MEMORY_CHECK_MS)
  await new Promise(() => {})
}

async function startWork(settings: Settings, number: number, proof: string): Promise<BackgroundWork> {
  const stack = new AsyncDisposableStack()
  // Its graphs are never searched, so they need no cache.
  const platform = await openPlatform({ ...settings, hotBytesMax: 0 }, { lane: { number, proof } }, stack)
  const elections = new LeaderElection(settings.dataDir)
  stack.defer(() => elections.close())
  const events = stack.adopt(createEventRecording(platform, true), (opened) => opened.close())
  const dispatcher = stack.adopt(createEventDispatcher(platform, events), (opened) => opened.close())
  // The process of a serving process that was killed may still be delivering: two would change the order of events.
  elections.campaign('event-delivery', () => dispatcher.start())
  const audit =
    settings.audit === 'on' ? stack.adopt(new AuditTrail(platform, events, true), (opened) => opened.close()) : null
  audit?.start()
  const trust = stack.adopt(createTrustScoring(platform, events), (opened) => opened.close())
  elections.campaign('trust-scoring', () => trust.start())
  const matching = new MatchingProcess({
    command: selfCommand([MATCHER_COMMAND]),
    settings,
    proof,
    documents: platform.documents,
    clock: platform.clock,
    log: platform.log,
    ...leadership(platform),
    onUnexpectedExit: () => checkReaders(),
  })
  stack.adopt(matching, (running) => running.close())
  matching.start()
  const checkReaders = (): void => {
    platform.clearStaleReaders()
    events.clearStaleReaders()
    audit?.clearStaleReaders()
  }
  return {
    checkReaders() {
      matching.checkReaders()
      checkReaders()
    },
    close: () => stack.disposeAsync(),
  }
}
