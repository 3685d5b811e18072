// The index of the audit logs: what is sealed, the signatures, and in which bundles of entries a value occurs. It is the truth of
// what is sealed: the files of a log may have more, which a killed process left (docs/decisions/0038-audit-sealing.md).
import { assert } from '../../kernel/assert.ts'
import { ByteWriter } from '../format/bytes.ts'
import { AUDIT_ENTRY, type AuditKey, type AuditPostingKey } from '../format/keys.ts'
import { AUDIT_DESCRIPTION, openMeta } from '../lmdb/databases.ts'
import { holdsEnvironment } from '../lmdb/environment-folder.ts'
import { auditLayout, checkLayout, NoLayoutError } from '../lmdb/layout.ts'
import { LmdbFile, MissingDatabaseError } from '../lmdb/lmdb-file.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import { PendingWrites } from '../lmdb/pending-writes.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { type AuditDatabases, auditKey, bundleNumber, openAuditDatabases, readAuditValue } from './audit-databases.ts'
import { findBundles } from './audit-search.ts'
import type {
  AuditBatch,
  AuditBundle,
  AuditCheckpoint,
  AuditCursor,
  AuditFilter,
  AuditKeyState,
  AuditLog,
  AuditPosition,
  AuditSigningKey,
} from './audit-types.ts'

/** Part of the key of a request for a signature. */
const REQUEST = 'request'
const SEALED_KEY = auditKey(AUDIT_ENTRY.sealed, '')

/** The changes of one transaction. */
export interface AuditIndexEdits {
  putLog(log: AuditLog): void
  /** Removes a log with everything that belongs to it, except its postings and bundles (`removeBundles`). */
  removeLog(id: string): void
  putCursor(log: string, stream: string, cursor: AuditCursor): void
  removeCursor(log: string, stream: string): void
  putBatch(log: string, batch: AuditBatch): void
  putCheckpoint(log: string, checkpoint: AuditCheckpoint): void
  removeBatch(log: string, sequence: number): void
  removeCheckpoint(log: string, number: number): void
  /** All keys that have signed, as they are in this transaction before its changes, oldest first. */
  keys(): readonly AuditSigningKey[]
  putKey(key: AuditSigningKey): void
  putKeyState(state: AuditKeyState): void
  /** Requests a signature of the key of a configuration. Returns the number of the request. */
  addKeyRequest(configuration: string): number
  /** Removes the state and the request of a configuration. */
  removeKeyState(configuration: string): void
  /** Replaces the times of a bundle. */
  putBundle(bundle: AuditBundle): void
  putPosting(posting: AuditPostingKey): void
  /** Adds to the number of entries that were ever sealed. */
  addSealed(entries: number): void
  /** Replaces the state of a file that was read to its end; null: removes it. */
  putSource(name: string, state: string | null): void
}

/** The index of all audit logs of a data folder. Reads see the latest commit of any process. */
export class AuditIndex {
  private readonly file: LmdbFile
  private readonly databases: AuditDatabases

  /** Opens the environment in the folder `path`, and creates it unless `readOnly`. Throws OperationalError. */
  constructor(path: string, options: LmdbFileOptions) {
    this.file = new LmdbFile(path, options)
    try {
      const meta = openMeta(this.file, AUDIT_DESCRIPTION)
      checkLayout(this.file, meta, auditLayout, options.readOnly === true, () => {})
      this.databases = openAuditDatabases(this.file)
    } catch (error) {
      void this.file.close()
      throw error
    }
  }

  /**
   * Opens the index for reads. Null: it does not exist yet, or the first start of a service is creating it. Throws OperationalError.
   */
  static existing(path: string, options: LmdbFileOptions = {}): AuditIndex | null {
    if (!holdsEnvironment(path)) return null
    try {
      return new AuditIndex(path, { ...options, readOnly: true })
    } catch (failure) {
      if (failure instanceof NoLayoutError || failure instanceof MissingDatabaseError) return null
      throw failure
    }
  }

  /** All logs, by id. */
  logs(): readonly AuditLog[] {
    return this.list<AuditLog>(auditKey(AUDIT_ENTRY.log, ''), Number.POSITIVE_INFINITY, () => true)
  }

