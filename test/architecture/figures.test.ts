// Keeps what the figures count: names, cycles, docstrings, idioms and citations may not get worse.
// `bun test/architecture/figures.ts` prints the figures, `--list` the places.
import { describe, expect, test } from 'vitest'
import { measure, type Share } from './figures.ts'

// Lower a limit, or raise a minimum, when the figures have improved; never the other way round.
const IDIOMS_MAX = {
  sourceComments: 0.008,
  sourceMessages: 0.001,
  testComments: 0.008,
  testMessages: 0.01,
  documents: 0.01,
}
const DOCSTRINGS_MIN = { all: 0.98, ports: 1, library: 1, acrossFolders: 0.97, members: 0.9 }
const CYCLES_MAX = { groups: 1, members: 6, mutualPairs: 4 }

const { figures, lists } = measure()
const places = (name: keyof typeof lists): string =>
  lists[name].map(({ where, what }) => `${where}  ${what}`).join('\n')
const ratio = ({ count, of }: Share): number => (of === 0 ? 1 : count / of)

describe('the figures', () => {
  test('count the whole repository', () => {
    expect(figures.fileLines.files).toBeGreaterThan(400)
    expect(figures.docstrings.all.of).toBeGreaterThan(1000)
    expect(figures.idioms.testMessages.of).toBeGreaterThan(1000)
  })

  test('declare each type name in one file', () => {
    expect(places('types')).toBe('')
  })

  test('cite no document outside the repository', () => {
    expect(places('citations')).toBe('')
  })

  test('have no more cycles between modules than before', () => {
    for (const [name, max] of Object.entries(CYCLES_MAX)) {
      expect(figures.cycles.modules[name as keyof typeof CYCLES_MAX], places('cycles')).toBeLessThanOrEqual(max)
    }
  })

  for (const [name, min] of Object.entries(DOCSTRINGS_MIN)) {
    test(`have docstrings on ${100 * min} % of ${name}`, () => {
      expect(ratio(figures.docstrings[name as keyof typeof DOCSTRINGS_MIN])).toBeGreaterThanOrEqual(min)
    })
  }

  for (const [name, max] of Object.entries(IDIOMS_MAX)) {
    test(`have idioms on at most ${100 * max} % of ${name}`, () => {
      expect(ratio(figures.idioms[name as keyof typeof IDIOMS_MAX]), places('idioms')).toBeLessThanOrEqual(max)
    })
  }
})
