// Runs against a model without shortcuts: all pairs are compared, with similarities and frequencies computed in the simplest way.
import { describe, expect, it } from 'vitest'
import { randomIntegers } from '../../../../src/matching/linkage/record-table.ts'
import type { MappingEstimate } from '../../../../src/matching/linkage/types.ts'
import { naiveEditDistance, naiveJaroWinkler } from './naive-similarity.ts'
import { type LinkedNode, link, mappingsOf, pairsOf } from './run-linkage.ts'

const kinds = ['name', 'name', 'code', 'exact'] as const
const CUTOFF = 0.5

/** Nodes from small vocabularies, with missing values and errors. */
function nodesOf(random: (bound: number) => number, count: number): { sources: LinkedNode[]; targets: LinkedNode[] } {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const word = (length: number) => Array.from({ length }, () => letters[random(26)]!).join('')
  const names = Array.from({ length: 60 }, () => word(4 + random(5)))
  const surnames = Array.from({ length: 90 }, () => word(5 + random(5)))
  const sources: LinkedNode[] = []
  const targets: LinkedNode[] = []
  for (let i = 0; i < count; i++) {
    const values = [names[random(60)]!, surnames[random(90)]!, String(100_000 + random(900_000)), 'abcd'[random(4)]!]
    sources.push([i, ...values])
    const copy = values.map((value, at) => {
      const error = random(10)
      if (error === 0) return null
      return error === 1 && at < 3 ? value.slice(0, 2) + letters[random(26)] + value.slice(3) : value
    })
    targets.push(i % 3 === 0 ? [1000 + i, word(6), word(7), String(random(999_999)), 'a'] : [1000 + i, ...copy])
  }
  return { sources, targets }
}

const kindThresholds = { name: [1, 0.92, 0.85, 0.7], code: [1, 0.82, 0.66], exact: [1] }

function naiveLevel(kind: (typeof kinds)[number], a: string, b: string): number {
  const thresholds = kindThresholds[kind]
  const similarity = {
    name: () => naiveJaroWinkler(a, b),
    code: () => 1 - naiveEditDistance(a, b) / Math.max(a.length, b.length),
    exact: () => 0,
  }[kind]()
  const level = a === b ? 0 : thresholds.findIndex((threshold) => threshold < 1 && similarity >= threshold)
  return level < 0 ? thresholds.length : level
}

/** The probability of a pair by the formula of docs/explanation/entity-matching.md, from the estimates of the run. */
function naiveScore(
  { sources, targets }: ReturnType<typeof nodesOf>,
  estimates: readonly MappingEstimate[],
  prior: number,
  source: LinkedNode,
  target: LinkedNode,
): number {
  const levels = kinds.map((kind, at) => {
    const a = source[at + 1] as string | null
    const b = target[at + 1] as string | null
    return a === null || b === null ? null : naiveLevel(kind, a, b)
  })
  const isDifferent = (level: number | null | undefined) => level === null || level === kindThresholds.name.length
  if (levels[0] === kindThresholds.name.length && isDifferent(levels[1])) {
    if (source[1] === target[2] && source[2] === target[1]) levels.splice(0, 2, kindThresholds.name.length + 1, null)
  }
  let bits = Math.log2(prior / (1 - prior))
  let differing = 0
  const identifying: number[] = []
  for (const [at, level] of levels.entries()) {
    if (level === null) continue
    const { unseen, levels: estimated } = estimates[at]!
    const { m, u } = estimated[level]!
    const count = (nodes: readonly LinkedNode[], value: unknown) =>
      nodes.filter((node) => node[at + 1] === value).length
    const present = (nodes: readonly LinkedNode[]) => nodes.filter((node) => node[at + 1] !== null).length
    const assumed = { name: 0.005, code: 0.001, exact: 0.05 }[kinds[at]!]
    const records = Math.max(present(sources), present(targets))
    const weightOf = (value: unknown, e: number) => {
      const others = Math.max(0, Math.max(count(sources, value), count(targets, value)) - 1)
      return Math.log2(estimated[0]!.m / (e / records + others / (records + Math.min(100, 0.5 / assumed))))
    }
    const weight = level === 0 ? weightOf(source[at + 1], unseen) : Math.log2(m / u)
    const isSimilar = level > 0 && level < estimated.length - 2
    const without = Math.min(0.5, records * assumed)
    const highest = Math.min(weightOf(source[at + 1], without), weightOf(target[at + 1], without))
    const limited = isSimilar && weight > 0 ? Math.max(0, Math.min(weight, highest)) : weight
    bits += limited
    if (limited < 0) differing -= limited
    if (level === 0 && kinds[at] !== 'name') identifying.push(Math.max(0, Math.log2(1 / estimated[0]!.u) - 10))
  }
  const related = (2 ** differing - 1) / 40 / 2 ** Math.max(0, ...identifying)
  return 1 / (1 + Math.max(2 ** -bits, Math.min(related, 1 / 2)))
}

describe('a linkage and the comparison of all pairs', () => {
  it.each([1, 2, 3])('agree on the scores and on which pairs match, seed %i', (seed) => {
    const nodes = nodesOf(randomIntegers(seed), 90)
    const options = { cutoff: CUTOFF, cardinality: 'many-to-many' } as const
    const result = link(mappingsOf(...kinds), nodes.sources, nodes.targets, options)
    const expected = new Map<string, number>()
    for (const source of nodes.sources) {
      for (const target of nodes.targets) {
        const score = naiveScore(nodes, result.mappings, result.prior, source, target)
        if (score >= CUTOFF) expected.set(`${source[0]}-${target[0]}`, score)
      }
    }
    expect(expected.size).toBeGreaterThan(40)
    for (const { source, target, score } of result.matches) {
      expect(score, `${source}-${target}`).toBeCloseTo(expected.get(`${source}-${target}`) ?? 0, 5)
    }
    // Blocking leaves out pairs that share no key. They are few.
    const found = new Set(pairsOf(result))
    const missed = [...expected.keys()].filter((pair) => !found.has(pair))
    expect(missed.length, missed.join(' ')).toBeLessThanOrEqual(expected.size * 0.02)
    // The estimates are near the rates of the generator: four of five names stay as they are.
    expect(result.mappings[0]!.levels[0]!.m).toBeGreaterThan(0.75)
    expect(result.mappings[2]!.levels[0]!.u).toBeLessThan(0.01)
    for (const { levels } of result.mappings) {
      for (const key of ['m', 'u'] as const) {
        expect(levels.reduce((sum, level) => sum + level[key], 0)).toBeCloseTo(1, 9)
      }
    }
  })
})
