// Warnings about the policies, knowledge queries and models that an import has stored, and about copied data: those of a create or update.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { policyKinds } from '../../app/kinds.ts'
import { DocumentSnapshot } from '../../config/document-snapshot.ts'
import { createOfflineNameSource } from '../../config/graphs/open-graphs.ts'
import { projectsKind, queriesKind, type StoredDocument } from '../../config/kind.ts'
import { OperationalError, ThrownServiceError } from '../../kernel/errors.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS, DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { modelsKind } from '../../model/stored-model.ts'
import { policiesKind } from '../../policy/authorization-policy.ts'
import type { Settings } from '../../settings.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { openCatalog } from '../../store/tenancy/catalog.ts'

/**
 * Returns one line for each name in policies and knowledge queries that no graph of their project has, and that is not of the
 * service, and for stored data that a model would not fit. `ids`: the imported documents; others in the folder are not checked. Never rejects because of the folder: a graph
 * that cannot be read is a line itself.
 */
export function importedNameWarnings(settings: Settings, ids: ReadonlySet<string>): Promise<readonly string[]> {
  return readableWarnings(settings, ({ id }) => ids.has(id))
}

/** Returns one line for each way in which the stored data of a project does not fit its model. Rejects as `importedNameWarnings`. */
export function modelDataWarnings(settings: Settings, projectId: string): Promise<readonly string[]> {
  return readableWarnings(settings, ({ kind, project_id }) => kind === modelsKind && project_id === projectId)
}

type IsCompared = (document: StoredDocument) => boolean

async function readableWarnings(settings: Settings, isCompared: IsCompared): Promise<readonly string[]> {
  try {
    return await warningsOf(settings, isCompared)
  } catch (error) {
    if (!(error instanceof OperationalError || error instanceof ThrownServiceError)) throw error
    return [`the names in policies and knowledge queries were not checked: ${error.message}`]
  }
}

async function warningsOf(settings: Settings, isCompared: IsCompared): Promise<readonly string[]> {
  const documents = await readDocuments(settings.dataDir)
  const catalog = openCatalog(settings.dataDir, { clock: systemClock, readOnly: true })
  try {
    const lines: string[] = []
    for (const kind of policyKinds(settings, createOfflineNameSource(catalog, documents))) {
      for (const document of documents.all(kind.path)) {
        if (!isCompared(document)) continue
        const project = documents.get(projectsKind, document.project_id)
        const place = `${kind.label} \`${document.name}\` of project \`${project?.name ?? document.project_id}\``
        for (const warning of (await kind.warnings?.(document, documents)) ?? []) {
          // Further lines show the text with a caret.
          lines.push(`${place}: ${warning.split('\n')[0]}`)
        }
      }
    }
    return lines
  } finally {
    await catalog.close()
  }
}

/** Reads the documents that the check needs. */
async function readDocuments(dataDir: string): Promise<DocumentSnapshot> {
  const folder = join(dataDir, CONFIGURATION_FOLDER)
  if (!existsSync(join(folder, DATA_FILE))) return DocumentSnapshot.of([])
  const collections = openCollections(folder, { readOnly: true })
  try {
    const all = collections.all(CURRENT_DOCUMENTS).map(([, document]) => document)
    return DocumentSnapshot.of(all.filter(isReadable))
  } finally {
    await collections.close()
  }
}

/** An import checks the texts of its lines, but not what a policy contains: there may be none. */
function isReadable(document: unknown): document is StoredDocument {
  if (!isJsonObject(document) || !isJsonObject(document.fields)) return false
  const { policy, query, model } = document.fields
  if (document.kind === modelsKind) return typeof model === 'string'
  if (document.kind === policiesKind) return typeof policy === 'string'
  return document.kind === queriesKind ? typeof query === 'string' : document.kind === projectsKind
}
