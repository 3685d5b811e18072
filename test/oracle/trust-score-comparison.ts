// Compares the scores that passes write over generated nodes with those of the naive model, with default and with generated profiles,
// while the clock moves.
import { createChunk, type PropertyInput } from '../../src/engine/store.ts'
import type { PropertyValue } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import { emptyReport } from '../../src/trust/report.ts'
import type { RunState } from '../../src/trust/run-state.ts'
import { ScoringPass } from '../../src/trust/scoring-pass.ts'
import { dimensionNames, type ScoringOptions } from '../../src/trust/scoring-rules.ts'
import { Random } from '../generate/random.ts'
import { ManualClock } from '../support/manual-clock.ts'
import {
  modelScores,
  type ScoreModelNode,
  type ScoreModelProfile,
  type ScoreModelProperty,
  type ScoreModelRule,
} from './trust-scores.ts'

const DAY_MS = 86_400_000
const START_MS = Date.parse('2024-02-28T21:30:00Z')
const names = ['number', 'holder', 'wheels', 'tags', 'issued_on', 'validFrom', 'valid-until', 'Expires', 'expires_at']
const sources = ['registry', 'form', 'desk', '']

const below = (random: Random, count: number): number => random.between(0, count - 1)
const chance = (random: Random, share: number): boolean => random.odds(share)
const day = (random: Random): string => new Date(START_MS + (below(random, 2000) - 700) * DAY_MS).toISOString()

function anyValue(random: Random, name: string): unknown {
  const isDate = names.indexOf(name) >= 4
  if (isDate && chance(random, 0.8)) {
    const text = day(random)
    return random.pick([text.slice(0, 10), text, text.replace('Z', '+02:00'), '2023-02-30', 'soon'])
  }
  return random.pick<unknown>([
    '',
    '  ',
    'L-12',
    'truck',
    below(random, 8),
    below(random, 80) / 8,
    true,
    [],
    ['red', 'blue'],
  ])
}

function anyProperty(random: Random, name: string, nowMs: number): ScoreModelProperty {
  const verifiedMs = nowMs - below(random, 900 * 24) * 3_600_000 + 30 * DAY_MS
  const metadata = {
    ...(chance(random, 0.6) && { source: random.pick(sources) }),
    ...(chance(random, 0.4) && { assurance_level: 1 + below(random, 3) }),
    ...(chance(random, 0.5) && { verified_time: new Date(verifiedMs).toISOString() }),
  }
  const has = Object.keys(metadata).length > 0
  return { type: name, value: anyValue(random, name), ...(has && { metadata }), updated: new Date(nowMs) }
}

const fraction = (random: Random): number => below(random, 101) / 100

function anyProfile(random: Random): ScoreModelProfile & ScoringOptions {
  const dimensions = dimensionNames
    .filter(() => chance(random, 0.8))
    .map((name) => ({ name, weight: random.pick([0, 1, 0.6, 0.3, fraction(random)]) }))
  const rules: readonly ScoreModelRule[] = [
    { property: 'number', rule: 'pattern', pattern: 'L-[0-9]+' },
    { property: 'wheels', rule: 'range', minimum: 2, maximum: 6.5 },
    { property: 'holder', rule: 'one_of', values: ['truck', ''] },
    { property: 'expires_at', rule: 'future' },
    { property: 'Expires', rule: 'date' },
    { property: 'issued_on', rule: 'not_after', other: 'valid-until' },
    { property: 'validFrom', rule: 'past' },
  ]
  return {
    dimensions: dimensions.length === 0 ? [{ name: 'FRESHNESS', weight: 1 }] : dimensions,
    ...(chance(random, 0.5) && { freshness_half_life_days: 1 + below(random, 400) }),
    ...(chance(random, 0.5) && { verification_half_life_days: 1 + below(random, 400) }),
    ...(chance(random, 0.7) && { sources: { registry: fraction(random), form: fraction(random) } }),
    ...(chance(random, 0.5) && { named_source_trust: fraction(random), unnamed_source_trust: fraction(random) }),
    ...(chance(random, 0.5) && { required_properties: names.filter(() => chance(random, 0.5)) }),
    ...(chance(random, 0.5) && { validity_rules: rules.filter(() => chance(random, 0.7)) }),
  } as ScoreModelProfile & ScoringOptions
}

function inputOf({ type, value, metadata }: ScoreModelProperty): PropertyInput {
  const stored = typeof value === 'number' && !Number.isInteger(value) ? new Float(value) : (value as PropertyValue)
  const { source, assurance_level, verified_time } = metadata ?? {}
  return {
    name: type,
    value: stored,
    ...(metadata !== undefined && {
      metadata: {
        ...(source !== undefined && { source }),
        ...(assurance_level !== undefined && { assuranceLevel: assurance_level }),
        ...(verified_time !== undefined && { verifiedTime: verified_time }),
      },
    }),
  }
}

