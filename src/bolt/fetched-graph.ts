// The data that one request has fetched of a graph in a database server. A read of something that is not here requires a fetch, which ends
// the attempt; the next attempt finds it.
import type { Direction, NodeId, RelationshipId, SymbolId } from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { ThrownServiceError } from '../kernel/errors.ts'
import type { NodeRecord, RelationshipRecord } from '../store/format/records.ts'
import type { BoltRecord } from './bolt-server.ts'
import { type BoltDriver, propertyToDriver } from './driver-values.ts'
import { type GraphState, STATE_QUERY, stateOf } from './graph-state.ts'
import { isHiddenName, quoted, STATE_LABEL as STATE } from './print/names.ts'
import type { SharedSymbols } from './shared-symbols.ts'
import { eachInSlices, mapInSlices } from './slices.ts'
import {
  type DriverNode,
  type DriverRelationship,
  databaseId,
  EXTERNAL_ID,
  engineId,
  nodeOfDriver,
  relationshipOfDriver,
  TYPE_TEXT,
} from './stored-elements.ts'
import { valueKey } from './value-key.ts'

/** Nodes or neighbours that are fetched at once. */
const PAGE = 2_048
/** Further elements that are fetched with one that is needed, because the next attempts probably need them. */
const AHEAD_MAX = 256
/** Nodes and relationships of one graph that one request may hold in memory. */
const ELEMENTS_MAX = 500_000

/** Runs a query that reads. */
export type BoltRead = (text: string, parameters: Readonly<Record<string, unknown>>) => Promise<readonly BoltRecord[]>

/** Lets a fetch run before the next attempt. */
export interface FetchRequests {
  require(fetch: (run: BoltRead, driver: BoltDriver) => Promise<void>): never
}

/** Node ids, ascending, as far as they were fetched. */
export interface FetchedNodes {
  readonly nodes: NodeId[]
  isComplete: boolean
}

/** Neighbours of a node, ascending by (neighbour, relationship), as far as they were fetched. */
interface FetchedNeighbours {
  readonly nodes: NodeId[]
  readonly relationships: RelationshipId[]
  isComplete: boolean
}

/** The data that one request has fetched. */
export class FetchedGraph {
  readonly symbols: SharedSymbols
  private readonly nodes = new Map<NodeId, NodeRecord | null>()
  private readonly relationships = new Map<RelationshipId, RelationshipRecord | null>()
  private readonly keys = new Map<string, NodeId>()
  private readonly scans = new Map<string, FetchedNodes>()
  private readonly neighbourLists = new Map<string, FetchedNeighbours>()
  private readonly typesAt = new Map<string, readonly SymbolId[]>()
  private readonly counts = new Map<string, number>()
  private names: ReadonlyMap<string, readonly string[]> | null = null
  private knownState: GraphState | null = null
  /** Answers of whole queries, by text and parameters. */
  readonly answers = new Map<string, unknown>()
  /** Why the graph cannot be read in this request: each read that needs it fails, and no other. */
  failure: ThrownServiceError | null = null
  /** Nodes that were listed, and not read or expanded yet. */
  private readonly listed = new Set<NodeId>()

  private readonly elementsMax: number

  constructor(symbols: SharedSymbols, elementsMax = ELEMENTS_MAX) {
    this.symbols = symbols
    this.elementsMax = elementsMax
  }

  // -- filling. Throws ThrownServiceError `budget` beyond the maximum number of elements.

  addNode(driver: BoltDriver, node: DriverNode): NodeId {
    const id = engineId(node.identity)
    this.checkSize()
    const record = nodeOfDriver(driver, node, this.symbols)
    this.nodes.set(id, record)
    for (const label of record.labels) {
      if (record.externalId !== '') this.keys.set(keyText(this.symbols.name('label', label), record.externalId), id)
    }
    return id
  }

  addRelationship(driver: BoltDriver, relationship: DriverRelationship): RelationshipId {
    const id = engineId(relationship.identity)
    this.checkSize()
    this.relationships.set(id, relationshipOfDriver(driver, relationship, this.symbols))
    return id
  }

  private checkSize(): void {
    if (this.nodes.size + this.relationships.size < this.elementsMax) return
    throw new ThrownServiceError({
      kind: 'budget',
      limit: 'fetchedElements',
      message: `the request reads more than ${this.elementsMax} nodes and relationships of a graph in a database server`,
    })
  }

  // -- reading

  state(requests: FetchRequests): GraphState {
    if (this.knownState !== null) return this.knownState
    return requests.require(async (run) => {
      this.knownState = stateOf(await run(STATE_QUERY, {}))
    })
  }

