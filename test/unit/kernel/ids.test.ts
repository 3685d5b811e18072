// Global identifiers can be parsed whatever the clock shows.
import { expect, test } from 'vitest'
import { isGid, mintGid } from '../../../src/kernel/ids.ts'

test('a time before the epoch has an identifier too', () => {
  // The first one of this process, so that no other time was written before.
  for (const ms of [Date.parse('1900-01-01T00:00:00Z'), -1, 0, 1, Date.parse('9999-12-31T23:59:59Z')])
    expect(isGid(mintGid(ms))).toBe(true)
})