  /** A log with the state of its generations; null: it does not exist. */
  state(id: string): AuditLog | null {
    return this.one(auditKey(AUDIT_ENTRY.log, id))
  }

  /** Batches of a log after a sequence, in order. At most `limit`. */
  batches(id: string, afterSequence: number, limit: number): readonly AuditBatch[] {
    return this.list(auditKey(AUDIT_ENTRY.batch, id, afterSequence + 1), limit, (key) => key.name === id)
  }

  /** One batch; null: it does not exist. */
  batch(id: string, sequence: number): AuditBatch | null {
    return this.one(auditKey(AUDIT_ENTRY.batch, id, sequence))
  }

  /** Checkpoints of a log before a number, newest first. At most `limit`. */
  checkpoints(id: string, beforeNumber: number, limit: number): readonly AuditCheckpoint[] {
    return this.reading(({ entries }, reading) => {
      const start = auditKey(AUDIT_ENTRY.checkpoint, id, Math.min(beforeNumber, Number.MAX_SAFE_INTEGER) - 1)
      const end = auditKey(AUDIT_ENTRY.checkpoint, id, 0)
      const range = { start, end, reverse: true, limit, ...reading }
      return Array.from(entries.entries(range), ({ valueView }) => readAuditValue<AuditCheckpoint>(valueView))
    })
  }

  /** Checkpoints of a log after a number, oldest first. At most `limit`. */
  checkpointsAfter(id: string, number: number, limit: number): readonly AuditCheckpoint[] {
    return this.list(auditKey(AUDIT_ENTRY.checkpoint, id, number + 1), limit, (key) => key.name === id)
  }

  /** The newest checkpoint of a log; null: it has no checkpoint. */
  newestCheckpoint(id: string): AuditCheckpoint | null {
    return this.checkpoints(id, Number.POSITIVE_INFINITY, 1)[0] ?? null
  }

  /** The times of a bundle; null: it has no entries. `generation`: its number. */
  bundle(generation: number, bundle: number): AuditBundle | null {
    return this.reading(({ entries }, reading) => {
      const key = auditKey(AUDIT_ENTRY.bundle, '', bundleNumber({ generation, bundle }))
      const valueView = entries.get(key, reading)
      if (valueView === null) return null
      const { view } = valueView
      return { generation, bundle, fromMs: view.getFloat64(0, true), toMs: view.getFloat64(8, true) }
    })
  }

  /** Number of entries of all logs that were ever sealed. */
  sealedEntries(): number {
    return this.one(SEALED_KEY) ?? 0
  }

  /** All keys that have signed, oldest first. */
  keys(): readonly AuditSigningKey[] {
    return this.reading((databases, reading) => keysIn(databases, reading))
  }

  /** How the key of a signing configuration has signed; null: it has not been tried. */
  keyState(configuration: string): AuditKeyState | null {
    const stored = this.one<AuditKeyState>(auditKey(AUDIT_ENTRY.signature, configuration))
    return stored === null ? null : keyStateOf(stored)
  }

  /** The configurations with a state. */
  keyStates(): readonly AuditKeyState[] {
    const start = auditKey(AUDIT_ENTRY.signature, '')
    return this.reading(({ entries }, reading) => {
      const states: AuditKeyState[] = []
      for (const { key, valueView } of entries.entries({ start, end: undefined, ...reading })) {
        if (key.kind !== start.kind) break
        if (key.part === '') states.push(keyStateOf(readAuditValue(valueView)))
      }
      return states
    })
  }

  /** The number of the last request for a signature; 0: there was no request. */
  keyRequest(configuration: string): number {
    return requestNumber(this.one(auditKey(AUDIT_ENTRY.signature, configuration, 0, REQUEST)))
  }

  /** How far the streams of a log are sealed, by stream. */
  cursors(id: string): ReadonlyMap<string, AuditCursor> {
    return this.reading(({ entries }, reading) => {
      const cursors = new Map<string, AuditCursor>()
      const start = auditKey(AUDIT_ENTRY.cursor, id)
      for (const { key, valueView } of entries.entries({ start, end: undefined, ...reading })) {
        if (key.kind !== start.kind || key.name !== id) break
        cursors.set(key.part, readAuditValue(valueView))
      }
      return cursors
    })
  }

