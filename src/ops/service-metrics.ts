// What the service counts, under the names that the field uses; no identifiers among the labels.
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Counter, type CounterDeltas, type Histogram, Metrics } from './metrics.ts'

export interface ServiceMetrics {
  /** Bound once for a route; `route` is its pattern, `none` for paths without one. */
  requestRecorder(route: string, method: string): (status: number, seconds: number) => void
  recordDecision(event: { readonly kind: string; readonly decision: boolean | null; readonly error: unknown }): void
  recordPolicyFault(): void
  recordCapture(operation: string, items: number): void
  /** Adds what a lane has counted. */
  addDeltas(counts: CounterDeltas): void
  /** For a lane: what was counted since the last call. */
  takeDeltas(): CounterDeltas
  /** Where there are lanes. */
  registerLanes(read: () => LaneStats): void
  /** Where there is a decision log; `lost`: lines of it that were never written. */
  registerDecisionLog(lost: () => number): void
  text(): Promise<string>
}

export interface LaneStats {
  readonly ready: number
  readonly running: number
  readonly waiting: number
  readonly killed: number
  readonly answered: number
}

/** From a tenth of a millisecond: a decision takes less than the first bound that libraries begin with. */
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** `worker`: the number of this process among those that share the port; null where it has it alone. */
export function createServiceMetrics(dataDir: string, version: string, worker: number | null): ServiceMetrics {
  const metrics = new Metrics(worker === null ? {} : { worker: String(worker) })
  metrics.sampled('verdigraph_build_info', 'The version that runs.', 'gauge', () => [{ labels: { version }, value: 1 }])
  const durations = metrics.histogram(
    'http_server_request_duration_seconds',
    'From the head of a request to its answer.',
    SECONDS,
  )
  const decisions = metrics.counter(
    'verdigraph_decisions_total',
    'Evaluations that were answered, items of batches too.',
  )
  const permit = decisions({ decision: 'permit' })
  const deny = decisions({ decision: 'deny' })
  const searches = metrics.counter('verdigraph_searches_total', 'Searches that were answered.')({})
  const refused = metrics.counter('verdigraph_questions_refused_total', 'Questions that were not answered.')({})
  const faults = metrics.counter('verdigraph_policy_faults_total', 'Policies that faulted, and so did not grant.')({})
  const captured = metrics.counter('verdigraph_capture_items_total', 'Items of captures that are on disk.')
  const operations = new Map<string, Counter>()
  let storeBytes = 0
  metrics.sampled('verdigraph_store_bytes', 'Files of the data folder.', 'gauge', () => [{ value: storeBytes }])
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
    registerDecisionLog(lost) {
      metrics.sampled(
        'verdigraph_decision_log_lost_total',
        'Lines of the decision log that the disk had no room or no time for.',
        'counter',
        () => [{ value: lost() }],
      )
    },
    addDeltas: (counts) => metrics.addDeltas(counts),
    takeDeltas: () => metrics.takeDeltas(),
    registerLanes(read) {
      const gauge = (name: string, help: string, field: keyof LaneStats): void =>
        metrics.sampled(name, help, 'gauge', () => [{ value: read()[field] }])
      gauge('verdigraph_lanes_ready', 'Lanes that take requests.', 'ready')
      gauge('verdigraph_lane_requests_running', 'Requests that run in a lane.', 'running')
      gauge('verdigraph_lane_requests_waiting', 'Requests that wait for a lane.', 'waiting')
      metrics.sampled('verdigraph_lane_requests_total', 'Requests that lanes have answered.', 'counter', () => [
        { value: read().answered },
      ])
      metrics.sampled('verdigraph_lanes_killed_total', 'Lanes that exceeded the limit of a request.', 'counter', () => [
        { value: read().killed },
      ])
    },
    async text() {
      storeBytes = await bytesIn(dataDir)
      return metrics.text()
    },
  }
}

function registerProcessMetrics(metrics: Metrics): void {
  const startS = Date.now() / 1000 - process.uptime()
  metrics.sampled('process_start_time_seconds', 'When the process started, since 1970.', 'gauge', () => [
    { value: startS },
  ])
  metrics.sampled('process_cpu_seconds_total', 'Time of all cores spent in the process.', 'counter', () => {
    const { user, system } = process.cpuUsage()
    return [{ value: (user + system) / 1e6 }]
  })
  metrics.sampled(
    'process_resident_memory_bytes',
    'Memory of the process, mapped pages of the store among it.',
    'gauge',
    () => [{ value: process.memoryUsage.rss() }],
  )
  if (process.platform !== 'linux') return
  metrics.sampled('process_open_fds', 'Open files and sockets.', 'gauge', () => [
    { value: readdirSync('/proc/self/fd').length },
  ])
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  if (limit === undefined) return
  metrics.sampled('process_max_fds', 'Open files and sockets that the process may have.', 'gauge', () => [
    { value: Number(limit) },
  ])
}

/** Of all files below a folder. Files that are removed during the walk are left out. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const path of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, path)).catch(() => null)
    if (found?.isFile() === true) bytes += found.blocks * 512
  }
  return bytes
}
