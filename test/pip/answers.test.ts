import { expect, test } from 'vitest'
import { HandClock } from '../../src/kernel/clock.ts'
import { KeptAnswers } from '../../src/pip/answers.ts'

test('an answer does for its time and no longer, by a clock that was set back not at all', () => {
  const clock = new HandClock(1_000_000)
  const answers = new KeptAnswers(clock, 1000)
  const answer = { value: true, bytes: 4 }
  answers.keep('key', answer)
  clock.advance(999)
  expect(answers.find('key')).toMatchObject(answer)
  clock.advance(1)
  expect(answers.find('key')).toBeNull()
  answers.keep('key', answer)
  clock.advance(-86_400_000)
  expect(answers.find('key')).toBeNull()
})
