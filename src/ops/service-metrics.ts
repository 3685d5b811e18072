// The metrics of the service, under conventional names (OpenTelemetry, Prometheus). Labels contain no identifiers.
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { exemplarOf, type RequestTrace } from '../kernel/request/request-trace.ts'
import type { MetricsFormat } from '../kernel/text/metrics-format.ts'
import { type Counter, type CounterDeltas, type Histogram, type MetricSample, Metrics } from './metrics.ts'

/** The metrics of the service. */
export interface ServiceMetrics {
  /**
   * Returns a recorder for one route and method. `route`: the path pattern, or `none` for unknown paths. The recorder
   * takes the status, the duration in seconds, and the id of the trace if it is sampled.
   */
  requestRecorder(route: string, method: string): (status: number, seconds: number, traceId?: string | null) => void
  /** Records an evaluation or search. */
  recordDecision(decided: DecidedRequest): void
  /** Records a policy that failed and therefore did not grant. */
  recordPolicyFault(): void
  /** Records captured items. */
  recordCapture(operation: string, items: number): void
  /** Records written elements that the declared types of their project do not allow. */
  recordUnfit(items: number): void
  /** Adds the increments of a lane. */
  addDeltas(counts: CounterDeltas): void
  /** In a lane: returns the increments since the last call. */
  takeDeltas(): CounterDeltas
  /** Registers the lane metrics. */
  registerLanes(read: () => LaneStats): void
  /** Registers the metrics of the processes that the service starts. */
  registerProcesses(figures: ProcessTotals): void
  /** Registers the metrics of event delivery. `read`: called before each scrape. */
  registerEventDelivery(read: () => Promise<readonly DeliveryTotals[]>): void
  /** Registers the metrics of the audit logs. */
  registerAudit(read: () => AuditTotals): void
  /** Registers the metrics of the shipping of changes. */
  registerShipping(read: () => ShippingTotals): void
  /** Registers the metrics of scheduled backups. */
  registerBackups(read: () => BackupTotals): void
  /** Registers the metrics of graphs in database servers. `read`: called at each scrape. */
  registerDatabases(read: () => DatabaseTotals): void
  /** Registers the metrics of a configuration that several instances share. */
  registerSharedConfiguration(read: () => SharedConfigurationFigures): void
  /** Registers the decision log metric. `lost`: returns the number of lines that were never written. */
  registerDecisionLog(lost: () => number): void
  /** Registers the metric of events. `dropped`: returns the number of events that were never written. */
  registerEvents(dropped: () => number): void
  /** The figures of this process since its start. */
  figures(): ProcessFigures
  /** Counts the spans of traces. */
  readonly spans: {
    exported(spans: number): void
    dropped(reason: 'queue_full' | 'export_failed', spans: number): void
  }
  /** All metrics. Rejects if the data folder cannot be read. */
  text(format?: MetricsFormat): Promise<string>
}

/** An answered evaluation or search. */
interface DecidedRequest {
  /** Null: a search, or a request that failed with `error`. */
  readonly decision: boolean | null
  readonly error: unknown
  readonly durationMs: number
  /** `route`: its path template; absent: no HTTP request. `trace`: of the request; absent or null: it is not traced. */
  readonly origin: { readonly route?: string; readonly trace?: RequestTrace | null }
}

/** Database servers of a process, and what it asked them since its start. */
interface DatabaseTotals {
  readonly reachable: number
  readonly unreachable: number
  readonly queries: number
  readonly failures: number
  /** Queries that a server executed as a whole, and those that the engine executed over what it read from a server. */
  readonly pushed: number
  readonly executed: number
}

/** The copy of a configuration that several instances share. */
export interface SharedConfigurationFigures {
  /** Seconds since the copy was known to be the newest; null: never since the start. */
  readonly ageS: number | null
  /** Whether this instance does the work that only one instance does. */
  readonly isLeading: boolean
}

