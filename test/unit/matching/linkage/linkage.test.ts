// Runs of record linkage: what matches, persons' decisions, groups and conflicts, determinism, and bad input.
import { describe, expect, it, test } from 'vitest'
import { Linkage } from '../../../../src/matching/linkage/linkage.ts'
import { randomIntegers } from '../../../../src/matching/linkage/record-table.ts'
import type { LinkageProgress, LinkageValues } from '../../../../src/matching/linkage/types.ts'
import { generatedRegisters } from '../../../support/generated-people.ts'
import { measureQuality } from '../../../support/match-quality.ts'
import { type LinkedNode, link, mappingsOf, pairsOf, undecided } from './run-linkage.ts'

const peopleMappings = mappingsOf('name', 'name', 'date', 'email', 'phone', 'address', 'name', 'code')
const registers = [...generatedRegisters(160, randomIntegers(11))]
const peopleSources = registers.map(({ source }, i): LinkedNode => [i, ...source])
const peopleTargets = registers.map(({ target }, i): LinkedNode => [10_000 + i, ...target])
const truth = registers.flatMap((_, i): [number, number][] => (i % 2 === 0 ? [[i, 10_000 + i]] : []))

/** Two registers of three people in different notations, and a stranger. */
const mappings = mappingsOf('name', 'email', 'date')
const sources: LinkedNode[] = [
  [1, 'Ann Lee', 'ann@example.org', '1980-02-03'],
  [2, 'Bob Ray', 'bob@example.org', null],
  [3, 'José Núñez', null, '12.04.1975'],
]
const targets: LinkedNode[] = [
  [11, 'Lee, Ann', 'ANN@example.org', '3 Feb 1980'],
  [12, 'Robert Ray', 'bob@example.org', '1970-01-01'],
  [13, 'Jose Nunez', null, '1975-04-12'],
  [14, 'Zoe Ott', 'zoe@example.org', '1999-09-09'],
]

