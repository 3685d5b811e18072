// The graph in a database of a server, as the source of a copy. It is read by ranges of ids.
import { createHash } from 'node:crypto'
import type { BoltServer } from '../../bolt/bolt-server.ts'
import type { BoltDriver } from '../../bolt/driver-values.ts'
import { hidden, isHiddenName, STATE_LABEL } from '../../bolt/print/names.ts'
import { SharedSymbols } from '../../bolt/shared-symbols.ts'
import {
  type DriverNode,
  type DriverRelationship,
  EXTERNAL_ID,
  nodeOfDriver,
  nodeTypeOf,
  relationshipOfDriver,
} from '../../bolt/stored-elements.ts'
import type { NodeKey } from '../../engine/store.ts'
import { OperationalError } from '../../kernel/errors.ts'
import type { NodeRecord, StoredProperties } from '../../store/format/records.ts'
import {
  type CopiedCounts,
  type CopiedRelationship,
  type ElementPage,
  FOREIGN_GID,
  type GraphReader,
  keyOfNode,
  keyOfRelationship,
  PAGE_ELEMENTS,
} from './graph-reader.ts'

/** Time of one query. The largest id of a database is found by a scan. */
export const COPY_QUERY_MS = 600_000

/** A database with gaps between its ids is read by larger ranges, up to this one. */
const RANGE_MAX = 1_000_000

/** A database of a connected server. */
export interface CopyDatabase {
  readonly server: BoltServer
  /** Null: the default database. */
  readonly database: string | null
  readonly driver: BoltDriver
  /** For messages: its URL. */
  readonly url: string
}

/** The properties whose values are the external ids of nodes of other tools, by label. */
export type NodeKeys = ReadonlyMap<string, string>

/** How the elements of a database are read. */
interface ServerGraphOptions {
  /** Nodes of other tools, which have no global id, are refused. */
  readonly needsIds?: boolean
  /** Empty: the external id of each node is in its property `external_id`. */
  readonly keys?: NodeKeys
}

type ElementKind = 'node' | 'relationship'

/** Reads all elements of a database, except the node of the state. Other programs must not write at the same time. */
export class ServerGraph implements GraphReader {
  readonly place: string
  readonly symbols = new SharedSymbols()
  private readonly in: CopyDatabase
  private readonly lastIds = new Map<ElementKind, number>()
  private range = PAGE_ELEMENTS
  private readonly nowMs = Date.now()
  private readonly needsIds: boolean
  private readonly keys: NodeKeys

  constructor(database: CopyDatabase, { needsIds = false, keys = new Map() }: ServerGraphOptions = {}) {
    this.in = database
    this.place = database.url
    this.needsIds = needsIds
    this.keys = keys
  }

  private async read(text: string, parameters: Record<string, unknown>): Promise<readonly Record<string, unknown>[]> {
    const { server, database } = this.in
    return server.read(database, { text, parameters }, COPY_QUERY_MS)
  }

  /** Rejects with OperationalError if nodes of this database may have no proxy, or an old one, in the global database. */
  async requireProxies(): Promise<void> {
    const [state] = await this.read(
      `MATCH (s:${STATE_LABEL} {key: 'state'}) RETURN s.proxies_complete AS isComplete, size(coalesce(s.intents, [])) AS intents`,
      {},
    )
    if (state?.isComplete !== true || Number(state.intents) > 0)
      throw new OperationalError(
        `${this.place}: the proxies of its nodes are not complete. Start the service with the project of this database, stop it, and copy again`,
      )
  }

  async counts(): Promise<CopiedCounts> {
    const [nodes] = await this.read(`MATCH (n) WHERE NOT n:${STATE_LABEL} RETURN count(n) AS found`, {})
    const [relationships] = await this.read('MATCH ()-[r]->() RETURN count(r) AS found', {})
    return { nodes: Number(nodes!.found), relationships: Number(relationships!.found) }
  }

  private async lastId(kind: ElementKind): Promise<number> {
    let last = this.lastIds.get(kind)
    if (last === undefined) {
      const pattern = kind === 'node' ? '(e)' : '()-[e]->()'
      const [found] = await this.read(`MATCH ${pattern} RETURN max(id(e)) AS last`, {})
      last = found!.last === null ? -1 : Number(found!.last)
      this.lastIds.set(kind, last)
    }
    return last
  }

