// Names of the folders of projects and of their constituents, and which of them exist. The files define what exists, not
// the configuration.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../../kernel/assert.ts'
import { CONSTITUENTS_FOLDER, PROJECTS_FOLDER, REMOVED_PREFIX } from '../../kernel/folder/data-folder.ts'
import { isGid } from '../../kernel/ids.ts'
import { baseName } from '../lmdb/environment-folder.ts'
import type { Constituent } from './project-graphs.ts'

/** The folders of the further constituents in the folder of a project, relative to it. */
export function listConstituentFolders(project: string): string[] {
  const parent = join(project, CONSTITUENTS_FOLDER)
  if (!existsSync(parent)) return []
  // An interrupted migration is listed under its base name.
  const names = new Set(readdirSync(parent).map(baseName))
  return [...names].map((folder) => join(CONSTITUENTS_FOLDER, folder))
}

/** Some file systems ignore case, and ids do not. Minted ids have no lower case; others are hashed. */
export function projectFolderName(projectId: string): string {
  assert(isGid(projectId), 'a project id is a global id')
  const id = projectId.slice('gid:'.length)
  return id.length <= 64 && id === id.toUpperCase() ? id : `h-${hash(projectId)}`
}

/** The project of a folder; null: the name is a hash of the id. */
export function projectIdOfFolder(folder: string): string | null {
  const id = `gid:${folder}`
  return isGid(id) && projectFolderName(id) === folder ? id : null
}

/** As `projectFolderName`; null for an invalid id. */
export function projectFolderNameOrNull(projectId: string): string | null {
  return isGid(projectId) ? projectFolderName(projectId) : null
}

/** The folder of a constituent, relative to the folder of its project. */
export function constituentFolderName(constituent: Constituent): string {
  // A database name is free text of any length; its hash is a valid name on every file system.
  return typeof constituent === 'string' ? constituent : join(CONSTITUENTS_FOLDER, hash(constituent.database))
}

function hash(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, 40)
}

/** Names of the folders of all projects. */
export function listProjectFolders(dataDir: string): string[] {
  const root = join(dataDir, PROJECTS_FOLDER)
  return existsSync(root) ? readdirSync(root).filter((folder) => !folder.startsWith(REMOVED_PREFIX)) : []
}
