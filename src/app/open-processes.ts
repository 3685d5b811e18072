// Opens the work that no request waits for, and the processes that do it: the third of four steps.

import { BackgroundJobs } from '../background/background-jobs.ts'
import type { BackgroundProcess } from '../background/background-process.ts'
import type { ShippingProcess } from '../backup/shipping/shipping-process.ts'
import { shippingTotals } from '../backup/shipping/shipping-status.ts'
import type { LanePool } from '../lanes/lane-pool.ts'
import type { EntityMatching } from '../matching/entity-matching.ts'
import type { MatchingOperations } from '../matching/matching-operations.ts'
import type { TrustScoring } from '../trust/trust-scoring.ts'
import { createBackgroundProcess, createEventDispatcher } from './event-delivery.ts'
import { createLanePool } from './lanes.ts'
import { createEntityMatching, createMatchingOperations } from './matching.ts'
import type { OpenedFeatures } from './open-features.ts'
import { leadership, type Platform } from './open-store.ts'
import type { AppOverrides } from './overrides.ts'
import { createShippingProcess } from './shipping.ts'
import { createTrustScoring } from './trust.ts'

/** The work of a process that no request waits for, and the processes that do it. */
export interface OpenedProcesses {
  /** The process that ships changes to a place of backups; null: this process has none. */
  readonly shipping: ShippingProcess | null
  /** The background process; null: this process has none. It is started when the service listens. */
  readonly background: BackgroundProcess | null
  /** Passes of trust score profiles in this process. */
  readonly trust: TrustScoring
  /** Runs of entity matching pipelines in this process. */
  readonly entityMatching: EntityMatching
  /** The operations of requests on entity matching pipelines. */
  readonly matching: MatchingOperations
  /** The lanes: processes that execute requests of this one; null: it executes them itself. */
  readonly lanes: LanePool | null
}

/** Opens the work of a process, and the processes that it starts. Everything opened is added to `stack`. */
export function openProcesses(
  platform: Platform,
  { events, provisioning, config, mcp, policies, queries }: OpenedFeatures,
  overrides: AppOverrides,
  stack: AsyncDisposableStack,
): OpenedProcesses {
  const {
    process: { settings, signal, processNumber, inlineMs },
    reports: { report, metrics, processes },
    configuration: { documents },
  } = platform
  const { backgroundCommand } = overrides
  const jobs = new BackgroundJobs({
    dataDir: settings.dataDir,
    signal,
    documents,
    provisioning,
    config,
    mcp,
    events,
    indexes: [policies, queries],
    report,
    isSoleProcess: processNumber === null,
    ...leadership(platform),
  })
  stack.adopt(jobs, (running) => running.close())
  jobs.start()
  const { shippingCommand } = overrides
  const isShipping = settings.shipTo !== '' && overrides.lane === undefined
  if (overrides.lane === undefined) metrics.registerProcesses(processes)
  if (isShipping) metrics.registerShipping(shippingTotals(settings.dataDir))
  const shipping =
    isShipping && shippingCommand !== undefined
      ? createShippingProcess(platform, shippingCommand, overrides.supervision)
      : null
  // Closed after the background process, whose last changes are then shipped.
  if (shipping !== null) stack.adopt(shipping, (running) => running.close()).start()
  const background =
    backgroundCommand === undefined ? null : createBackgroundProcess(platform, backgroundCommand, overrides.supervision)
  if (background !== null) stack.adopt(background, (running) => running.close())
  const trust = stack.adopt(createTrustScoring(platform, events), (opened) => opened.close())
  const entityMatching = stack.adopt(createEntityMatching(platform, events), (opened) => opened.close())
  const matching = createMatchingOperations(platform, events)
  const { eventDelivery } = overrides
  if (eventDelivery !== undefined)
    stack.adopt(createEventDispatcher(platform, events, eventDelivery.random), (running) => running.close()).start()
  // Lanes write, so they take over the jobs that write. This process stays free to answer.
  const { laneCommand = [] } = overrides
  const lanes = inlineMs !== null ? createLanePool(platform, laneCommand, () => jobs.handOver(), overrides) : null
  if (lanes !== null) stack.defer(() => lanes.close(settings.drainMs))
  return { shipping, background, trust, entityMatching, matching, lanes }
}