/** Counts and times of a process since its start. */
export interface ProcessFigures {
  /** RFC 3339. */
  readonly startTime: string
  readonly cpuSeconds: number
  readonly residentBytes: number
  readonly granted: number
  readonly denied: number
  readonly searches: number
  readonly questionsRefused: number
  readonly policyFaults: number
  readonly capturedItems: number
  readonly requests: number
  /** Answers with a status from 500. */
  readonly serverErrors: number
  /** Answered evaluations by duration: the number in each bucket of `durationBoundsS`, and above them. */
  readonly evaluationTimes: readonly number[]
  /** Null: the process has no lanes. */
  readonly lanes: LaneStats | null
}

/** The processes that a service starts, by kind. */
interface ProcessTotals {
  /** Kinds that have exited unexpectedly, and whose replacement does not work yet. */
  replaced(): readonly string[]
  exits(): readonly { readonly process: string; readonly cause: string; readonly count: number }[]
}

/** State of the sealing of audit records. */
export interface AuditTotals {
  readonly unsealed: number
  readonly sealed: number
  /** Since the records were last sealed, or found to be sealed, in seconds. */
  readonly ageS: number
  /** Since the oldest failing signature of a customer's key is due, in seconds; 0: none fails. */
  readonly signatureOverdueS: number
  readonly signatureFailures: number
}

/** State of the shipping of changes. */
export interface ShippingTotals {
  /** Since the newest moment that can be restored, in seconds. */
  readonly lagS: number
  /** Since the last base, in seconds. */
  readonly generationAgeS: number
  readonly objects: number
  readonly bytes: number
  readonly failures: number
}

/** State of the lanes of a process. */
export interface LaneStats {
  readonly ready: number
  readonly running: number
  readonly waiting: number
  readonly killed: number
  readonly answered: number
}

/** Sums over the providers of one kind in all projects. */
export interface DeliveryTotals {
  /** Name of the provider kind. */
  readonly kind: string
  readonly providers: number
  /** Providers whose last attempt failed. */
  readonly failing: number
  readonly pending: number
  readonly pendingBytes: number
  /** The largest age, in seconds. */
  readonly oldestS: number
  readonly delivered: number
  /** Delivered events per second. */
  readonly rate: number
  readonly failed: number
  readonly deadLettered: number
  readonly deadLettersDropped: number
  readonly skipped: number
}

/** The scheduled backups and drills. */
export interface BackupTotals {
  /** By the job: `backup` or `drill`. */
  readonly jobs: readonly { readonly job: string; readonly overdueS: number; readonly failures: number }[]
  /** Seconds since the epoch; null: no backup. */
  readonly newestS: number | null
  readonly newestBytes: number | null
  readonly provenS: number | null
}

/** A metric that is sampled from a member of totals. */
type SampledMetric<Member> = readonly [name: string, help: string, type: 'gauge' | 'counter', member: Member]

/** The metrics of the audit logs. */
const auditMetrics: readonly SampledMetric<keyof AuditTotals>[] = [
  ['verdigraph_audit_unsealed_records', 'Audit records that wait to be sealed.', 'gauge', 'unsealed'],
  ['verdigraph_audit_sealed_records_total', 'Audit records that were sealed.', 'counter', 'sealed'],
  [
    'verdigraph_audit_last_seal_age_seconds',
    'Time since the audit records were last sealed, or found to be sealed. Grows while they cannot be sealed.',
    'gauge',
    'ageS',
  ],
  [
    'verdigraph_audit_customer_signature_overdue_seconds',
    'Time since which the oldest failing signature of a customer-managed key is due. 0: none fails.',
    'gauge',
    'signatureOverdueS',
  ],
  [
    'verdigraph_audit_customer_signature_failures_total',
    'Signatures of customer-managed keys that failed.',
    'counter',
    'signatureFailures',
  ],
]

