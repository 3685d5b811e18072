// Databases of servers as the targets of a copy. Each has a note in the node of the state, which each transaction replaces together with
// its elements: a batch is written exactly once, also if the copy was killed or a second one runs. A service does not open a database with a note.
import { type BoltTransaction, CommitUnknownError, RefusedQueryError } from '../../bolt/bolt-server.ts'
import { GraphSchema } from '../../bolt/graph-schema.ts'
import { hidden, isHiddenName, quoted, STATE_LABEL } from '../../bolt/print/names.ts'
import { NotPrintable } from '../../bolt/print/not-printable.ts'
import { EXTERNAL_ID, nodeToDriver, relationshipToDriver, type Symbols } from '../../bolt/stored-elements.ts'
import { addExternalNames } from '../../bolt/write-changes.ts'
import { ExecutionError } from '../../engine/errors.ts'
import type { GraphVersion } from '../../engine/store.ts'
import { isTemporal } from '../../engine/value/temporal/temporal.ts'
import type { PropertyScalar } from '../../engine/value/value.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { Float } from '../../kernel/float.ts'
import { parseJson } from '../../kernel/json/json.ts'
import type { NodeRecord, StoredProperties } from '../../store/format/records.ts'
import { COPY_BEGIN, COPY_END, type CopyPosition, type CopyTarget, type CopyTargets } from './copy-target.ts'
import { type CopiedRelationship, keyOfNode, keyOfRelationship } from './graph-reader.ts'
import { COPY_QUERY_MS, type CopyDatabase, ServerGraph } from './server-graph.ts'

/** The graph that is copied to a database. */
export interface CopySource {
  readonly project: string
  /** The constituent, as its path below the folder of the project. */
  readonly part: string
  /** Must be the same when the copy is resumed. */
  readonly version: GraphVersion
  /** Whether its nodes have proxies in the global graph. */
  readonly hasProxies: boolean
}

/** The note of an unfinished copy. */
interface CopyNote extends CopyPosition, Pick<CopySource, 'project' | 'part' | 'version'> {}

/** A database as a copy finds it. */
interface FoundDatabase {
  readonly database: CopyDatabase
  readonly source: CopySource
  readonly schema: GraphSchema
  /** Null: it has none. */
  readonly note: CopyNote | null
  /** It has nodes, and no note. */
  readonly isFilled: boolean
}

/** The databases of a project. */
export class ServerTargets implements CopyTargets {
  private readonly targets: readonly ServerTarget[]

  private constructor(targets: readonly ServerTarget[]) {
    this.targets = targets
  }

  /**
   * The databases must be empty, or contain an unfinished copy of the same graphs, of which some may be finished. Rejects with
   * OperationalError.
   */
  static async open(graphs: readonly (readonly [CopyDatabase, CopySource])[]): Promise<ServerTargets> {
    const found: FoundDatabase[] = []
    for (const [database, source] of graphs) found.push(await find(database, source))
    const filled = found.find(({ isFilled }) => isFilled)
    // Notes are removed when all graphs are equal: a database without one is finished then.
    if (filled !== undefined && found.every(({ note }) => note === null))
      throw new OperationalError(
        `${filled.database.url}: the database has nodes: the target of a copy must be empty. If it is a finished copy of this project, connect the project with \`--compare --switch\``,
      )
    const targets = new ServerTargets(found.map((one) => new ServerTarget(one)))
    try {
      for (const target of targets.targets) await target.begin()
    } catch (error) {
      if (targets.isUntouched) await targets.abandon().catch(() => undefined)
      throw error
    }
    return targets
  }

  get isUntouched(): boolean {
    return this.targets.every(({ position }) => position.nodes === COPY_BEGIN.nodes)
  }

  open(index: number): Promise<CopyTarget> {
    return Promise.resolve(this.targets[index]!)
  }

  async finish(): Promise<void> {
    for (const target of this.targets) await target.finish()
  }

  async abandon(): Promise<void> {
    for (const target of this.targets) await target.abandon()
  }
}

/** Rejects with OperationalError if the database has an unfinished copy of another graph. */
async function find(database: CopyDatabase, source: CopySource): Promise<FoundDatabase> {
  const { server, database: name, url } = database
  const schema = new GraphSchema(server, name)
  await schema.prepare('copy')
  const stored = await noteIn(database)
  if (stored === null) return { database, source, schema, note: null, isFilled: await schema.holds('nodes') }
  const parsed = parseJson(stored)
  const note: CopyNote = parsed.ok ? (parsed.value as unknown as CopyNote) : noteOf(source)
  if (note.project !== source.project)
    throw new OperationalError(`${url}: the database has an unfinished copy of another project, ${note.project}`)
  if (note.part !== source.part)
    throw new OperationalError(
      `${url}: the database has an unfinished copy of another part of the project, \`${note.part}\`, and not of \`${source.part}\``,
    )
  if (note.version.writer !== source.version.writer || note.version.commit !== source.version.commit)
    throw new OperationalError(
      `${url}: the graph has changed since the unfinished copy in this database was begun. ${restartHint}`,
    )
  return { database, source, schema, note, isFilled: false }
}

