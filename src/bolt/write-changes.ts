// Writes the changes of a batch to the database, within its transaction: one statement for each kind of change and each set of labels.
// Only properties that have changed are written, so that other tools may have properties of their own.
import type { NodeRecord, RelationshipRecord } from '../store/format/records.ts'
import type { BoltTransaction } from './bolt-server.ts'
import type { BoltDriver } from './driver-values.ts'
import { hidden, quoted, STATE_LABEL } from './print/names.ts'
import type { RemoteBatch } from './remote-batch.ts'
import type { SharedSymbols } from './shared-symbols.ts'
import { databaseId, engineId, nodeToDriver, relationshipToDriver } from './stored-elements.ts'

const ROWS_PER_STATEMENT = 2_000

/** Another tool has deleted an element that the batch changes. */
export class VanishedElementError extends Error {
  override readonly name = 'VanishedElementError'
}

type StatementRow = Record<string, unknown>

/** Returns the engine's ids of the created elements, by the ids that the batch gave them. */
export async function writeChanges(
  transaction: BoltTransaction,
  driver: BoltDriver,
  batch: RemoteBatch,
  symbols: SharedSymbols,
): Promise<ReadonlyMap<number, number>> {
  const statements = new Statements(transaction)
  const ids = new Map<number, number>()
  const databaseIdOf = (id: number): bigint => databaseId(ids.get(id) ?? id)
  const labelsOf = (labels: readonly number[]): string =>
    labels.map((label) => `:${quoted(symbols.name('label', label))}`).join('')
  const nodes = [...batch.nodes].filter(([, { before, now }]) => before !== now)
  const relationships = [...batch.relationships].filter(([, { before, now }]) => before !== now)

  for (const [id, { before, now }] of relationships) {
    if (now === null && before !== null)
      statements.add('MATCH ()-[r]->() WHERE id(r) = row.id DELETE r', { id: databaseId(id) })
  }
  for (const [id, { before, now }] of nodes) {
    if (now === null && before !== null)
      statements.add('MATCH (n) WHERE id(n) = row.id DETACH DELETE n', { id: databaseId(id) })
  }
  for (const [id, { before, now }] of nodes) {
    if (now === null) continue
    if (before === null) {
      const properties = nodeToDriver(driver, now, symbols)
      statements.add(`CREATE (n${labelsOf(now.labels)}) SET n = row.properties RETURN row.at AS at, id(n) AS id`, {
        at: BigInt(id),
        properties,
      })
    } else addNodeUpdate(statements, id, before, now)
  }
  for (const { at, id } of await statements.run()) ids.set(Number(at), engineId(id as bigint))

  for (const [id, { before, now }] of relationships) {
    if (now === null) continue
    if (before === null) {
      statements.add(
        `MATCH (a) WHERE id(a) = row.source MATCH (b) WHERE id(b) = row.target CREATE (a)-[r:${quoted(symbols.name('type', now.type))}]->(b) SET r = row.properties RETURN row.at AS at, id(r) AS id`,
        {
          at: BigInt(id),
          source: databaseIdOf(now.source),
          target: databaseIdOf(now.target),
          properties: relationshipToDriver(driver, now, symbols),
        },
      )
    } else {
      const set = differences(relationshipToDriver(driver, before, symbols), relationshipToDriver(driver, now, symbols))
      statements.add(
        `MATCH ()-[r]->() WHERE id(r) = row.id AND coalesce(r.${quoted(hidden.id)}, '') = row.gid SET r += row.set RETURN 1 AS written`,
        { id: databaseId(id), gid: before.gid, set },
      )
    }
  }
  for (const { at, id } of await statements.run()) ids.set(Number(at), engineId(id as bigint))
  await addExternalNames(transaction, externalNamesOf(batch, symbols))
  return ids

  function addNodeUpdate(to: Statements, id: number, before: NodeRecord, now: NodeRecord): void {
    const set = differences(nodeToDriver(driver, before, symbols), nodeToDriver(driver, now, symbols))
    const added = now.labels.filter((label) => !before.labels.includes(label))
    const removed = before.labels.filter((label) => !now.labels.includes(label))
    const labels = [
      ...(added.length === 0 ? [] : [`SET n${labelsOf(added)}`]),
      ...(removed.length === 0 ? [] : [`REMOVE n${labelsOf(removed)}`]),
    ]
    to.add(
      [
        `MATCH (n) WHERE id(n) = row.id AND coalesce(n.${quoted(hidden.id)}, '') = row.gid SET n += row.set`,
        ...labels,
        'RETURN 1 AS written',
      ].join(' '),
      {
        gid: before.gid,
        id: databaseId(id),
        set,
      },
    )
  }
}

/** Groups rows by statement. */
class Statements {
  private readonly transaction: BoltTransaction
  private readonly rows = new Map<string, StatementRow[]>()

  constructor(transaction: BoltTransaction) {
    this.transaction = transaction
  }

  /** `text` reads the fields of `row`. */
  add(text: string, row: StatementRow): void {
    const rows = this.rows.get(text)
    if (rows === undefined) this.rows.set(text, [row])
    else rows.push(row)
  }

  /** Runs all statements, in the order of their first rows. Returns their records. */
  async run(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const records: Readonly<Record<string, unknown>>[] = []
    for (const [text, rows] of this.rows) {
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
        const part = rows.slice(at, at + ROWS_PER_STATEMENT)
        const written = await this.transaction.run(`UNWIND $rows AS row ${text}`, { rows: part })
        // Another tool may have deleted an element since it was read. What is deleted already need not be deleted.
        if (text.includes(' RETURN ') && written.length !== part.length) throw new VanishedElementError()
        records.push(...written)
      }
    }
    this.rows.clear()
    return records
  }
}

/** The properties to set; null removes one. */
function differences(before: StatementRow, now: StatementRow): StatementRow {
  const set: [string, unknown][] = []
  for (const [name, value] of Object.entries(now)) {
    if (!(name in before) || !isSame(before[name], value)) set.push([name, value])
  }
  for (const name of Object.keys(before)) if (!Object.hasOwn(now, name)) set.push([name, null])
  return Object.fromEntries(set)
}

function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]))
  return typeof a === typeof b && (a === b || (typeof a === 'object' && String(a) === String(b)))
}

function externalNamesOf(batch: RemoteBatch, symbols: SharedSymbols): string[] {
  const names = new Set<string>()
  const add = (record: NodeRecord | RelationshipRecord | null): void => {
    for (const [symbol, { externalValue }] of record?.properties ?? []) {
      if (externalValue !== null) names.add(symbols.name('property', symbol))
    }
  }
  for (const { before, now } of batch.nodes.values()) if (before !== now) add(now)
  for (const { before, now } of batch.relationships.values()) if (before !== now) add(now)
  return [...names]
}

/** Adds names of properties that resolvers supply to the state of the database. */
export async function addExternalNames(transaction: BoltTransaction, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await transaction.run(
    `MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.external_names = s.external_names + [name IN $names WHERE NOT name IN s.external_names]`,
    { names },
  )
}
