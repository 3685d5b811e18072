// When something that happens several times a day is due: cron patterns in UTC, shifted by a constant offset for each owner, so that
// the work of an installation does not begin at the same time.
import { Cron } from 'croner'

/** The cron pattern of an owner: seconds, minutes, hours. `hours`: of a period; divides 24. The offset within the period follows from the id. */
export function periodPattern(hours: number, id: string): string {
  const offsetS = hashOf(id) % (hours * 3600)
  const first = Math.floor(offsetS / 3600)
  const all = Array.from({ length: 24 / hours }, (_, i) => first + i * hours)
  return `${offsetS % 60} ${Math.floor(offsetS / 60) % 60} ${all.join(',')} * * *`
}

/** The last time at or before `nowMs` at which a period of `hours` begins, in milliseconds since the epoch. Takes a millisecond. */
export function lastPeriodStartMs(hours: number, id: string, nowMs: number): number {
  // Without a function it schedules nothing and only computes times.
  const cron = new Cron(periodPattern(hours, id), { timezone: 'UTC' })
  // A run at the reference itself is not a previous one.
  const [last] = cron.previousRuns(1, new Date(nowMs + 1000))
  if (last !== undefined && last.getTime() <= nowMs) return last.getTime()
  const [before] = cron.previousRuns(1, new Date(nowMs))
  return before === undefined ? Number.NEGATIVE_INFINITY : before.getTime()
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return hash
}

/** Fields of a cron pattern without seconds. */
const CRON_FIELDS = 5

/** The warning about a cron pattern whose first field is seconds: `30 2 * * * *` is due each hour. Null: it has none. */
export function secondsWarning(pattern: string): string | null {
  if (pattern.trim().split(/\s+/).length <= CRON_FIELDS) return null
  return `the pattern \`${pattern}\` has six fields, so the first one is seconds; a pattern of five fields begins with minutes`
}

/** Why a text is not a cron pattern; null: it is one. */
export function cronProblem(pattern: string): string | null {
  try {
    // Such as the 30th of February.
    return new Cron(pattern, { timezone: 'UTC' }).nextRun() === null ? 'it is never due' : null
  } catch (failure) {
    return (failure as Error).message.replace(/^CronPattern: /, '')
  }
}

/** The last time at or before `nowMs` at which a cron pattern is due in UTC, and the next one after it; null: never. */
export function cronTimes(
  pattern: string,
  nowMs: number,
): { readonly lastMs: number | null; readonly nextMs: number | null } {
  const cron = new Cron(pattern, { timezone: 'UTC' })
  const at = new Date(nowMs)
  // A run at the reference itself is not a previous one.
  const last = cron.previousRuns(1, new Date(nowMs + 1000)).find((run) => run.getTime() <= nowMs)
  const earlier = last ?? cron.previousRuns(1, at)[0]
  return { lastMs: earlier?.getTime() ?? null, nextMs: cron.nextRun(at)?.getTime() ?? null }
}
