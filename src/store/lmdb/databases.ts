// The named databases of one graph environment, and the version of their layout.
import { DamageFault, OperatorFault } from '../../kernel/errors.ts'
import { Sink, windowOn } from '../bytes.ts'
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
  NUMBERED,
  numberKeys,
  type SymbolKey,
  symbolKeys,
  type UpsertKey,
  upsertKeys,
} from '../keys.ts'
import { Database } from './database.ts'
import { emptyHeader, writeHeader } from './header.ts'
import { LmdbFile } from './native.ts'

/** What the folder holds was written by a program that this one does not understand. */
export class LayoutFault extends OperatorFault {
  override readonly name = 'LayoutFault'
}

/** Kinds of keys in `meta`. */
export const META = {
  layout: 0,
  header: 1,
  labelCount: 2,
  typeCount: 3,
  typedCount: 4,
  checkpoint: 5,
  mark: 6,
  note: 7,
} as const

/** What an environment is known for, once it is marked. */
export const MARK = {
  /** Its writes take proxies in the project's global environment along. */
  constituent: 1,
  /** A constituent that has had a proxy for each of its nodes. */
  complete: 2,
} as const
export type Mark = (typeof MARK)[keyof typeof MARK]

/** A reusable key of the header; never changed. */
export const HEADER_KEY: SymbolKey = { kind: META.header, symbol: 0 }

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

export const LAYOUT_KEY: SymbolKey = { kind: META.layout, symbol: 0 }

/** What a folder must hold; `kind` keeps configuration from being opened as a graph. */
export interface Layout {
  readonly kind: number
  readonly what: string
  readonly version: number
}

/** The version is raised whenever a key or a value changes its form. */
export const graphLayout: Layout = { kind: 1, what: 'a graph', version: 3 }

/** Refuses what was written in another layout. A new folder is marked, together with what `first` writes. */
export function checkLayout(
  file: LmdbFile,
  meta: Database<SymbolKey>,
  layout: Layout,
  readOnly: boolean,
  first: () => void,
): void {
  const stored = storedLayout(meta)
  if (stored !== null) {
    if (stored.kind !== layout.kind) throw new LayoutFault(`the folder does not hold ${layout.what}`)
    if (stored.version === layout.version) return
    throw new LayoutFault(
      stored.version > layout.version
        ? `the folder holds ${layout.what} in layout version ${stored.version}, of a later program; this one reads version ${layout.version}`
        : `the folder holds ${layout.what} in layout version ${stored.version}; this program reads version ${layout.version}: \`verdigraph migrate\` brings it there`,
    )
  }
  if (readOnly) throw new LayoutFault(`the folder does not hold ${layout.what}`)
  file.transactionNow(() => {
    // Another process may have been first.
    if (storedLayout(meta) !== null) return
    meta.raw.put(LAYOUT_KEY, layoutBytes(layout))
    first()
  })
}

/** What a folder says that it holds, whichever it is. Throws OperatorFault when it says nothing. */
export async function layoutOfFolder(folder: string): Promise<{ kind: number; version: number }> {
  const file = new LmdbFile(folder, { readOnly: true })
  try {
    const stored = storedLayout(openMeta(file, GRAPH))
    if (stored === null) throw new LayoutFault(`the folder ${folder} does not say what it holds`)
    return stored
  } finally {
    await file.close()
  }
}

/** Without a checksum, so that every version of the program can read it. */
export function layoutBytes({ kind, version }: Layout): Uint8Array {
  const sink = new Sink(64)
  sink.u32(kind)
  sink.u32(version)
  return sink.written()
}

/** Null in a new folder. Throws LayoutFault for what no version of this program has written. */
export function storedLayout(meta: Database<SymbolKey>): { kind: number; version: number } | null {
  const stored = meta.raw.getBinaryFast(LAYOUT_KEY)
  if (stored === undefined) return null
  if (stored.length !== 8) throw new LayoutFault('the folder does not say what it holds')
  const { words } = windowOn(stored.subarray(0, stored.length))
  return { kind: words[0]!, version: words[1]! }
}

/** What the caller of the service is told to be damaged. */
export const GRAPH = 'the knowledge graph of this project'
export const DOCUMENTS = 'the configuration'

export function openMeta(file: LmdbFile, holds: string): Database<SymbolKey> {
  return keyed(file, 'meta', symbolKeys, holds)
}

export function keyed<K>(file: LmdbFile, name: string, codec: KeyCodec<K>, holds: string): Database<K> {
  return new Database(name, file.database(name, codec), codec, holds)
}

function numbered(file: LmdbFile, name: keyof typeof NUMBERED): Database<number> {
  return new Database(name, file.numbered(name), numberKeys(NUMBERED[name]), GRAPH)
}

export function openDatabases(file: LmdbFile, meta: Database<SymbolKey>): Databases {
  return {
    meta,
    symbols: keyed(file, 'symbols', symbolKeys, GRAPH),
    upsertKeys: keyed(file, 'upsert-keys', upsertKeys, GRAPH),
    nodes: numbered(file, 'nodes'),
    relationships: numbered(file, 'relationships'),
    adjacency: keyed(file, 'adjacency', adjacencyKeys, GRAPH),
    chunks: numbered(file, 'chunks'),
    chunkIndex: keyed(file, 'chunk-index', chunkKeys, GRAPH),
    labels: keyed(file, 'labels', labelKeys, GRAPH),
    index: keyed(file, 'index', indexKeys, GRAPH),
  }
}

/** The counters of an empty graph. */
export function putFirstHeader(meta: Database<SymbolKey>): void {
  const sink = new Sink(64)
  writeHeader(sink, emptyHeader())
  meta.put(HEADER_KEY, sink.written())
}

export function lackOfSymbols({ symbols }: Databases): DamageFault {
  return new DamageFault(GRAPH, `${symbols.name} are not all there`)
}
