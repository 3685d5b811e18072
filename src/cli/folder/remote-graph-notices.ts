// Names the projects whose graph is in a database server: what reads a data folder does not contain it.
import { join } from 'node:path'
import { layoutOf } from '../../config/db-connection.ts'
import { projectsKind, type StoredDocument } from '../../config/kind.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS } from '../../kernel/folder/data-folder.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'

/** A sentence for each such project of a data folder. */
export async function remoteGraphNotices(dataDir: string, projectId: string | undefined): Promise<readonly string[]> {
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), {
    readOnly: true,
    lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS,
  })
  try {
    return collections.all(CURRENT_DOCUMENTS).flatMap(([, value]) => {
      const document = value as StoredDocument
      const isExported = projectId === undefined || document.id === projectId
      if (document.kind !== projectsKind || !isExported || layoutOf(document).isInServer !== true) return []
      return [`the graph of the project ${document.name} is not included: it is in a database server`]
    })
  } finally {
    await collections.close()
  }
}
