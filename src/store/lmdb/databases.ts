// The named databases of one graph environment, and the version of their layout.
import { OperatorFault } from '../../kernel/errors.ts'
import { Sink, windowOn } from '../bytes.ts'
import {
  type AdjacencyKey,
  adjacencyKeys,
  type ChunkKey,
  chunkKeys,
  type IndexKey,
  indexKeys,
  type LabelKey,
  labelKeys,
  type SymbolKey,
  symbolKeys,
  type UpsertKey,
  upsertKeys,
} from '../keys.ts'
import { emptyHeader, writeHeader } from './header.ts'
import { type Database, LmdbFile } from './native.ts'

/** What the folder holds was written by a program that this one does not understand. */
export class LayoutFault extends OperatorFault {
  override readonly name = 'LayoutFault'
}

/** Kinds of keys in `meta`. */
export const META = { layout: 0, header: 1, labelCount: 2, typeCount: 3, typedCount: 4 } as const

/** A reusable key of the header; never changed. */
export const HEADER_KEY: SymbolKey = { kind: META.header, symbol: 0 }

export interface Databases {
  /** Layout version, counters; counts per label, per relationship type and per node type. */
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

const LAYOUT_KEY: SymbolKey = { kind: META.layout, symbol: 0 }

/** What a folder must hold; `kind` keeps configuration from being opened as a graph. */
export interface Layout {
  readonly kind: number
  readonly what: string
  readonly version: number
}

/** The version is raised whenever a key or a value changes its form. */
export const graphLayout: Layout = { kind: 1, what: 'a graph', version: 2 }

/** Refuses what was written in another layout. A new folder is marked, together with what `first` writes. */
export function checkLayout(
  file: LmdbFile,
  meta: Database<SymbolKey>,
  layout: Layout,
  readOnly: boolean,
  first: () => void,
): void {
  const stored = meta.getBinaryFast(LAYOUT_KEY)
  if (stored !== undefined) {
    const { words } = windowOn(stored.subarray(0, stored.length))
    if (stored.length !== 8 || words[0] !== layout.kind) {
      throw new LayoutFault(`the folder does not hold ${layout.what}`)
    }
    if (words[1] !== layout.version) {
      throw new LayoutFault(
        `the folder holds ${layout.what} in layout version ${words[1]}; this program reads version ${layout.version} only`,
      )
    }
    return
  }
  if (readOnly) throw new LayoutFault(`the folder does not hold ${layout.what}`)
  file.transactionNow(() => {
    // Another process may have been first.
    if (meta.getBinaryFast(LAYOUT_KEY) !== undefined) return
    const sink = new Sink(64)
    sink.u32(layout.kind)
    sink.u32(layout.version)
    meta.put(LAYOUT_KEY, sink.bytes.subarray(0, sink.length))
    first()
  })
}

/** What a folder says that it holds, whichever it is. Throws OperatorFault when it says nothing. */
export async function layoutOfFolder(folder: string): Promise<{ kind: number; version: number }> {
  const file = new LmdbFile(folder, { readOnly: true })
  try {
    const stored = openMeta(file).getBinaryFast(LAYOUT_KEY)
    if (stored?.length !== 8) throw new LayoutFault(`the folder ${folder} does not say what it holds`)
    const { words } = windowOn(stored.subarray(0, stored.length))
    return { kind: words[0]!, version: words[1]! }
  } finally {
    await file.close()
  }
}

export function openMeta(file: LmdbFile): Database<SymbolKey> {
  return file.database('meta', symbolKeys)
}

export function openDatabases(file: LmdbFile, meta: Database<SymbolKey>): Databases {
  return {
    meta,
    symbols: file.database('symbols', symbolKeys),
    upsertKeys: file.database('upsert-keys', upsertKeys),
    nodes: file.numbered('nodes'),
    relationships: file.numbered('relationships'),
    adjacency: file.database('adjacency', adjacencyKeys),
    chunks: file.numbered('chunks'),
    chunkIndex: file.database('chunk-index', chunkKeys),
    labels: file.database('labels', labelKeys),
    index: file.database('index', indexKeys),
  }
}

/** The counters of an empty graph. */
export function putFirstHeader(meta: Database<SymbolKey>): void {
  const sink = new Sink(64)
  writeHeader(sink, emptyHeader())
  meta.put(HEADER_KEY, sink.bytes.subarray(0, sink.length))
}
