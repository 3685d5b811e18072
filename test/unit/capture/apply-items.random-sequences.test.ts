// Random captures of a composite project compared with plain maps: the same results and the same graphs, also after
// reopening.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CaptureDeps } from '../../../src/capture/apply-items.ts'
import { captureNodes, deleteNodeProperties, deleteNodes } from '../../../src/capture/nodes.ts'
import {
  captureRelationships,
  deleteRelationshipProperties,
  deleteRelationships,
} from '../../../src/capture/relationships.ts'
import type { BatchResult } from '../../../src/capture/schema.ts'
import { parseLayout } from '../../../src/config/db-connection.ts'
import { createChunk, type GraphStore, type NodeId } from '../../../src/engine/store.ts'
import type { ServiceError } from '../../../src/kernel/errors.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import type { AgentCaller } from '../../../src/kernel/request/caller.ts'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import type { Result } from '../../../src/kernel/result.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const LOCATIONS = [undefined, 'eu', 'uk', 'us'] as const
type LocationName = (typeof LOCATIONS)[number]
const databases = { eu: 'db1', uk: 'db1', us: 'db2' } as const
const layout = parseLayout({
  db_connection: { composite_db_name: 'all', alias_mapping: 'eu=db1&uk=db1&us=db2' },
})

// -- the model

interface SequenceNode {
  readonly id: string
  readonly location: LocationName
  readonly properties: ReadonlyMap<string, number>
}
interface ModelGraph {
  readonly nodes: Map<string, SequenceNode>
  /** By `source type target`. */
  readonly relationships: Map<string, ReadonlyMap<string, number>>
}
interface RelationshipEnd {
  readonly type: string
  readonly external_id: string
  readonly location?: Exclude<LocationName, undefined>
}

const nameOf = (node: RelationshipEnd): string => `${node.type}/${node.external_id}`
const newGraph = (): ModelGraph => ({ nodes: new Map(), relationships: new Map() })

function removeNode(graph: ModelGraph, name: string): void {
  graph.nodes.delete(name)
  for (const key of [...graph.relationships.keys()]) if (key.split(' ').includes(name)) graph.relationships.delete(key)
}

class Model {
  readonly graphs = { main: newGraph(), db1: newGraph(), db2: newGraph(), global: newGraph() }

  at(location: LocationName): ModelGraph {
    return location === undefined ? this.graphs.main : this.graphs[databases[location]]
  }

  /** Updates the proxy of a node from the constituents. */
  follow(name: string): void {
    const { global, main, db1, db2 } = this.graphs
    const holders = [main, db1, db2].flatMap((graph) => graph.nodes.get(name) ?? [])
    const proxy = global.nodes.get(name)
    const holder =
      holders.find(({ id }) => id === proxy?.id) ?? holders.find(({ location }) => location !== undefined) ?? holders[0]
    if (proxy !== undefined && proxy.id !== holder?.id) removeNode(global, name)
    if (holder !== undefined) global.nodes.set(name, { ...holder, properties: new Map() })
  }
}

// -- requests

const end: fc.Arbitrary<RelationshipEnd> = fc
  .record({
    type: fc.constantFrom('Ape', 'Bee'),
    external_id: fc.constantFrom('x', 'y'),
    location: fc.constantFrom(...LOCATIONS),
  })
  .map(({ location, ...key }) => (location === undefined ? key : { ...key, location }))
const property = fc.record({ type: fc.constantFrom('p', 'q'), value: fc.integer({ min: 0, max: 3 }) })
const properties = fc.array(property, { maxLength: 2 })
const property_types = fc.uniqueArray(fc.constantFrom('p', 'q', 'r'), { minLength: 1 })
const relationship = fc.record({ source: end, target: end, type: fc.constant('KNOWS'), properties })
const use_global_db = fc.boolean()
const some = <T>(item: fc.Arbitrary<T>) => fc.array(item, { minLength: 1, maxLength: 3 })

type CaptureAnswer = Promise<Result<BatchResult, ServiceError>>

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('nodes' as const), items: some(fc.tuple(end, properties)) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete nodes' as const), items: some(end) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('trim nodes' as const), items: some(fc.tuple(end, property_types)) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('relationships' as const), items: some(relationship), use_global_db }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('delete relationships' as const),
      items: some(relationship),
      use_global_db,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('trim relationships' as const),
      items: some(fc.tuple(relationship, property_types)),
      use_global_db,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
)
type SequenceStep = typeof step extends fc.Arbitrary<infer T> ? T : never
type CaptureRequest = Exclude<SequenceStep, { readonly do: 'reopen' }>

