// Sentences of the console about a denial whose explanation was cut at a limit.
import { expect, test } from 'vitest'
import type { ShownPolicy } from '../../../../src/console/page/ask/explanation.ts'
import { reasonsOf } from '../../../../src/console/page/ask/reasons.ts'

const question = {
  subject: { type: 'Person', id: 'ann' },
  action: 'drive',
  resource: { type: 'Car', id: 'c1' },
  parameters: {},
}
const denied: ShownPolicy = { id: 'p', name: 'drive', outcome: 'denied' } as ShownPolicy

test('a cut explanation never claims that its condition is not met', () => {
  const fault = { code: 'budget', message: 'the time limit of 5 ms is reached' }
  expect(reasonsOf({ ...denied, fault }, question)).toEqual([
    'It does not grant. The explanation ended before it found out why: the time limit of 5 ms is reached.',
  ])
  expect(reasonsOf(denied, question)).toEqual(['Its condition is not met.'])
})