  /** Reads the elements of a range of ids, and widens the next range if few ids are used. */
  private async page<T>(
    kind: ElementKind,
    from: number,
    pattern: string,
    columns: string,
    itemOf: (record: Record<string, unknown>) => T,
  ): Promise<ElementPage<T>> {
    const last = await this.lastId(kind)
    if (from > last) return { items: [], next: null }
    const to = Math.min(last, from + this.range - 1)
    const records = await this.read(
      `UNWIND range($from, $to) AS at MATCH ${pattern} WHERE id(e) = at RETURN at, ${columns} ORDER BY at LIMIT $limit`,
      { from: BigInt(from), to: BigInt(to), limit: BigInt(PAGE_ELEMENTS), keys: [...this.keys] },
    )
    const isFull = records.length === PAGE_ELEMENTS
    if (isFull) this.range = PAGE_ELEMENTS
    else if (records.length < this.range / 4) this.range = Math.min(RANGE_MAX, this.range * 2)
    const end = isFull ? Number(records.at(-1)!.at) : to
    return { items: records.map(itemOf), next: end >= last ? null : end + 1 }
  }

  async nodes(from: number): Promise<ElementPage<NodeRecord>> {
    const { items, next } = await this.page('node', from, '(e)', 'e', ({ at, e }) =>
      this.node(at as bigint, e as DriverNode),
    )
    return { items: items.filter((node) => node !== null), next }
  }

  private node(id: bigint, node: DriverNode): NodeRecord | null {
    const { labels, properties } = node
    if (labels.includes(STATE_LABEL)) return null
    const { type, externalId } = this.keyOf({
      id,
      labels,
      type: properties[hidden.type],
      externalId: properties[EXTERNAL_ID],
      keyed: this.keyedLabels(labels).map((label) => [label, properties[this.keys.get(label)!]]),
    })
    const identified = { ...node, properties: { ...properties, [EXTERNAL_ID]: externalId, [hidden.type]: type } }
    const record = nodeOfDriver(this.in.driver, identified, this.symbols)
    const what = `the node ${keyOfNode(record, this.symbols)}`
    requireReadable(what, node.properties, record.properties)
    // The proxy of a node is found by the id of the node.
    if (record.gid === '' && this.needsIds)
      throw new OperationalError(
        `${this.place}: ${what} of a composite project cannot be copied: another tool has written it without a global id. Capture it, which gives it one, and copy again`,
      )
    return this.complete(record, 'node', id)
  }

  async relationships(from: number): Promise<ElementPage<CopiedRelationship>> {
    // Only the properties that can be keys are read of the ends.
    const end = (name: string): string =>
      `${name}.${EXTERNAL_ID} AS ${name}Id, ${name}.${hidden.type} AS ${name}Type, CASE WHEN ${name}.${hidden.type} IS NULL THEN labels(${name}) ELSE [] END AS ${name}Labels, [key IN $keys WHERE key[0] IN labels(${name}) | [key[0], ${name}[key[1]]]] AS ${name}Keyed`
    return this.page('relationship', from, '(a)-[e]->(b)', `e, ${end('a')}, ${end('b')}`, (record) => {
      const { at, e } = record
      const driven = e as DriverRelationship
      const keyOf = (name: 'a' | 'b', id: bigint): NodeKey =>
        this.keyOf({
          id,
          labels: record[`${name}Labels`] as readonly string[],
          type: record[`${name}Type`],
          externalId: record[`${name}Id`],
          keyed: record[`${name}Keyed`] as IdentifyingFields['keyed'],
        })
      const copied = {
        source: keyOf('a', driven.start),
        target: keyOf('b', driven.end),
        record: relationshipOfDriver(this.in.driver, driven, this.symbols),
      }
      requireReadable(
        `the relationship ${keyOfRelationship(copied, this.symbols)}`,
        driven.properties,
        copied.record.properties,
      )
      return { ...copied, record: this.complete(copied.record, 'relationship', at as bigint) }
    })
  }