const caller = (projectId: string) => ({ projectId }) as AgentCaller

function ask(parts: CaptureDeps, projectId: string, asked: CaptureRequest): CaptureAnswer {
  const by = caller(projectId)
  switch (asked.do) {
    case 'nodes':
      return captureNodes(
        parts,
        { caller: by, origin: noOrigin },
        { nodes: asked.items.map(([node, properties]) => ({ ...node, properties })) },
      )
    case 'delete nodes':
      return deleteNodes(parts, { caller: by, origin: noOrigin }, { nodes: asked.items })
    case 'trim nodes':
      return deleteNodeProperties(
        parts,
        { caller: by, origin: noOrigin },
        {
          nodes: asked.items.map(([node, property_types]) => ({ ...node, property_types })),
        },
      )
    case 'relationships':
      return captureRelationships(
        parts,
        { caller: by, origin: noOrigin },
        { relationships: asked.items, use_global_db: asked.use_global_db },
      )
    case 'delete relationships':
      return deleteRelationships(
        parts,
        { caller: by, origin: noOrigin },
        { relationships: asked.items, use_global_db: asked.use_global_db },
      )
    case 'trim relationships':
      return deleteRelationshipProperties(
        parts,
        { caller: by, origin: noOrigin },
        {
          relationships: asked.items.map(([item, property_types]) => ({ ...item, property_types })),
          use_global_db: asked.use_global_db,
        },
      )
  }
}

function without(properties: ReadonlyMap<string, number>, names: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...properties].filter(([name]) => !names.includes(name)))
}

/**
 * Applies a request to the model. Null: it must be refused, and nothing changes. Else for each item whether it has an
 * id: `ids` are the returned ones, which the model stores for the nodes.
 */
function expected(model: Model, asked: CaptureRequest, ids: readonly string[]): boolean[] | null {
  if (asked.do === 'nodes') {
    return inGroups(
      model,
      asked.items,
      ([node]) => node,
      ([node, properties], index) => {
        const { nodes } = model.at(node.location)
        const old = nodes.get(nameOf(node))
        const given = properties.map(({ type, value }) => [type, value] as const)
        const id = old?.id ?? ids[index]!
        expect([nameOf(node), ids[index]]).toEqual([nameOf(node), id])
        const merged = new Map([...(old?.properties ?? []), ...given])
        nodes.set(nameOf(node), { id, location: node.location ?? old?.location, properties: merged })
        return true
      },
    )
  }
  if (asked.do === 'delete nodes') {
    return inGroups(
      model,
      asked.items,
      (node) => node,
      (node) => {
        const had = model.at(node.location).nodes.has(nameOf(node))
        removeNode(model.at(node.location), nameOf(node))
        return had
      },
    )
  }
  if (asked.do === 'trim nodes') {
    return asked.items.map(([node, names]) => {
      const { nodes } = model.at(node.location)
      const old = nodes.get(nameOf(node))
      if (old !== undefined) nodes.set(nameOf(node), { ...old, properties: without(old.properties, names) })
      return old !== undefined
    })
  }
  return expectedOfRelationships(model, asked)
}

/** One graph after the other, in the order of the items: the proxies of each are updated before the next is written. */
function inGroups<T>(
  model: Model,
  items: readonly T[],
  nodeOf: (item: T) => RelationshipEnd,
  apply: (item: T, index: number) => boolean,
): boolean[] {
  const answers: boolean[] = []
  for (const graph of new Set(items.map((item) => model.at(nodeOf(item).location)))) {
    const group = items.flatMap((item, index) => (model.at(nodeOf(item).location) === graph ? [{ item, index }] : []))
    for (const { item, index } of group) answers[index] = apply(item, index)
    for (const { item } of group) model.follow(nameOf(nodeOf(item)))
  }
  return answers
}

