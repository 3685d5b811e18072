import { expect, test } from 'vitest'
import { ResponseCache } from '../../../src/pip/response-cache.ts'
import { ManualClock } from '../../support/manual-clock.ts'

test('a response is valid for its lifetime, and not at all after the clock was set back', () => {
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
