// Opens the features of a process: the second of four steps, each of which gives its record to the next.

import type { AuditTrail } from '../audit/seal/audit-trail.ts'
import { sealingProvisioner } from '../audit/seal/sealing-provisioner.ts'
import { auditTotals } from '../audit/seal/sealing-state.ts'
import { withSigningState } from '../audit/seal/signing-requests.ts'
import type { CaptureDeps } from '../capture/apply-items.ts'
import { createNameSource } from '../config/graphs/open-graphs.ts'
import { Provisioning } from '../config/provisioning.ts'
import { ConfigService } from '../config/service.ts'
import { createSystemGraph } from '../config/system-nodes.ts'
import type { ContextQueryDeps } from '../context-query/execute.ts'
import { QueryIndex } from '../context-query/query-index.ts'
import { ConfigEventLog } from '../events/recorders/record-configuration.ts'
import { DecisionEventLog } from '../events/recorders/record-decisions.ts'
import { introspectionEventLog } from '../events/recorders/record-introspections.ts'
import { QueryEventLog } from '../events/recorders/record-queries.ts'
import { RequestEventLog } from '../events/recorders/record-requests.ts'
import { createRateLimiter, type RateLimiter } from '../http/rate-limit.ts'
import type { UserTokenAuthenticator } from '../identity/user-tokens.ts'
import { requestRemoval as requestMatchRemoval } from '../matching/entity-matching.ts'
import type { McpEndpoint } from '../mcp/endpoint.ts'
import { modelOf, usedModelOf } from '../model/stored-model.ts'
import type { LogFile } from '../ops/log-file.ts'
import { maskSecrets } from '../ops/secret-mask.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import { ParameterMask } from '../pdp/parameter-mask.ts'
import { BackgroundCompiler } from '../policy/background-compiler.ts'
import { MAX_INLINE_CHARS } from '../policy/compile-budget.ts'
import { DraftPolicies } from '../policy/draft-policies.ts'
import { PolicyIndex } from '../policy/policy-index.ts'
import { requestRemoval as requestScoreRemoval } from '../trust/trust-scoring.ts'
import { createAuditTrail, signingKeyDeps } from './audit.ts'
import { createContextQueries } from './context-queries.ts'
import { createDecisionLog, createDecisions, openDecisionLogFile } from './decisions.ts'
import { createEventRecording, type EventRecording } from './events.ts'
import { createConfigKinds } from './kinds.ts'
import { createMcpEndpoint } from './mcp.ts'
import type { Platform } from './open-store.ts'
import type { AppOverrides } from './overrides.ts'
import { createUserTokens } from './user-tokens.ts'

/** The features of a process, for the steps that follow. */
export interface OpenedFeatures {
  /** Recording and delivery of events, with their streams and sinks. */
  readonly events: EventRecording
  /** The audit logs of the folder. */
  readonly audit: AuditTrail
  /** This process seals the audit logs: no background process does. */
  readonly isSealedHere: boolean
  /** Records requests of HTTP and MCP for the audit logs. */
  readonly requestEvents: RequestEventLog
  /** Creates and deletes the graphs of projects, as their documents require. */
  readonly provisioning: Provisioning
  /** The configuration interface. */
  readonly config: ConfigService
  /** Inputs of captures. */
  readonly capture: CaptureDeps
  /** Masks values of input parameters in logs and events. */
  readonly mask: ParameterMask
  /** The decision log; null: it is off. */
  readonly logFile: LogFile | null
  /** The compiled policies of all projects. */
  readonly policies: PolicyIndex
  /** The compiled knowledge queries of all projects. */
  readonly queries: QueryIndex
  /** Inputs of decisions and searches. */
  readonly decisions: DecisionDeps
  /** Inputs of context queries. */
  readonly contexts: ContextQueryDeps
  /** Verifies the tokens of users. */
  readonly userTokens: UserTokenAuthenticator
  /** The limit of requests of an agent, which HTTP and MCP share; null: no limit. */
  readonly rateLimiter: RateLimiter | null
  /** The MCP endpoint of all projects. */
  readonly mcp: McpEndpoint
}

