// The elements that a batch names, fetched within its transaction: all at once, after an attempt has noted which ones.

import type { NodeId, RelationshipId } from '../engine/store.ts'
import type { NodeRecord, RelationshipRecord } from '../store/format/records.ts'
import type { BoltDriver } from './driver-values.ts'
import type { BoltRead, FetchedGraph } from './fetched-graph.ts'
import { quoted } from './print/names.ts'
import type { SharedSymbols } from './shared-symbols.ts'
import { eachInSlices } from './slices.ts'
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

interface Found<R> {
  readonly id: number
  readonly record: R
}

/** What a batch has fetched, and what its next attempt needs. Undefined: not fetched; the next `fetch` does it. */
export class TouchedElements {
  private readonly symbols: SharedSymbols
  /** By type, then external id. */
  private readonly keys = new Map<string, Map<string, Found<NodeRecord> | null>>()
  /** Null: no node has that id. */
  private readonly nodes = new Map<NodeId, NodeRecord | null>()
  private readonly ends = new Map<string, Found<RelationshipRecord>[]>()
  private readonly attached = new Map<NodeId, Found<RelationshipRecord>[]>()
  private wantedKeys = new Map<string, Set<string>>()
  private wantedEnds = new Map<string, { type: string; source: NodeId; target: NodeId }>()
  private wantedAttached = new Set<NodeId>()
  private wantedIds = new Set<NodeId>()

  constructor(symbols: SharedSymbols) {
    this.symbols = symbols
  }

  /** Null: no node has that key. */
  node(type: string, externalId: string): Found<NodeRecord> | null | undefined {
    const known = this.keys.get(type)?.get(externalId)
    if (known === undefined) {
      const wanted = this.wantedKeys.get(type) ?? new Set()
      this.wantedKeys.set(type, wanted.add(externalId))
    }
    return known
  }

  /** Null: no node has that id. */
  nodeById(id: NodeId): NodeRecord | null | undefined {
    const known = this.nodes.get(id)
    if (known === undefined) this.wantedIds.add(id)
    return known
  }

  /** The relationships of a type between two nodes. */
  between(source: NodeId, type: string, target: NodeId): readonly Found<RelationshipRecord>[] | undefined {
    const key = `${source} ${type} ${target}`
    const known = this.ends.get(key)
    if (known === undefined) this.wantedEnds.set(key, { type, source, target })
    return known
  }

  /** All relationships of a node. */
  relationshipsAt(node: NodeId): readonly Found<RelationshipRecord>[] | undefined {
    const known = this.attached.get(node)
    if (known === undefined) this.wantedAttached.add(node)
    return known
  }

  /** Fetches everything that was missing. `fetched` also gets the elements, for the view of the batch. */
  async fetch(run: BoltRead, driver: BoltDriver, fetched: FetchedGraph): Promise<void> {
    const { wantedKeys, wantedEnds, wantedAttached, wantedIds } = this
    this.wantedIds = new Set()
    this.wantedKeys = new Map()
    this.wantedEnds = new Map()
    this.wantedAttached = new Set()
    const addNode = (node: DriverNode): Found<NodeRecord> => {
      const id = fetched.addNode(driver, node)
      const record = nodeOfDriver(driver, node, this.symbols)
      this.nodes.set(id, record)
      return { id, record }
    }
    const addRelationship = (relationship: DriverRelationship): Found<RelationshipRecord> => ({
      id: fetched.addRelationship(driver, relationship) as RelationshipId,
      record: relationshipOfDriver(driver, relationship, this.symbols),
    })
    if (wantedIds.size > 0) {
      const records = await run('MATCH (n) WHERE id(n) IN $ids RETURN n', { ids: [...wantedIds].map(databaseId) })
      for (const id of wantedIds) this.nodes.set(id, null)
      await eachInSlices(records, ({ n }) => void addNode(n as DriverNode))
    }
    for (const [type, ids] of wantedKeys) {
      const records = await run(
        `UNWIND $keys AS key MATCH (n:${quoted(type)} {${EXTERNAL_ID}: key}) WHERE ${TYPE_TEXT} = $type RETURN key, n`,
        { keys: [...ids], type },
      )
      const byKey = this.keys.get(type) ?? new Map<string, Found<NodeRecord> | null>()
      this.keys.set(type, byKey)
      for (const id of ids) byKey.set(id, null)
      await eachInSlices(records, ({ key, n }) => void byKey.set(String(key), addNode(n as DriverNode)))
    }
    for (const [type, ends] of Map.groupBy(wantedEnds.values(), ({ type }) => type)) {
      const rows = ends.map(({ source, target }) => ({ source: databaseId(source), target: databaseId(target) }))
      const records = await run(
        `UNWIND $rows AS row MATCH (a) WHERE id(a) = row.source MATCH (b) WHERE id(b) = row.target MATCH (a)-[r:${quoted(type)}]->(b) RETURN r ORDER BY id(r)`,
        { rows },
      )
      for (const { source, target } of ends) this.ends.set(`${source} ${type} ${target}`, [])
      await eachInSlices(records, ({ r }) => {
        const found = addRelationship(r as DriverRelationship)
        this.ends.get(`${found.record.source} ${type} ${found.record.target}`)?.push(found)
      })
    }
    if (wantedAttached.size > 0) {
      const records = await run(
        'MATCH (n)-[r]-(m) WHERE id(n) IN $ids RETURN DISTINCT id(n) AS node, r, m ORDER BY node, id(r)',
        { ids: [...wantedAttached].map(databaseId) },
      )
      for (const node of wantedAttached) this.attached.set(node, [])
      await eachInSlices(records, ({ node, r, m }) => {
        addNode(m as DriverNode)
        this.attached.get(engineId(node as bigint))?.push(addRelationship(r as DriverRelationship))
      })
    }
  }
}
