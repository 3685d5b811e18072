// The example of docs/explanation/entity-matching.md: the nodes of the page are linked, and the numbers compared.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { levelsByKind } from '../../../../src/matching/linkage/levels.ts'
import { normalise } from '../../../../src/matching/linkage/normalise.ts'
import { suggestMappings } from '../../../../src/matching/linkage/suggest-mappings.ts'
import type { LinkageMapping, ValueKind } from '../../../../src/matching/linkage/types.ts'
import { type LinkedNode, link } from './run-linkage.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/explanation/entity-matching.md'), 'utf8')

type ExampleNode = Readonly<Record<string, string | null>> & { readonly node: number }

/** The JSON of the block ```json NAME. */
function block<T>(name: string): T {
  const found = new RegExp(`^\`\`\`json ${name}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)
  return JSON.parse(found![1]!) as T
}

const mappings = block<LinkageMapping[]>('mappings')
const nodesOf = (name: string, side: 'sourceProperty' | 'targetProperty') =>
  block<ExampleNode[]>(name).map(
    (one): LinkedNode => [one.node, ...mappings.map((mapping) => one[mapping[side]] ?? null)],
  )
const result = link(mappings, nodesOf('sources', 'sourceProperty'), nodesOf('targets', 'targetProperty'))
const rounded = (value: number, digits: number) => Number(value.toFixed(digits))

describe('the page about entity matching', () => {
  it('has the weights, bits and scores that are computed', () => {
    const prior = Math.log2(result.prior / (1 - result.prior))
    const shown = [...result.matches].map(({ source, target, score, properties }) => {
      const bits = properties.reduce((sum, { weight }) => sum + weight, prior)
      return {
        source,
        target,
        weights: properties.map(({ weight }) => rounded(weight, 2)),
        bits: rounded(bits, 2),
        score: rounded(score, 5),
      }
    })
    expect(shown).toEqual(block('matches'))
    expect(rounded(prior, 2)).toBe(-1.58)
    const m = result.mappings[2]!.levels[0]!.m
    expect(rounded(m, 3)).toBe(0.871)
    const { unseen } = result.mappings[2]!
    expect(unseen).toBeCloseTo(4 * 0.0001, 9)
    expect(result.matches.at(0).properties[2]!.weight).toBeCloseTo(Math.log2(m / (unseen / 4)), 4)
    const { m: m3, u: u3 } = result.mappings[0]!.levels[3]!
    expect([rounded(m3, 2), rounded(u3, 3)]).toEqual([0.1, 0.028])
  })

  it('has the mappings that are suggested', () => {
    const samples = (name: string) => {
      const nodes = block<ExampleNode[]>(name)
      const properties = Object.keys(nodes[0]!).filter((property) => property !== 'node')
      const valuesOf = (property: string) => nodes.flatMap((one) => one[property] ?? [])
      return { nodes: nodes.length, properties: new Map(properties.map((one) => [one, valuesOf(one)])) }
    }
    const suggested = suggestMappings(samples('sources'), samples('targets'), { isSameType: false })
    const shown = suggested.map(({ sourceProperty, targetProperty, kind }) => ({
      sourceProperty,
      targetProperty,
      kind,
    }))
    expect(new Set(shown)).toEqual(new Set(mappings))
  })

  it('has the normal form of each example', () => {
    const rows = [...page.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \| `([^`]+)` → `([^`]+)` \|$/gm)]
    const kinds = rows.flatMap(([, names, value, expected]) =>
      [...names!.matchAll(/\w+/g)].map(([kind]) => {
        expect(normalise(kind as ValueKind, value!), kind).toBe(expected)
        return kind
      }),
    )
    expect(kinds.sort()).toEqual(Object.keys(levelsByKind).sort())
  })

  it('has the levels of each kind', () => {
    const rows = [...page.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \| ([\d., ]+) \|$/gm)]
    const shown = rows.flatMap(([, names, bounds]) =>
      [...names!.matchAll(/\w+/g)].map(([kind]) => [kind, bounds!.split(', ').map(Number)]),
    )
    const expected = Object.entries(levelsByKind).map(([kind, { thresholds }]) => [kind, [...thresholds, 0]])
    expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(expected))
  })
})
