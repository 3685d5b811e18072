// A small random graph over the databases of a composite project, as captures create it and as plain graphs by
// location.
import type { Random } from '../../generate/random.ts'
import { NaiveGraph, type NaiveNode, relationshipKey, type Scalar } from './graph.ts'

/** `home` is the database of the project itself; `whole` the composite one, with a proxy of every node. */
type GraphPlace = 'home' | 'eu' | 'us' | 'whole'
/** The names by which a policy may name a database; two of them are equivalent. */
export const LOCATIONS = ['eu', 'us', 'home', 'whole', 'eu2'] as const
export type DecisionLocation = (typeof LOCATIONS)[number]
export type NaiveGraphs = Readonly<Record<DecisionLocation, NaiveGraph>>

export const CONNECTION = {
  url: 'lmdb:',
  name: 'm',
  composite_db_name: 'c',
  alias_mapping: 'eu=e&us=u&home=m&whole=c&eu2=e',
}

interface PlacedEnd {
  readonly type: string
  readonly id: string
}

export interface PlacedNode extends PlacedEnd {
  readonly place: GraphPlace
  readonly labels: readonly string[]
  readonly properties: Readonly<Record<string, Scalar>>
}

export interface PlacedRelationship {
  readonly place: GraphPlace
  readonly source: PlacedEnd
  readonly type: string
  readonly target: PlacedEnd
}

export interface DecisionGraph {
  readonly nodes: readonly PlacedNode[]
  readonly relationships: readonly PlacedRelationship[]
}

const COUNTS = { User: 4, Group: 3, Doc: 5 } as const
const LINKS = [
  ['User', 'OWNS', 'Doc', 0.2],
  ['User', 'LIKES', 'Doc', 0.15],
  ['User', 'IN', 'Group', 0.4],
  ['Group', 'IN', 'Group', 0.2],
  ['Group', 'MAY', 'Doc', 0.3],
  ['User', 'KNOWS', 'User', 0.2],
  ['Doc', 'LINK', 'Doc', 0.15],
] as const

export function randomDecisionGraph(random: Random): DecisionGraph {
  const nodes: PlacedNode[] = []
  for (const place of ['home', 'eu', 'us'] as const) {
    for (const [type, count] of Object.entries(COUNTS)) {
      for (let i = 0; i < count; i++) {
        if (!random.odds(place === 'home' ? 0.9 : 0.6)) continue
        const labels = random.odds(0.2) ? ['Admin'] : []
        const properties = {
          ...(random.odds(0.7) ? { n: random.pick([0, 1, 2, 3, 'x', 2.5]) } : {}),
          ...(random.odds(0.7) ? { s: random.pick(['a', 'b', 'ab', 'OWNS', 1]) } : {}),
        }
        nodes.push({ place, type, id: `${type.charAt(0).toLowerCase()}${i}`, labels, properties })
      }
    }
  }
  const relationships: PlacedRelationship[] = []
  for (const place of ['home', 'eu', 'us', 'whole'] as const) {
    const ends = new Map<string, PlacedEnd>()
    for (const node of nodes) if (place === 'whole' || node.place === place) ends.set(`${node.type}/${node.id}`, node)
    const ofType = (wanted: string) => [...ends.values()].filter(({ type }) => type === wanted)
    for (const [from, type, to, odds] of LINKS) {
      for (const source of ofType(from)) {
        for (const target of ofType(to)) {
          if (random.odds(odds)) relationships.push({ place, source: endOf(source), type, target: endOf(target) })
        }
      }
    }
  }
  return { nodes, relationships }
}

const endOf = ({ type, id }: PlacedEnd): PlacedEnd => ({ type, id })

/** The remaining relationships after nodes are deleted. */
export function withoutDangling({ nodes, relationships }: DecisionGraph): DecisionGraph {
  const isThere = (place: GraphPlace, { type, id }: PlacedEnd): boolean =>
    nodes.some((node) => (place === 'whole' || node.place === place) && node.type === type && node.id === id)
  return {
    nodes,
    relationships: relationships.filter(
      ({ place, source, target }) => isThere(place, source) && isThere(place, target),
    ),
  }
}

export function graphsOf({ nodes, relationships }: DecisionGraph): NaiveGraphs {
  const [home, eu, us, whole] = [new NaiveGraph(), new NaiveGraph(), new NaiveGraph(), new NaiveGraph()]
  const graphs = { home, eu, us, whole, eu2: eu }
  for (const { place, type, id, labels, properties } of nodes) {
    const { node } = graphs[place].putNode(type, id)
    node.labels = new Set([type, ...labels])
    for (const [name, value] of Object.entries(properties)) node.properties.set(name, { value, metadata: {} })
    whole.putNode(type, id)
  }
  for (const { place, source, type, target } of relationships) {
    const [from, to] = [source, target].map((end) => nodeAt(graphs[place], end.type, end.id))
    if (from === undefined || to === undefined) throw new Error(`a relationship of nothing at ${place}`)
    graphs[place].putRelationship(from, type, to)
  }
  return graphs
}

export function nodeAt(graph: NaiveGraph, type: string, id: string): NaiveNode | undefined {
  return graph.nodes.get(`${type}/${id}`)
}

/** The target nodes of relationships of the type. */
export function targetsOf(graph: NaiveGraph, source: NaiveNode, type: string): NaiveNode[] {
  return [...graph.relationships.values()]
    .filter((one) => one.source === source && one.type === type)
    .map(({ target }) => target)
}

export function hasRelationship(graph: NaiveGraph, source: NaiveNode, type: string, target: NaiveNode): boolean {
  const properties = new Map()
  return graph.relationships.has(relationshipKey({ kind: 'relationship', source, type, target, properties }))
}

/** The bodies of the captures that create it, in order. */
export function capturesOf({
  nodes,
  relationships,
}: DecisionGraph): readonly (readonly [path: string, body: object])[] {
  const at = (place: GraphPlace) => (place === 'eu' || place === 'us' ? { location: place } : {})
  const joined = (isWhole: boolean) =>
    relationships
      .filter(({ place }) => (place === 'whole') === isWhole)
      .map(({ place, source, type, target }) => ({
        source: { type: source.type, external_id: source.id, ...at(place) },
        type,
        target: { type: target.type, external_id: target.id, ...at(place) },
      }))
  const captures = [
    [
      'nodes',
      {
        nodes: nodes.map(({ place, type, id, labels, properties }) => ({
          type,
          external_id: id,
          ...at(place),
          ...(labels.length === 0 ? {} : { labels }),
          properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
        })),
      },
    ],
    ['relationships', { relationships: joined(false) }],
    ['relationships', { relationships: joined(true), use_global_db: true }],
  ] as const
  return captures.filter(([, body]) => Object.values(body).some((all) => Array.isArray(all) && all.length > 0))
}
