// When the passes of a profile are due: the schedules of the interface as periods, shifted by a constant offset for each profile.
import { lastPeriodStartMs, periodPattern } from '../kernel/time/period-schedule.ts'
import type { TrustScoreSchedule } from './trust-score-profile.ts'

const hoursOf: Readonly<Record<TrustScoreSchedule, number>> = {
  THREE_HOURS: 3,
  SIX_HOURS: 6,
  TWELVE_HOURS: 12,
  DAILY: 24,
}

/** The time between two passes of a profile, in milliseconds. */
export function periodMsOf(schedule: TrustScoreSchedule): number {
  return hoursOf[schedule] * 3_600_000
}

/** The cron pattern of a profile: seconds, minutes, hours. The offset within the period follows from its id. */
export function patternOf(schedule: TrustScoreSchedule, profileId: string): string {
  return periodPattern(hoursOf[schedule], profileId)
}

/** The last time at or before `nowMs` at which a pass was due, in milliseconds since the epoch. */
export function lastDueMs(schedule: TrustScoreSchedule, profileId: string, nowMs: number): number {
  return lastPeriodStartMs(hoursOf[schedule], profileId, nowMs)
}
