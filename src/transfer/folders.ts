// Where things are in a data folder, for whoever moves them: databases, and what of the configuration belongs to a project.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorFault } from '../kernel/errors.ts'
import { cutOff, DATA_FILE, isStored, stemOf } from '../store/lmdb/folder.ts'
import { projectFolderOf, projectFolders } from '../store/project-folders.ts'
import { unfinishedImport } from './unfinished.ts'

/** The folder of the configuration in the data folder, and its collections: what counts, and the revisions it replaced. */
export const CONFIGURATION = 'config'
export const DOCUMENTS = 'configuration'
export const PAST = 'configuration-past'
export const PROJECTS = 'projects'

/** What everybody who moves documents must know of them. */
export interface Document {
  readonly id: string
  readonly kind: string
  readonly project_id?: string
  readonly revision?: number
}

/** As the configuration keeps it: documents by id, what they replaced by id and number. */
export function keyOf({ id, revision }: Document, collection: typeof DOCUMENTS | typeof PAST): string {
  return collection === PAST ? `${id}.${revision}` : id
}

export function isOfProject({ kind, id, project_id = '' }: Document, projectId: string): boolean {
  return kind === 'projects' ? id === projectId : project_id === '' || project_id === projectId
}

/** Everything that has a database in it. Of one project, its own and the configuration. Throws OperatorFault. */
export function databaseFolders(dataDir: string, projectId: string | undefined): string[] {
  const folders = foldersOf(dataDir, projectId)
  // One of two copies of the same is not what anybody wants twice.
  const left = folders.find((folder) => stemOf(folder) !== folder)
  if (left !== undefined) throw new OperatorFault(cutOff(left))
  return folders
}

function foldersOf(dataDir: string, projectId: string | undefined): string[] {
  const configuration = join(dataDir, CONFIGURATION)
  if (!isStored(configuration)) throw new OperatorFault(`the folder ${dataDir} holds no organization`)
  const unfinished = unfinishedImport(dataDir)
  if (unfinished !== null) throw new OperatorFault(unfinished)
  if (projectId === undefined) {
    return [
      ...within(dataDir, 1).filter((folder) => folder !== join(dataDir, PROJECTS)),
      ...projectFolders(dataDir).flatMap((project) => within(join(dataDir, PROJECTS, project), 2)),
    ]
  }
  const project = projectFolderOf(projectId)
  const folders = project === null ? [] : within(join(dataDir, PROJECTS, project), 2)
  if (folders.length === 0) throw new OperatorFault(`the folder ${dataDir} holds no project ${projectId}`)
  return [configuration, ...folders]
}

function within(folder: string, depth: number): string[] {
  const found = existsSync(join(folder, DATA_FILE)) ? [folder] : []
  if (depth === 0 || !existsSync(folder)) return found
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory() && !entry.name.startsWith('.')) found.push(...within(join(folder, entry.name), depth - 1))
  }
  return found
}
