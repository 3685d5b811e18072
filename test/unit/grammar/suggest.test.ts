// Suggestions for misspelled words.
import { expect, test } from 'vitest'
import { nearestName, suggestion } from '../../../grammar/suggest.ts'

const names = ['port', 'host', 'workers', 'drain_ms']

test.each([
  ['prot', 'port'],
  ['PORT', 'port'],
  ['wrokers', 'workers'],
  ['worker', 'workers'],
  ['drain_s', 'drain_ms'],
  ['prto', null],
  ['lanes', null],
  ['', null],
  ['x'.repeat(101), null],
])('the name nearest to %s is %s', (word, name) => {
  expect(nearestName(word, names)).toBe(name)
})

test('an exact match is nearer than a swap', () => {
  expect(nearestName('ab', ['ba', 'AB'])).toBe('AB')
})

test('a suggestion quotes the name', () => {
  expect(suggestion('prot', names)).toBe('; did you mean `port`?')
  expect(suggestion('lanes', names)).toBe('')
})
