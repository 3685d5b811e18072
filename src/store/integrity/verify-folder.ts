// Verifies one environment completely: every page, every value, and the consistency of the graph. It only reads, also while
// another process serves the folder. A damaged page may end the process, so callers run it in a separate process.

import { join } from 'node:path'
import { DATA_FILE } from '../../kernel/data-folder.ts'
import { DataCorruptionError, OperationalError } from '../../kernel/errors.ts'
import { documentKeys } from '../format/keys.ts'
import { CHECKSUM_MISMATCH, type Database, formatKey } from '../lmdb/database.ts'
import {
  DOCUMENTS_DESCRIPTION,
  GRAPH_DESCRIPTION,
  HEADER_KEY,
  openDatabases,
  openKeyed,
  openMeta,
} from '../lmdb/databases.ts'
import { checkLayout, documentsLayout, graphLayout, LayoutError, readFolderLayout } from '../lmdb/layout.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../lmdb/open-lock.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { PageFile } from '../pages/page-file.ts'
import { findTreeDamage } from '../pages/page-walk.ts'
import { checkGraph } from './check-graph.ts'

const commandOptions = { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS }

/**
 * Returns all damage of the environment in `folder` as sentences; empty if it is sound. `at` is called with the name of each
 * part before it is checked. Throws LayoutError if this program cannot read the layout.
 */
export async function verifyFolder(folder: string, at: (what: string) => void): Promise<string[]> {
  try {
    at('the file')
    const { kind } = await readFolderLayout(folder)
    return kind === documentsLayout.kind ? await verifyDocuments(folder, at) : await verifyGraph(folder, at)
  } catch (error) {
    if (error instanceof LayoutError) throw error
    if (error instanceof OperationalError || error instanceof DataCorruptionError) return [error.message]
    throw error
  }
}

async function verifyGraph(folder: string, at: (what: string) => void): Promise<string[]> {
  const file = new LmdbFile(folder, commandOptions)
  try {
    const meta = openMeta(file, GRAPH_DESCRIPTION)
    checkLayout(file, meta, graphLayout, true, () => {})
    const databases = openDatabases(file, meta)
    const transaction = file.readTransactions.acquire()
    // This begins the read transaction: from here on LMDB reuses no page of this version.
    meta.getRequired(HEADER_KEY, transaction)
    at('pages')
    const damage = findPageDamage(folder)
    if (damage !== null) return [damage]
    at('values')
    return checkGraph({ inspect: (read) => read(databases, transaction) })
  } finally {
    await file.close()
  }
}

async function verifyDocuments(folder: string, at: (what: string) => void): Promise<string[]> {
  const file = new LmdbFile(folder, commandOptions)
  try {
    const meta = openMeta(file, DOCUMENTS_DESCRIPTION)
    checkLayout(file, meta, documentsLayout, true, () => {})
    const documents = openKeyed(file, 'documents', documentKeys, DOCUMENTS_DESCRIPTION)
    const first = { collection: '', key: '' }
    const transaction = file.readTransactions.acquire()
    // This begins the read transaction: from here on LMDB reuses no page of this version.
    documents.get(first, transaction)
    at('pages')
    const damage = findPageDamage(folder)
    if (damage !== null) return [damage]
    at('values')
    return [...damagedValues(documents, first, transaction)]
  } finally {
    await file.close()
  }
}

function* damagedValues<K>(database: Database<K>, start: K, readOptions: ReadOptions): Iterable<string> {
  for (const { key, valueView } of database.scanUnchecked({ start, end: undefined, ...readOptions })) {
    if (valueView === null) yield `${database.name} ${formatKey(key)} ${CHECKSUM_MISMATCH}`
  }
}

function findPageDamage(folder: string): string | null {
  const file = new PageFile(join(folder, DATA_FILE))
  try {
    const metas = file.metas()
    if (metas === null) return 'a meta page is damaged'
    return findTreeDamage(file, metas[0], { leaves: true, pagesMax: Number.POSITIVE_INFINITY })
  } finally {
    file.close()
  }
}
