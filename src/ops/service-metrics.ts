// The metrics of the service, under conventional names (OpenTelemetry, Prometheus). Labels contain no identifiers.
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Counter, type CounterDeltas, type Histogram, Metrics } from './metrics.ts'

/** The metrics of the service. */
export interface ServiceMetrics {
  /**
   * Returns a recorder for one route and method. `route`: the path pattern, or `none` for unknown paths. The recorder
   * takes the status and the duration in seconds.
   */
  requestRecorder(route: string, method: string): (status: number, seconds: number) => void
  /** Records an evaluation or search. `decision` null: a search, or a request that failed with `error`. */
  recordDecision(event: { readonly kind: string; readonly decision: boolean | null; readonly error: unknown }): void
  /** Records a policy that failed and therefore did not grant. */
  recordPolicyFault(): void
  /** Records captured items. */
  recordCapture(operation: string, items: number): void
  /** Adds the increments of a lane. */
  addDeltas(counts: CounterDeltas): void
  /** In a lane: returns the increments since the last call. */
  takeDeltas(): CounterDeltas
  /** Registers the lane metrics. */
  registerLanes(read: () => LaneStats): void
  /** Registers the metrics of event delivery. `read`: called before each scrape. */
  registerEventDelivery(read: () => Promise<readonly DeliveryTotals[]>): void
  /** Registers the metrics of the audit logs. */
  registerAudit(read: () => AuditTotals): void
  /** Registers the decision log metric. `lost`: returns the number of lines that were never written. */
  registerDecisionLog(lost: () => number): void
  /** Registers the metric of events. `dropped`: returns the number of events that were never written. */
  registerEvents(dropped: () => number): void
  /** All metrics in the Prometheus text format. Rejects if the data folder cannot be read. */
  text(): Promise<string>
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

/** The metrics of the audit logs. */
const auditMetrics: readonly (readonly [
  name: string,
  help: string,
  type: 'gauge' | 'counter',
  member: keyof AuditTotals,
])[] = [
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

/** The metrics of event delivery. */
const deliveryMetrics: readonly (readonly [
  name: string,
  help: string,
  type: 'gauge' | 'counter',
  member: Exclude<keyof DeliveryTotals, 'kind'>,
])[] = [
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

/** Buckets from 0.1 ms: a decision takes less than the first default bucket of client libraries. */
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Creates the metrics. `worker`: the number of this process among those that share the port; null if it is alone. */
export function createServiceMetrics(dataDir: string, version: string, worker: number | null): ServiceMetrics {
  const metrics = new Metrics(worker === null ? {} : { worker: String(worker) })
  metrics.sampled('verdigraph_build_info', 'The running version.', 'gauge', () => [{ labels: { version }, value: 1 }])
  const durations = metrics.histogram(
    'http_server_request_duration_seconds',
    'Time from request headers to response.',
    SECONDS,
  )
  const decisions = metrics.counter('verdigraph_decisions_total', 'Evaluations, including items of batches.')
  const permit = decisions({ decision: 'permit' })
  const deny = decisions({ decision: 'deny' })
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
  const operations = new Map<string, Counter>()
  let storeBytes = 0
  let readDelivery: (() => Promise<readonly DeliveryTotals[]>) | null = null
  let delivery: readonly DeliveryTotals[] = []
  metrics.sampled('verdigraph_store_bytes', 'Size of the data folder.', 'gauge', () => [{ value: storeBytes }])
  registerProcessMetrics(metrics)

  return {
    requestRecorder(route, method) {
      const labels = { http_request_method: method, http_route: route }
      const byStatus: (Histogram | undefined)[] = []
      return (status, seconds) => {
        byStatus[status] ??= durations({ ...labels, http_response_status_code: String(status) })
        byStatus[status]?.observe(seconds)
      }
    },
    recordDecision({ decision, error }) {
      if (decision !== null) (decision ? permit : deny).add(1)
      else (error === null ? searches : refused).add(1)
    },
    recordPolicyFault: () => faults.add(1),
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
    registerAudit(read) {
      for (const [name, help, type, member] of auditMetrics)
        metrics.sampled(name, help, type, () => [{ value: read()[member] }])
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
    async text() {
      storeBytes = await bytesIn(dataDir)
      delivery = (await readDelivery?.()) ?? []
      return metrics.text()
    },
  }
}

function registerProcessMetrics(metrics: Metrics): void {
  const startS = Date.now() / 1000 - process.uptime()
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
