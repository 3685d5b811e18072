// No decision changes without an event, for random graphs, writes and conditions (oracle: all decisions again after each write).
import { expect, test } from 'vitest'
import { Random, testSeed } from '../../generate/random.ts'
import { checkWatch } from '../../oracle/watched-decisions.ts'
import { startService } from '../../support/service.ts'

test('every decision that changes is in an event of the stream', async () => {
  const seed = testSeed()
  const service = await startService({}, { sync: false })
  try {
    const outcome = await checkWatch(service, new Random(seed), 40)
    expect(outcome.missed, `seed ${seed}`).toEqual([])
    expect(outcome.changed, `seed ${seed}`).toBeGreaterThan(30)
  } finally {
    await service.stop()
  }
})