/** The metrics of the shipping of changes. */
const shippingMetrics: readonly SampledMetric<keyof ShippingTotals>[] = [
  [
    'verdigraph_shipping_lag_seconds',
    'Time since the newest moment that can be restored from the shipped changes. Grows while they cannot be shipped.',
    'gauge',
    'lagS',
  ],
  ['verdigraph_shipping_generation_age_seconds', 'Time since all data was last shipped.', 'gauge', 'generationAgeS'],
  ['verdigraph_shipping_objects_total', 'Objects with data or changes that were shipped.', 'counter', 'objects'],
  ['verdigraph_shipping_bytes_total', 'Size of these objects.', 'counter', 'bytes'],
  ['verdigraph_shipping_failures_total', 'Failed attempts to ship changes.', 'counter', 'failures'],
]

/** The metrics of event delivery. */
const deliveryMetrics: readonly SampledMetric<Exclude<keyof DeliveryTotals, 'kind'>>[] = [
  ['verdigraph_event_providers', 'Providers of event sinks.', 'gauge', 'providers'],
  ['verdigraph_event_providers_failing', 'Providers whose last delivery failed.', 'gauge', 'failing'],
  [
    'verdigraph_events_pending',
    'Stored events that a provider has not received, counted for each provider of a sink.',
    'gauge',
    'pending',
  ],
  ['verdigraph_events_pending_bytes', 'Size of the records of these events.', 'gauge', 'pendingBytes'],
  ['verdigraph_events_oldest_pending_seconds', 'Age of the oldest pending event.', 'gauge', 'oldestS'],
  ['verdigraph_events_delivered_total', 'Events that providers have acknowledged.', 'counter', 'delivered'],
  [
    'verdigraph_events_delivered_per_second',
    'Events that providers have acknowledged per second, on average over the last minute.',
    'gauge',
    'rate',
  ],
  ['verdigraph_event_deliveries_failed_total', 'Failed attempts to deliver events.', 'counter', 'failed'],
  [
    'verdigraph_events_dead_lettered_total',
    'Events that providers refused for good, and that became dead letters.',
    'counter',
    'deadLettered',
  ],
  [
    'verdigraph_event_dead_letters_dropped_total',
    'Dead letters that were dropped because those of their provider exceeded their bound.',
    'counter',
    'deadLettersDropped',
  ],
  [
    'verdigraph_events_skipped_total',
    'Events that were dropped because the backlog of their provider exceeded its bounds.',
    'counter',
    'skipped',
  ],
]

/** The upper bounds of the buckets of request durations, in seconds. */
export const durationBoundsS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** Buckets from 50 µs: a decision takes less than the first default bucket of client libraries. */
const DECISION_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