/** A graph that grows while its clock moves, and its model. */
class ScoredGraph {
  readonly clock = new ManualClock(START_MS)
  readonly nodes: ScoreModelNode[] = []
  private readonly random: Random
  private readonly store = openEnvironment(null, { clock: this.clock, cacheBytes: 0 })

  constructor(random: Random) {
    this.random = random
  }

  /** Adds nodes at the present time and changes properties of earlier ones. */
  async grow(count: number): Promise<void> {
    const nowMs = this.clock.now()
    const { nodes, random } = this
    const changed = Array.from({ length: nodes.length === 0 ? 0 : count / 4 }, () => below(random, nodes.length))
    const added = Array.from({ length: count }, (_, i) => nodes.length + i)
    await this.store.write((batch) => {
      for (const at of [...new Set(changed), ...added]) {
        const chosen = names.filter(() => chance(random, 0.45)).map((name) => anyProperty(random, name, nowMs))
        const kept = (nodes[at]?.properties ?? []).filter(({ type }) => chosen.every((one) => one.type !== type))
        nodes[at] = { updated: new Date(nowMs), properties: [...kept, ...chosen] }
        batch.upsertNode({ type: 'Licence', externalId: `n${at}`, properties: chosen.map(inputOf) })
      }
    })
  }

  async score(options: ScoringOptions): Promise<RunState> {
    const startedMs = this.clock.now()
    const state: RunState = {
      runId: 'run',
      startedMs,
      revision: 1,
      request: null,
      phase: 'count',
      scoringMs: startedMs,
      graph: 0,
      from: 0,
      nodesCounted: 0,
      propertyCounts: {},
      usual: [],
      nodesTotal: this.nodes.length,
      nodesScored: 0,
      scoresWritten: 0,
      scoresRemoved: 0,
      report: emptyReport,
    }
    const { clock, store } = this
    const pass = new ScoringPass(
      { graphs: [store], nodeType: 'Licence', options, clock, save: async () => true },
      state,
    )
    return (await pass.run()) as RunState
  }

  /** The stored scores without version, by the number of the node. */
  stored(): Record<string, number>[] {
    const snapshot = this.store.snapshot()
    try {
      const chunk = createChunk()
      return this.nodes.map((_, i) => {
        const node = snapshot.findNode(snapshot.symbol('label', 'Licence'), `n${i}`)
        snapshot.neighbours(node, 'out', snapshot.symbol('type', '_HAS'), 0, chunk)
        const properties = new Map(snapshot.nodeProperties(chunk.ids[0]!))
        // Another number of scores, or another version, is a difference in names.
        if (chunk.length === 1 && properties.get('formula_version') === 1) properties.delete('formula_version')
        return Object.fromEntries([...properties].map(([name, value]) => [name, (value as Float).value]))
      })
    } finally {
      snapshot.close()
    }
  }

  close(): Promise<void> {
    return this.store.close()
  }
}

/** The largest difference. Infinite if the scores of a node have other names. */
function difference(stored: readonly Record<string, number>[], model: readonly Record<string, number>[]): number {
  let largest = stored.length === model.length ? 0 : Number.POSITIVE_INFINITY
  stored.forEach((score, i) => {
    const expected = model[i]!
    for (const name of new Set([...Object.keys(score), ...Object.keys(expected)])) {
      const apart = Math.abs((score[name] ?? Number.NaN) - (expected[name] ?? Number.NaN))
      largest = Number.isNaN(apart) ? Number.POSITIVE_INFINITY : Math.max(largest, apart)
    }
  })
  return largest
}

/** The result of a comparison. */
export interface ScoreComparison {
  /** For each profile, the largest difference between a stored score and that of the model. */
  readonly differences: readonly number[]
  readonly nodes: number
  /** A further pass on the same day. */
  readonly repeated: Pick<RunState, 'nodesScored' | 'scoresWritten'>
}

/** Compares the scores of a graph that grows to `count` nodes, a multiple of 32, in eight steps with a profile each. */
export async function compareScores(seed: number, count: number): Promise<ScoreComparison> {
  const random = new Random(seed)
  const graph = new ScoredGraph(random)
  const standard = dimensionNames.map((name, i) => ({ name, weight: [1, 0.6, 0.3, 0.3, 0.3][i]! }))
  const profiles: (ScoreModelProfile & ScoringOptions)[] = [{ dimensions: standard }]
  for (let i = 0; i < 7; i++) profiles.push(anyProfile(random))
  const differences: number[] = []
  try {
    for (const profile of profiles) {
      await graph.grow(count / 8)
      graph.clock.advance(below(random, 200 * 24) * 3_600_000 + below(random, 3_600_000))
      await graph.score(profile)
      differences.push(difference(graph.stored(), modelScores(graph.nodes, profile, new Date(graph.clock.now()))))
    }
    graph.clock.advance(1)
    const { nodesScored, scoresWritten } = await graph.score(profiles.at(-1)!)
    return { differences, nodes: graph.nodes.length, repeated: { nodesScored, scoresWritten } }
  } finally {
    await graph.close()
  }
}
