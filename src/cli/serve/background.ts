// The background process: delivers events, seals the audit logs, computes trust scores, and starts the matcher. Started by a serving
// process (background/background-process.ts). It listens on no port (docs/decisions/0035-event-delivery.md, 0038-audit-sealing.md).
import { createAuditTrail } from '../../app/audit.ts'
import { createEventDispatcher } from '../../app/event-delivery.ts'
import { createEventRecording } from '../../app/events.ts'
import { leadership, openStore } from '../../app/open-store.ts'
import { createTrustScoring } from '../../app/trust.ts'
import type { BackgroundTask } from '../../background/background-process.ts'
import { MatchingProcess } from '../../background/matching-process.ts'
import { MATCHER_NUMBER } from '../../processes/child-kinds.ts'
import { type OpenChild, runChild } from '../../processes/run-child.ts'
import type { Settings } from '../../settings.ts'
import { LeaderElection } from '../../store/process/leader-election.ts'
import { childCommand } from '../settings/self-command.ts'
import { logFailureOf } from './log-failure.ts'

/** A client library may leak memory. */
const MEMORY_BYTES_MAX = 768 * 1024 * 1024

/** Runs the background process. `parent`: the id of the serving process. Never resolves. */
export function runBackground(parent: number): Promise<never> {
  return runChild<BackgroundTask>({
    kind: 'background',
    parent,
    memoryBytesMax: MEMORY_BYTES_MAX,
    open: openBackground,
    failed: logFailureOf('background'),
  })
}

async function openBackground({ settings: given, identity, supervision }: BackgroundTask): Promise<OpenChild> {
  const settings = given as Settings
  const stack = new AsyncDisposableStack()
  // Its graphs are never searched, so they need no cache.
  const platform = await openStore({ ...settings, hotBytesMax: 0 }, { lane: identity }, stack)
  const elections = new LeaderElection(settings.dataDir, platform.process.signal)
  stack.defer(() => elections.close())
  const events = stack.adopt(createEventRecording(platform, true), (opened) => opened.close())
  const dispatcher = stack.adopt(createEventDispatcher(platform, events), (opened) => opened.close())
  // The process of a serving process that was killed may still be delivering: two would change the order of events.
  elections.campaign('event-delivery', () => dispatcher.start())
  const audit =
    settings.audit === 'on' ? stack.adopt(createAuditTrail(platform, events, true), (opened) => opened.close()) : null
  audit?.start()
  const trust = stack.adopt(createTrustScoring(platform, events), (opened) => opened.close())
  elections.campaign('trust-scoring', () => trust.start(platform.process.signal))
  const matching = new MatchingProcess({
    command: supervision?.matcherCommand ?? childCommand('matcher'),
    task: { settings, identity: { ...identity, number: MATCHER_NUMBER } },
    ...(supervision !== undefined && { pingMs: supervision.pingMs }),
    figures: platform.reports.processes,
    documents: platform.configuration.documents,
    signal: platform.process.signal,
    clock: platform.process.clock,
    log: platform.reports.log,
    ...leadership(platform),
    onUnexpectedExit: () => checkReaders(),
  })
  stack.adopt(matching, (running) => running.close())
  matching.start()
  const checkReaders = (): void => {
    platform.graphs.clearStaleReaders()
    events.clearStaleReaders()
    audit?.clearStaleReaders()
  }
  return {
    checkReaders() {
      matching.checkReaders()
      checkReaders()
    },
    stop: () => stack.disposeAsync(),
  }
}