function expectedOfRelationships(
  model: Model,
  asked: Extract<CaptureRequest, { readonly use_global_db: boolean }>,
): boolean[] | null {
  const place = ({ source, target }: { source: RelationshipEnd; target: RelationshipEnd }): ModelGraph | null => {
    if (asked.use_global_db) return model.graphs.global
    return model.at(source.location) === model.at(target.location) ? model.at(source.location) : null
  }
  const items = asked.items.map((item) =>
    Array.isArray(item) ? { ...item[0], names: item[1] } : { ...item, names: [] },
  )
  if (items.some((item) => place(item) === null)) return null
  const exists = (item: (typeof items)[number], node: RelationshipEnd): boolean =>
    place(item)!.nodes.has(nameOf(node)) &&
    (node.location === undefined || model.at(node.location).nodes.has(nameOf(node)))
  if (asked.do === 'relationships' && items.some((item) => !exists(item, item.source) || !exists(item, item.target))) {
    return null
  }
  return items.map((item) => {
    const { relationships } = place(item)!
    const key = `${nameOf(item.source)} ${item.type} ${nameOf(item.target)}`
    const old = relationships.get(key)
    if (asked.do === 'relationships') {
      const given = item.properties.map(({ type, value }) => [type, value] as const)
      relationships.set(key, new Map([...(old ?? []), ...given]))
      return true
    }
    if (asked.do === 'delete relationships') return relationships.delete(key)
    if (old !== undefined) relationships.set(key, without(old, item.names))
    return old !== undefined
  })
}

// -- the stored graphs

function factsOfModel(graph: ModelGraph): string[] {
  return [
    ...[...graph.nodes].map(([name, { id, location, properties }]) => fact(name, id, location ?? null, properties)),
    ...[...graph.relationships].map(([name, properties]) => fact(name, properties)),
  ].sort()
}

function factsOfGraph(graph: GraphStore): string[] {
  const snapshot = graph.snapshot()
  try {
    const facts: string[] = []
    const name = (node: NodeId) => `${snapshot.nodeField(node, 'type')}/${snapshot.nodeField(node, 'external_id')}`
    const nodes = createChunk()
    const found = createChunk()
    snapshot.allNodes(0, nodes)
    for (const node of nodes.ids.subarray(0, nodes.length)) {
      const own = [snapshot.nodeField(node, 'id'), snapshot.nodeField(node, 'location')]
      facts.push(fact(name(node), ...own, snapshot.nodeProperties(node)))
      snapshot.neighbours(node, 'out', snapshot.symbol('type', 'KNOWS'), 0, found)
      for (const id of found.relationships.subarray(0, found.length)) {
        const ends = [snapshot.relationshipSource(id), snapshot.relationshipTarget(id)].map(name)
        facts.push(fact(ends.join(' KNOWS '), snapshot.relationshipProperties(id)))
      }
    }
    return facts.sort()
  } finally {
    snapshot.close()
  }
}

function fact(...words: unknown[]): string {
  return JSON.stringify(words, (_, word: unknown) => (word instanceof Map ? [...word].sort() : word))
}

test('random captures of a composite project give the results and graphs of plain maps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const folder = temporaryFolder()
      const projectId = mintGid(1)
      const clock = new ManualClock(1_750_000_000_000)
      const open = () => openCatalog(folder, { clock, sync: false })
      let catalog = open()
      await catalog.create(projectId, layout)
      const model = new Model()
      const graphs = {
        get default() {
          return catalog.graph(projectId, 'default')!
        },
        get global() {
          return catalog.graph(projectId, 'global')!
        },
        at: (location: string) => {
          const part = layout.locations.get(location)
          return part === undefined ? null : catalog.graph(projectId, part)
        },
      }
      for (const step of steps) {
        if (step.do === 'reopen') {
          await catalog.close()
          catalog = open()
          continue
        }
        const answer = await ask({ graphsOf: () => graphs }, projectId, step)
        const ids = answer.ok ? answer.value.results.map(({ id }) => id) : []
        const wanted = expected(model, step, ids)
        expect(answer.ok ? ids.map((id) => id !== '') : answer.error.kind).toEqual(wanted ?? 'invalid')
        const { main, db1, db2, global } = model.graphs
        expect(factsOfGraph(graphs.default)).toEqual(factsOfModel(main))
        expect(factsOfGraph(graphs.at('uk')!)).toEqual(factsOfModel(db1))
        expect(factsOfGraph(graphs.at('us')!)).toEqual(factsOfModel(db2))
        expect(factsOfGraph(graphs.global)).toEqual(factsOfModel(global))
      }
      for (const part of ['default', 'global', ...layout.locations.values()] as const) {
        expect(catalog.check(projectId, part)).toEqual([])
      }
      await catalog.close()
    }),
    { numRuns: 35 },
  )
})
