import { expect, test } from 'vitest'
import { ResponseCache } from '../../../src/pip/response-cache.ts'
import { ManualClock } from '../../support/manual-clock.ts'

test('an answer does for its time and no longer, by a clock that was set back not at all', () => {
  const clock = new ManualClock(1_000_000)
  const answers = new ResponseCache(clock, 1000)
  const answer = { value: true, bytes: 4 }
  answers.set('key', answer)
  clock.advance(999)
  expect(answers.get('key')).toMatchObject(answer)
  clock.advance(1)
  expect(answers.get('key')).toBeNull()
  answers.set('key', answer)
  clock.advance(-86_400_000)
  expect(answers.get('key')).toBeNull()
})