  /** The states that `putSource` stored, by name. */
  sources(): ReadonlyMap<string, string> {
    return this.reading(({ entries }, reading) => {
      const sources = new Map<string, string>()
      const start = auditKey(AUDIT_ENTRY.source, '')
      for (const { key, valueView } of entries.entries({ start, end: undefined, ...reading })) {
        if (key.kind !== start.kind) break
        sources.set(key.name, readAuditValue(valueView))
      }
      return sources
    })
  }

  /**
   * Bundles of a log that may contain entries of the filter, beginning with the one at `position` (null: the first). The caller
   * decodes their entries and filters them, because a bundle has 256 entries and postings are hashes. At most `limit`.
   */
  find(
    id: string,
    filter: AuditFilter,
    position: AuditPosition | null,
    limit: number,
    order: 'oldest first' | 'newest first' = 'oldest first',
  ): readonly AuditBundle[] {
    const log = this.state(id)
    if (log === null) return []
    return this.reading((databases, reading) =>
      findBundles(databases, reading, log, filter, position, limit, order === 'newest first'),
    )
  }

  /**
   * Runs `change` in one transaction; its edits are applied if it does not throw. Resolves when it is on disk. Rejects with
   * StorageWriteError.
   */
  async write(change: (edits: AuditIndexEdits) => void): Promise<void> {
    const { databases } = this
    // An error is returned as a value: after a throw lmdb-js would still commit what shares the transaction.
    const failure = await this.file.transaction((): { error: unknown } | null => {
      try {
        const writer = new ByteWriter()
        const operations = new PendingWrites()
        change(editsOf(databases, writer, operations))
        operations.apply(writer)
        return null
      } catch (error) {
        return { error }
      }
    })
    if (failure !== null) throw failure.error
  }

