// Builds the decision feature, and connects it to metrics, decision log and process log.

import { graphsOfProject } from '../config/db-connection.ts'
import { projectsKind } from '../config/kind.ts'
import type { DecisionEventLog } from '../events/recorders/record-decisions.ts'
import { DerivedSigner } from '../identity/derived-signer.ts'
import { mintGid } from '../kernel/ids.ts'
import { InlineHistory } from '../kernel/request/inline-history.ts'
import { modelOf, usedModelOf } from '../model/stored-model.ts'
import { LogFile } from '../ops/log-file.ts'
import type { DecisionDeps, DecisionEvent } from '../pdp/decision-deps.ts'
import { DecisionLog } from '../pdp/decision-log.ts'
import { createDecisionSpans } from '../pdp/decision-spans.ts'
import { PageTokens } from '../pdp/page-token.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import { SearchCache } from '../pdp/search-cache.ts'
import type { DraftPolicies } from '../policy/draft-policies.ts'
import type { PolicyIndex } from '../policy/policy-index.ts'
import type { Settings } from '../settings.ts'
import { dimensionWeights } from '../trust/trust-score-profile.ts'
import type { Platform } from './open-store.ts'
import type { AppOverrides } from './overrides.ts'
import { logPolicyErrors } from './process-log.ts'

/**
 * Builds the dependencies of decisions.
 * @param decisionLog Null: the setting `decision_log` is off.
 * @param events Records the events for event sinks.
 * @param listeners Called in addition to log and metrics.
 */
export function createDecisions(
  {
    process: { settings, clock, inlineMs },
    reports: { log, metrics, tracing, onServiceError },
    configuration: { documents, masterKey },
    graphs: { registry: graphs },
  }: Platform,
  policies: PolicyIndex,
  drafts: DraftPolicies,
  mask: ParameterMask,
  decisionLog: DecisionLog | null,
  events: DecisionEventLog,
  { onDecisionFault, onDecided }: Pick<AppOverrides, 'onDecisionFault' | 'onDecided'>,
): DecisionDeps {
  const logPolicyError = logPolicyErrors(log, clock)
  return {
    policies,
    drafts,
    modelOf: (projectId) => modelOf(documents, projectId),
    modelUsed: (projectId) => usedModelOf(documents, projectId),
    graphsOf: (projectId) => graphs.graphsOf(projectId),
    storesOf: (projectId) => {
      const [project, all] = [documents.get(projectsKind, projectId), graphs.graphsOf(projectId)]
      return project === null || all === null ? [] : graphsOfProject(all, project)
    },
    dimensionWeights: (projectId, nodeType) => dimensionWeights(documents, projectId, nodeType),
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.decisionTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
      bytesHeldMax: settings.questionBytesMax,
      ...(inlineMs !== null && { inlineMs }),
    },
    inputStringMax: settings.inputStringMax,
    evaluationsMax: settings.evaluationsMax,
    batchTimeMs: settings.batchTimeMs,
    // A batch gets twice the time, so that some items are decided before it moves to a lane.
    ...(inlineMs !== null && {
      inlineMs: 2 * inlineMs,
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
      (event) => events.record(event),
      tracing && createDecisionSpans(tracing, mask, { policies, drafts }),
      onDecided ?? null,
    ]),
    decisionId: decisionLog && (() => mintGid(clock.now())),
    ...(tracing !== null && { namesGranting: true, observesPlans: true }),
    onServiceError,
    onPolicyError(error) {
      logPolicyError(error)
      metrics.recordPolicyFault()
      onDecisionFault?.(error)
    },
  }
}

/** Opens the file of the decision log; null: the setting is off. */
export function openDecisionLogFile(settings: Settings, report: (line: string) => void): LogFile | null {
  if (settings.decisionLog === 'off') return null
  return new LogFile(settings.decisionLog, { bufferBytesMax: settings.logBufferBytes, report })
}

/** Creates the decision log; null: it has no file. */
export function createDecisionLog(
  { process: { settings, clock }, configuration: { documents } }: Platform,
  sink: LogFile | null,
  mask: ParameterMask,
  policies: PolicyIndex,
  drafts: DraftPolicies,
): DecisionLog | null {
  return (
    sink &&
    new DecisionLog({
      sink,
      clock,
      mask,
      policies,
      drafts,
      modelUsed: (projectId) => usedModelOf(documents, projectId),
      percent: settings.decisionLogPercent,
    })
  )
}

type DecisionListener = (event: DecisionEvent) => void

/** Combines the listeners; null if none exist, so that decisions skip the measurement. */
function combineListeners(listeners: readonly (DecisionListener | null)[]): DecisionDeps['onDecided'] {
  const [first, ...others] = listeners.filter((listener) => listener !== null)
  // In pairs: a loop over all listeners is measurable in a decision.
  return first === undefined ? null : others.reduce(pairOf, first)
}

function pairOf(first: DecisionListener, second: DecisionListener): DecisionListener {
  return (event) => {
    first(event)
    second(event)
  }
}
