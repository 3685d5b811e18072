// The process that executes entity matching pipelines. Started by the background process when work is due, controlled over IPC, and
// terminated with it. It exits when no work is left.
import { createEventRecording } from '../app/events.ts'
import { createEntityMatching } from '../app/matching.ts'
import { openPlatform } from '../app/platform.ts'
import { exitWithParent } from '../lanes/parent-death.ts'
import type { MatcherCommand } from '../runtime/matching-process.ts'
import { defaultSettings, type Settings } from '../settings.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import { UsageError } from './cli-error.ts'
import { logFailure } from './log-failure.ts'

/** Exit code if some work failed and is still due. */
const EXIT_FAILED = 4

interface MatchingWork {
  /** Resolves with whether all work is done. */
  readonly done: Promise<boolean>
  checkReaders(): void
  close(): Promise<void>
}

/**
 * Does all work of entity matching that is due, and exits. `parent`: the id of the background process. Rejects with UsageError if it
 * was not started by one.
 */
export async function runMatcher(parent: number): Promise<void> {
  if (process.send === undefined) throw new UsageError(['matcher is started by `verdigraph serve` only'])
  exitWithParent(parent)
  let settings = defaultSettings
  let work: Promise<MatchingWork> | null = null

  // Ignored: terminals and service managers signal whole process groups, and the background process decides when this one stops.
  process.on('SIGTERM', () => {})
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  process.on('disconnect', () => process.exit(0))

  async function handleCommand(message: MatcherCommand): Promise<void> {
    switch (message.order) {
      case 'work': {
        settings = message.settings as Settings
        work = startWork(settings, message.number, message.proof)
        const { done, close } = await work
        const isDone = await done
        await close()
        process.exit(isDone ? 0 : EXIT_FAILED)
        return
      }
      case 'check readers':
        ;(await work)?.checkReaders()
        return
      case 'stop':
        await (await work)?.close()
        process.exit(0)
    }
  }

  process.on('message', (message: MatcherCommand) => {
    handleCommand(message).catch((failure: unknown) => {
      logFailure(settings, 'the entity matching process failed', failure, { order: message.order })
      process.exit(1)
    })
  })
  await new Promise(() => {})
}

async function startWork(settings: Settings, number: number, proof: string): Promise<MatchingWork> {
  const stack = new AsyncDisposableStack()
  // Its graphs are never searched, so they need no cache.
  const platform = await openPlatform({ ...settings, hotBytesMax: 0 }, { lane: { number, proof } }, stack)
  const elections = new LeaderElection(settings.dataDir)
  stack.defer(() => elections.close())
  const events = stack.adopt(createEventRecording(platform, true), (opened) => opened.close())
  const matching = stack.adopt(createEntityMatching(platform, events), (opened) => opened.close())
  const done = new Promise<boolean>((resolve, reject) => {
    // The process of a service that was killed may still be writing.
    elections.campaign('entity-matching', () => {
      matching.runDue().then(() => resolve(!matching.hasFailed), reject)
    })
  })
  return {
    done,
    checkReaders() {
      platform.clearStaleReaders()
      events.clearStaleReaders()
    },
    close: () => stack.disposeAsync(),
  }
}
