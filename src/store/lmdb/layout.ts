// The layout entry of an environment folder: what the folder contains, and the version of its format.
import { OperationalError } from '../../kernel/errors.ts'
import { type FolderFeature, PROGRAM_LEVEL } from '../../kernel/folder/folder-features.ts'
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

/** A folder that is read has no layout entry: the process that creates it has not finished, or the folder is another one. */
export class NoLayoutError extends LayoutError {}

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
    const { state, message } = describeLayout(stored)
    if (state === 'current') return
    throw new LayoutError(message)
  }
  if (readOnly) throw new NoLayoutError(`the folder does not contain ${layout.contents}`)
  file.transactionSync(() => {
    // Another process may have initialized the folder since.
    if (readLayout(meta) !== null) return
    meta.raw.put(LAYOUT_KEY, encodeLayout(layout))
    first()
  })
}

/** How a stored layout compares with the one of this program. */
export type LayoutState = 'current' | 'older' | 'newer' | 'unknown'

/** The layout entry of a folder. */
interface StoredLayout extends Pick<FolderLayout, 'kind' | 'version'> {
  /** The oldest program that may serve the folder; absent: any that reads the layout. */
  readonly needs?: ProgramNeed
}

/** The feature because of which older programs may not serve a folder. */
type ProgramNeed = Pick<FolderFeature, 'level' | 'since' | 'name'>

/** Compares a stored layout with the one of this program, and describes the difference. */
export function describeLayout({ kind, version, needs }: StoredLayout): {
  readonly state: LayoutState
  readonly message: string
} {
  const layout = [graphLayout, documentsLayout, eventsLayout, auditLayout].find((one) => one.kind === kind)
  if (layout === undefined)
    return { state: 'unknown', message: 'the folder has contents of a kind that this program does not know' }
  if (needs !== undefined && needs.level > PROGRAM_LEVEL)
    return {
      state: 'newer',
      message: `the folder has ${needs.name}, which version ${needs.since} or a newer program serves; this program would drop it without a word`,
    }
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
export async function readFolderLayout(folder: string): Promise<StoredLayout> {
  const file = new LmdbFile(folder, { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
  try {
    const stored = readLayout(openMeta(file, GRAPH_DESCRIPTION))
    if (stored === null) throw new LayoutError(`the folder ${folder} has no valid layout entry`)
    return stored
  } finally {
    await file.close()
  }
}

/**
 * Encodes a layout entry. It has no checksum, so that every version of the program can read it. Programs that do not know `needs` accept
 * no entry of this length: they refuse the folder, as they should.
 */
export function encodeLayout({ kind, version, needs }: StoredLayout): Uint8Array {
  const writer = new ByteWriter(64)
  writer.u32(kind)
  writer.u32(version)
  if (needs !== undefined) {
    const { level, since, name } = needs
    writer.u32(level)
    writer.text(JSON.stringify({ since, name }))
  }
  return writer.written()
}

/**
 * Raises the level of a folder to that of a feature, within a write transaction: before the transaction that uses the feature, or in it.
 * Does nothing if the folder has that level.
 */
export function requireProgram(meta: Database<SymbolKey>, { level, since, name }: ProgramNeed): void {
  const stored = readLayout(meta)
  if (stored === null || (stored.needs?.level ?? 0) >= level) return
  meta.raw.put(LAYOUT_KEY, encodeLayout({ ...stored, needs: { level, since, name } }))
}

/** Reads the layout entry; null in a new folder. Throws LayoutError for an invalid entry. */
export function readLayout(meta: Database<SymbolKey>): StoredLayout | null {
  const stored = meta.raw.getBinaryFast(LAYOUT_KEY)
  if (stored === undefined) return null
  const isValid = stored.length === LAYOUT_BYTES || stored.length > NEED_TEXT_AT
  if (!isValid) throw new LayoutError('the folder has no valid layout entry')
  const { words, text } = copyToView(stored.subarray(0, stored.length))
  const layout = { kind: words[0]!, version: words[1]! }
  if (stored.length === LAYOUT_BYTES) return layout
  try {
    const { since, name } = JSON.parse(text.toString('utf8', NEED_TEXT_AT, NEED_TEXT_AT + words[3]!)) as ProgramNeed
    return { ...layout, needs: { level: words[2]!, since: String(since), name: String(name) } }
  } catch {
    throw new LayoutError('the folder has no valid layout entry')
  }
}

/** Kind and version. */
const LAYOUT_BYTES = 8
/** After them the level and the length of the text, if the folder needs a program of a level. */
const NEED_TEXT_AT = 16
