// The process that executes entity matching pipelines. Started by the background process when work is due. It exits when no work is left.
import { createEventRecording } from '../../app/events.ts'
import { createEntityMatching } from '../../app/matching.ts'
import { openStore } from '../../app/open-store.ts'
import type { BackgroundTask } from '../../background/background-process.ts'
import { memoryLimit } from '../../processes/own-memory.ts'
import { type OpenChild, runChild } from '../../processes/run-child.ts'
import type { Settings } from '../../settings.ts'
import { LeaderElection } from '../../store/process/leader-election.ts'
import { logFailureOf } from './log-failure.ts'

/** The share of the memory of the machine, or of its control group, that a run may use: the rest is that of the processes that serve. */
const MEMORY_SHARE = 0.75

/** Does all work of entity matching that is due, and exits. `parent`: the id of the background process. */
export function runMatcher(parent: number): Promise<never> {
  const memoryBytes = memoryLimit()
  return runChild<BackgroundTask>({
    kind: 'matcher',
    parent,
    ...(memoryBytes !== null && { memoryBytesMax: Math.floor(MEMORY_SHARE * memoryBytes) }),
    open: openMatcher,
    failed: logFailureOf('matcher'),
  })
}

async function openMatcher({ settings: given, identity }: BackgroundTask): Promise<OpenChild> {
  const settings = given as Settings
  const stack = new AsyncDisposableStack()
  // Its graphs are never searched, so they need no cache.
  const platform = await openStore({ ...settings, hotBytesMax: 0 }, { lane: identity }, stack)
  const elections = new LeaderElection(settings.dataDir, platform.process.signal)
  stack.defer(() => elections.close())
  const events = stack.adopt(createEventRecording(platform, true), (opened) => opened.close())
  const matching = stack.adopt(createEntityMatching(platform, events), (opened) => opened.close())
  const { promise: done, resolve, reject } = Promise.withResolvers<boolean>()
  // The process of a service that was killed may still be writing.
  elections.campaign('entity-matching', () => {
    matching.runDue().then(() => resolve(!matching.hasUnstored), reject)
  })
  return {
    done,
    checkReaders() {
      platform.graphs.clearStaleReaders()
      events.clearStaleReaders()
    },
    // A run that needs too much memory counts as begun: it would begin again forever.
    stop: (isOutOfMemory) => (isOutOfMemory ? Promise.resolve() : stack.disposeAsync()),
  }
}
