// Migrates an environment folder from a layout before checksums to the present one: each value gets a checksum, symbols and
// documents get a length, and the header of a graph of the first layout gets the number of its last commit. The new folder is
// written next to the old one and replaces it when it is completely on disk.

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { ByteWriter } from '../format/bytes.ts'
import { documentKeys, type SymbolKey } from '../format/keys.ts'
import type { Database } from './database.ts'
import { DOCUMENTS_DESCRIPTION, GRAPH_DESCRIPTION, META_KIND, openDatabases, openKeyed, openMeta } from './databases.ts'
import { migrationBackup, migrationTarget } from './environment-folder.ts'
import {
  describeLayout,
  documentsLayout,
  encodeLayout,
  type FolderLayout,
  graphLayout,
  LAYOUT_KEY,
  LayoutError,
  readLayout,
} from './layout.ts'
import { LmdbFile } from './lmdb-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from './open-lock.ts'
import { entryCountOf, type RangeOptions } from './raw-database.ts'

/** The layout versions before checksums. */
const OLD_GRAPH_VERSIONS: readonly number[] = [1, 2]
const OLD_DOCUMENTS_VERSIONS: readonly number[] = [1]
/** The header of the first layout of graphs had no writer and no commit, its last two words. */
const FIRST_HEADER_BYTES = 8 * 4
const COMMIT_BYTES = 2 * 4
const BATCH_ENTRIES = 20_000
const BATCH_BYTES = 32 * 2 ** 20

/** Writes the value in the new format, without its checksum. */
type ValueRewrite<K = unknown> = (writer: ByteWriter, old: Uint8Array, key: K) => void

const copyValue: ValueRewrite = (writer, old) => writer.raw(old)
/** In the old format a zero byte followed each name. */
const rewriteName: ValueRewrite = (writer, old) => prependLength(writer, old.subarray(0, old.length - 1))
const prependLength = (writer: ByteWriter, old: Uint8Array): void => {
  writer.u32(old.length)
  writer.raw(old)
}
/** In the old format an index entry had a value of one byte, because values could not be empty. */
const dropValue: ValueRewrite = () => {}
const rewriteMeta: ValueRewrite<SymbolKey> = (writer, old, { kind }) => {
  writer.raw(old)
  if (kind === META_KIND.header && old.length === FIRST_HEADER_BYTES) writer.raw(new Uint8Array(COMMIT_BYTES))
}

/** Called while entries are rewritten: entries done, entries in total. */
type MigrationProgress = (done: number, total: number) => void

/**
 * Migrates a folder. Returns false if it has the present layout already. No other process may use the folder at the same time. After
 * a crash the next call finishes the migration. Throws LayoutError for a layout that it cannot migrate.
 */
