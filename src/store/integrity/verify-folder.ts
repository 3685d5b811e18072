// Reads all of one environment and tells what is damaged: every page, every value, and whether all of it agrees. It only
// reads, and may do so beside a process that serves. A damaged page may end the process, so whoever asks does it in another.
import { join } from 'node:path'
import { systemClock } from '../../kernel/clock.ts'
import { DataCorruptionError, OperationalError } from '../../kernel/errors.ts'
import { collectionsLayout } from '../documents/collections.ts'
import { documentKeys } from '../format/keys.ts'
import { openEnvironment } from '../graph/environment.ts'
import { CHECKSUM_MISMATCH, type Database, formatKey } from '../lmdb/database.ts'
import {
  checkLayout,
  DOCUMENTS_DESCRIPTION,
  HEADER_KEY,
  LayoutError,
  openKeyed,
  openMeta,
  readFolderLayout,
} from '../lmdb/databases.ts'
import { DATA_FILE } from '../lmdb/environment-folder.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { PageFile } from '../pages/page-file.ts'
import { findTreeDamage } from '../pages/page-walk.ts'
import { checkGraph } from './check-graph.ts'

/** What is damaged, as sentences; empty when the folder is sound. Throws LayoutFault when this program cannot read it. */
export async function verifyFolder(folder: string, at: (what: string) => void): Promise<string[]> {
  try {
    at('the file')
    const { kind } = await readFolderLayout(folder)
    return kind === collectionsLayout.kind ? await verifyDocuments(folder, at) : await verifyGraph(folder, at)
  } catch (fault) {
    if (fault instanceof LayoutError) throw fault
    if (fault instanceof OperationalError || fault instanceof DataCorruptionError) return [fault.message]
    throw fault
  }
}

async function verifyGraph(folder: string, at: (what: string) => void): Promise<string[]> {
  const environment = openEnvironment(folder, { clock: systemClock, readOnly: true, cacheBytes: 0 })
  try {
    at('pages')
    const fault = environment.inspect(({ meta }, reading) => {
      // From here on no page that is walked is used again.
      meta.getRequired(HEADER_KEY, reading)
      return findPageDamage(folder)
    })
    if (fault !== null) return [fault]
    at('values')
    return checkGraph(environment)
  } finally {
    await environment.close()
  }
}

async function verifyDocuments(folder: string, at: (what: string) => void): Promise<string[]> {
  const file = new LmdbFile(folder, { readOnly: true })
  try {
    const meta = openMeta(file, DOCUMENTS_DESCRIPTION)
    checkLayout(file, meta, collectionsLayout, true, () => {})
    const documents = openKeyed(file, 'documents', documentKeys, DOCUMENTS_DESCRIPTION)
    const first = { collection: '', key: '' }
    const view = file.readTransactions.acquire()
    // With this the reading begins: from here on no page that is walked is used again.
    documents.get(first, view)
    at('pages')
    const fault = findPageDamage(folder)
    if (fault !== null) return [fault]
    at('values')
    return [...damagedValues(documents, first, view)]
  } finally {
    await file.close()
  }
}

function* damagedValues<K>(database: Database<K>, start: K, reading: ReadOptions): Iterable<string> {
  for (const { key, window } of database.scanUnchecked({ start, end: undefined, ...reading })) {
    if (window === null) yield `${database.name} ${formatKey(key)} ${CHECKSUM_MISMATCH}`
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
