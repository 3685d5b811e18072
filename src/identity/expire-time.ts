// When a credential ends: an RFC 3339 timestamp with offset, in the future when it is made, and never never.
import { z } from 'zod'
import { type Clock, timestamp } from '../kernel/clock.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** Of a credential that was created without `expire_time`: none lives for ever by an oversight. */
const LIFETIME_DEFAULT_MS = 365 * 24 * 60 * 60 * 1000

const RFC_3339 = /^\d{4}-(\d\d)-(\d\d)[Tt](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

export const expireTimeSchema = z
  .string()
  .refine((text) => !Number.isNaN(parseTimestampMs(text)), { error: 'expected an RFC 3339 timestamp with offset' })

/** Not a number where the text is not a moment (30 February included). */
function parseTimestampMs(text: string): number {
  const [, month, day] = RFC_3339.exec(text) ?? []
  if (month === undefined || day === undefined) return Number.NaN
  const lastDay = new Date(Date.UTC(Number(text.slice(0, 4)), Number(month), 0)).getUTCDate()
  return Number(day) > lastDay ? Number.NaN : Date.parse(text.toUpperCase())
}

/** As it is stored; the error is an issue. */
export function resolveExpireTime(given: string | undefined, clock: Clock): Result<string, string> {
  const now = clock.now()
  const expireTime = given ?? timestamp(now + LIFETIME_DEFAULT_MS)
  if (parseTimestampMs(expireTime) > now) return ok(expireTime.toUpperCase())
  return err(`expire_time: expected a time in the future, found \`${expireTime}\``)
}
