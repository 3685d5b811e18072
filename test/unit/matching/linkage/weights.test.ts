// Weights where a value alone decides: frequent and rare values, ids that are equal by chance, and properties that always differ.
import { describe, expect, it } from 'vitest'
import { randomIntegers } from '../../../../src/matching/linkage/record-table.ts'
import { type LinkedNode, link, mappingsOf, pairsOf } from './run-linkage.ts'

const FIRST_TARGET = 100_000
const letters = 'abdefgiklmnoprstuvz'

function words(seed: number): (length: number) => string {
  const random = randomIntegers(seed)
  return (length) => Array.from({ length }, () => letters[random(letters.length)]!).join('')
}

const syllables =
  'an be ca do el fi go ha il jo ka lu ma ni ol pa ra si ta ur ve wi xa yo za bra cle dro fen gri'.split(' ')

/** Names of which some are frequent. */
function names(seed: number): () => string {
  const random = randomIntegers(seed)
  const word = (length: number) => Array.from({ length }, () => syllables[random(syllables.length)]!).join('')
  const given = Array.from({ length: 300 }, () => word(2))
  const family = Array.from({ length: 3000 }, () => word(2 + random(2)))
  const pick = (from: readonly string[]) => from[Math.min(random(from.length), random(from.length))]!
  return () => `${pick(given)} ${pick(family)}`
}

/** The first `shared` targets are the same entities as the first sources. */
function overlapping(count: number, shared: number, valuesOf: (entity: number) => readonly string[]) {
  const sources = Array.from({ length: count }, (_, at): LinkedNode => [at, ...valuesOf(at)])
  const targets = Array.from({ length: count }, (_, at): LinkedNode => {
    return [FIRST_TARGET + at, ...(at < shared ? (sources[at]!.slice(1) as string[]) : valuesOf(count + at - shared))]
  })
  return { sources, targets, expected: Array.from({ length: shared }, (_, at) => `${at}-${FIRST_TARGET + at}`) }
}

describe('weights', () => {
  it.each([
    { kind: 'code', count: 1000, share: 0.2 },
    { kind: 'name', count: 1000, share: 0.5 },
    { kind: 'address', count: 1000, share: 0.2 },
  ] as const)(
    'rare values of one property match where few nodes have a counterpart: $kind, share $share',
    (testCase) => {
      const { kind, count, share } = testCase
      const random = randomIntegers(4)
      const word = words(3)
      const streets = Array.from({ length: 500 }, () => word(7))
      const nextName = names(4)
      const valueOfEntity = {
        name: nextName,
        code: (entity: number) => `K-${100_000 + entity}`,
        address: () => `${1 + random(150)} ${streets[random(500)]} street`,
      }[kind]
      const { sources, targets, expected } = overlapping(count, count * share, (entity) => [valueOfEntity(entity)])
      const found = pairsOf(link(mappingsOf(kind), sources, targets))
      const right = found.filter((pair) => expected.includes(pair)).length
      expect(right).toBeGreaterThanOrEqual(0.9 * expected.length)
      // Some strangers have the same address or name.
      expect(found.length - right).toBeLessThanOrEqual(0.1 * expected.length)
    },
  )

  it('values that repeat within a type are equal by chance', () => {
    const random = randomIntegers(5)
    // 30 of 900 dates are the same on average between 200 strangers on each side.
    const { sources, targets } = overlapping(200, 0, () => [`19${50 + random(30)}-01-${10 + random(18)}`])
    expect(pairsOf(link(mappingsOf('date'), sources, targets, { cutoff: 0.9 }))).toEqual([])
  })

  it('a placeholder that many nodes have is little evidence', () => {
    const word = words(10)
    const nodes = (from: number): LinkedNode[] =>
      Array.from({ length: 200 }, (_, at) => {
        const mail = at % 5 === 0 ? 'info@example.org' : `${from}.${word(6)}@example.org`
        return [from + at, mail, `${at < 60 ? 1000 + 37 * at : from + at}`]
      })
    const { matches } = link(mappingsOf('email', 'code'), nodes(0), nodes(FIRST_TARGET))
    // A fifth of the nodes has it: log2(1 / 0.2) is 2.3.
    const match = [...matches].find(({ source }) => source === 5)!
    expect(match.properties[0]).toMatchObject({ similarity: 1 })
    expect(match.properties[0]!.weight).toBeLessThan(3.5)
  })

  it('a similar value weighs at most as much as an equal frequent one', () => {
    const word = words(6)
    const nodes = (from: number): LinkedNode[] =>
      Array.from({ length: 300 }, (_, at) => {
        const name = at % 3 === 0 ? 'johnson' : word(8)
        return [from + at, from > 0 && at % 9 === 0 ? 'jonhson' : name, `${10_000 + 37 * at}`]
      })
    const { matches } = link(mappingsOf('name', 'code'), nodes(0), nodes(FIRST_TARGET))
    const weightOf = (source: number) => [...matches].find((match) => match.source === source)!.properties[0]!
    const [similar, equal] = [weightOf(9), weightOf(3)]
    expect([similar.similarity! < 1, equal.similarity]).toEqual([true, 1])
    expect(similar.weight).toBeGreaterThan(0)
    expect(similar.weight).toBeLessThanOrEqual(equal.weight)
  })

  it('equal ids of nodes that differ in all else are no evidence', () => {
    const nextName = names(5)
    const nodes = (from: number): LinkedNode[] =>
      Array.from({ length: 1000 }, (_, at) => [from + at, String(at + 1), nextName()])
    const found = pairsOf(link(mappingsOf('code', 'name'), nodes(0), nodes(FIRST_TARGET)))
    expect(found.length, found.slice(0, 5).join(' ')).toBeLessThanOrEqual(3)
  })
})
