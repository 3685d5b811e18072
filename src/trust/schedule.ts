// When the passes of a profile are due: the schedules of the interface as cron patterns in UTC, shifted by a constant offset for
// each profile, so that the passes of an installation do not begin at the same time.
import { Cron } from 'croner'
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
  const hours = hoursOf[schedule]
  const offsetS = hashOf(profileId) % (hours * 3600)
  const first = Math.floor(offsetS / 3600)
  const all = Array.from({ length: 24 / hours }, (_, i) => first + i * hours)
  return `${offsetS % 60} ${Math.floor(offsetS / 60) % 60} ${all.join(',')} * * *`
}

/** The last time at or before `nowMs` at which a pass was due, in milliseconds since the epoch. */
export function lastDueMs(schedule: TrustScoreSchedule, profileId: string, nowMs: number): number {
  const cron = cronOf(schedule, profileId)
  // A run at the reference itself is not a previous one.
  const [last] = cron.previousRuns(1, new Date(nowMs + 1000))
  if (last !== undefined && last.getTime() <= nowMs) return last.getTime()
  const [before] = cron.previousRuns(1, new Date(nowMs))
  return before === undefined ? Number.NEGATIVE_INFINITY : before.getTime()
}

/** Without a function it schedules nothing and only computes times. */
function cronOf(schedule: TrustScoreSchedule, profileId: string): Cron {
  return new Cron(patternOf(schedule, profileId), { timezone: 'UTC' })
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return hash
}
