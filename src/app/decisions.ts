// What decisions are made with, and who is told of them: the metrics, the decision log and the log of the process.
import { LineFile } from '../adapters/line-file.ts'
import type { ProjectGraphs } from '../engine/store.ts'
import { DerivedSigner } from '../identity/derived-signer.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ServiceFault } from '../kernel/errors.ts'
import { InlineHistory } from '../kernel/inline-history.ts'
import type { Log } from '../ops/log.ts'
import type { ServiceMetrics } from '../ops/service-metrics.ts'
import { DecisionLog } from '../pdp/decision-log.ts'
import { KeptSearches } from '../pdp/kept-searches.ts'
import type { Mask } from '../pdp/mask.ts'
import { PageTokens } from '../pdp/page-token.ts'
import type { DecisionEvent, DecisionFault, DecisionParts } from '../pdp/parts.ts'
import type { PolicyLibrary } from '../policy/library.ts'
import type { Settings } from '../settings.ts'
import { faultedPolicies } from './logs.ts'

export interface DecisionWiring {
  /** How long a question may take on the serving loop; null: there are no lanes. */
  readonly inlineMs: number | null
  readonly policies: PolicyLibrary
  graphsOf(projectId: string): ProjectGraphs | null
  readonly masterKey: Uint8Array
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ServiceMetrics
  /** Null: no setting asks for it. */
  readonly decisionLog: DecisionLog | null
  readonly onServiceFault: (fault: ServiceFault) => void
  /** Told beside the log. */
  readonly onFault: ((fault: DecisionFault) => void) | null
  readonly onDecided: ((event: DecisionEvent) => void) | null
}

export function decisionsFor(settings: Settings, wiring: DecisionWiring): DecisionParts {
  const { policies, graphsOf, masterKey, clock, log, metrics, decisionLog } = wiring
  const tellFault = faultedPolicies(log, clock)
  return {
    policies,
    graphsOf,
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.decisionTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
      bytesHeldMax: settings.questionBytesMax,
      ...(wiring.inlineMs !== null && { inlineMs: wiring.inlineMs }),
    },
    inputStringMax: settings.inputStringMax,
    evaluationsMax: settings.evaluationsMax,
    batchTimeMs: settings.batchTimeMs,
    // Some items are decided, each within the limit of one, before a batch goes to a lane.
    ...(wiring.inlineMs !== null && {
      inlineMs: 2 * wiring.inlineMs,
      inlineHistory: {
        evaluation: new InlineHistory(),
        'resource search': new InlineHistory(),
        'subject search': new InlineHistory(),
        'action search': new InlineHistory(),
      },
    }),
    searchPageMax: settings.searchPageMax,
    keptSearches: new KeptSearches(),
    pageTokens: new PageTokens(new DerivedSigner(masterKey, 'page tokens'), clock, settings.pageTokenTimeS * 1000),
    onDecided: toldTo([
      (event) => metrics.decided(event),
      decisionLog && ((event) => decisionLog.record(event)),
      wiring.onDecided,
    ]),
    onServiceFault: wiring.onServiceFault,
    onFault(fault) {
      tellFault(fault)
      metrics.faulted()
      wiring.onFault?.(fault)
    },
  }
}

/** Null: the setting says that none is written. */
export function decisionLogFile(settings: Settings, report: (line: string) => void): LineFile | null {
  if (settings.decisionLog === 'off') return null
  return new LineFile(settings.decisionLog, { bufferBytesMax: settings.logBufferBytes, report })
}

export function decisionLogTo(sink: LineFile | null, settings: Settings, clock: Clock, mask: Mask): DecisionLog | null {
  return sink && new DecisionLog({ sink, clock, mask, percent: settings.decisionLogPercent })
}

/** Null where nobody listens, so that nothing is measured for nobody. */
function toldTo(listeners: readonly (((event: DecisionEvent) => void) | null)[]): DecisionParts['onDecided'] {
  const present = listeners.filter((listener) => listener !== null)
  if (present.length < 2) return present[0] ?? null
  return (event) => {
    for (const listener of present) listener(event)
  }
}
