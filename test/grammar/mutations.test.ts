// Texts at random: whatever stands there, the answer is a tree or an issue with a place inside the text, never a throw;
// and whatever is read prints to a text that reads as the same tree.
import { expect, test } from 'vitest'
import { parse } from '../../grammar/index.ts'
import { renderIssue } from '../../grammar/issue.ts'
import { print } from '../../grammar/print.ts'
import { keywords } from '../../grammar/tokens.ts'
import { Chance, seedOfRun } from '../generate/chance.ts'
import { readCases } from './read-cases.ts'
import { readSuite } from './suite.ts'
import { bare } from './trees.ts'

const rounds = 2_000
const seed = seedOfRun()

const texts = [
  ...readCases('accepted.case', '=').map(({ text }) => text),
  ...readCases('refused.case', '!').map(({ text }) => text),
  ...readSuite().map(({ query }) => query),
]
const pieces = [
  ...keywords.keys(),
  ...[
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '<',
    '>',
    '-',
    '->',
    '--',
    '|',
    ':',
    '.',
    '..',
    ',',
    ';',
    '$',
    '$p',
    '`',
    "'",
    '"',
    '\\',
    '\\u',
  ],
  ...[
    '*',
    '+',
    '=',
    '=~',
    '!',
    '%',
    '&',
    '^',
    '/*',
    '*/',
    '//',
    '\n',
    ' ',
    '0',
    '1',
    '0x',
    '1.5',
    '1e',
    'x',
    'é',
    '—',
    '\0',
    '\ud800',
  ],
]

function mutate(text: string, chance: Chance): string {
  let mutated = text
  for (let edits = chance.between(1, 4); edits > 0; edits--) {
    const at = chance.between(0, mutated.length)
    const removed = chance.pick([0, 0, 1, 2, 5])
    const other = chance.pick(texts)
    const from = chance.between(0, other.length)
    const inserted = chance.pick(['', chance.pick(pieces), other.slice(from, from + chance.between(1, 30))])
    mutated = mutated.slice(0, at) + inserted + mutated.slice(at + removed)
  }
  return mutated
}

test(`${rounds} mutated texts are read or refused, never thrown at (VERDIGRAPH_SEED=${seed})`, () => {
  const chance = new Chance(seed)
  let readCount = 0
  for (let round = 0; round < rounds; round++) {
    const text = mutate(chance.pick(texts), chance)
    const told = `seed ${seed}, round ${round}: ${JSON.stringify(text)}`
    const result = (() => {
      try {
        return parse(text)
      } catch (fault) {
        throw new Error(told, { cause: fault })
      }
    })()
    if (result.ok) {
      readCount++
      const again = parse(print(result.query))
      expect(again.ok && bare(again.query), told).toEqual(bare(result.query))
    } else {
      const issue = result.issues[0]!
      expect(issue.span.start, told).toBeLessThanOrEqual(issue.span.end)
      expect(issue.span.end, told).toBeLessThanOrEqual(text.length)
      expect(renderIssue(text, issue), told).toContain(issue.message)
    }
  }
  // Both roads are walked, or the mutations are of no use.
  expect(readCount).toBeGreaterThan(rounds / 100)
  expect(readCount).toBeLessThan(rounds)
})