/** Creates the metrics. `worker`: the number of this process among those that share the port; null if it is alone. */
export function createServiceMetrics(dataDir: string, version: string, worker: number | null): ServiceMetrics {
  const metrics = new Metrics(worker === null ? {} : { worker: String(worker) })
  metrics.sampled('verdigraph_build_info', 'The running version.', 'gauge', () => [{ labels: { version }, value: 1 }])
  const durations = metrics.histogram(
    'http_server_request_duration_seconds',
    'Time from request headers to response.',
    durationBoundsS,
  )
  const decisions = metrics.counter('verdigraph_decisions_total', 'Evaluations, including items of batches.')
  const permit = decisions({ decision: 'permit' })
  const deny = decisions({ decision: 'deny' })
  const decisionDurations = metrics.histogram(
    'verdigraph_decision_duration_seconds',
    'Time of an evaluation or a search, without reading the request and writing the answer. Each item of a batch counts.',
    DECISION_SECONDS,
    { isShared: true },
  )
  const decisionDurationsByRoute = new Map<string, Histogram>()
  const searches = metrics.counter('verdigraph_searches_total', 'Searches.')({})
  const refused = metrics.counter(
    'verdigraph_questions_refused_total',
    'Evaluations and searches that failed with an error.',
  )({})
  const faults = metrics.counter(
    'verdigraph_policy_faults_total',
    'Policies that failed and therefore did not grant.',
  )({})
  const captured = metrics.counter('verdigraph_capture_items_total', 'Captured items that were written.')
  const unfit = metrics.counter(
    'verdigraph_unfit_items_total',
    'Written nodes and relationships that the declared types of their project do not allow.',
  )({})
  const operations = new Map<string, Counter>()
  const recorded: RecordedDuration[] = []
  let readLanes: (() => LaneStats) | null = null
  const spansExported = metrics.counter('verdigraph_spans_exported_total', 'Spans that the collector has accepted.')({})
  const spansDropped = metrics.counter(
    'verdigraph_spans_dropped_total',
    'Spans that were dropped because their queue was full, or because the collector did not accept them.',
  )
  const droppedBy = {
    queue_full: spansDropped({ reason: 'queue_full' }),
    export_failed: spansDropped({ reason: 'export_failed' }),
  }
  let storeBytes = 0
  let freeBytes = 0
  let readDelivery: (() => Promise<readonly DeliveryTotals[]>) | null = null
  let delivery: readonly DeliveryTotals[] = []
  metrics.sampled('verdigraph_store_bytes', 'Size of the data folder.', 'gauge', () => [{ value: storeBytes }])
  metrics.sampled(
    'verdigraph_disk_free_bytes',
    'Free space for this user on the file system of the data folder.',
    'gauge',
    () => [{ value: freeBytes }],
  )
  registerProcessMetrics(metrics)

  const sampleAll = <Totals extends Readonly<Record<Member, number>>, Member extends string>(
    sampled: readonly SampledMetric<Member>[],
    read: () => Totals,
  ): void => {
    for (const [name, help, type, member] of sampled)
      metrics.sampled(name, help, type, () => [{ value: read()[member] }])
  }

  return {
    requestRecorder(route, method) {
      const labels = { http_request_method: method, http_route: route }
      const byStatus: (Histogram | undefined)[] = []
      const isEvaluation = EVALUATION_ROUTES.includes(route)
      const create = (status: number): Histogram => {
        const histogram = durations({ ...labels, http_response_status_code: String(status) })
        recorded.push({ isEvaluation, status, histogram })
        return histogram
      }
      return (status, seconds, traceId) => {
        byStatus[status] ??= create(status)
        byStatus[status]?.observe(seconds, traceId)
      }
    },
    recordDecision({ decision, error, durationMs, origin }) {
      if (decision !== null) (decision ? permit : deny).add(1)
      else (error === null ? searches : refused).add(1)
      const { route = 'none' } = origin
      let histogram = decisionDurationsByRoute.get(route)
      if (histogram === undefined) {
        histogram = decisionDurations({ http_route: route })
        decisionDurationsByRoute.set(route, histogram)
      }
      histogram.observe(durationMs / 1000, exemplarOf(origin.trace))
    },
    recordPolicyFault: () => faults.add(1),
    recordUnfit: (items) => unfit.add(items),
    spans: {
      exported: (spans) => spansExported.add(spans),
      dropped: (reason, spans) => droppedBy[reason].add(spans),
    },
    recordCapture(operation, items) {
      const counter = operations.get(operation) ?? captured({ operation })
      operations.set(operation, counter)
      counter.add(items)
    },
    registerEventDelivery(read) {
      readDelivery = read
      for (const [name, help, type, member] of deliveryMetrics)
        metrics.sampled(name, help, type, () =>
          delivery.map((totals) => ({ labels: { provider_kind: totals.kind }, value: totals[member] })),
        )
    },
    registerProcesses(figures) {
      metrics.sampled(
        'verdigraph_process_exits_total',
        'Processes of the service that exited unexpectedly: killed by the system for lack of memory (`oom`), killed because they hung or exceeded a limit (`hung`, `killed`), or by themselves (`failed`).',
        'counter',
        () => figures.exits().map(({ process, cause, count }) => ({ labels: { process, cause }, value: count })),
      )
      metrics.sampled(
        'verdigraph_process_replacing',
        '1: the process has hung or exited, and its replacement does not work yet.',
        'gauge',
        () =>
          ['background', 'matcher', 'shipper'].map((process) => ({
            labels: { process },
            value: figures.replaced().includes(process) ? 1 : 0,
          })),
      )
    },
    registerAudit(read) {
      sampleAll(auditMetrics, read)
    },
    registerShipping(read) {
      sampleAll(shippingMetrics, read)
    },
    registerBackups(read) {
      const known = (value: number | null): readonly MetricSample[] => (value === null ? [] : [{ value }])
      const gauge = (name: string, help: string, samples: () => readonly MetricSample[]): void =>
        metrics.sampled(name, help, 'gauge', samples)
      gauge(
        'verdigraph_backup_overdue_seconds',
        'Time since a scheduled backup, or a drill, is due and not done. 0: none is due. Grows while it fails.',
        () => read().jobs.map(({ job, overdueS }) => ({ labels: { job_kind: job }, value: overdueS })),
      )
      gauge('verdigraph_backup_failed_runs', 'Failed runs since the last one that succeeded.', () =>
        read().jobs.map(({ job, failures }) => ({ labels: { job_kind: job }, value: failures })),
      )
      gauge(
        'verdigraph_backup_newest_timestamp_seconds',
        'Time of the newest scheduled backup since the Unix epoch in seconds.',
        () => known(read().newestS),
      )
      gauge('verdigraph_backup_newest_bytes', 'Size of the newest scheduled backup as it is stored.', () =>
        known(read().newestBytes),
      )
      gauge(
        'verdigraph_backup_proven_timestamp_seconds',
        'Time of the newest backup that a scheduled drill has restored, since the Unix epoch in seconds.',
        () => known(read().provenS),
      )
    },
    registerDatabases(read) {
      metrics.sampled('verdigraph_database_servers', 'Database servers with graphs of this service.', 'gauge', () => {
        const { reachable, unreachable } = read()
        return [
          { labels: { state: 'reachable' }, value: reachable },
          { labels: { state: 'unreachable' }, value: unreachable },
        ]
      })
      metrics.sampled('verdigraph_database_queries_total', 'Queries to database servers.', 'counter', () => [
        { value: read().queries },
      ])
      metrics.sampled(
        'verdigraph_database_failures_total',
        'Queries and connections that failed because a database server could not be reached.',
        'counter',
        () => [{ value: read().failures }],
      )
      metrics.sampled(
        'verdigraph_database_conditions_total',
        'Conditions and knowledge queries on graphs in database servers: executed by the `server` as a whole, or by the `engine` over what it read from the server.',
        'counter',
        () => [
          { labels: { by: 'server' }, value: read().pushed },
          { labels: { by: 'engine' }, value: read().executed },
        ],
      )
    },
    registerSharedConfiguration(read) {
      metrics.sampled(
        'verdigraph_config_age_seconds',
        'Time since the copy of the shared configuration was known to be the newest. Absent: not since the start.',
        'gauge',
        () => {
          const { ageS } = read()
          return ageS === null ? [] : [{ value: ageS }]
        },
      )
      metrics.sampled(
        'verdigraph_config_leader',
        '1: this instance runs the schedules of all instances that share the configuration.',
        'gauge',
        () => [{ value: read().isLeading ? 1 : 0 }],
      )
    },
    registerDecisionLog(lost) {
      metrics.sampled(
        'verdigraph_decision_log_lost_total',
        'Lines of the decision log that were dropped because the disk was full or too slow.',
        'counter',
        () => [{ value: lost() }],
      )
    },
    registerEvents(dropped) {
      metrics.sampled(
        'verdigraph_events_dropped_total',
        'Events of decisions and reads that were dropped because the disk refused writes, or because they could not be encoded.',
        'counter',
        () => [{ value: dropped() }],
      )
    },
    addDeltas: (counts) => metrics.addDeltas(counts),
    takeDeltas: () => metrics.takeDeltas(),
    registerLanes(read) {
      readLanes = read
      const gauge = (name: string, help: string, field: keyof LaneStats): void =>
        metrics.sampled(name, help, 'gauge', () => [{ value: read()[field] }])
      gauge('verdigraph_lanes_ready', 'Lanes that accept requests.', 'ready')
      gauge('verdigraph_lane_requests_running', 'Requests running in lanes.', 'running')
      gauge('verdigraph_lane_requests_waiting', 'Requests waiting for a lane.', 'waiting')
      metrics.sampled('verdigraph_lane_requests_total', 'Requests completed in lanes.', 'counter', () => [
        { value: read().answered },
      ])
      metrics.sampled(
        'verdigraph_lanes_killed_total',
        'Lanes killed because a request exceeded its limit.',
        'counter',
        () => [{ value: read().killed }],
      )
    },
    figures() {
      const { user, system } = process.cpuUsage()
      const times = durationBoundsS.map(() => 0).concat(0)
      let requests = 0
      let serverErrors = 0
      for (const { isEvaluation, status, histogram } of recorded) {
        for (let bucket = 0; bucket < times.length; bucket++) {
          const count = histogram.counts[bucket] ?? 0
          requests += count
          if (status >= 500) serverErrors += count
          if (isEvaluation && status < 500) times[bucket] = (times[bucket] ?? 0) + count
        }
      }
      return {
        startTime: new Date(startMs()).toISOString(),
        cpuSeconds: (user + system) / 1e6,
        residentBytes: process.memoryUsage.rss(),
        granted: permit.value,
        denied: deny.value,
        searches: searches.value,
        questionsRefused: refused.value,
        policyFaults: faults.value,
        capturedItems: [...operations.values()].reduce((sum, { value }) => sum + value, 0),
        requests,
        serverErrors,
        evaluationTimes: times,
        lanes: readLanes?.() ?? null,
      }
    },
    async text(format) {
      storeBytes = await bytesIn(dataDir)
      const { bavail, bsize } = await statfs(dataDir)
      freeBytes = bavail * bsize
      delivery = (await readDelivery?.()) ?? []
      return metrics.text(format)
    },
  }
}