  /** Null: the node does not exist. */
  node(id: NodeId, requests: FetchRequests): NodeRecord | null {
    const known = this.nodes.get(id)
    if (known !== undefined) return known
    if (id <= 0) return null
    return requests.require(async (run, driver) => {
      const wanted = [id, ...this.unread(id)]
      const records = await run('MATCH (n) WHERE id(n) IN $ids RETURN n', { ids: wanted.map(databaseId) })
      await eachInSlices(records, ({ n }) => void this.addNode(driver, n as DriverNode))
      for (const one of wanted) if (!this.nodes.has(one)) this.nodes.set(one, null)
    })
  }

  private *unread(except: NodeId): Iterable<NodeId> {
    let count = 0
    for (const id of this.listed) {
      if (id === except || this.nodes.has(id)) continue
      yield id
      count += 1
      if (count === AHEAD_MAX) return
    }
  }

  /** Null: the relationship does not exist. */
  relationship(id: RelationshipId, requests: FetchRequests): RelationshipRecord | null {
    const known = this.relationships.get(id)
    if (known !== undefined) return known
    if (id <= 0) return null
    return requests.require(async (run, driver) => {
      const records = await run('MATCH ()-[r]->() WHERE id(r) = $id RETURN r', { id: databaseId(id) })
      this.relationships.set(id, null)
      for (const record of records) this.addRelationship(driver, record.r as DriverRelationship)
    })
  }

  /** The node with that label and external id; 0: none. */
  findNode(label: string, externalId: string, requests: FetchRequests): NodeId {
    const key = keyText(label, externalId)
    const known = this.keys.get(key)
    if (known !== undefined) return this.ofType(known, label, requests)
    return requests.require(async (run, driver) => {
      // Nodes of other tools have no type of their own.
      const records = await run(
        `MATCH (n:${quoted(label)} {${EXTERNAL_ID}: $key}) WHERE ${TYPE_TEXT} = $label RETURN n LIMIT 2`,
        { key: externalId, label },
      )
      this.keys.set(key, 0)
      for (const record of records) this.keys.set(key, this.addNode(driver, record.n as DriverNode))
    })
  }

  private ofType(id: NodeId, label: string, requests: FetchRequests): NodeId {
    if (id === 0) return 0
    const record = this.node(id, requests)
    return record !== null && record.type !== 0 && this.symbols.name('label', record.type) === label ? id : 0
  }

  /** Adds nodes to a list of nodes, after the last one, until it has more than `index`. */
  scan(
    label: string | null,
    property: readonly [string, PropertyValue] | null,
    index: number,
    requests: FetchRequests,
  ): FetchedNodes {
    const key = JSON.stringify([label, property?.[0] ?? null, property === null ? '' : valueKey(property[1])])
    let list = this.scans.get(key)
    if (list === undefined) {
      list = { nodes: [], isComplete: false }
      this.scans.set(key, list)
    }
    if (index < list.nodes.length || list.isComplete) return list
    const filled = list
    return requests.require(async (run, driver) => {
      const after = filled.nodes.at(-1) ?? 0
      const pattern = label === null ? `(n) WHERE NOT n:${STATE}` : `(n:${quoted(label)}) WHERE true`
      const where = property === null ? '' : ` AND n.${quoted(property[0])} = $value`
      const records = await run(`MATCH ${pattern}${where} AND id(n) >= $from RETURN n ORDER BY id(n) LIMIT ${PAGE}`, {
        from: BigInt(after),
        ...(property === null ? {} : { value: propertyToDriver(driver, property[1]) }),
      })
      const nodes = await mapInSlices(records, ({ n }) => this.addNode(driver, n as DriverNode))
      // Another part of the request may have fetched the same page.
      if ((filled.nodes.at(-1) ?? 0) !== after) return
      for (const node of nodes) filled.nodes.push(node)
      if (records.length < PAGE) filled.isComplete = true
    })
  }

  /** Adds neighbours over a relationship type, until there are more than `index`. Null as type: over all types. */
  neighbours(
    node: NodeId,
    direction: Direction,
    type: string,
    index: number,
    requests: FetchRequests,
  ): FetchedNeighbours {
    const keyOf = (id: NodeId): string => `${id} ${direction} ${type}`
    const list = this.neighbourLists.get(keyOf(node))
    if (list !== undefined && (index < list.nodes.length || list.isComplete)) return list
    return requests.require(async (run, driver) => {
      const arrow = direction === 'out' ? `-[r:${quoted(type)}]->` : `<-[r:${quoted(type)}]-`
      if (list !== undefined) {
        const records = await run(
          `MATCH (n)${arrow}(m) WHERE id(n) = $id AND (id(m) > $m OR (id(m) = $m AND id(r) > $r)) RETURN m, r ORDER BY id(m), id(r) LIMIT ${PAGE}`,
          { id: databaseId(node), m: databaseId(list.nodes.at(-1)!), r: databaseId(list.relationships.at(-1)!) },
        )
        await this.append(driver, list, records)
        if (records.length < PAGE) list.isComplete = true
        return
      }
      const wanted = [node, ...this.unexpanded(node, keyOf)]
      const records = await run(
        `UNWIND $ids AS wanted MATCH (n) WHERE id(n) = wanted CALL (n) { MATCH (n)${arrow}(m) RETURN m, r ORDER BY id(m), id(r) LIMIT ${PAGE} } RETURN wanted, m, r`,
        { ids: wanted.map(databaseId) },
      )
      const found = new Map(wanted.map((one) => [one, emptyNeighbours()]))
      await eachInSlices(records, (record) => {
        this.addNeighbour(driver, found.get(engineId(record.wanted as bigint))!, record)
      })
      for (const [one, filled] of found) {
        filled.isComplete = filled.nodes.length < PAGE
        this.neighbourLists.set(keyOf(one), filled)
      }
    })
  }