  private keyedLabels(labels: readonly string[]): readonly string[] {
    return labels.filter((label) => this.keys.has(label))
  }

  /**
   * The key of a node. A captured node has its own, also if its label has a property as a key. Throws OperationalError if the node has
   * none.
   */
  private keyOf(fields: IdentifyingFields): NodeKey {
    const { labels, type, externalId, keyed } = fields
    const [first, ...others] = typeof type === 'string' ? [] : keyed
    if (first === undefined) {
      const named = nodeTypeOf(labels, type)
      if (typeof externalId === 'string' && named !== null) return { type: named, externalId }
      const hint = named === null ? '' : `. \`--key ${named}=property\` takes the external id from another property`
      throw refusedNode(fields, `a data folder needs a label and the property \`${EXTERNAL_ID}\`, a string${hint}`)
    }
    const [label, value] = first
    if (others.length > 0) {
      const all = keyed
        .map(([one]) => `\`${one}\``)
        .sort()
        .join(' and ')
      throw refusedNode(fields, `--key names its labels ${all}, and a node has one type: name one of them`)
    }
    const property = `its property \`${this.keys.get(label)}\`, the external id of \`--key\`,`
    if (value === null || value === undefined) throw refusedNode(fields, `${property} is missing`)
    if (typeof value !== 'string') throw refusedNode(fields, `${property} is not a string`)
    if (externalId !== null && externalId !== undefined && externalId !== value)
      throw refusedNode(fields, `${property} differs from its property \`${EXTERNAL_ID}\``)
    return { type: label, externalId: value }
  }

  /** An element of another tool gets an id that is the same each time it is read, and the time of the copy. */
  private complete<R extends Pick<NodeRecord, 'gid' | 'createdMs' | 'updatedMs' | 'properties'>>(
    record: R,
    kind: ElementKind,
    id: bigint,
  ): R {
    const { gid, createdMs, updatedMs, properties } = record
    if (gid !== '' && !Number.isNaN(createdMs) && !Number.isNaN(updatedMs)) return record
    const timed = (ms: number): number => (Number.isNaN(ms) ? this.nowMs : ms)
    return {
      ...record,
      gid: gid === '' ? foreignGid(`${this.place} ${kind} ${id}`) : gid,
      createdMs: timed(createdMs),
      updatedMs: timed(updatedMs),
      properties: new Map([...properties].map(([name, one]) => [name, { ...one, updatedMs: timed(one.updatedMs) }])),
    }
  }
}

/** The values that determine the type and the external id of a node. */
interface IdentifyingFields {
  readonly id: bigint
  readonly labels: readonly string[]
  /** The type of a captured node; null: another tool has written it. */
  readonly type: unknown
  readonly externalId: unknown
  /** The labels of the node that have a key, with the value of its property. */
  readonly keyed: readonly (readonly [label: string, value: unknown])[]
}

function refusedNode({ id, labels }: IdentifyingFields, reason: string): OperationalError {
  const named = labels.length === 0 ? 'without label' : `with the labels ${[...labels].sort().join(', ')}`
  return new OperationalError(`the node ${id} ${named} cannot be copied: ${reason}`)
}

/** Throws OperationalError if a property has a value that a data folder cannot hold, such as a point. */
function requireReadable(what: string, stored: Readonly<Record<string, unknown>>, read: StoredProperties): void {
  let own = 0
  for (const name of Object.keys(stored)) if (name !== EXTERNAL_ID && !isHiddenName(name)) own += 1
  let values = 0
  for (const { value } of read.values()) if (value !== null) values += 1
  if (own !== values)
    throw new OperationalError(
      `${what} cannot be copied: one of its properties ${Object.keys(stored)
        .filter((name) => name !== EXTERNAL_ID && !isHiddenName(name))
        .join(', ')} has a value that a data folder cannot hold, such as a point`,
    )
}

const GID_LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const GID_RANDOM = 16

function foreignGid(text: string): string {
  const digest = createHash('sha256').update(text).digest()
  let gid = FOREIGN_GID
  for (let i = 0; i < GID_RANDOM; i++) gid += GID_LETTERS[digest[i]! & 31]
  return gid
}
