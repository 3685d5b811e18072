// The expiry of credentials: an RFC 3339 timestamp with offset, in the future at creation. Every credential expires.
import { z } from 'zod'
import { err, ok, type Result } from '../kernel/result.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'

/** Default lifetime of a credential created without `expire_time`. */
const LIFETIME_DEFAULT_MS = 365 * 24 * 60 * 60 * 1000

const RFC_3339 = /^\d{4}-(\d\d)-(\d\d)[Tt](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** The `expire_time` member of a create body. */
export const expireTimeSchema = z
  .string()
  .refine((text) => !Number.isNaN(parseTimestampMs(text)), { error: 'expected an RFC 3339 timestamp with offset' })

/** Returns NaN for a text that is not a valid time, 30 February included. */
function parseTimestampMs(text: string): number {
  const [, month, day] = RFC_3339.exec(text) ?? []
  if (month === undefined || day === undefined) return Number.NaN
  const lastDay = new Date(Date.UTC(Number(text.slice(0, 4)), Number(month), 0)).getUTCDate()
  return Number(day) > lastDay ? Number.NaN : Date.parse(text.toUpperCase())
}

/** Returns the expiry to store: `given` or the default. Error: an issue, if it is not in the future. */
export function resolveExpireTime(given: string | undefined, clock: Clock): Result<string, string> {
  const now = clock.now()
  const expireTime = given ?? timestamp(now + LIFETIME_DEFAULT_MS)
  if (parseTimestampMs(expireTime) > now) return ok(expireTime.toUpperCase())
  return err(`expire_time: expected a time in the future, found \`${expireTime}\``)
}