  private *unexpanded(except: NodeId, keyOf: (id: NodeId) => string): Iterable<NodeId> {
    let count = 0
    for (const id of this.listed) {
      if (id === except || this.neighbourLists.has(keyOf(id))) continue
      yield id
      count += 1
      if (count === AHEAD_MAX) return
    }
  }

  private async append(driver: BoltDriver, list: FetchedNeighbours, records: readonly BoltRecord[]): Promise<void> {
    const { length } = list.nodes
    const more = emptyNeighbours()
    await eachInSlices(records, (record) => this.addNeighbour(driver, more, record))
    // Another part of the request may have fetched the same page.
    if (list.nodes.length !== length) return
    for (const node of more.nodes) list.nodes.push(node)
    for (const relationship of more.relationships) list.relationships.push(relationship)
  }

  private addNeighbour(driver: BoltDriver, list: FetchedNeighbours, { m, r }: BoltRecord): void {
    const node = this.addNode(driver, m as DriverNode)
    list.nodes.push(node)
    list.relationships.push(this.addRelationship(driver, r as DriverRelationship))
    this.listed.add(node)
  }

  /** The types of the relationships of a node, ascending. */
  relationshipTypes(node: NodeId, direction: Direction, requests: FetchRequests): readonly SymbolId[] {
    const key = `${node} ${direction}`
    const known = this.typesAt.get(key)
    if (known !== undefined) return known
    return requests.require(async (run) => {
      const arrow = direction === 'out' ? '-[r]->' : '<-[r]-'
      const records = await run(`MATCH (n)${arrow}() WHERE id(n) = $id RETURN DISTINCT type(r) AS type`, {
        id: databaseId(node),
      })
      const types = records.map(({ type }) => this.symbols.intern('type', String(type)))
      this.typesAt.set(
        key,
        types.sort((a, b) => a - b),
      )
    })
  }

  /** A count of nodes with a label, of nodes of a type, or of relationships; null: of all. */
  count(kind: 'node' | 'typed' | 'relationship', name: string | null, requests: FetchRequests): number {
    const key = `${kind} ${name ?? ''}`
    const known = this.counts.get(key)
    if (known !== undefined) return known
    return requests.require(async (run) => {
      const of = name === null ? '' : `:${quoted(name)}`
      const pattern = kind === 'relationship' ? `()-[n${of}]->()` : `(n${of})`
      const where = kind === 'typed' ? ` WHERE ${TYPE_TEXT} = $name` : ''
      const [record] = await run(`MATCH ${pattern}${where} RETURN count(n) AS count`, { name })
      const own = kind === 'node' && name === null ? 1 : 0
      this.counts.set(key, Math.max(0, Number(record?.count ?? 0) - own))
    })
  }

  /** Whether the names were fetched, and this one is not among them. */
  isUnknownName(kind: 'label' | 'type' | 'property', name: string): boolean {
    return this.names !== null && !(this.names.get(kind)?.includes(name) ?? false)
  }

  /** The names of labels, relationship types or properties that the database has, without those of the service. */
  symbolNames(kind: 'label' | 'type' | 'property', requests: FetchRequests): readonly string[] {
    if (this.names !== null) return this.names.get(kind) ?? []
    return requests.require(async (run) => {
      const labels = await run('CALL db.labels() YIELD label RETURN label AS name', {})
      const types = await run('CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType AS name', {})
      const properties = await run(
        `CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName WHERE NOT '${STATE}' IN nodeLabels AND propertyName IS NOT NULL RETURN DISTINCT propertyName AS name UNION CALL db.schema.relTypeProperties() YIELD propertyName WHERE propertyName IS NOT NULL RETURN DISTINCT propertyName AS name`,
        {},
      )
      const namesOf = (records: readonly BoltRecord[]): string[] =>
        records
          .map(({ name }) => String(name))
          .filter((name) => !isHiddenName(name) && name !== STATE && name !== EXTERNAL_ID)
      this.names = new Map([
        ['label', namesOf(labels)],
        ['type', namesOf(types)],
        ['property', namesOf(properties)],
      ])
    })
  }
}

function emptyNeighbours(): FetchedNeighbours {
  return { nodes: [], relationships: [], isComplete: false }
}

function keyText(label: string, externalId: string): string {
  return `${label}\u0000${externalId}`
}