function noteOf({ project, part, version }: CopySource): CopyNote {
  return { ...COPY_BEGIN, project, part, version }
}

function textOf(note: CopyNote | null): string | null {
  return note === null ? null : JSON.stringify(note)
}

/** Writes a graph to a database. */
class ServerTarget implements CopyTarget {
  private readonly in: CopyDatabase
  private readonly source: CopySource
  private readonly schema: GraphSchema
  /** An earlier run has removed its note: it is only compared. */
  private readonly isFilled: boolean
  private note: CopyNote | null
  readonly isResumed: boolean

  constructor({ database, source, schema, note, isFilled }: FoundDatabase) {
    this.in = database
    this.source = source
    this.schema = schema
    this.isFilled = isFilled
    this.note = note
    this.isResumed = note !== null || isFilled
  }

  get position(): CopyPosition {
    return this.isFilled ? COPY_END : (this.note ?? COPY_BEGIN)
  }

  /** Stores the note, unless an earlier run has done so. */
  async begin(): Promise<void> {
    if (this.note === null && !this.isFilled) await this.replaceNote(noteOf(this.source), async () => undefined)
  }

  async writeNodes(nodes: readonly NodeRecord[], symbols: Symbols, position: CopyPosition): Promise<void> {
    const { driver, url } = this.in
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
      throw named(error, url)
    })
  }

  async writeRelationships(
    relationships: readonly CopiedRelationship[],
    symbols: Symbols,
    position: CopyPosition,
  ): Promise<void> {
    const { driver, url } = this.in
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
            `${url}: ${rows.length - Number(result!.created)} ends of relationships from ${source} to ${target} are missing. ${restartHint}`,
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
      throw named(error, url)
    })
  }

  private async write(position: CopyPosition, change: (transaction: BoltTransaction) => Promise<void>): Promise<void> {
    const next: CopyNote = { ...this.note!, ...position }
    await this.replaceNote(next, change)
  }

  /** Replaces the note, or removes it, and makes a change, in one transaction. */
  private async replaceNote(
    next: CopyNote | null,
    change: (transaction: BoltTransaction) => Promise<void>,
  ): Promise<void> {
    const { server, database, url } = this.in
    const [before, after] = [textOf(this.note), textOf(next)]
    for (let attempt = 0; ; attempt++) {
      try {
        await server.write(database, async (transaction) => {
          // The first statement locks the node, so that the note is compared with that of the last transaction.
          const [replaced] = await transaction.run(
            `MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.version = s.version + 1 WITH s, s.copy IS NULL AND $before IS NULL OR s.copy = $before AS isOwn SET s.copy = CASE WHEN isOwn THEN $after ELSE s.copy END RETURN isOwn`,
            { before, after },
          )
          if (replaced?.isOwn !== true) throw new OperationalError(`${url}: another copy writes to this database`)
          await change(transaction)
        })
        break
      } catch (error) {
        if (!(error instanceof CommitUnknownError)) throw error
        if (attempt > 0) throw new OperationalError(`${url}: the connection was lost while a batch was committed`)
        if ((await noteIn(this.in)) === after) break
      }
    }
    this.note = next
  }

  complete(): Promise<ServerGraph> {
    return Promise.resolve(new ServerGraph(this.in))
  }

  /** Removes the note, after all graphs were compared. */
  async finish(): Promise<void> {
    if (this.note === null) return
    await this.replaceNote(null, async (transaction) => {
      if (this.source.hasProxies)
        await transaction.run(`MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.proxies_complete = true`, {})
    })
  }

  /** Removes the note of a copy that has written nothing. */
  async abandon(): Promise<void> {
    if (this.note !== null) await this.replaceNote(null, async () => undefined)
  }

  get restartHint(): string | null {
    return this.isFilled ? null : restartHint
  }

  async close(): Promise<void> {}
}

const restartHint =
  'To begin again, empty the database with `MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS`, and copy again'

/** The note of an unfinished copy in a database, as JSON; null: it has none. */
export async function noteIn({ server, database }: CopyDatabase): Promise<string | null> {
  const text = `MATCH (s:${STATE_LABEL} {key: 'state'}) RETURN s.copy AS note`
  const [found] = await server.read(database, { text, parameters: {} }, COPY_QUERY_MS)
  return typeof found?.note === 'string' ? found.note : null
}

/** The version that each write of a service changes; null: no service has used the database. */
export async function storedVersion({ server, database }: CopyDatabase): Promise<string | null> {
  const text = `MATCH (s:${STATE_LABEL} {key: 'state'}) RETURN toString(s.version) AS version`
  const [found] = await server.read(database, { text, parameters: {} }, COPY_QUERY_MS)
  return typeof found?.version === 'string' ? found.version : null
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
function named(error: unknown, url: string): unknown {
  const isOfQuery = error instanceof ExecutionError || error instanceof RefusedQueryError
  return isOfQuery ? new OperationalError(`${url}: ${error.message}`) : error
}
