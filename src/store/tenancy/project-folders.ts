// What the folders of projects and of their databases are called, and which of them there are. Their files, not the configuration,
// tell what holds data.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Constituent as Part } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import { isGid } from '../../kernel/ids.ts'
import { baseName } from '../lmdb/environment-folder.ts'

export const PROJECTS = 'projects'
/** A project that is being removed is renamed first, so that a crash leaves no half project. */
export const REMOVED = '.removed-'
const CONSTITUENTS = 'constituents'

/** Of what databases of a project there are, below its folder. */
export function listConstituentFolders(project: string): string[] {
  const parent = join(project, CONSTITUENTS)
  if (!existsSync(parent)) return []
  // Of one whose migration was cut off, its own name.
  const names = new Set(readdirSync(parent).map(baseName))
  return [...names].map((folder) => join(CONSTITUENTS, folder))
}

/** Ids differ in case, and not every file system does. Ids of our own minting have no lower case. */
export function projectFolderName(projectId: string): string {
  assert(isGid(projectId), 'a project id is a global id')
  const id = projectId.slice('gid:'.length)
  return id.length <= 64 && id === id.toUpperCase() ? id : `h-${hash(projectId)}`
}

/** Below `projects`; null when the id is none. */
export function projectFolderNameOrNull(projectId: string): string | null {
  return isGid(projectId) ? projectFolderName(projectId) : null
}

/** Below the folder of the project. */
export function constituentFolderName(part: Part): string {
  // The name of a database is free text of any length: its hash is a safe name on every file system.
  return typeof part === 'string' ? part : join(CONSTITUENTS, hash(part.database))
}

function hash(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, 40)
}

/** Names of the folders that hold projects. */
export function listProjectFolders(dataDir: string): string[] {
  const root = join(dataDir, PROJECTS)
  return existsSync(root) ? readdirSync(root).filter((folder) => !folder.startsWith(REMOVED)) : []
}