/** The histogram of one route, method and status. */
interface RecordedDuration {
  readonly isEvaluation: boolean
  readonly status: number
  readonly histogram: Histogram
}

/** Their answers are the decisions whose times an operator looks at. */
const EVALUATION_ROUTES: readonly string[] = ['/access/v1/evaluation', '/access/v1/evaluations']

/** Milliseconds since the epoch. */
function startMs(): number {
  return Date.now() - process.uptime() * 1000
}

function registerProcessMetrics(metrics: Metrics): void {
  const startS = startMs() / 1000
  metrics.sampled(
    'process_start_time_seconds',
    'Start time of the process since the Unix epoch in seconds.',
    'gauge',
    () => [{ value: startS }],
  )
  metrics.sampled('process_cpu_seconds_total', 'Total user and system CPU time in seconds.', 'counter', () => {
    const { user, system } = process.cpuUsage()
    return [{ value: (user + system) / 1e6 }]
  })
  metrics.sampled(
    'process_resident_memory_bytes',
    'Resident memory of the process, including mapped pages of the store.',
    'gauge',
    () => [{ value: process.memoryUsage.rss() }],
  )
  if (process.platform !== 'linux') return
  metrics.sampled('process_open_fds', 'Number of open file descriptors.', 'gauge', () => [
    { value: readdirSync('/proc/self/fd').length },
  ])
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  if (limit === undefined) return
  metrics.sampled('process_max_fds', 'Maximum number of open file descriptors.', 'gauge', () => [
    { value: Number(limit) },
  ])
}

/** Size on disk of all files below a folder. Skips files that are deleted during the walk. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const path of await readdir(folder, { recursive: true })) {
    const file = await stat(join(folder, path)).catch(() => null)
    if (file?.isFile() === true) bytes += file.blocks * 512
  }
  return bytes
}
