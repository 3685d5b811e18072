// When the runs of a pipeline with a rerun interval are due: every so many hours, at an offset of its own.
import { lastPeriodStartMs } from '../kernel/time/period-schedule.ts'

/** The intervals, with their hours. Each divides a day, so that runs are due at the same times of each day. */
export const rerunIntervals = { '1h': 1, '2h': 2, '3h': 3, '4h': 4, '6h': 6, '8h': 8, '12h': 12, '24h': 24 } as const
/** The interval of a pipeline. */
type RerunInterval = keyof typeof rerunIntervals

/** Whether a stored text is an interval; an empty text is not. */
export function isRerunInterval(text: unknown): text is RerunInterval {
  return typeof text === 'string' && Object.hasOwn(rerunIntervals, text)
}

/** The time between two runs, in milliseconds. */
export function intervalMsOf(interval: RerunInterval): number {
  return rerunIntervals[interval] * 3_600_000
}

/** The last time at or before `nowMs` at which a run was due, in milliseconds since the epoch. */
export function lastRunDueMs(interval: RerunInterval, pipelineId: string, nowMs: number): number {
  return lastPeriodStartMs(rerunIntervals[interval], pipelineId, nowMs)
}
