// Names the projects whose graph is in a database server: what reads a data folder does not contain it.
import { layoutOf } from '../config/db-connection.ts'
import { projectsKind, type StoredDocument } from '../config/kind.ts'
import { CURRENT_DOCUMENTS } from '../kernel/data-folder.ts'
import { openCollections } from '../store/documents/collections.ts'
import { databaseFolders } from '../transfer/database-folders.ts'

/** A sentence for each such project of a data folder. */
export async function remoteGraphNotices(dataDir: string, projectId: string | undefined): Promise<readonly string[]> {
  const [configuration = ''] = databaseFolders(dataDir, projectId)
  const collections = openCollections(configuration, { readOnly: true })
  try {
    return collections.all(CURRENT_DOCUMENTS).flatMap(([, value]) => {
      const document = value as StoredDocument
      const isExported = projectId === undefined || document.id === projectId
      if (document.kind !== projectsKind || !isExported || layoutOf(document).isRemote !== true) return []
      return [`the graph of the project ${document.name} is not included: it is in a database server`]
    })
  } finally {
    await collections.close()
  }
}