/** Opens the features. Everything opened is added to `stack`. Completes what a crash interrupted, before the first request. */
export async function openFeatures(
  platform: Platform,
  overrides: AppOverrides,
  stack: AsyncDisposableStack,
): Promise<OpenedFeatures> {
  const {
    process: { settings, clock, upstream, processNumber, inlineMs, destinations },
    reports: { log, report, metrics },
    configuration: { documents, sealer, shared, organizationId },
    graphs: { catalog, remote, registry: graphs },
  } = platform
  const isSoleProcess = processNumber === null
  const hasLanes = inlineMs !== null
  const events = stack.adopt(createEventRecording(platform, overrides.sync ?? true), (opened) => opened.close())
  const graphsOf: CaptureDeps['graphsOf'] = (projectId) => graphs.graphsOf(projectId)

  const systemGraph = createSystemGraph(
    async (projectId) => {
      await graphs.ready(projectId)
      return graphs.provisioned(projectId)
    },
    (kind, id) => {
      documents.catchUp()
      return documents.get(kind, id) !== null
    },
  )
  const { backgroundCommand } = overrides
  const audit = stack.adopt(createAuditTrail(platform, events, overrides.sync ?? true), (opened) => opened.close())
  // A worker or a lane has a serving process, which has a background process.
  const isSealedHere = isSoleProcess && backgroundCommand === undefined
  const provisioner = remote.provisioner(
    settings.audit === 'on'
      ? sealingProvisioner(catalog, (projectId) => audit.deleteGraphs(projectId, isSealedHere))
      : catalog,
  )
  if (settings.audit === 'on') metrics.registerAudit(auditTotals(settings.dataDir))
  const provisioning = new Provisioning({ documents, provisioner, systemGraph, report })
  const hostError = (host: string, isVerified: boolean): string | null =>
    destinations.hostError(host, isVerified, 'the scheme `bolt+s:` or `neo4j+s:`')
  const isShared = shared !== null
  const environment = { reader: documents, systemGraph, provisioning, hostError, isShared }
  const names = createNameSource(graphs, documents)
  const kinds = createConfigKinds(settings, {
    environment,
    upstream,
    clock,
    names,
    async dropEvents(projectId) {
      const dropped = await events.streams.drop(projectId)
      const message = 'an event sink was deleted; the events that were not delivered are dropped'
      if (dropped > 0) log({ level: 'info', message, project: projectId, events: dropped })
    },
    removeScores: (profile) => requestScoreRemoval(documents, profile),
    removeMatches: (pipeline) => requestMatchRemoval(documents, pipeline),
    withDeliveryState: (sink, body) => events.delivery.withState(sink, body),
    signingKeys: signingKeyDeps(platform, audit),
    withSigningState: (signing, body) => withSigningState(settings.audit === 'on', audit, signing, body),
  })
  const { sinks, activity } = events
  metrics.registerEvents(() => activity.dropped)
  metrics.registerDatabases(() => remote.totals())
  if (shared !== null) metrics.registerSharedConfiguration(() => shared.figures())
  const requestEvents = stack.adopt(
    new RequestEventLog({ sinks, activity, documents, clock, organizationId }, overrides.singleFailuresMax),
    (opened) => opened.close(),
  )
  const maskText = (text: string): string => maskSecrets(text, [])
  const config = new ConfigService({
    documents,
    kinds,
    sealer,
    clock,
    report,
    processNumber: processNumber ?? 0,
    instance: shared?.instance ?? null,
    events: new ConfigEventLog({ sinks, activity, documents, clock, maskText }),
  })

  const mask = new ParameterMask(settings.parameterMask)
  const logFile = openDecisionLogFile(settings, report)
  if (logFile !== null) {
    stack.adopt(logFile, (file) => file.close())
    metrics.registerDecisionLog(() => logFile.dropped)
  }
  const compiler = stack.adopt(new BackgroundCompiler(), (opened) => opened.close())
  const indexOptions = hasLanes ? { maxInlineChars: MAX_INLINE_CHARS, onDeferred: compiler.add } : {}
  const policies = new PolicyIndex(documents, report, indexOptions)
  const drafts = new DraftPolicies(documents, policies, indexOptions)
  const modelUsed = (projectId: string) => usedModelOf(documents, projectId)
  const decisionEvents = new DecisionEventLog({ sinks, activity, policies, drafts, modelUsed, mask, clock })
  const decisionLog = createDecisionLog(platform, logFile, mask, policies, drafts)
  const decisions = createDecisions(platform, policies, drafts, mask, decisionLog, decisionEvents, overrides)
  const queries = new QueryIndex(documents, report, indexOptions)
  const queryEvents = new QueryEventLog({ sinks, activity, documents, mask, clock })
  const contexts = createContextQueries(platform, queries, queryEvents, (items) => metrics.recordUnfit(items))
  const capture: CaptureDeps = {
    graphsOf,
    modelOf: (projectId) => modelOf(documents, projectId),
    onUnfit: (items) => metrics.recordUnfit(items),
    onCaptured: (operation, items) => metrics.recordCapture(operation, items),
    events: events.captures,
  }

  const userTokens = createUserTokens(platform, introspectionEventLog({ sinks, activity, clock }))
  // HTTP and MCP share one limiter, so that an agent has the same allowance in both. A lane has none, because the serving
  // process has counted the request.
  const perSecond = overrides.lane === undefined ? settings.agentRequestsPerS : 0
  const rateLimiter = createRateLimiter(perSecond, settings.agentBurst, () => clock.now())
  const mcp = createMcpEndpoint(platform, { decisions, mask, contexts, queries, userTokens, rateLimiter })

  // Complete what a crash interrupted, before the first request.
  await config.resume(isSoleProcess ? 'instance' : 'process')
  await provisioning.replayIntents()
  return {
    events,
    audit,
    isSealedHere,
    requestEvents,
    provisioning,
    config,
    capture,
    mask,
    logFile,
    policies,
    queries,
    decisions,
    contexts,
    userTokens,
    rateLimiter,
    mcp,
  }
}
