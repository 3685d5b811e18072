// Verifies one environment completely: every page, every value, and the consistency of the graph. It only reads, also while
// another process serves the folder. A damaged page may end the process, so callers run it in a separate process.

import { join } from 'node:path'
import { DataCorruptionError, OperationalError } from '../../kernel/errors.ts'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { openAuditDatabases } from '../audit/audit-databases.ts'
import { checkAuditIndex } from '../audit/check-audit-index.ts'
import { documentKeys } from '../format/keys.ts'
import { CHECKSUM_MISMATCH, type Database, formatKey } from '../lmdb/database.ts'
import {
  AUDIT_DESCRIPTION,
  DOCUMENTS_DESCRIPTION,
  EVENTS_DESCRIPTION,
  GRAPH_DESCRIPTION,
  HEADER_KEY,
  openDatabases,
  openKeyed,
  openMeta,
  openOutbox,
} from '../lmdb/databases.ts'
import {
  auditLayout,
  checkLayout,
  documentsLayout,
  eventsLayout,
  graphLayout,
  LAYOUT_KEY,
  LayoutError,
  readFolderLayout,
} from '../lmdb/layout.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import { DamagedFileError } from '../lmdb/open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../lmdb/open-lock.ts'
import { entryCountOf, type ReadOptions } from '../lmdb/raw-database.ts'
import { checkOutbox } from '../outbox/check-outbox.ts'
import { PageFile } from '../pages/page-file.ts'
import { type WalkOptions, walkTrees } from '../pages/page-walk.ts'
import { checkGraph } from './check-graph.ts'
import { earlierValues } from './earlier-values.ts'
import { PageCheck, READ_FIRST } from './page-check.ts'

const commandOptions = { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS }

/** Called with the name of each part before it is checked, and then with the share of the environment that is checked, 0 to 1. */
export type VerifyProgress = (what: string, share: number) => void

/** The share of the walk over the pages in the progress; the rest are lookups of single values. */
const PAGES_SHARE = 0.9
const PAGES_PER_REPORT = 4096

/**
 * Returns all damage of the environment in `folder` as sentences; empty if it is sound. Throws LayoutError if this program
 * cannot read the layout. `notice`: called with each element that an earlier version stored and this one would not store so, which is no
 * damage.
 */
export async function verifyFolder(
  folder: string,
  at: VerifyProgress,
  notice: ((text: string) => void) | null = null,
): Promise<string[]> {
  try {
    at('the file', 0)
    const { kind } = await readFolderLayout(folder)
    if (kind === documentsLayout.kind) return await verifyDocuments(folder, at)
    if (kind === auditLayout.kind) return await verifyAuditIndex(folder, at)
    return kind === eventsLayout.kind ? await verifyEvents(folder, at) : await verifyGraph(folder, at, notice)
  } catch (error) {
    if (error instanceof LayoutError) throw error
    if (error instanceof DamagedFileError) return [error.finding]
    if (error instanceof OperationalError || error instanceof DataCorruptionError) return [error.message]
    throw error
  }
}

async function verifyGraph(
  folder: string,
  at: VerifyProgress,
  notice: ((text: string) => void) | null,
): Promise<string[]> {
  const file = new LmdbFile(folder, commandOptions)
  try {
    const meta = openMeta(file, GRAPH_DESCRIPTION)
    checkLayout(file, meta, graphLayout, true, () => {})
    const databases = openDatabases(file, meta)
    const transaction = file.readTransactions.acquire()
    // This begins the read transaction: from here on LMDB reuses no page of this version.
    meta.getRequired(HEADER_KEY, transaction)
    const { damage, isSound, hasEarlierValues } = checkPages(folder, at)
    if (damage !== null) return [damage]
    at('values', PAGES_SHARE)
    if (isSound && hasEarlierValues && notice !== null)
      for (const text of earlierValues(databases, transaction)) notice(text)
    if (isSound) return [...checkOutbox(databases.outbox, transaction)]
    // Slow, but names each finding. It also decides if another process has written since the transaction began.
    const present = Object.values(databases).filter((database) => database !== null)
    const total = present.reduce((sum, { raw }) => sum + entryCountOf(raw), 0)
    return checkGraph({ inspect: (read) => read(databases, transaction) }, (entries) =>
      at('values', PAGES_SHARE + (1 - PAGES_SHARE) * Math.min(1, entries / total)),
    )
  } finally {
    await file.close()
  }
}

/**
 * Returns a sentence for each record of the graph in `folder` that `migrate` writes again, at most a hundred. The folder may be served.
 * Rejects with OperationalError if the graph is damaged.
 */