export async function migrateFolder(folder: string, progress: MigrationProgress = () => {}): Promise<boolean> {
  const target = migrationTarget(folder)
  const backup = migrationBackup(folder)
  // A crash between the two renames leaves the backup and the complete target. A process that opened the folder since left at
  // most an empty folder.
  if (!existsSync(join(folder, DATA_FILE)) && existsSync(backup)) {
    rmSync(folder, { recursive: true, force: true })
    renameSync(existsSync(target) ? target : backup, folder)
  }
  rmSync(target, { recursive: true, force: true })
  rmSync(backup, { recursive: true, force: true })
  const from = new LmdbFile(folder, { lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
  try {
    const layout = targetLayout(openMeta(from, GRAPH_DESCRIPTION))
    if (layout === null) return false
    mkdirSync(target, { recursive: true, mode: 0o700 })
    const to = new LmdbFile(target, {})
    try {
      if (layout === graphLayout) await rewriteGraph(from, to, progress)
      else await rewriteDocuments(from, to, progress)
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
  syncToDisk(join(target, DATA_FILE))
  syncToDisk(target)
  renameSync(folder, backup)
  renameSync(target, folder)
  syncToDisk(dirname(folder))
  rmSync(backup, { recursive: true, force: true })
  return true
}

function targetLayout(meta: Database<{ kind: number; symbol: number }>): FolderLayout | null {
  const stored = readLayout(meta)
  if (stored === null) throw new LayoutError('the folder has no valid layout entry')
  const { state, message } = describeLayout(stored)
  if (state === 'current') return null
  if (state === 'newer') throw new LayoutError(message)
  for (const [layout, before] of [
    [graphLayout, OLD_GRAPH_VERSIONS],
    [documentsLayout, OLD_DOCUMENTS_VERSIONS],
  ] as const) {
    if (stored.kind !== layout.kind) continue
    if (before.includes(stored.version)) return layout
    const found = `the folder contains ${layout.contents} in layout version ${stored.version}`
    throw new LayoutError(
      `${found}; this program migrates version ${before.join(' and ')} to version ${layout.version}`,
    )
  }
  // There is no earlier layout of events and of the audit index.
  throw new LayoutError(
    'the folder contains neither a graph nor documents nor events nor an audit index of a layout that this program knows',
  )
}

async function rewriteGraph(from: LmdbFile, to: LmdbFile, progress: MigrationProgress): Promise<void> {
  const [old, next] = [from, to].map((file) => openDatabases(file, openMeta(file, GRAPH_DESCRIPTION)))
  const total = Object.values(old!).reduce((sum, { raw }) => sum + entryCountOf(raw), 0)
  let done = 0
  const wrote = (entries: number): void => {
    done += entries
    progress(done, total)
  }
  const copy = <K>(pick: (databases: NonNullable<typeof old>) => Database<K>, start: K, rewrite: ValueRewrite<K>) =>
    rewriteAll(to, pick(old!), pick(next!), start, rewrite, wrote)
  await copy((d) => d.symbols, { kind: 0, symbol: 0 }, rewriteName)
  await copy((d) => d.upsertKeys, { type: 0, externalId: '' }, copyValue)
  await copy((d) => d.nodes, 1, copyValue)
  await copy((d) => d.relationships, 1, copyValue)
  await copy((d) => d.adjacency, { node: 0, edgeList: 0 }, copyValue)
  await copy((d) => d.chunks, 1, copyValue)
  await copy((d) => d.chunkIndex, { node: 0, edgeList: 0, neighbour: 0, relationship: 0 }, copyValue)
  await copy((d) => d.labels, { label: 0, block: 0 }, copyValue)
  await copy((d) => d.index, { label: 0, property: 0, scalar: new Uint8Array(0), node: 0 }, dropValue)
  // Last, so that an incomplete copy has no header.
  await copy((d) => d.meta, { kind: META_KIND.header, symbol: 0 }, rewriteMeta)
  await writeLayout(to, next!.meta, graphLayout)
}

async function rewriteDocuments(from: LmdbFile, to: LmdbFile, progress: MigrationProgress): Promise<void> {
  const [old, next] = [from, to].map((file) => openKeyed(file, 'documents', documentKeys, DOCUMENTS_DESCRIPTION))
  const total = entryCountOf(old!.raw)
  let done = 0
  await rewriteAll(to, old!, next!, { collection: '', key: '' }, prependLength, (entries) => {
    done += entries
    progress(done, total)
  })
  await writeLayout(to, openMeta(to, DOCUMENTS_DESCRIPTION), documentsLayout)
}

async function writeLayout(
  to: LmdbFile,
  meta: Database<{ kind: number; symbol: number }>,
  layout: FolderLayout,
): Promise<void> {
  await to.transaction(() => {
    meta.raw.put(LAYOUT_KEY, encodeLayout(layout))
  })
}

async function rewriteAll<K>(
  to: LmdbFile,
  old: Database<K>,
  next: Database<K>,
  start: K,
  rewrite: ValueRewrite<K>,
  wrote: (entries: number) => void,
) {
  let batch: { key: K; start: number; end: number }[] = []
  let writer = new ByteWriter()
  const put = async (): Promise<void> => {
    const [entries, written] = [batch, writer]
    batch = []
    writer = new ByteWriter()
    await to.transaction(() => {
      for (const entry of entries) next.putSealed(entry.key, written, entry.start, entry.end)
    })
    wrote(entries.length)
  }
  let from: K | null = start
  while (from !== null) {
    const range: RangeOptions<K> = { start: from, end: undefined, limit: BATCH_ENTRIES + 1 }
    from = null
    // No read transaction is open while a batch is written.
    for (const { key, value } of old.raw.getRange(range)) {
      if (batch.length === BATCH_ENTRIES || writer.length > BATCH_BYTES) {
        from = key
        break
      }
      const begin = writer.length
      rewrite(writer, value.subarray(0, value.length), key)
      next.seal(key, writer, begin)
      batch.push({ key, start: begin, end: writer.length })
    }
    if (batch.length > 0) await put()
  }
}

function syncToDisk(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
