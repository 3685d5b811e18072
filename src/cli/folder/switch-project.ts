// Connects a project of a data folder to database servers, after its graphs were copied there. The folder is locked by the caller.
import { join } from 'node:path'
import { type DocumentFields, projectsKind, secretPath } from '../../config/kind.ts'
import { ConfigRepository } from '../../config/repository.ts'
import { openSealer } from '../../identity/folder-keys.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { CONFIGURATION_FOLDER } from '../../kernel/folder/data-folder.ts'
import { systemClock, timestamp } from '../../kernel/time/clock.ts'
import { openOwnCollections } from '../../store/documents/document-copy.ts'
import type { ServerCredentials } from './connection-file.ts'

/** Replaces the `db_connection` of a project by that of `connection`, with these credentials. Rejects with OperationalError. */
export async function switchToServer(
  dataDir: string,
  projectId: string,
  connection: DocumentFields,
  { username, password }: ServerCredentials,
): Promise<void> {
  const box = openSealer(dataDir)
  const collections = openOwnCollections(join(dataDir, CONFIGURATION_FOLDER), {})
  try {
    await new ConfigRepository(collections).write((draft) => {
      const project = draft.get(projectsKind, projectId)
      if (project === null) throw new OperationalError(`the folder ${dataDir} has no project ${projectId}`)
      const sealed =
        password === null ? null : box.seal(password, secretPath(projectsKind, projectId, 'db_connection.password'))
      const db_connection = {
        ...(connection.db_connection as object),
        ...(username === null || sealed === null ? {} : { username, password: sealed }),
      }
      draft.put({
        ...project,
        revision: project.revision + 1,
        update_time: timestamp(systemClock.now()),
        fields: { ...project.fields, db_connection },
      })
    })
  } finally {
    await collections.close()
  }
}
