// Connects a project of a data folder to a database server, after its graph was copied there. The folder is locked by the caller.
import { join } from 'node:path'
import { openSealer } from '../app/master-keys.ts'
import { projectsKind, secretPath } from '../config/kind.ts'
import { ConfigRepository } from '../config/repository.ts'
import type { DatabasePlace } from '../kernel/bolt-address.ts'
import { systemClock, timestamp } from '../kernel/clock.ts'
import { CONFIGURATION_FOLDER } from '../kernel/data-folder.ts'
import { OperationalError } from '../kernel/errors.ts'
import { openOwnCollections } from '../store/documents/document-copy.ts'

/** Who connects. */
export interface ServerCredentials {
  readonly username: string | null
  readonly password: string | null
}

/** Replaces the `db_connection` of a project. Rejects with OperationalError. */
export async function switchToServer(
  dataDir: string,
  projectId: string,
  { url, database }: DatabasePlace,
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
        url,
        ...(database === null ? {} : { name: database }),
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
