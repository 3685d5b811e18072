// When an operator changes each setting. The reference and `verdigraph settings` derive from it which settings are listed first.
import type { SettingField } from '../../settings.ts'

/**
 * When to change a setting, as the rest of a sentence that begins with "Change it"; null for an advanced one: a limit that protects
 * the service, or a detail of tuning, to be looked up when an error or a metric names it.
 */
const changeWhen: { readonly [F in SettingField]: string | null } = {
  dataDir: 'in every installation: name a folder on a local disk with a backup.',
  workers: 'if one processor is always busy with requests and others are idle.',
  supervisor: 'if one worker is enough, and it is to be restarted without a gap.',
  graphsOpenMax: null,
  hotBytesMax:
    'if decisions on a large graph are slower than on a small one and memory is free; lower it on a machine with many projects.',
  drainMs: 'if your service manager waits another time than 10 s before it kills a process.',

  backupFolder: 'to make backups on request or from the console.',
  backupTo: 'to keep backups on another machine or in a bucket.',
  backupSchedule: 'in every installation whose data has no other backup.',
  backupKeep: 'to go back further than a week, or to need less space.',
  backupVerify: 'if the place is too slow to read each backup again.',
  backupRecipients: 'if others can read the place of the backups.',
  backupIdentity: 'if backups are encrypted and the service is to prove them itself.',
  backupWorkFolder: 'if the place of the backups has no space for a second copy, or is slow.',
  drillSchedule: 'to know that backups can be restored before one is needed.',
  drillQuestions: 'if certain decisions must be right after a restore.',
  shipTo: 'if the changes since the last backup must survive the loss of the machine.',
  shipIntervalMs: 'if less, or more, than the changes of five seconds may be lost.',
  shipGenerationHours: null,
  shipKeepHours: 'to go back to any moment further than a week, or to need less space.',

  host: 'to be reached from other machines.',
  port: 'if another program has the port.',
  publicUrl: 'if clients reach the service through a proxy or under a name.',
  tlsCertificate: 'if no proxy in front of the service ends TLS.',
  tlsKey: 'together with `tls_certificate`.',
  idleTimeS: 'if the load balancer keeps idle connections longer than a minute.',
  clientAddressHeader: 'if every connection comes from a proxy, and events are to contain the address of the client.',
  corsOrigins: 'if pages of other origins call the service from a browser.',
  descriptionAccess: 'if the documentation of the interface is not for the public.',
  console: 'to use the console from other machines, or to have none.',
  agentRequestsPerS: 'if one application must not slow the others down.',
  agentBurst: 'if an application with a rate limit asks in bursts.',

  lanes: 'if large requests wait while processors are idle, or if memory is scarce.',
  laneQueueMax: null,
  laneWaitMs: null,
  laneMemoryMax: null,
  writeTimeMs: null,

  bodyBytesMax: 'if captures or policies are refused because of their size.',
  bodyTotalBytesMax: null,
  bodyTimeMs: null,
  jsonValuesMax: null,

  policyTextMax: null,
  inputStringMax: null,
  decisionTimeMs: 'to answer earlier, or if searches of a large graph end with this limit.',
  traversalStepsMax: null,
  rowsHeldMax: null,
  questionBytesMax: null,
  evaluationsMax: 'if clients send larger batches.',
  batchTimeMs: null,
  searchPageMax: null,
  pageTokenTimeS: null,

  captureItemsMax: 'if clients capture more items in one request.',
  executeTimeMs: 'if a knowledge query ends with this limit.',
  batchReadTimeMs: null,
  executeWritesMax: null,
  executeAnswerMax: null,

  mcpSessionTimeS: null,
  mcpPageMax: null,
  watchStreamsMax: null,
  mcpStreamsMax: null,

  upstreamAllow: 'if an identity provider, a resolver or a provider of events has an address in a private network.',
  upstreamTimeMs: 'if an identity provider or a resolver is slower than five seconds.',
  upstreamBytesMax: null,
  resolverCallsMax: null,
  resolverParallel: null,
  resolverCacheMs: 'if a resolver is slow, and an answer may be somewhat old.',

  databaseConnectionsMax: 'if the database server allows fewer connections, or requests wait for one.',
  databaseConnectTimeMs: null,
  databaseTimeMs: null,
  databaseRetryMs: null,
  configStore: 'if several instances are to share one configuration.',
  configStoreUsername: 'together with `config_store`.',
  configStorePassword: 'together with `config_store`.',
  configStoreAgeMaxMs: null,

  eventActivityStrict:
    'if no event of a decision or a read may be lost at a crash; answers take the time of a disk write longer.',
  eventBacklogBytesMax: 'if a provider may be away so long that its events need more space, or if space is scarce.',
  eventBacklogAgeMaxS: 'if events must wait longer than a week for a provider.',
  eventDeadLetterBytesMax: null,

  audit: 'if nothing may be recorded.',
  auditDecisions: 'if it must be provable later what was decided.',
  auditDecisionsSampleRate: 'together with `audit_decisions` `sampled`.',
  auditOrigin: 'if several services have audit logs.',
  auditKeyRotationDays: 'if your rules demand another period.',
  auditSignatureIntervalS: null,
  auditRetentionDays: 'if entries must not be kept without end.',

  logLevel: 'to log less.',
  accessLog: 'to see each request, for a while.',
  decisionLog: 'to see what is decided: the console and `tail` read it.',
  decisionLogPercent: 'if the decision log grows too fast.',
  parameterMask: 'if logs may contain the values of parameters.',
  logBufferBytes: null,
  metricsAccess: 'if your monitoring cannot send a token.',
  metricsToken: 'for Prometheus, if its token comes from the environment.',
  metricsTokenFile: 'for Prometheus, if its token is to be changed without a restart.',

  otlpEndpoint: 'to trace requests.',
  otlpTracesEndpoint: 'if the collector takes spans at another path.',
  otlpHeaders: 'if the collector asks for credentials.',
  otlpProtocol: null,
  otlpTimeoutMs: null,
  tracesExporter: 'if the environment has an endpoint for other programs.',
  tracesDisabled: 'if the environment has an endpoint for other programs.',
  tracesSampler: 'if tracing every request is too much.',
  tracesSamplerShare: 'together with `OTEL_TRACES_SAMPLER`.',
  otelServiceName: 'if several services send traces to one collector.',
  otelResource: 'to distinguish environments or regions.',
  spanQueueMax: null,
  spanBatchMax: null,
  spanDelayMs: null,
}

/** Whether a setting is advanced: a limit or a detail of tuning, to be looked up when an error or a metric names it. */
export function isAdvanced(field: SettingField): boolean {
  return changeWhen[field] === null
}

/** When to change a setting, as a sentence; null for an advanced one. */
export function adviceOf(field: SettingField): string | null {
  const when = changeWhen[field]
  return when === null ? null : `${when.charAt(0).toUpperCase()}${when.slice(1)}`
}
