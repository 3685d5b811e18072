// The named databases of one graph environment, and the version of their layout.
import { DataCorruptionError, OperationalError } from '../../kernel/errors.ts'
import { ByteWriter, copyToView } from '../format/bytes.ts'
import { emptyHeader, writeHeader } from '../format/header.ts'
import {
  type AdjacencyKey,
  adjacencyKeys,
  type ChunkKey,
  chunkKeys,
  type IndexKey,
  indexKeys,
  type KeyCodec,
  type LabelKey,
  labelKeys,
  NUMERIC_KEY_SEED,
  type SymbolKey,
  symbolKeys,
  type UpsertKey,
  uint32Keys,
  upsertKeys,
} from '../format/keys.ts'
import { Database } from './database.ts'
import { LmdbFile } from './lmdb-file.ts'

/** What the folder holds was written by a program that this one does not understand. */
export class LayoutError extends OperationalError {
  override readonly name = 'LayoutFault'
}

/** Kinds of keys in `meta`. */
export const META_KIND = {
  layout: 0,
  header: 1,
  labelCount: 2,
  typeCount: 3,
  typedCount: 4,
  checkpoint: 5,
  flag: 6,
  intent: 7,
} as const

/** What an environment is known for, once it is marked. */
export const FLAG = {
  /** Its writes take proxies in the project's global environment along. */
  constituent: 1,
  /** A constituent that has had a proxy for each of its nodes. */
  complete: 2,
} as const
export type EnvironmentFlag = (typeof FLAG)[keyof typeof FLAG]

/** A reusable key of the header; never changed. */
export const HEADER_KEY: SymbolKey = { kind: META_KIND.header, symbol: 0 }

export interface Databases {
  /** Layout version, counters; counts per label, per relationship type and per node type; marks and notes. */
  readonly meta: Database<SymbolKey>
  /** Kind and id → name. */
  readonly symbols: Database<SymbolKey>
  /** Type and external id → node id. */
  readonly upsertKeys: Database<UpsertKey>
  readonly nodes: Database<number>
  readonly relationships: Database<number>
  /** Node and side → list, or head of a long list; under type 0 the types that the node has in that direction. */
  readonly adjacency: Database<AdjacencyKey>
  /** Chunks of long lists, by chunk id. */
  readonly chunks: Database<number>
  /** Lower end of a chunk → its id. */
  readonly chunkIndex: Database<ChunkKey>
  readonly labels: Database<LabelKey>
  readonly index: Database<IndexKey>
}

export const LAYOUT_KEY: SymbolKey = { kind: META_KIND.layout, symbol: 0 }

/** What a folder must hold; `kind` keeps configuration from being opened as a graph. */
export interface FolderLayout {
  readonly kind: number
  readonly contents: string
  readonly version: number
}

/** The version is raised whenever a key or a value changes its form. */
export const graphLayout: FolderLayout = { kind: 1, contents: 'a graph', version: 3 }

/** Refuses what was written in another layout. A new folder is marked, together with what `first` writes. */
export function checkLayout(
  file: LmdbFile,
  meta: Database<SymbolKey>,
  layout: FolderLayout,
  readOnly: boolean,
  first: () => void,
): void {
  const stored = readLayout(meta)
  if (stored !== null) {
    if (stored.kind !== layout.kind) throw new LayoutError(`the folder does not hold ${layout.contents}`)
    if (stored.version === layout.version) return
    throw new LayoutError(
      stored.version > layout.version
        ? `the folder holds ${layout.contents} in layout version ${stored.version}, of a later program; this one reads version ${layout.version}`
        : `the folder holds ${layout.contents} in layout version ${stored.version}; this program reads version ${layout.version}: \`verdigraph migrate\` brings it there`,
    )
  }
  if (readOnly) throw new LayoutError(`the folder does not hold ${layout.contents}`)
  file.transactionSync(() => {
    // Another process may have been first.
    if (readLayout(meta) !== null) return
    meta.raw.put(LAYOUT_KEY, encodeLayout(layout))
    first()
  })
}

/** What a folder says that it holds, whichever it is. Throws OperatorFault when it says nothing. */
export async function readFolderLayout(folder: string): Promise<{ kind: number; version: number }> {
  const file = new LmdbFile(folder, { readOnly: true })
  try {
    const stored = readLayout(openMeta(file, GRAPH_DESCRIPTION))
    if (stored === null) throw new LayoutError(`the folder ${folder} does not say what it holds`)
    return stored
  } finally {
    await file.close()
  }
}

/** Without a checksum, so that every version of the program can read it. */
export function encodeLayout({ kind, version }: FolderLayout): Uint8Array {
  const sink = new ByteWriter(64)
  sink.u32(kind)
  sink.u32(version)
  return sink.written()
}

/** Null in a new folder. Throws LayoutFault for what no version of this program has written. */
export function readLayout(meta: Database<SymbolKey>): { kind: number; version: number } | null {
  const stored = meta.raw.getBinaryFast(LAYOUT_KEY)
  if (stored === undefined) return null
  if (stored.length !== 8) throw new LayoutError('the folder does not say what it holds')
  const { words } = copyToView(stored.subarray(0, stored.length))
  return { kind: words[0]!, version: words[1]! }
}

/** What the caller of the service is told to be damaged. */
export const GRAPH_DESCRIPTION = 'the knowledge graph of this project'
export const DOCUMENTS_DESCRIPTION = 'the configuration'

export function openMeta(file: LmdbFile, holds: string): Database<SymbolKey> {
  return openKeyed(file, 'meta', symbolKeys, holds)
}

export function openKeyed<K>(file: LmdbFile, name: string, codec: KeyCodec<K>, holds: string): Database<K> {
  return new Database(name, file.openKeyed(name, codec), codec, holds)
}

function openNumbered(file: LmdbFile, name: keyof typeof NUMERIC_KEY_SEED): Database<number> {
  return new Database(name, file.openNumbered(name), uint32Keys(NUMERIC_KEY_SEED[name]), GRAPH_DESCRIPTION)
}

export function openDatabases(file: LmdbFile, meta: Database<SymbolKey>): Databases {
  return {
    meta,
    symbols: openKeyed(file, 'symbols', symbolKeys, GRAPH_DESCRIPTION),
    upsertKeys: openKeyed(file, 'upsert-keys', upsertKeys, GRAPH_DESCRIPTION),
    nodes: openNumbered(file, 'nodes'),
    relationships: openNumbered(file, 'relationships'),
    adjacency: openKeyed(file, 'adjacency', adjacencyKeys, GRAPH_DESCRIPTION),
    chunks: openNumbered(file, 'chunks'),
    chunkIndex: openKeyed(file, 'chunk-index', chunkKeys, GRAPH_DESCRIPTION),
    labels: openKeyed(file, 'labels', labelKeys, GRAPH_DESCRIPTION),
    index: openKeyed(file, 'index', indexKeys, GRAPH_DESCRIPTION),
  }
}

/** The counters of an empty graph. */
export function putEmptyHeader(meta: Database<SymbolKey>): void {
  const sink = new ByteWriter(64)
  writeHeader(sink, emptyHeader())
  meta.put(HEADER_KEY, sink.written())
}

export function missingSymbolsError({ symbols }: Databases): DataCorruptionError {
  return new DataCorruptionError(GRAPH_DESCRIPTION, `${symbols.name} are not all there`)
}
