// How a load treats a second relationship of the same source, type and target: a graph stores one.
import type { NodeKey, RelationshipId } from '../../engine/store.ts'
import { ByteWriter } from '../format/bytes.ts'
import { type RelationshipRecord, type StoredProperties, writeRelationship } from '../format/records.ts'
import type { RelationshipColumns } from '../sorting/edge-runs.ts'

/**
 * - `refuse`: two of one load that differ in a property are an error.
 * - `merge`: the properties of all of them, each with its last value.
 * - `last`: the properties of the last one only.
 * - `refuse-all`: two of one load are an error, also if they are equal.
 */
export type DuplicateMode = 'refuse' | 'merge' | 'last' | 'refuse-all'

/** Thrown within the transaction, which is rolled back, if the mode refuses two relationships of one load. */
export class DuplicateRelationshipError extends Error {
  override readonly name = 'DuplicateRelationshipError'
  /** Index of the second one among the relationships of its batch, from 0; null: its batch is committed. */
  readonly at: number | null
  /** Index of the first one in the same batch; null: it is of an earlier batch. */
  readonly firstAt: number | null
  /** The second one, if its batch is committed. */
  readonly key: { readonly source: NodeKey; readonly type: string; readonly target: NodeKey } | null

  constructor(at: number | null, firstAt: number | null, key: DuplicateRelationshipError['key']) {
    super('two relationships of the load have the same source, type and target')
    this.at = at
    this.firstAt = firstAt
    this.key = key
  }
}

/** The duplicates of one load into one graph. A resumed load is one with the load that it continues. */
export class LoadDuplicates {
  readonly mode: DuplicateMode
  /** Relationships that were merged with an earlier one, of the load or of the graph before it. */
  merged = 0
  /** Relationships with this id or a higher one are of the load. Null: nothing is loaded yet. */
  firstId: RelationshipId | null = null
  /** One bit for each older relationship that the load has updated. */
  private updated: Uint8Array | null = null
  private readonly writer = new ByteWriter(256)

  /** Called with what the mode refuses, which is then merged. Null: it is thrown. */
  private readonly onRefused: ((error: DuplicateRelationshipError) => void) | null

  /** `onRefused`: for a dry run, which continues after an error. */
  constructor(mode: DuplicateMode, onRefused: ((error: DuplicateRelationshipError) => void) | null = null) {
    this.mode = mode
    this.onRefused = onRefused
  }

  /** Throws DuplicateRelationshipError, or reports it. */
  refuse(error: DuplicateRelationshipError): void {
    if (this.onRefused === null) throw error
    this.onRefused(error)
  }

  /**
   * Returns the stored relationship after an upsert of one with the same source, type and target, or null if the mode refuses
   * it. `id`, `before`: the stored one; `second`: the one to load.
   */
  combine(id: RelationshipId, before: RelationshipRecord, second: RelationshipRecord): RelationshipRecord | null {
    const isLoaded = id >= (this.firstId ?? 0)
    this.merged += 1
    if (!isLoaded && !this.isUpdated(id)) return mergedRelationship(before, second)
    // What an older relationship had before the load is not a difference.
    const known = isLoaded ? second : mergedRelationship(before, second)
    if (this.refuses(before, known)) return null
    if (this.mode === 'last') return { ...before, updatedMs: second.updatedMs, properties: second.properties }
    return mergedRelationship(before, second)
  }

  /** Whether the mode refuses some relationships. */
  get mayRefuse(): boolean {
    return this.mode === 'refuse' || this.mode === 'refuse-all'
  }

  /** Returns whether the mode refuses two relationships of the load. */
  refuses(first: RelationshipRecord, second: RelationshipRecord): boolean {
    if (this.mode === 'refuse-all') return true
    return this.mode === 'refuse' && !this.encoded(first, first).equals(this.encoded(first, second))
  }

  /** Returns whether the load has updated a relationship that is older than the load, and notes that it does so now. */
  private isUpdated(id: RelationshipId): boolean {
    this.updated ??= new Uint8Array(((this.firstId ?? 0) >>> 3) + 1)
    const [at, bit] = [id >>> 3, 1 << (id & 7)]
    const isUpdated = (this.updated[at]! & bit) !== 0
    this.updated[at]! |= bit
    return isUpdated
  }

  /** The stored form of the properties, without their times. */
  private encoded(first: RelationshipRecord, { properties }: RelationshipRecord): Buffer {
    const timeless = new Map([...properties].map(([name, property]) => [name, { ...property, updatedMs: 0 }]))
    this.writer.length = 0
    writeRelationship(this.writer, { ...first, createdMs: 0, updatedMs: 0, properties: timeless })
    return Buffer.from(this.writer.bytes.subarray(0, this.writer.length))
  }
}

/** The first of two relationships with the same ends and type, after an upsert of the second. */
function mergedRelationship(first: RelationshipRecord, second: RelationshipRecord): RelationshipRecord {
  const properties: StoredProperties =
    second.properties.size === 0 ? first.properties : new Map([...first.properties, ...second.properties])
  return { ...first, updatedMs: second.updatedMs, properties }
}

/**
 * Calls `found` with each relationship of a batch whose source, type and target are those of an earlier one of the batch, and with
 * that one, by index. Open addressing in one array: a load calls it for every batch.
 */
export function eachRepeated(
  { sources, types, targets, length }: RelationshipColumns,
  found: (at: number, first: number) => void,
): void {
  let slots = 1024
  while (slots < length * 2) slots *= 2
  const table = new Uint32Array(slots)
  for (let at = 0; at < length; at++) {
    const [source, type, target] = [sources[at]!, types[at]!, targets[at]!]
    const mixed = Math.imul(Math.imul(source, 0x9e3779b1) ^ target, 0x85ebca6b) ^ Math.imul(type, 0xc2b2ae35)
    let slot = (mixed ^ (mixed >>> 15)) & (slots - 1)
    for (; table[slot] !== 0; slot = (slot + 1) & (slots - 1)) {
      const other = table[slot]! - 1
      if (sources[other] !== source || targets[other] !== target || types[other] !== type) continue
      found(at, other)
      break
    }
    if (table[slot] === 0) table[slot] = at + 1
  }
}
