// Nodes that are numbered or named alike: inventories, staff registers. Similar values are no evidence for the same entity there.
import { describe, expect, it } from 'vitest'
import { randomIntegers } from '../../../../src/matching/linkage/record-table.ts'
import type { LinkageResult } from '../../../../src/matching/linkage/types.ts'
import { type LinkedNode, link, mappingsOf, pairsOf } from './run-linkage.ts'

const FIRST_TARGET = 100_000

/** A set of nodes with consecutive numbers from `first` on. */
type Generator = (node: number, count: number, first: number, seed: number) => LinkedNode[]

const devices: Generator = (node, count, first) =>
  Array.from({ length: count }, (_, at) => {
    const number = first + at
    return [
      node + at,
      `Standard office chair model ${number}`,
      `device${number}@acme.example.com`,
      `SN-2024-${10_000 + number}`,
    ]
  })

const syllables = ['ka', 'lo', 'mi', 'ra', 'ten', 'sul', 'vor', 'an', 'bel', 'dri', 'eks', 'fon']

/** The e-mail address follows from the name, and all live in one city. */
const employees: Generator = (node, count, first, seed) => {
  const random = randomIntegers(seed)
  const word = () => Array.from({ length: 3 }, () => syllables[random(syllables.length)]!).join('')
  return Array.from({ length: count }, (_, at) => {
    const [given, family] = [word(), word()]
    return [node + at, `${given} ${family}`, `${given}.${family}@example.org`, `EMP-${first + at}`, 'Stockholm']
  })
}

const sets = [
  { name: 'devices', generate: devices, mappings: mappingsOf('text', 'email', 'code') },
  { name: 'employees', generate: employees, mappings: mappingsOf('name', 'email', 'code', 'name') },
] as const
const cases = sets.flatMap((set) =>
  [
    { seed: 1, count: 120 },
    { seed: 2, count: 60 },
    { seed: 3, count: 60 },
  ].map((size) => ({ ...set, ...size, title: set.name })),
)

/** The first `shared` targets are copies of the last sources. */
function overlapping(generate: Generator, count: number, shared: number, seed: number) {
  const sources = generate(0, count, 1000 * seed, seed)
  const copies = sources.slice(count - shared).map(([, ...values], at): LinkedNode => [FIRST_TARGET + at, ...values])
  const others = generate(FIRST_TARGET + shared, count - shared, 1000 * seed + count, seed + 1000)
  const pairs = new Set(copies.map(([target], at) => `${count - shared + at}-${target}`))
  return { sources, targets: [...copies, ...others], pairs }
}

function expectOrderedWeights({ mappings }: LinkageResult): void {
  for (const { levels } of mappings) {
    for (const [at, { m, u, label }] of levels.slice(0, -1).entries()) {
      const previous = levels[at - 1]
      if (previous !== undefined) expect(m / u, label).toBeLessThanOrEqual((previous.m / previous.u) * (1 + 1e-9))
    }
  }
}

describe('homogeneous nodes', () => {
  it.each(cases)('of two types without a common entity do not match: $count $title, seed $seed', (testCase) => {
    const { generate, mappings, count, seed } = testCase
    const { sources, targets } = overlapping(generate, count, 0, seed)
    const result = link(mappings, sources, targets)
    expect(result.matches.length, pairsOf(result).join(' ')).toBeLessThanOrEqual(count * 0.01)
    expectOrderedWeights(result)
  })

  it.each(cases)('of one type without duplicates do not match: $count $title, seed $seed', (testCase) => {
    const { generate, mappings, count, seed } = testCase
    const result = link(mappings, generate(0, count, 1000 * seed, seed), null)
    expect(result.matches.length, pairsOf(result).join(' ')).toBeLessThanOrEqual(count * 0.01)
    expectOrderedWeights(result)
  })

  it.each(cases)('match where entities are the same: $count $title, seed $seed', (testCase) => {
    const { generate, mappings, count, seed } = testCase
    for (const shared of [count / 10, count]) {
      const { sources, targets, pairs } = overlapping(generate, count, shared, seed)
      const result = link(mappings, sources, targets)
      const found = pairsOf(result)
      const right = found.filter((pair) => pairs.has(pair)).length
      expect(right, `${shared} shared`).toBeGreaterThanOrEqual(0.95 * shared)
      expect(found.length - right, `${shared} shared`).toBeLessThanOrEqual(0.01 * count)
      expect(result.isOneToOne).toEqual({ source: true, target: true })
      expectOrderedWeights(result)
    }
  })

  it.each(['code', 'text', 'email'] as const)('match by a single property that is unique: %s', (kind) => {
    for (const count of [60, 600]) {
      const values = Array.from({ length: count }, (_, at) => `a${7 * at}${kind === 'email' ? '@example.org' : ' b c'}`)
      const sources = values.map((value, at): LinkedNode => [at, value])
      const targets = values.map((value, at): LinkedNode => [FIRST_TARGET + at, value])
      const expected = values.map((_, at) => `${at}-${FIRST_TARGET + at}`)
      expect(pairsOf(link(mappingsOf(kind), sources, targets))).toEqual(expected)
    }
  })

  it('numbered with transposed digits do not match: 300 devices', () => {
    const { sources, targets } = overlapping(devices, 300, 0, 1)
    expect(pairsOf(link(sets[0].mappings, sources, targets))).toEqual([])
  })
})