describe('a linkage', () => {
  it('finds the same people in different notations, and explains each match', () => {
    const result = link(mappings, sources, targets)
    expect(pairsOf(result)).toEqual(['1-11', '2-12', '3-13'])
    const match = result.matches.at(1)
    expect(match.properties.map(({ similarity }) => similarity)).toEqual([expect.closeTo(0.736, 3), 1, null])
    // The score is the probability of the sum of the weights and of the prior.
    for (const { score, properties } of result.matches) {
      const bits = properties.reduce((sum, { weight }) => sum + weight, Math.log2(result.prior / (1 - result.prior)))
      expect(score).toBeCloseTo(1 / (1 + 2 ** -bits), 9)
    }
    expect(() => result.matches.at(3)).toThrow('match 3 of 3')
  })

  it('finds people with errors among others', () => {
    const result = link(peopleMappings, peopleSources, peopleTargets)
    const found = [...result.matches].map(({ source, target }): [number, number] => [source, target])
    const { precision, recall } = measureQuality(found, { same: truth }, false)
    expect(precision).toBeGreaterThan(0.99)
    expect(recall).toBeGreaterThan(0.99)
    // Blocking: not all of the 25,600 pairs.
    expect(result.comparedPairs).toBeLessThan(13_000)
  })

  it('finds duplicates within one type: each pair once, no node with itself', () => {
    const nodes = [...peopleSources, ...peopleTargets]
    const result = link(peopleMappings, nodes, null)
    for (const { source, target } of result.matches) expect(source).toBeLessThan(target)
    expect(new Set(pairsOf(result)).size).toBe(result.matches.length)
    const found = [...result.matches].map(({ source, target }): [number, number] => [source, target])
    const { f1 } = measureQuality(found, { same: truth }, true)
    expect(f1).toBeGreaterThan(0.99)
  })

  it('recognises given names and surnames that were exchanged', () => {
    const exchanged = peopleTargets.map(([node, given, surname, ...rest], i): LinkedNode => {
      return i % 10 === 0 ? [node, surname!, given!, ...rest] : [node, given!, surname!, ...rest]
    })
    const result = link(peopleMappings, peopleSources, exchanged)
    const found = [...result.matches].find(({ source, properties: [given] }) => {
      return source % 10 === 0 && given!.exchangedWith === 1
    })
    expect(found!.properties[0]!.weight).toBeGreaterThan(5)
    expect(found!.properties[1]!.weight).toBe(0)
  })

  it('weighs a rare value more than a frequent one', () => {
    const nodes = (from: number) =>
      Array.from({ length: 200 }, (_, i): LinkedNode => [from + i, i < 100 ? 'smith' : `rare${i}`, `${1000 + i}`])
    const result = link(mappingsOf('name', 'code'), nodes(0), nodes(1000))
    const weightOf = (source: number) => {
      return [...result.matches].find((match) => match.source === source)!.properties[0]!.weight
    }
    expect(weightOf(150)).toBeGreaterThan(weightOf(5) + 3)
  })

  it('leaves out pairs below the cutoff, and counts values below the cutoff of a mapping as different', () => {
    const all = link(mappings, sources, targets, { cutoff: 0 })
    const lowest = Math.min(...[...all.matches].map(({ score }) => score))
    const best = Math.max(...[...all.matches].map(({ score }) => score))
    const some = link(mappings, sources, targets, { cutoff: best })
    expect(lowest).toBeLessThan(best)
    expect([...some.matches].map(({ score }) => score)).toEqual([best])
    const strict = link([{ ...mappings[0]!, cutoff: 0.9 }, ...mappings.slice(1)], sources, targets, { cutoff: 0 })
    const weights = (result: typeof strict) => [...result.matches].find(({ source }) => source === 2)!.properties[0]!
    expect(weights(all).weight).toBeGreaterThan(0)
    expect(weights(strict).weight).toBeLessThan(0)
  })

  it('with a cutoff of 1 keeps the pairs whose score is 1', () => {
    const all = link(peopleMappings, peopleSources, peopleTargets)
    const certain = [...all.matches]
      .filter(({ score }) => score === 1)
      .map(({ source, target }) => `${source}-${target}`)
    expect(certain.length).toBeGreaterThan(10)
    expect(pairsOf(link(peopleMappings, peopleSources, peopleTargets, { cutoff: 1 }))).toEqual(certain)
  })

  it('detects kinds that are not given', () => {
    const result = link(mappingsOf(null, null, null), sources, targets)
    expect(result.mappings.map(({ kind }) => kind)).toEqual(['name', 'email', 'date'])
    expect(pairsOf(result)).toEqual(['1-11', '2-12', '3-13'])
  })
})

describe('determinism', () => {
  const shown = (nodes: readonly LinkedNode[], others: readonly LinkedNode[], seed = 1) => {
    const result = link(peopleMappings, nodes, others, { seed })
    return { matches: [...result.matches], mappings: result.mappings, compared: result.comparedPairs }
  }
  const expected = shown(peopleSources, peopleTargets)

  it('gives the same result for the same nodes, in any order', () => {
    expect(shown(peopleSources, peopleTargets)).toEqual(expected)
    const random = randomIntegers(3)
    const shuffled = <T>(items: readonly T[]) =>
      items
        .map((item) => ({ item, key: random(1 << 30) }))
        .sort((a, b) => a.key - b.key)
        .map(({ item }) => item)
    expect(shown(shuffled(peopleSources), shuffled(peopleTargets))).toEqual(expected)
  })

  it('uses the seed for the random pairs of the estimation', () => {
    const other = shown(peopleSources, peopleTargets, 2)
    expect(other.mappings).not.toEqual(expected.mappings)
    expect(other.matches.map(({ source, target }) => [source, target])).toEqual(
      expected.matches.map(({ source, target }) => [source, target]),
    )
  })

  it('may pause between steps, which report progress that does not decrease', () => {
    const linkage = new Linkage(peopleMappings, { seed: 1, cutoff: 0.5, isSameType: false })
    for (const [node, ...values] of peopleSources) linkage.addSource(node, values)
    for (const [node, ...values] of peopleTargets) linkage.addTarget(node, values)
    const run = linkage.run(undecided)
    const seen: LinkageProgress[] = []
    for (;;) {
      const step = run.next()
      if (step.done === true) {
        expect([...step.value.matches]).toEqual(expected.matches)
        break
      }
      seen.push(step.value)
    }
    expect(seen.length).toBeGreaterThan(100)
    expect(new Set(seen.map(({ phase }) => phase))).toEqual(new Set(['prepare', 'block', 'train', 'compare', 'assign']))
    for (const [at, { done }] of seen.entries()) {
      expect(done).toBeGreaterThanOrEqual(seen[Math.max(0, at - 1)]!.done)
      expect(done).toBeLessThanOrEqual(1)
    }
  })
})

