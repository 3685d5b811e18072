// Reads all of one environment and tells what is damaged: every page, every value, and whether all of it agrees. It only
// reads, and may do so beside a process that serves. A damaged page may end the process, so whoever asks does it in another.
import { join } from 'node:path'
import { systemClock } from '../kernel/clock.ts'
import { DamageFault, OperatorFault } from '../kernel/errors.ts'
import { checkEnvironment } from './check.ts'
import { documentKeys } from './keys.ts'
import { collectionsLayout } from './lmdb/collections.ts'
import { type Database, keyText, NOT_SOUND } from './lmdb/database.ts'
import { checkLayout, DOCUMENTS, HEADER_KEY, keyed, LayoutFault, layoutOfFolder, openMeta } from './lmdb/databases.ts'
import { openEnvironment } from './lmdb/environment.ts'
import { DATA_FILE } from './lmdb/folder.ts'
import { LmdbFile } from './lmdb/native.ts'
import { faultOfTrees } from './lmdb/page-walk.ts'
import { PageFile } from './lmdb/pages.ts'
import type { Reading } from './lmdb/raw-database.ts'

/** What is damaged, as sentences; empty when the folder is sound. Throws LayoutFault when this program cannot read it. */
export async function verifyFolder(folder: string, at: (what: string) => void): Promise<string[]> {
  try {
    at('the file')
    const { kind } = await layoutOfFolder(folder)
    return kind === collectionsLayout.kind ? await verifyDocuments(folder, at) : await verifyGraph(folder, at)
  } catch (fault) {
    if (fault instanceof LayoutFault) throw fault
    if (fault instanceof OperatorFault || fault instanceof DamageFault) return [fault.message]
    throw fault
  }
}

async function verifyGraph(folder: string, at: (what: string) => void): Promise<string[]> {
  const environment = openEnvironment(folder, { clock: systemClock, readOnly: true, hotBytes: 0 })
  try {
    at('pages')
    const fault = environment.inspect(({ meta }, reading) => {
      // From here on no page that is walked is used again.
      meta.expect(HEADER_KEY, reading)
      return faultOfAllPages(folder)
    })
    if (fault !== null) return [fault]
    at('values')
    return checkEnvironment(environment)
  } finally {
    await environment.close()
  }
}

async function verifyDocuments(folder: string, at: (what: string) => void): Promise<string[]> {
  const file = new LmdbFile(folder, { readOnly: true })
  try {
    const meta = openMeta(file, DOCUMENTS)
    checkLayout(file, meta, collectionsLayout, true, () => {})
    const documents = keyed(file, 'documents', documentKeys, DOCUMENTS)
    const first = { collection: '', key: '' }
    const view = file.views.take()
    // With this the reading begins: from here on no page that is walked is used again.
    documents.get(first, view)
    at('pages')
    const fault = faultOfAllPages(folder)
    if (fault !== null) return [fault]
    at('values')
    return [...damagedValues(documents, first, view)]
  } finally {
    await file.close()
  }
}

function* damagedValues<K>(database: Database<K>, start: K, reading: Reading): Iterable<string> {
  for (const { key, window } of database.inspected({ start, end: undefined, ...reading })) {
    if (window === null) yield `${database.name} ${keyText(key)} ${NOT_SOUND}`
  }
}

function faultOfAllPages(folder: string): string | null {
  const file = new PageFile(join(folder, DATA_FILE))
  try {
    const metas = file.metas()
    if (metas === null) return 'a meta page is damaged'
    return faultOfTrees(file, metas[0], { leaves: true, pagesMax: Number.POSITIVE_INFINITY })
  } finally {
    file.close()
  }
}
