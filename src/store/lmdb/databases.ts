// The named databases of a graph environment.
import { DataCorruptionError } from '../../kernel/errors.ts'
import { ByteWriter } from '../format/bytes.ts'
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
  type OutboxKey,
  outboxKeys,
  type SymbolKey,
  symbolKeys,
  type UpsertKey,
  uint32Keys,
  upsertKeys,
} from '../format/keys.ts'
import { Database } from './database.ts'
import type { EnvironmentFile } from './environment-file.ts'

/** Kinds of keys in `meta`. Stored: never renumber them. */
export const META_KIND = {
  layout: 0,
  header: 1,
  labelCount: 2,
  typeCount: 3,
  typedCount: 4,
  checkpoint: 5,
  flag: 6,
  intent: 7,
  /** The state of a load whose edge lists are not complete. */
  unsorted: 8,
} as const

/** Flags of an environment. Stored: never renumber them. */
export const FLAG = {
  /** Its writes update the proxies in the global environment of the project. */
  constituent: 1,
  /** A constituent whose nodes all have proxies. */
  complete: 2,
} as const
/** The number of a flag. */
export type EnvironmentFlag = (typeof FLAG)[keyof typeof FLAG]

/** The key of the header, reused for every read; never modified. */
export const HEADER_KEY: SymbolKey = { kind: META_KIND.header, symbol: 0 }

/** The named databases of one graph environment. */
export interface Databases {
  /** Layout version, header; counts by label, relationship type and node type; flags and intents. */
  readonly meta: Database<SymbolKey>
  /** Kind and id to name. */
  readonly symbols: Database<SymbolKey>
  /** Node type and external id to node id. */
  readonly upsertKeys: Database<UpsertKey>
  readonly nodes: Database<number>
  readonly relationships: Database<number>
  /** Node and edge list id to list, or to the head of a long list. Type 0: the relationship types of the node. */
  readonly adjacency: Database<AdjacencyKey>
  /** Chunks of long lists by chunk id. */
  readonly chunks: Database<number>
  /** Lowest entry of a chunk to chunk id. */
  readonly chunkIndex: Database<ChunkKey>
  readonly labels: Database<LabelKey>
  readonly index: Database<IndexKey>
  /** Events to deliver. Null in a read-only environment that never had any. */
  readonly outbox: Database<OutboxKey> | null
}

/** Names the content of a graph environment in a DataCorruptionError. */
export const GRAPH_DESCRIPTION = 'the knowledge graph of this project'
/** Names the content of an environment of documents in a DataCorruptionError. */
export const DOCUMENTS_DESCRIPTION = 'the configuration'

/** Names the content of the environment of events in a DataCorruptionError. */
export const EVENTS_DESCRIPTION = 'the events to deliver'

/** Names the content of the index of the audit logs in a DataCorruptionError. */
export const AUDIT_DESCRIPTION = 'the index of the audit logs'

/** Opens `meta`. `holds` names the content of the environment in a DataCorruptionError. */
export function openMeta(file: EnvironmentFile, holds: string): Database<SymbolKey> {
  return openKeyed(file, 'meta', symbolKeys, holds)
}

/**
 * Opens the outbox, and creates it in an environment of a program that had none. Null if the environment is read-only and has
 * none.
 */
export function openOutbox(file: EnvironmentFile, holds: string): Database<OutboxKey> | null {
  const raw = file.openKeyedIfPresent('outbox', outboxKeys)
  return raw && new Database('outbox', raw, outboxKeys, holds)
}

/** Opens a named database with encoded keys. */
export function openKeyed<K>(file: EnvironmentFile, name: string, codec: KeyCodec<K>, holds: string): Database<K> {
  return new Database(name, file.openKeyed(name, codec), codec, holds)
}

function openNumbered(file: EnvironmentFile, name: keyof typeof NUMERIC_KEY_SEED): Database<number> {
  return new Database(name, file.openNumbered(name), uint32Keys(NUMERIC_KEY_SEED[name]), GRAPH_DESCRIPTION)
}

/** Opens the databases of a graph environment. */
export function openDatabases(file: EnvironmentFile, meta: Database<SymbolKey>): Databases {
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
    outbox: openOutbox(file, GRAPH_DESCRIPTION),
  }
}

/** Writes the header of an empty graph, within a write transaction. */
export function putEmptyHeader(meta: Database<SymbolKey>): void {
  const writer = new ByteWriter(64)
  writeHeader(writer, emptyHeader())
  meta.put(HEADER_KEY, writer.written())
}

/** The error for an environment with fewer symbols than its header counts. */
export function missingSymbolsError({ symbols }: Databases): DataCorruptionError {
  return new DataCorruptionError(GRAPH_DESCRIPTION, `${symbols.name} are incomplete`)
}
