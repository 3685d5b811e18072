// The graph in a database of a server, as the source or the target of a copy. It is read by ranges of ids. As the target it has a note
// in the node of the state, which each transaction replaces together with its elements: a batch is written exactly once, also if the
// copy was killed or a second one runs.
import { createHash } from 'node:crypto'
import { type BoltServer, type BoltTransaction, CommitUnknownError, RefusedQueryError } from '../../bolt/bolt-server.ts'
import type { BoltDriver } from '../../bolt/driver-values.ts'
import { GraphSchema } from '../../bolt/graph-schema.ts'
import { hidden, isHiddenName, quoted, STATE_LABEL } from '../../bolt/print/names.ts'
import { NotPrintable } from '../../bolt/print/not-printable.ts'
import { SharedSymbols } from '../../bolt/shared-symbols.ts'
import {
  type DriverNode,
  type DriverRelationship,
  EXTERNAL_ID,
  nodeOfDriver,
  nodeToDriver,
  nodeTypeOf,
  relationshipOfDriver,
  relationshipToDriver,
  type Symbols,
} from '../../bolt/stored-elements.ts'
import { addExternalNames } from '../../bolt/write-changes.ts'
import { ExecutionError } from '../../engine/errors.ts'
import type { GraphVersion } from '../../engine/store.ts'
import { isTemporal } from '../../engine/value/temporal/temporal.ts'
import type { PropertyScalar } from '../../engine/value/value.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { Float } from '../../kernel/float.ts'
import { parseJson } from '../../kernel/json.ts'
import type { NodeRecord, StoredProperties } from '../../store/format/records.ts'
import { COPY_BEGIN, type CopyPosition } from './folder-graph.ts'
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
  /** For messages: the URL. */
  readonly place: string
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

  constructor(database: CopyDatabase) {
    this.in = database
    this.place = database.place
  }

  private async read(text: string, parameters: Record<string, unknown>): Promise<readonly Record<string, unknown>[]> {
    const { server, database } = this.in
    return server.read(database, { text, parameters }, COPY_QUERY_MS)
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
      { from: BigInt(from), to: BigInt(to), limit: BigInt(PAGE_ELEMENTS) },
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
    if (node.labels.includes(STATE_LABEL)) return null
    const record = nodeOfDriver(this.in.driver, node, this.symbols)
    if (record.type === 0) throw noKey(id, node.labels)
    const what = `the node ${keyOfNode(record, this.symbols)}`
    requireReadable(what, node.properties, record.properties)
    return this.complete(record, 'node', id)
  }

  async relationships(from: number): Promise<ElementPage<CopiedRelationship>> {
    const end = (name: string): string =>
      `${name}.${EXTERNAL_ID} AS ${name}Id, ${name}.${hidden.type} AS ${name}Type, CASE WHEN ${name}.${hidden.type} IS NULL THEN labels(${name}) ELSE [] END AS ${name}Labels`
    return this.page('relationship', from, '(a)-[e]->(b)', `e, ${end('a')}, ${end('b')}`, (record) => {
      const { at, e, aId, aType, aLabels, bId, bType, bLabels } = record
      const driven = e as DriverRelationship
      const copied = {
        source: keyOf(driven.start, aId, aType, aLabels as readonly string[]),
        target: keyOf(driven.end, bId, bType, bLabels as readonly string[]),
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

function keyOf(id: bigint, externalId: unknown, type: unknown, labels: readonly string[]) {
  const named = nodeTypeOf(labels, type)
  if (typeof externalId !== 'string' || named === null) throw noKey(id, labels)
  return { type: named, externalId }
}

function noKey(id: bigint, labels: readonly string[]): OperationalError {
  const named = labels.length === 0 ? 'without label' : `with the labels ${labels.join(', ')}`
  return new OperationalError(
    `the node ${id} ${named} cannot be copied: a data folder needs a label and the property \`${EXTERNAL_ID}\`, a string`,
  )
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

/** The note of an unfinished copy. */
interface CopyNote extends CopyPosition {
  readonly project: string
  /** The version of the source, which must be the same when the copy is resumed. */
  readonly version: GraphVersion
}

/** Writes a graph to a database. */
export class ServerTarget {
  private readonly in: CopyDatabase
  private readonly schema: GraphSchema
  private note: CopyNote
  readonly isResumed: boolean

  private constructor(database: CopyDatabase, schema: GraphSchema, note: CopyNote, isResumed: boolean) {
    this.in = database
    this.schema = schema
    this.note = note
    this.isResumed = isResumed
  }

  get position(): CopyPosition {
    return this.note
  }

  /** Opens the database, which must be empty or contain an unfinished copy of the same graph. Rejects with OperationalError. */
  static async open(database: CopyDatabase, project: string, version: GraphVersion): Promise<ServerTarget> {
    const { server, database: name, place } = database
    const schema = new GraphSchema(server, name)
    await schema.prepare('copy')
    const own: CopyNote = { ...COPY_BEGIN, project, version }
    const stored = await noteIn(database)
    if (stored === null) {
      if (await schema.holds('nodes'))
        throw new OperationalError(`${place}: the database has nodes: the target of a copy must be empty`)
      const target = new ServerTarget(database, schema, own, false)
      await target.replaceNote(null, JSON.stringify(own), async () => undefined)
      return target
    }
    const parsed = parseJson(stored)
    const begun = parsed.ok ? (parsed.value as unknown as CopyNote) : own
    if (begun.project !== project)
      throw new OperationalError(`${place}: the database has an unfinished copy of another project, ${begun.project}`)
    if (begun.version.writer !== version.writer || begun.version.commit !== version.commit)
      throw new OperationalError(
        `${place}: the graph has changed since the unfinished copy in this database was begun. ${restartHint}`,
      )
    return new ServerTarget(database, schema, begun, true)
  }

  async writeNodes(nodes: readonly NodeRecord[], symbols: Symbols, position: CopyPosition): Promise<void> {
    const { driver, place } = this.in
    const types = [...new Set(nodes.map(({ type }) => symbols.name('label', type)))]
    const groups = new Map<string, Record<string, unknown>[]>()
    for (const node of nodes) {
      const what = `the node ${keyOfNode(node, symbols)}`
      requireStorable(what, node.properties, symbols)
      const labels = node.labels.map((label) => `:${nameOf(what, symbols.name('label', label))}`).join('')
      addTo(groups, labels, nodeToDriver(driver, node, symbols))
    }
    await this.schema.create(types)
    await this.write(position, async (transaction) => {
      for (const [labels, rows] of groups)
        await transaction.run(`UNWIND $rows AS row CREATE (n${labels}) SET n = row`, { rows })
      await addExternalNames(transaction, externalNames(nodes, symbols))
    }).catch((error: unknown) => {
      throw named(error, place)
    })
  }

  async writeRelationships(
    relationships: readonly CopiedRelationship[],
    symbols: Symbols,
    position: CopyPosition,
  ): Promise<void> {
    const { driver, place } = this.in
    const groups = new Map<string, Record<string, unknown>[]>()
    for (const copied of relationships) {
      const { record, source, target } = copied
      const what = `the relationship ${keyOfRelationship(copied, symbols)}`
      requireStorable(what, record.properties, symbols)
      const type = nameOf(what, symbols.name('type', record.type))
      const text = `MATCH (a:${nameOf(what, source.type)} {${EXTERNAL_ID}: row.a}) WHERE a.${hidden.type} = $source MATCH (b:${nameOf(what, target.type)} {${EXTERNAL_ID}: row.b}) WHERE b.${hidden.type} = $target CREATE (a)-[r:${type}]->(b) SET r = row.set RETURN count(r) AS created`
      const row = { a: source.externalId, b: target.externalId, set: relationshipToDriver(driver, record, symbols) }
      addTo(groups, JSON.stringify([text, source.type, target.type]), row)
    }
    await this.write(position, async (transaction) => {
      for (const [group, rows] of groups) {
        const [text, source, target] = JSON.parse(group) as [string, string, string]
        const [result] = await transaction.run(`UNWIND $rows AS row ${text}`, { rows, source, target })
        if (Number(result!.created) !== rows.length)
          throw new OperationalError(
            `${place}: ${rows.length - Number(result!.created)} ends of relationships from ${source} to ${target} are missing. ${restartHint}`,
          )
      }
      await addExternalNames(
        transaction,
        externalNames(
          relationships.map(({ record }) => record),
          symbols,
        ),
      )
    }).catch((error: unknown) => {
      throw named(error, place)
    })
  }

  private async write(position: CopyPosition, change: (transaction: BoltTransaction) => Promise<void>): Promise<void> {
    const next: CopyNote = { ...this.note, ...position }
    await this.replaceNote(JSON.stringify(this.note), JSON.stringify(next), change)
    this.note = next
  }

  /** Replaces the note `before` and makes a change, in one transaction. Null: there is no note. */
  private async replaceNote(
    before: string | null,
    after: string | null,
    change: (transaction: BoltTransaction) => Promise<void>,
  ): Promise<void> {
    const { server, database, place } = this.in
    for (let attempt = 0; ; attempt++) {
      try {
        await server.write(database, async (transaction) => {
          // The first statement locks the node, so that the note is compared with that of the last transaction.
          const [replaced] = await transaction.run(
            `MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.version = s.version + 1 WITH s, s.copy IS NULL AND $before IS NULL OR s.copy = $before AS isOwn SET s.copy = CASE WHEN isOwn THEN $after ELSE s.copy END RETURN isOwn`,
            { before, after },
          )
          if (replaced?.isOwn !== true) throw new OperationalError(`${place}: another copy writes to this database`)
          await change(transaction)
        })
        return
      } catch (error) {
        if (!(error instanceof CommitUnknownError)) throw error
        if (attempt > 0) throw new OperationalError(`${place}: the connection was lost while a batch was committed`)
        if ((await noteIn(this.in)) === after) return
      }
    }
  }

  /** Removes the note, after the graph was compared. */
  async finish(): Promise<void> {
    await this.replaceNote(JSON.stringify(this.note), null, async () => undefined)
  }

  /** Removes the note of a copy that has written nothing. */
  abandon(): Promise<void> {
    return this.finish()
  }

  /** How an operator begins again. */
  get restartHint(): string {
    return restartHint
  }
}

const restartHint =
  'To begin again, empty the database with `MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS`, and copy again'

async function noteIn({ server, database }: CopyDatabase): Promise<string | null> {
  const text = `MATCH (s:${STATE_LABEL} {key: 'state'}) RETURN s.copy AS note`
  const [found] = await server.read(database, { text, parameters: {} }, COPY_QUERY_MS)
  return typeof found?.note === 'string' ? found.note : null
}

function addTo(groups: Map<string, Record<string, unknown>[]>, key: string, row: Record<string, unknown>): void {
  const rows = groups.get(key)
  if (rows === undefined) groups.set(key, [row])
  else rows.push(row)
}

function nameOf(what: string, name: string): string {
  try {
    if (isHiddenName(name)) throw new NotPrintable('a reserved name')
    return quoted(name)
  } catch (error) {
    if (!(error instanceof NotPrintable)) throw error
    throw new OperationalError(`${what} cannot be copied to a database server: \`${name}\`: ${error.message}`)
  }
}

/** Throws OperationalError if a database server cannot store the properties. */
function requireStorable(what: string, properties: StoredProperties, symbols: Symbols): void {
  for (const [symbol, { value }] of properties) {
    const name = symbols.name('property', symbol)
    const refuse = (reason: string): OperationalError =>
      new OperationalError(`${what} cannot be copied to a database server: the property \`${name}\` ${reason}`)
    if (name === EXTERNAL_ID || name === '__proto__' || isHiddenName(name)) throw refuse('has a reserved name')
    if (!Array.isArray(value)) continue
    const kinds = new Set((value as readonly PropertyScalar[]).map(kindOf))
    if (kinds.size > 1) throw refuse('is a list of several types')
  }
}

function kindOf(value: PropertyScalar): string {
  if (isTemporal(value)) return value.kind
  return value instanceof Float || typeof value === 'bigint' ? 'number' : typeof value
}

function externalNames(records: readonly Pick<NodeRecord, 'properties'>[], symbols: Symbols): string[] {
  const names = new Set<string>()
  for (const { properties } of records) {
    for (const [symbol, { externalValue }] of properties)
      if (externalValue !== null) names.add(symbols.name('property', symbol))
  }
  return [...names]
}

/** An error of a query has a message without the server. */
function named(error: unknown, place: string): unknown {
  const isOfQuery = error instanceof ExecutionError || error instanceof RefusedQueryError
  return isOfQuery ? new OperationalError(`${place}: ${error.message}`) : error
}
