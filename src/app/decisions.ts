// What decisions are made with, and who is told of them: the metrics, the decision log and the log of the process.

import { DerivedSigner } from '../identity/derived-signer.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ThrownServiceError } from '../kernel/errors.ts'
import { InlineHistory } from '../kernel/inline-history.ts'
import type { Log } from '../ops/log.ts'
import { LogFile } from '../ops/log-file.ts'
import type { ServiceMetrics } from '../ops/service-metrics.ts'
import type { DecisionDeps, DecisionEvent, PolicyError } from '../pdp/decision-deps.ts'
import { DecisionLog } from '../pdp/decision-log.ts'
import { PageTokens } from '../pdp/page-token.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import { SearchCache } from '../pdp/search-cache.ts'
import type { PolicyIndex } from '../policy/policy-index.ts'
import { logPolicyErrors } from '../runtime/process-log.ts'
import type { Settings } from '../settings.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'

export interface DecisionServiceDeps {
  /** How long a question may take on the serving loop; null: there are no lanes. */
  readonly inlineMs: number | null
  readonly policies: PolicyIndex
  graphsOf(projectId: string): ProjectGraphs | null
  readonly masterKey: Uint8Array
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ServiceMetrics
  /** Null: no setting asks for it. */
  readonly decisionLog: DecisionLog | null
  readonly onServiceFault: (fault: ThrownServiceError) => void
  /** Told beside the log. */
  readonly onFault: ((fault: PolicyError) => void) | null
  readonly onDecided: ((event: DecisionEvent) => void) | null
}

export function createDecisions(settings: Settings, wiring: DecisionServiceDeps): DecisionDeps {
  const { policies, graphsOf, masterKey, clock, log, metrics, decisionLog } = wiring
  const tellFault = logPolicyErrors(log, clock)
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
    searchCache: new SearchCache(),
    pageTokens: new PageTokens(new DerivedSigner(masterKey, 'page tokens'), clock, settings.pageTokenTimeS * 1000),
    onDecided: combineListeners([
      (event) => metrics.recordDecision(event),
      decisionLog && ((event) => decisionLog.record(event)),
      wiring.onDecided,
    ]),
    onServiceError: wiring.onServiceFault,
    onPolicyError(fault) {
      tellFault(fault)
      metrics.recordPolicyFault()
      wiring.onFault?.(fault)
    },
  }
}

/** Null: the setting says that none is written. */
export function openDecisionLogFile(settings: Settings, report: (line: string) => void): LogFile | null {
  if (settings.decisionLog === 'off') return null
  return new LogFile(settings.decisionLog, { bufferBytesMax: settings.logBufferBytes, report })
}

export function createDecisionLog(
  sink: LogFile | null,
  settings: Settings,
  clock: Clock,
  mask: ParameterMask,
): DecisionLog | null {
  return sink && new DecisionLog({ sink, clock, mask, percent: settings.decisionLogPercent })
}

/** Null where nobody listens, so that nothing is measured for nobody. */
function combineListeners(listeners: readonly (((event: DecisionEvent) => void) | null)[]): DecisionDeps['onDecided'] {
  const present = listeners.filter((listener) => listener !== null)
  if (present.length < 2) return present[0] ?? null
  return (event) => {
    for (const listener of present) listener(event)
  }
}
