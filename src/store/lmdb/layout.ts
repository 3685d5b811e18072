// The layout entry of an environment folder: what the folder contains, and the version of its format.
import { OperationalError } from '../../kernel/errors.ts'
import { ByteWriter, copyToView } from '../format/bytes.ts'
import type { SymbolKey } from '../format/keys.ts'
import type { Database } from './database.ts'
import { GRAPH_DESCRIPTION, META_KIND, openMeta } from './databases.ts'
import type { EnvironmentFile } from './environment-file.ts'
import { LmdbFile } from './lmdb-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from './open-lock.ts'

/** The folder has a layout that this program cannot read. */
export class LayoutError extends OperationalError {
  override readonly name = 'LayoutError'
}

/** The key of the layout entry. */
export const LAYOUT_KEY: SymbolKey = { kind: META_KIND.layout, symbol: 0 }

/** The layout of a folder. `kind` prevents that a configuration is opened as a graph. */
export interface FolderLayout {
  readonly kind: number
  readonly contents: string
  readonly version: number
}

/** The layout of a graph. Increment the version with each change of a key or value format. */
export const graphLayout: FolderLayout = { kind: 1, contents: 'a graph', version: 3 }

/** The layout of a folder of documents. */
export const documentsLayout: FolderLayout = { kind: 2, contents: 'documents', version: 3 }

/** The layout of the folder of events that belong to no other transaction. */
export const eventsLayout: FolderLayout = { kind: 3, contents: 'events', version: 1 }

/** The layout of the index of the audit logs. */
export const auditLayout: FolderLayout = { kind: 4, contents: 'an index of audit logs', version: 1 }

/**
 * Checks the layout of an opened folder. A new folder gets a layout entry, together with what `first` writes. Throws
 * LayoutError for another kind or version, and for a new folder if `readOnly`.
 */
export function checkLayout(
  file: Pick<EnvironmentFile, 'transactionSync'>,
  meta: Database<SymbolKey>,
  layout: FolderLayout,
  readOnly: boolean,
  first: () => void,
): void {
  const stored = readLayout(meta)
  if (stored !== null) {
    if (stored.kind !== layout.kind) throw new LayoutError(`the folder does not contain ${layout.contents}`)
    if (stored.version === layout.version) return
    throw new LayoutError(versionMessage(layout, stored.version))
  }
  if (readOnly) throw new LayoutError(`the folder does not contain ${layout.contents}`)
  file.transactionSync(() => {
    // Another process may have initialized the folder since.
    if (readLayout(meta) !== null) return
    meta.raw.put(LAYOUT_KEY, encodeLayout(layout))
    first()
  })
}

/** How a stored layout compares with the one of this program. */
export type LayoutState = 'current' | 'older' | 'newer' | 'unknown'

/** Compares a stored layout with the one of this program, and describes the difference. */
export function describeLayout({ kind, version }: { readonly kind: number; readonly version: number }): {
  readonly state: LayoutState
  readonly message: string
} {
  const layout = [graphLayout, documentsLayout, eventsLayout, auditLayout].find((one) => one.kind === kind)
  if (layout === undefined)
    return { state: 'unknown', message: 'the folder has contents of a kind that this program does not know' }
  if (version === layout.version) return { state: 'current', message: `${layout.contents}, layout version ${version}` }
  const isNewer = version > layout.version
  return { state: isNewer ? 'newer' : 'older', message: versionMessage(layout, version) }
}

function versionMessage(layout: FolderLayout, version: number): string {
  const found = `the folder contains ${layout.contents} in layout version ${version}`
  return version > layout.version
    ? `${found}, written by a newer program; this program reads version ${layout.version}`
    : `${found}; this program reads version ${layout.version}: run \`verdigraph migrate\``
}

/** Reads the layout of a folder of any kind. Throws LayoutError if it has no valid layout entry, or OperationalError. */
export async function readFolderLayout(folder: string): Promise<{ kind: number; version: number }> {
  const file = new LmdbFile(folder, { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
  try {
    const stored = readLayout(openMeta(file, GRAPH_DESCRIPTION))
    if (stored === null) throw new LayoutError(`the folder ${folder} has no valid layout entry`)
    return stored
  } finally {
    await file.close()
  }
}

/** Encodes a layout entry. It has no checksum, so that every version of the program can read it. */
export function encodeLayout({ kind, version }: FolderLayout): Uint8Array {
  const writer = new ByteWriter(64)
  writer.u32(kind)
  writer.u32(version)
  return writer.written()
}

/** Reads the layout entry; null in a new folder. Throws LayoutError for an invalid entry. */
export function readLayout(meta: Database<SymbolKey>): { kind: number; version: number } | null {
  const stored = meta.raw.getBinaryFast(LAYOUT_KEY)
  if (stored === undefined) return null
  if (stored.length !== 8) throw new LayoutError('the folder has no valid layout entry')
  const { words } = copyToView(stored.subarray(0, stored.length))
  return { kind: words[0]!, version: words[1]! }
}