describe('decided pairs', () => {
  it('are matches with score 1, or never matches', () => {
    const result = link(mappings, sources, targets, {}, { same: [[1, 14]], different: [[2, 12]] })
    expect(pairsOf(result)).toEqual(['1-14', '3-13'])
    const [decided] = [...result.matches]
    expect(decided).toMatchObject({ score: 1, isDecided: true })
    expect(decided!.properties.map(({ mapping }) => mapping)).toEqual([0, 1, 2])
    expect(result.conflicts).toEqual([
      { source: 1, target: 11, score: expect.closeTo(1, 6), reason: 'assigned_elsewhere' },
    ])
  })

  it('are ignored if a node was not added, or if both are the same node', () => {
    const same: [number, number][] = [
      [1, 99],
      [98, 11],
    ]
    expect(pairsOf(link(mappings, sources, targets, {}, { same, different: [[97, 96]] }))).toHaveLength(3)
    expect(pairsOf(link(mappings, sources, null, {}, { same: [[1, 1]], different: [] }))).toEqual([])
  })

  it('apply in both orders of a pair within one type', () => {
    const nodes = [...sources, ...targets]
    const result = link(mappings, nodes, null, {}, { same: [[14, 2]], different: [[11, 1]] })
    expect(pairsOf(result)).toEqual(['2-12', '2-14', '3-13'])
    expect(result.groups).toEqual([{ sources: [2, 12, 14], targets: [] }])
  })

  it('that are different conflict with matches that connect them', () => {
    const nodes: LinkedNode[] = [1, 2, 3].map((node) => [node, 'Ann Lee', 'ann@example.org', '1980-02-03'])
    const result = link(mappings, nodes, null, {}, { same: [], different: [[1, 2]] })
    expect(pairsOf(result)).toEqual(['1-3', '2-3'])
    expect(result.conflicts).toEqual([{ source: 1, target: 2, score: 0, reason: 'decided_different' }])
    expect(result.groups).toEqual([{ sources: [1, 2, 3], targets: [] }])
  })

  it('that assign one node twice are both kept, and reported', () => {
    const decided = {
      same: [
        [1, 11],
        [1, 14],
      ] as [number, number][],
      different: [],
    }
    const result = link(mappings, sources, targets, { cardinality: 'one-to-one' }, decided)
    expect(pairsOf(result)).toEqual(['1-11', '1-14', '2-12', '3-13'])
    expect(result.conflicts).toEqual([{ source: 1, target: 14, score: 1, reason: 'decided_twice' }])
  })
})

describe('cardinality', () => {
  const twice: LinkedNode[] = [...targets, [15, 'Ann Lee', 'ann@example.org', null]]

  it('of one to one selects the best pair, and reports the others as conflicts', () => {
    const result = link(mappings, sources, twice, { cardinality: 'one-to-one' })
    expect(pairsOf(result)).toEqual(['1-11', '2-12', '3-13'])
    expect(result.conflicts).toMatchObject([{ source: 1, target: 15, reason: 'assigned_elsewhere' }])
    expect(result.conflictCount).toBe(1)
    expect(result.isOneToOne).toEqual({ source: true, target: true })
  })

  it('of many to many keeps all pairs, and groups them', () => {
    const result = link(mappings, sources, twice, { cardinality: 'many-to-many' })
    expect(pairsOf(result)).toEqual(['1-11', '1-15', '2-12', '3-13'])
    expect(result.groups).toEqual([{ sources: [1], targets: [11, 15] }])
  })

  it('is decided from the data for each side: people with two accounts each', () => {
    const accounts = peopleSources.flatMap(([node, ...values]): LinkedNode[] => [
      [20_000 + 2 * node, ...values],
      [20_001 + 2 * node, ...values],
    ])
    const result = link(peopleMappings, peopleSources, accounts)
    expect(result.isOneToOne).toEqual({ source: false, target: true })
    expect(result.matches.length).toBe(2 * peopleSources.length)
    expect(link(peopleMappings, peopleSources, peopleTargets).isOneToOne).toEqual({ source: true, target: true })
  })
})

