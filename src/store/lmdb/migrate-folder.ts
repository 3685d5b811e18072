// From layout 2 to layout 3: every value gets its checksum, names and documents tell their length. The folder of an environment is
// written anew beside the old one and takes its place when it is whole on disk, so a crash leaves one of the two.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { collectionsLayout } from '../documents/collections.ts'
import { ByteWriter } from '../format/bytes.ts'
import { documentKeys } from '../format/keys.ts'
import type { Database } from './database.ts'
import {
  DOCUMENTS_DESCRIPTION,
  encodeLayout,
  type FolderLayout,
  GRAPH_DESCRIPTION,
  graphLayout,
  LAYOUT_KEY,
  LayoutError,
  openDatabases,
  openKeyed,
  openMeta,
  readLayout,
} from './databases.ts'
import { DATA_FILE, migrationBackup, migrationTarget } from './environment-folder.ts'
import { LmdbFile } from './lmdb-file.ts'
import type { RangeOptions } from './raw-database.ts'

/** The versions before checksums: of graphs, and of documents. */
const OLD_GRAPH_VERSION = 2
const OLD_DOCUMENTS_VERSION = 1
const BATCH_ENTRIES = 20_000
const BATCH_BYTES = 32 * 2 ** 20

/** Writes the value as the new layout has it, without its checksum. */
type ValueRewrite = (sink: ByteWriter, old: Uint8Array) => void

const copyValue: ValueRewrite = (sink, old) => sink.raw(old)
/** A zero byte followed each name. */
const rewriteName: ValueRewrite = (sink, old) => prependLength(sink, old.subarray(0, old.length - 1))
const prependLength: ValueRewrite = (sink, old) => {
  sink.u32(old.length)
  sink.raw(old)
}
/** An entry of the index had one byte, because no value may be empty. */
const dropValue: ValueRewrite = () => {}

/** True when the folder was migrated, false when there was nothing to do. Nobody else may use the folder meanwhile. */
export async function migrateFolder(folder: string): Promise<boolean> {
  const beside = migrationTarget(folder)
  const aside = migrationBackup(folder)
  // A crash between the two renames leaves the old one aside and the new one whole; whoever opened it meanwhile left an
  // empty folder at most.
  if (!existsSync(join(folder, DATA_FILE)) && existsSync(aside)) {
    rmSync(folder, { recursive: true, force: true })
    renameSync(existsSync(beside) ? beside : aside, folder)
  }
  rmSync(beside, { recursive: true, force: true })
  rmSync(aside, { recursive: true, force: true })
  const from = new LmdbFile(folder, {})
  try {
    const layout = targetLayout(openMeta(from, GRAPH_DESCRIPTION))
    if (layout === null) return false
    mkdirSync(beside, { recursive: true, mode: 0o700 })
    const to = new LmdbFile(beside, {})
    try {
      if (layout === graphLayout) await rewriteGraph(from, to)
      else await rewriteDocuments(from, to)
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
  syncToDisk(join(beside, DATA_FILE))
  syncToDisk(beside)
  renameSync(folder, aside)
  renameSync(beside, folder)
  syncToDisk(dirname(folder))
  rmSync(aside, { recursive: true, force: true })
  return true
}

function targetLayout(meta: Database<{ kind: number; symbol: number }>): FolderLayout | null {
  const stored = readLayout(meta)
  if (stored === null) throw new LayoutError('the folder does not say what it holds')
  for (const [layout, before] of [
    [graphLayout, OLD_GRAPH_VERSION],
    [collectionsLayout, OLD_DOCUMENTS_VERSION],
  ] as const) {
    if (stored.kind !== layout.kind) continue
    if (stored.version === layout.version) return null
    if (stored.version === before) return layout
    const what = `the folder holds ${layout.contents} in layout version ${stored.version}`
    throw new LayoutError(`${what}; this program migrates version ${before} to version ${layout.version}`)
  }
  throw new LayoutError('the folder holds nothing that this program knows')
}

async function rewriteGraph(from: LmdbFile, to: LmdbFile): Promise<void> {
  const [old, next] = [from, to].map((file) => openDatabases(file, openMeta(file, GRAPH_DESCRIPTION)))
  const copy = <K>(pick: (databases: NonNullable<typeof old>) => Database<K>, start: K, rewrite: ValueRewrite) =>
    rewriteAll(to, pick(old!), pick(next!), start, rewrite)
  await copy((d) => d.symbols, { kind: 0, symbol: 0 }, rewriteName)
  await copy((d) => d.upsertKeys, { type: 0, externalId: '' }, copyValue)
  await copy((d) => d.nodes, 1, copyValue)
  await copy((d) => d.relationships, 1, copyValue)
  await copy((d) => d.adjacency, { node: 0, side: 0 }, copyValue)
  await copy((d) => d.chunks, 1, copyValue)
  await copy((d) => d.chunkIndex, { node: 0, side: 0, neighbour: 0, relationship: 0 }, copyValue)
  await copy((d) => d.labels, { label: 0, block: 0 }, copyValue)
  await copy((d) => d.index, { label: 0, property: 0, scalar: new Uint8Array(0), node: 0 }, dropValue)
  // Last, so that what is not whole has no header.
  await copy((d) => d.meta, { kind: 1, symbol: 0 }, copyValue)
  await writeLayout(to, next!.meta, graphLayout)
}

async function rewriteDocuments(from: LmdbFile, to: LmdbFile): Promise<void> {
  const [old, next] = [from, to].map((file) => openKeyed(file, 'documents', documentKeys, DOCUMENTS_DESCRIPTION))
  await rewriteAll(to, old!, next!, { collection: '', key: '' }, prependLength)
  await writeLayout(to, openMeta(to, DOCUMENTS_DESCRIPTION), collectionsLayout)
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

async function rewriteAll<K>(to: LmdbFile, old: Database<K>, next: Database<K>, start: K, rewrite: ValueRewrite) {
  let batch: { key: K; start: number; end: number }[] = []
  let sink = new ByteWriter()
  const put = async (): Promise<void> => {
    const [entries, written] = [batch, sink]
    batch = []
    sink = new ByteWriter()
    await to.transaction(() => {
      for (const entry of entries) next.putSealed(entry.key, written, entry.start, entry.end)
    })
  }
  let from: K | null = start
  while (from !== null) {
    const range: RangeOptions<K> = { start: from, end: undefined, limit: BATCH_ENTRIES + 1 }
    from = null
    // No reading is held while a batch is written.
    for (const { key, value } of old.raw.getRange(range)) {
      if (batch.length === BATCH_ENTRIES || sink.length > BATCH_BYTES) {
        from = key
        break
      }
      const begin = sink.length
      rewrite(sink, value.subarray(0, value.length))
      next.seal(key, sink, begin)
      batch.push({ key, start: begin, end: sink.length })
    }
    if (batch.length > 0) await put()
  }
}

function syncToDisk(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
