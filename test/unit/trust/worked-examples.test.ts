// The worked examples of docs/explanation/trust-scores.md: the node and the profile of the page are scored, and the numbers compared.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PropertyMetadata, StoredProperty } from '../../../src/engine/store.ts'
import type { PropertyValue } from '../../../src/engine/value/value.ts'
import { trustScoreNames } from '../../../src/kernel/element-rules.ts'
import { FORMULA_VERSION, type ScoredNode, scoreNode } from '../../../src/trust/dimensions.ts'
import { compileRules, defaultOptions, dimensionNames, type ScoringOptions } from '../../../src/trust/scoring-rules.ts'
import { trustScoreProfiles } from '../../../src/trust/trust-score-profile.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/explanation/trust-scores.md'), 'utf8')

/** The JSON of the blocks ```json NAME. */
const blocks = new Map(
  [...page.matchAll(/^```json (\w+)\n([\s\S]*?)^```$/gm)].map(([, name, text]) => [
    name!,
    JSON.parse(text!) as unknown,
  ]),
)

interface ExampleProperty {
  readonly value: PropertyValue
  readonly updated: string
  readonly metadata?: { readonly source?: string; readonly assurance_level?: number; readonly verified_time?: string }
}

const example = blocks.get('node') as {
  readonly now: string
  readonly updated: string
  readonly properties: Readonly<Record<string, ExampleProperty>>
}
const profile = blocks.get('profile') as ScoringOptions & Record<string, unknown>

function storedProperty({ value, updated, metadata }: ExampleProperty): StoredProperty {
  const { source, assurance_level: assuranceLevel, verified_time: verifiedTime } = metadata ?? {}
  const stored: PropertyMetadata = {
    ...(source !== undefined && { source }),
    ...(assuranceLevel !== undefined && { assuranceLevel }),
    ...(verifiedTime !== undefined && { verifiedTime }),
  }
  return { value, externalValue: null, updatedMs: Date.parse(updated), metadata: stored }
}

const node: ScoredNode = {
  updatedMs: Date.parse(example.updated),
  properties: Object.entries(example.properties).map(([name, one]) => ({ name, ...storedProperty(one) })),
}

describe('the page about trust scores', () => {
  const score = scoreNode(node, compileRules(profile, []), Date.parse(example.now))

  it.each(dimensionNames)('has the value of %s that is computed', (name) => {
    expect(score.dimensions.get(name)).toBeCloseTo(blocks.get(name) as number, 12)
  })

  it('has the final score that is computed, and an example for each dimension', () => {
    expect(score.final).toBeCloseTo(blocks.get('_final_score') as number, 12)
    expect([...blocks.keys()].sort()).toEqual([...dimensionNames, '_final_score', 'node', 'profile'].sort())
  })

  it('shows a profile that is accepted, and names the version of the formulas', () => {
    expect(trustScoreProfiles.createSchema.safeParse(profile).success).toBe(true)
    expect(page).toContain(`This page describes version ${FORMULA_VERSION}.`)
  })

  it('uses the names that conditions accept', () => {
    const names = ['_final_score', ...dimensionNames.map((name) => name.toLowerCase()), 'formula_version']
    expect(trustScoreNames).toEqual(names)
  })

  it('lists every optional member with its default', () => {
    const defaults: Readonly<Record<string, unknown>> = { ...defaultOptions, keep_scores: false }
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\S+) \|/gm)].map(([, name, value]) => [name, value])
    const shown = (value: unknown): string => (typeof value === 'object' ? 'empty' : String(value))
    expect(Object.fromEntries(rows.filter(([name]) => Object.hasOwn(defaults, name!)))).toEqual(
      Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, shown(value)])),
    )
  })
})
