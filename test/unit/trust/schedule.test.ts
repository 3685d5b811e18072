// When passes are due: the periods of the schedules, and the constant offset of each profile.
import { describe, expect, it } from 'vitest'
import { mintGid } from '../../../src/kernel/ids.ts'
import { lastDueMs, patternOf } from '../../../src/trust/schedule.ts'
import { schedules } from '../../../src/trust/trust-score-profile.ts'

const HOUR_MS = 3_600_000
const NOW_MS = Date.parse('2026-03-29T01:30:00Z')
const hours = { THREE_HOURS: 3, SIX_HOURS: 6, TWELVE_HOURS: 12, DAILY: 24 } as const
const profiles = Array.from({ length: 50 }, (_, i) => mintGid(NOW_MS + i))

describe('the schedule of a profile', () => {
  it.each(schedules)('is due once in each period of %s, at the same offset', (schedule) => {
    const periodMs = hours[schedule] * HOUR_MS
    for (const id of profiles) {
      const dueMs = lastDueMs(schedule, id, NOW_MS)
      expect(dueMs).toBeLessThanOrEqual(NOW_MS)
      expect(dueMs).toBeGreaterThan(NOW_MS - periodMs)
      // At the time itself, just before, and periods later, over the changes of local clocks.
      expect(lastDueMs(schedule, id, dueMs)).toBe(dueMs)
      expect(lastDueMs(schedule, id, dueMs - 1)).toBe(dueMs - periodMs)
      expect(lastDueMs(schedule, id, dueMs + 40 * periodMs)).toBe(dueMs + 40 * periodMs)
    }
  })

  it('differs between profiles, and not between calls', () => {
    const patterns = profiles.map((id) => patternOf('THREE_HOURS', id))
    expect(profiles.map((id) => patternOf('THREE_HOURS', id))).toEqual(patterns)
    expect(new Set(patterns).size).toBeGreaterThan(45)
  })
})
