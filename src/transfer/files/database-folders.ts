// Lists the database folders of a data folder, and decides which configuration documents belong to a project.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { projectsKind } from '../../config/kind.ts'
import { OperationalError } from '../../kernel/errors.ts'
import {
  AUDIT_FOLDER,
  AUDIT_INDEX_FOLDER,
  CONFIGURATION_FOLDER,
  type CURRENT_DOCUMENTS,
  DATA_FILE,
  EVENTS_FOLDER,
  PAST_DOCUMENTS,
  PROJECTS_FOLDER,
} from '../../kernel/folder/data-folder.ts'
import { baseName, holdsEnvironment, interruptedMigrationMessage } from '../../store/lmdb/environment-folder.ts'
import { listProjectFolders, projectFolderNameOrNull } from '../../store/tenancy/project-folders.ts'
import { interruptedImportMessage } from './import-markers.ts'

/** The members of a stored document that transfer reads. */
export interface TransferredDocument {
  readonly id: string
  readonly kind: string
  readonly project_id?: string
  readonly revision?: number
}

/** The key of a document in its collection: the id, or for past revisions the id and revision number. */
export function documentKey(
  { id, revision }: TransferredDocument,
  collection: typeof CURRENT_DOCUMENTS | typeof PAST_DOCUMENTS,
): string {
  return collection === PAST_DOCUMENTS ? `${id}.${revision}` : id
}

/** Returns whether a document belongs to a project, or to the organization. */
export function belongsToProject({ kind, id, project_id = '' }: TransferredDocument, projectId: string): boolean {
  return kind === projectsKind ? id === projectId : project_id === '' || project_id === projectId
}

/**
 * All folders with a database; for one project, its own folders, the configuration and the events.
 * Throws OperationalError if the folder has no such project, or an import or migration was interrupted.
 */
export function databaseFolders(dataDir: string, projectId: string | undefined): string[] {
  const folders = listFolders(dataDir, projectId)
  // An interrupted migration leaves two copies of a database.
  const left = folders.find((folder) => baseName(folder) !== folder)
  if (left !== undefined) throw new OperationalError(interruptedMigrationMessage(left))
  return folders
}

function listFolders(dataDir: string, projectId: string | undefined): string[] {
  const configuration = join(dataDir, CONFIGURATION_FOLDER)
  if (!holdsEnvironment(configuration)) throw new OperationalError(`the folder ${dataDir} has no organization`)
  const unfinished = interruptedImportMessage(dataDir)
  if (unfinished !== null) throw new OperationalError(unfinished)
  if (projectId === undefined) return allFolders(dataDir)
  const project = projectFolderNameOrNull(projectId)
  const folders = project === null ? [] : foldersWithin(join(dataDir, PROJECTS_FOLDER, project), 2)
  if (folders.length === 0) throw new OperationalError(`the folder ${dataDir} has no project ${projectId}`)
  const events = foldersWithin(join(dataDir, EVENTS_FOLDER), 0)
  return [configuration, ...events, ...foldersWithin(auditIndexFolder(dataDir), 0), ...folders]
}

/** The folders of all databases of a data folder that is served, in order of their paths. Throws OperationalError as `databaseFolders` does. */
export function servedFolders(dataDir: string): readonly string[] {
  const folders = allFolders(dataDir)
  const left = folders.find((folder) => baseName(folder) !== folder)
  if (left !== undefined) throw new OperationalError(interruptedMigrationMessage(left))
  return folders.sort()
}

function allFolders(dataDir: string): string[] {
  return [
    ...foldersWithin(dataDir, 1).filter((folder) => folder !== join(dataDir, PROJECTS_FOLDER)),
    ...foldersWithin(auditIndexFolder(dataDir), 0),
    ...listProjectFolders(dataDir).flatMap((project) => foldersWithin(join(dataDir, PROJECTS_FOLDER, project), 2)),
  ]
}

/** The folder with the index of the audit logs. */
export function auditIndexFolder(dataDir: string): string {
  return join(dataDir, AUDIT_FOLDER, AUDIT_INDEX_FOLDER)
}

function foldersWithin(folder: string, depth: number): string[] {
  const found = existsSync(join(folder, DATA_FILE)) ? [folder] : []
  if (depth === 0 || !existsSync(folder)) return found
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory() && !entry.name.startsWith('.'))
      found.push(...foldersWithin(join(folder, entry.name), depth - 1))
  }
  return found
}