export async function rewrittenRecords(folder: string): Promise<string[]> {
  const file = new LmdbFile(folder, commandOptions)
  try {
    const meta = openMeta(file, GRAPH_DESCRIPTION)
    const databases = openDatabases(file, meta)
    const transaction = file.readTransactions.acquire()
    // As in `verifyGraph`.
    meta.getRequired(HEADER_KEY, transaction)
    const { damage, isSound, hasEarlierValues } = checkPages(folder, () => {})
    if (damage !== null || !isSound)
      throw new OperationalError(`the graph in ${folder} is damaged: run \`verdigraph verify\``)
    return hasEarlierValues ? earlierValues(databases, transaction, 'rewritten') : []
  } finally {
    await file.close()
  }
}

async function verifyDocuments(folder: string, at: VerifyProgress): Promise<string[]> {
  const file = new LmdbFile(folder, commandOptions)
  try {
    const meta = openMeta(file, DOCUMENTS_DESCRIPTION)
    checkLayout(file, meta, documentsLayout, true, () => {})
    const documents = openKeyed(file, 'documents', documentKeys, DOCUMENTS_DESCRIPTION)
    const outbox = openOutbox(file, DOCUMENTS_DESCRIPTION)
    const first = { collection: '', key: '' }
    const transaction = file.readTransactions.acquire()
    // This begins the read transaction: from here on LMDB reuses no page of this version.
    documents.get(first, transaction)
    const damage = findPageDamage(folder, at)
    if (damage !== null) return [damage]
    at('values', PAGES_SHARE)
    return [...damagedValues(documents, first, transaction), ...checkOutbox(outbox, transaction)]
  } finally {
    await file.close()
  }
}

async function verifyEvents(folder: string, at: VerifyProgress): Promise<string[]> {
  const file = new LmdbFile(folder, commandOptions)
  try {
    const meta = openMeta(file, EVENTS_DESCRIPTION)
    checkLayout(file, meta, eventsLayout, true, () => {})
    const outbox = openOutbox(file, EVENTS_DESCRIPTION)
    const transaction = file.readTransactions.acquire()
    // This begins the read transaction: from here on LMDB reuses no page of this version.
    meta.raw.getBinaryFast(LAYOUT_KEY, transaction)
    const damage = findPageDamage(folder, at)
    if (damage !== null) return [damage]
    at('values', PAGES_SHARE)
    return [...checkOutbox(outbox, transaction)]
  } finally {
    await file.close()
  }
}

async function verifyAuditIndex(folder: string, at: VerifyProgress): Promise<string[]> {
  const file = new LmdbFile(folder, commandOptions)
  try {
    const meta = openMeta(file, AUDIT_DESCRIPTION)
    checkLayout(file, meta, auditLayout, true, () => {})
    const databases = openAuditDatabases(file)
    const transaction = file.readTransactions.acquire()
    // This begins the read transaction: from here on LMDB reuses no page of this version.
    meta.raw.getBinaryFast(LAYOUT_KEY, transaction)
    const damage = findPageDamage(folder, at)
    if (damage !== null) return [damage]
    at('values', PAGES_SHARE)
    return [...checkAuditIndex(databases, transaction)]
  } finally {
    await file.close()
  }
}

function* damagedValues<K>(database: Database<K>, start: K, readOptions: ReadOptions): Iterable<string> {
  for (const { key, valueView } of database.scanUnchecked({ start, end: undefined, ...readOptions })) {
    if (valueView === null) yield `${database.name} ${formatKey(key)} ${CHECKSUM_MISMATCH}`
  }
}

function findPageDamage(folder: string, at: VerifyProgress): string | null {
  return walkPages(folder, at, () => ({}))
}

interface PagesVerdict {
  readonly damage: string | null
  readonly isSound: boolean
  readonly hasEarlierValues: boolean
}

/** Checks the pages of a graph and, in the same pass, whether its values fit together. */
function checkPages(folder: string, at: VerifyProgress): PagesVerdict {
  let check: PageCheck | null = null
  const damage = walkPages(folder, at, (file) => {
    const pageCheck = new PageCheck(file)
    check = pageCheck
    return { first: READ_FIRST, onLeaf: (database, page) => pageCheck.addLeaf(database, page) }
  })
  const done = check as PageCheck | null
  return {
    damage,
    isSound: damage === null && done?.isSound() === true,
    hasEarlierValues: done?.hasEarlierValues === true,
  }
}

function walkPages(
  folder: string,
  at: VerifyProgress,
  optionsOf: (file: PageFile) => Pick<WalkOptions, 'onLeaf' | 'first'>,
): string | null {
  at('pages', 0)
  const file = new PageFile(join(folder, DATA_FILE))
  try {
    const metas = file.metas()
    if (metas === null) return 'a meta page is damaged'
    const [meta] = metas
    const walk = walkTrees(file, meta, { leaves: 'by key', ...optionsOf(file) })
    for (let pages = 1; ; pages++) {
      const step = walk.next()
      if (step.done === true) return step.value
      if (pages % PAGES_PER_REPORT === 0) at('pages', PAGES_SHARE * Math.min(1, pages / (meta.lastPage + 1)))
    }
  } finally {
    file.close()
  }
}
