// A small random graph, as captures create it.
import type { Random } from '../../generate/random.ts'

export const TYPES = ['Person', 'Car', 'Team', 'Note']
export const EXTRA_LABELS = ['Vip', 'Fast']
export const RELATIONSHIP_TYPES = ['OWNS', 'MEMBER', 'KNOWS', 'SEES', 'ABOUT']
export const PROPERTIES = ['num', 'name', 'flag', 'tags', 'odd']
export const NAMES = ['n0', 'n1', 'n2', 'p1', 'x n1']
/** Metadata fields; `by` is a custom one. */
export const METADATA = ['source', 'assurance_level', 'by']

const COUNTS = { Person: 5, Car: 5, Team: 2, Note: 3 } as const

export interface RandomGraph {
  readonly nodes: readonly object[]
  readonly relationships: readonly object[]
}

export function randomGraph(random: Random, applicationId: string): RandomGraph {
  const keys = Object.entries(COUNTS).flatMap(([type, count]) =>
    Array.from({ length: count }, (_, i) => ({ type, external_id: `${type[0]?.toLowerCase()}${i}` })),
  )
  const nodes = keys.map((key) => ({
    ...key,
    ...(random.odds(0.4) ? { labels: EXTRA_LABELS.filter(() => random.odds(0.6)) } : {}),
    ...(key.type === 'Person' && random.odds(0.7) ? { is_identity: true } : {}),
    properties: PROPERTIES.filter(() => random.odds(0.65)).map((type) => ({
      type,
      value: randomValue(random, type),
      ...(random.odds(0.4) ? { metadata: metadata(random) } : {}),
    })),
  }))
  const ofType = (type: string) => keys.filter((key) => key.type === type)
  const ends: Record<string, readonly [string, string]> = {
    OWNS: ['Person', 'Car'],
    MEMBER: ['Person', 'Team'],
    KNOWS: ['Person', 'Person'],
    ABOUT: ['Note', 'Car'],
  }
  const found = new Map<string, object>()
  for (let i = 0; i < 22; i++) {
    const type = random.pick(RELATIONSHIP_TYPES)
    const [source, target] = ends[type] ?? [random.pick(TYPES), random.pick(TYPES)]
    const one = { source: random.pick(ofType(source)), target: random.pick(ofType(target)), type }
    const properties = ['since', 'num']
      .filter(() => random.odds(0.5))
      .map((name) => ({ type: name, value: random.between(0, 3) }))
    found.set(JSON.stringify(one), { ...one, properties })
  }
  const application = { type: '_Application', external_id: applicationId }
  const seen = keys
    .filter(() => random.odds(0.25))
    .map((target) => ({ source: application, target, type: 'SEES', properties: [] }))
  return { nodes, relationships: [...found.values(), ...seen] }
}

function randomValue(random: Random, name: string): unknown {
  switch (name) {
    case 'num':
      return random.pick([-1, 0, 1, 2, 3, 1.5])
    case 'name':
      return random.pick(NAMES)
    case 'flag':
      return random.odds(0.5)
    case 'tags':
      return ['a', 'n1', 'b'].filter(() => random.odds(0.6))
    default:
      return random.pick<unknown>([1, 'n1', true, ['n1'], [1, 2], 0.5])
  }
}

function metadata(random: Random): object {
  return {
    ...(random.odds(0.6) ? { source: random.pick(['desk', 'web']) } : {}),
    ...(random.odds(0.5) ? { assurance_level: random.between(1, 3) } : {}),
    ...(random.odds(0.4) ? { custom_metadata: { by: random.pick<unknown>(['n1', 2]) } } : {}),
  }
}
