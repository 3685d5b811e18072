// Finds the project of a data folder that an option names by its id or its name.
import { join } from 'node:path'
import { suggestion } from '../../../grammar/suggest.ts'
import { projectsKind, type StoredDocument } from '../../config/kind.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS } from '../../kernel/folder/data-folder.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { holdsEnvironment } from '../../store/lmdb/environment-folder.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'
import { CliError } from '../output/cli-error.ts'

/** Returns the id of a project. Throws CliError if the folder has no such project. */
export async function projectIdIn(dataDir: string, project: string): Promise<string> {
  const configuration = join(dataDir, CONFIGURATION_FOLDER)
  if (!holdsEnvironment(configuration)) throw new CliError([`the folder ${dataDir} has no organization`])
  const collections = openCollections(configuration, { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
  try {
    const projects = collections
      .all(CURRENT_DOCUMENTS)
      .map(([, value]) => value as StoredDocument)
      .filter(({ kind }) => kind === projectsKind)
    const found = projects.find(({ id }) => id === project) ?? projects.find(({ name }) => name === project)
    if (found !== undefined) return found.id
    const names = projects.map(({ name }) => name)
    throw new CliError([unknownProject(`the folder ${dataDir}`, project, names)])
  } finally {
    await collections.close()
  }
}

/** The message about a project that does not exist, with the nearest name. */
export function unknownProject(place: string, project: string, names: readonly string[]): string {
  return `${place} has no project \`${project}\`${suggestion(project, names)}`
}
