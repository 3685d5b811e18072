// The features of a data folder that a program which does not know them would silently drop. The configuration of a folder names the
// oldest program that may serve it, as a level: a program refuses a folder of a higher level.
import { CURRENT_DOCUMENTS } from './data-folder.ts'

/** A feature whose use raises the level of the data folder. */
export interface FolderFeature {
  /** From 1. Stored: never renumber. A new feature takes the next number. */
  readonly level: number
  /** The first version of the program that knows it. */
  readonly since: string
  /** Completes "the folder has …". */
  readonly name: string
  /** Whether a document of the configuration uses it. */
  isUsedBy(document: StoredFolderDocument): boolean
}

/** The members of a document that decide whether it uses a feature. */
interface StoredFolderDocument {
  readonly collection: string
  readonly kind: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Records of events and of the audit log: a program without them would serve the folder, and leave gaps in both. */
export const recordsFeature: FolderFeature = {
  level: 1,
  since: '0.1.0',
  name: 'event sinks or an audit log',
  isUsedBy: ({ kind }) => kind === 'event-sinks' || kind === 'audit-signings',
}

/**
 * Long external ids: a program without them would not find their nodes. They are in graphs and not in documents, so that the folder of the
 * graph has the level.
 */
export const longIdsFeature: Pick<FolderFeature, 'level' | 'since' | 'name'> = {
  level: 1,
  since: '0.1.0',
  name: 'external ids of more than 256 characters',
}

/** All features of documents, oldest first. */
export const folderFeatures: readonly FolderFeature[] = [
  recordsFeature,
  {
    level: 1,
    since: '0.1.0',
    name: 'graphs in a database server',
    // A program without them would serve an empty graph of its own.
    isUsedBy: ({ kind, fields }) =>
      kind === 'projects' && !/^lmdb:/.test((fields.db_connection as { url?: string } | undefined)?.url ?? 'lmdb:'),
  },
  {
    level: 1,
    since: '0.1.0',
    name: 'a configuration that several instances share',
    // A program without it would take the copy for its own documents.
    isUsedBy: ({ collection }) => collection === 'copy-state',
  },
  {
    level: 1,
    since: '0.1.0',
    name: 'a model of a project',
    // A program without it would take its definitions for types of stored relationships.
    isUsedBy: ({ kind }) => kind === 'models',
  },
]

/** The highest level that this program may serve. */
export const PROGRAM_LEVEL = folderFeatures.reduce((highest, { level }) => Math.max(highest, level), 0)

/** The feature with the highest level that a stored document uses; null: it uses none. */
export function featureOf(collection: string, document: unknown): FolderFeature | null {
  const { kind = '', fields = {} } = (document ?? {}) as { kind?: string; fields?: StoredFolderDocument['fields'] }
  const isKind = collection === CURRENT_DOCUMENTS
  const used = { collection, kind: isKind ? kind : '', fields: isKind ? fields : {} }
  const found = folderFeatures.filter((feature) => feature.isUsedBy(used))
  return found.reduce<FolderFeature | null>(
    (highest, each) => (highest === null || each.level > highest.level ? each : highest),
    null,
  )
}