  /**
   * Removes the bundles of a generation before one, with their postings. In several transactions. `generation`: its number.
   * Postings are found by a scan of the generation, so call it for many bundles at once.
   */
  async removeBundles(generation: number, before: number): Promise<void> {
    const { entries, postings } = this.databases
    for (;;) {
      const removed = await this.file.transaction(() => {
        const start = auditKey(AUDIT_ENTRY.bundle, '', bundleNumber({ generation, bundle: 0 }))
        const end = auditKey(AUDIT_ENTRY.bundle, '', bundleNumber({ generation, bundle: before }))
        const keys = [...entries.raw.getKeys({ start, end, limit: REMOVED_MAX })]
        for (const key of keys) entries.remove(key)
        return keys.length
      })
      if (removed < REMOVED_MAX) break
    }
    let from: AuditPostingKey | null = { generation, dimension: 0, high: 0, low: 0, bundle: 0 }
    while (from !== null) {
      const start: AuditPostingKey = from
      from = await this.file.transaction((): AuditPostingKey | null => {
        const end = { generation: generation + 1, dimension: 0, high: 0, low: 0, bundle: 0 }
        const keys = [...postings.raw.getKeys({ start, end, limit: REMOVED_MAX + 1 })]
        const next = keys.length > REMOVED_MAX ? keys.pop() : undefined
        for (const key of keys) if (key.bundle < before) postings.remove(key)
        return next ?? null
      })
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Removes readers of killed processes. */
  clearStaleReaders(): void {
    this.file.clearStaleReaders()
  }

  /** Closes the environment after pending writes. */
  close(): Promise<void> {
    return this.file.close()
  }

  private one<T>(key: AuditKey): T | null {
    return this.reading(({ entries }, reading) => {
      const valueView = entries.get(key, reading)
      return valueView === null ? null : readAuditValue<T>(valueView)
    })
  }

  private list<T>(start: AuditKey, limit: number, belongs: (key: AuditKey) => boolean): readonly T[] {
    return this.reading(({ entries }, reading) => {
      const found: T[] = []
      for (const { key, valueView } of entries.entries({ start, end: undefined, ...reading })) {
        if (found.length >= limit || key.kind !== start.kind || !belongs(key)) break
        found.push(readAuditValue(valueView))
      }
      return found
    })
  }

  private reading<T>(look: (databases: AuditDatabases, reading: ReadOptions) => T): T {
    const transaction = this.file.readTransactions.acquire()
    try {
      return look(this.databases, transaction)
    } finally {
      this.file.readTransactions.release(transaction)
    }
  }
}

/** Entries that one transaction removes at most, so that others do not wait long. */
const REMOVED_MAX = 5000

/** A request of an earlier version has no number. */
function requestNumber(stored: unknown): number {
  return typeof stored === 'number' ? stored : 0
}

function keyStateOf(stored: AuditKeyState): AuditKeyState {
  return { ...stored, requestDone: requestNumber(stored.requestDone) }
}

function keysIn({ entries }: AuditDatabases, reading: Partial<ReadOptions>): readonly AuditSigningKey[] {
  const start = auditKey(AUDIT_ENTRY.key, '')
  const keys: AuditSigningKey[] = []
  for (const { key, valueView } of entries.entries({ start, end: undefined, ...reading })) {
    if (key.kind !== start.kind) break
    keys.push(readAuditValue(valueView))
  }
  return keys.sort((a, b) => a.createdMs - b.createdMs)
}

function editsOf(
  { entries, postings }: AuditDatabases,
  writer: ByteWriter,
  operations: PendingWrites,
): AuditIndexEdits {
  const put = (key: AuditKey, value: unknown): void => {
    operations.begin(writer)
    writer.text(JSON.stringify(value))
    operations.put(entries, key, writer)
  }
  return {
    putLog: (log) => put(auditKey(AUDIT_ENTRY.log, log.id), log),
    removeLog(id) {
      for (const kind of [AUDIT_ENTRY.log, AUDIT_ENTRY.cursor, AUDIT_ENTRY.checkpoint, AUDIT_ENTRY.batch]) {
        for (const key of entries.raw.getKeys({ start: auditKey(kind, id), end: undefined })) {
          if (key.kind !== kind || key.name !== id) break
          operations.remove(entries, key)
        }
      }
    },
    putCursor: (log, stream, cursor) => put(auditKey(AUDIT_ENTRY.cursor, log, 0, stream), cursor),
    removeCursor: (log, stream) => operations.remove(entries, auditKey(AUDIT_ENTRY.cursor, log, 0, stream)),
    putBatch(log, batch) {
      assert(batch.to > batch.from, 'a batch has entries')
      put(auditKey(AUDIT_ENTRY.batch, log, batch.sequence), batch)
    },
    putCheckpoint: (log, checkpoint) => put(auditKey(AUDIT_ENTRY.checkpoint, log, checkpoint.number), checkpoint),
    keys: () => keysIn({ entries, postings }, {}),
    removeBatch: (log, sequence) => operations.remove(entries, auditKey(AUDIT_ENTRY.batch, log, sequence)),
    removeCheckpoint: (log, number) => operations.remove(entries, auditKey(AUDIT_ENTRY.checkpoint, log, number)),
    putKey: (key) => put(auditKey(AUDIT_ENTRY.key, key.kid), key),
    putKeyState: (state) => put(auditKey(AUDIT_ENTRY.signature, state.configuration), state),
    addKeyRequest(configuration) {
      const key = auditKey(AUDIT_ENTRY.signature, configuration, 0, REQUEST)
      const valueView = entries.get(key)
      const number = 1 + (valueView === null ? 0 : requestNumber(readAuditValue(valueView)))
      put(key, number)
      return number
    },
    removeKeyState(configuration) {
      operations.remove(entries, auditKey(AUDIT_ENTRY.signature, configuration))
      operations.remove(entries, auditKey(AUDIT_ENTRY.signature, configuration, 0, REQUEST))
    },
    putBundle(bundle) {
      operations.begin(writer)
      writer.f64(bundle.fromMs)
      writer.f64(bundle.toMs)
      operations.put(entries, auditKey(AUDIT_ENTRY.bundle, '', bundleNumber(bundle)), writer)
    },
    putPosting(posting) {
      operations.begin(writer)
      operations.put(postings, posting, writer)
    },
    addSealed(count) {
      const valueView = entries.get(SEALED_KEY)
      put(SEALED_KEY, count + (valueView === null ? 0 : readAuditValue<number>(valueView)))
    },
    putSource(name, state) {
      const key = auditKey(AUDIT_ENTRY.source, name)
      if (state === null) operations.remove(entries, key)
      else put(key, state)
    },
  }
}