describe('bad input', () => {
  const noMatch = (result: ReturnType<typeof link>) => {
    expect(pairsOf(result)).toEqual([])
    expect(result.groups).toEqual([])
    expect(result.conflicts).toEqual([])
  }

  it('of no nodes, one node or nodes without values gives no matches', () => {
    noMatch(link(mappings, [], []))
    noMatch(link(mappings, sources, []))
    noMatch(link(mappings, [], targets))
    noMatch(link(mappings, [], null))
    noMatch(link(mappings, [[1, 'Ann', null, null]], null))
    const empty: LinkageValues = [null, '', [], '   ']
    noMatch(
      link(
        mappingsOf('name', 'text', 'tokens', 'code'),
        [
          [1, ...empty],
          [2, ...empty],
        ],
        [
          [3, ...empty],
          [4, ...empty],
        ],
      ),
    )
  })

  it('of missing values at the end of a row counts them as absent', () => {
    expect(pairsOf(link(mappings, [[1, 'Ann Lee', 'ann@example.org']], [[11, 'Ann Lee', 'ann@example.org']]))).toEqual([
      '1-11',
    ])
  })

  it('of a property with one value for all nodes gives no matches in bounded time', () => {
    const nodes = Array.from({ length: 2_000 }, (_, i): LinkedNode => [i, 'same'])
    for (const kind of ['name', 'text', 'code', 'exact', 'email', 'date', 'number'] as const) {
      const result = link(mappingsOf(kind), nodes, null)
      expect(result.comparedPairs, kind).toBe(0)
      noMatch(result)
    }
  })

  it('of values in the wrong form, huge texts, lists, and numbers that are not finite gives the matches of the rest', () => {
    const odd = [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      'x'.repeat(1_000_000),
      ['a', 'b'],
      true,
      2n ** 70n,
      '\0',
      '\ud800',
    ]
    const nodes = (from: number): LinkedNode[] => [
      ...odd.map((value, i): LinkedNode => [from + i, `person number ${'abcdefgh'[i]}`, value, value]),
      [from + 50, 'Ann Lee', 'ann@example.org', '1980-02-03'],
    ]
    for (const kind of ['date', 'number', 'email', 'phone', 'address', 'exact'] as const) {
      const result = link(mappingsOf('name', 'email', kind), nodes(0), nodes(100))
      expect(pairsOf(result), kind).toContain('50-150')
    }
  })

  it.each([
    ['no mapping', () => new Linkage([], { seed: 1, cutoff: 0.5, isSameType: true }), 'at least one property mapping'],
    ['a cutoff above 1', () => link(mappings, [], [], { cutoff: 1.5 }), 'cutoff 1.5 is not a number from 0 to 1'],
    ['a cutoff that is no number', () => link(mappings, [], [], { cutoff: Number.NaN }), 'cutoff NaN'],
    ['a mapping cutoff below 0', () => link([{ ...mappings[0]!, cutoff: -1 }], [], []), 'cutoff -1'],
    [
      'targets within one type',
      () => link(mappings, [], [[1, 'a', null, null]], { isSameType: true }),
      'use addSource',
    ],
  ])('of %s is refused', (_, run, message) => {
    expect(run).toThrow(message)
  })

  test('a second run is refused', () => {
    const linkage = new Linkage(mappings, { seed: 1, cutoff: 0.5, isSameType: true })
    for (const _ of linkage.run(undecided));
    expect(() => linkage.run(undecided).next()).toThrow('a linkage runs once')
  })
})
