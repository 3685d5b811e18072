// Imports configuration documents: all of them before the first graph, into a folder without configuration or with the same.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseLayout } from '../../config/db-connection.ts'
import { type DocumentFields, projectsKind, type StoredDocument } from '../../config/kind.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS, DATA_FILE, PAST_DOCUMENTS } from '../../kernel/folder/data-folder.ts'
import type { DocumentReader } from '../../kernel/folder/document-store.ts'
import { jsonKindOf } from '../../kernel/json/json-kind.ts'
import { compiledModel, modelsKind, type StoredModel } from '../../model/stored-model.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { openOwnCollections } from '../../store/documents/document-copy.ts'
import type { GraphLayout } from '../../store/tenancy/project-graphs.ts'
import { documentKey, type TransferredDocument } from '../files/database-folders.ts'
import { LineError, readObject } from '../lines/line-fields.ts'
import { hasGraph } from './graph-importer.ts'

type DocumentCollection = typeof CURRENT_DOCUMENTS | typeof PAST_DOCUMENTS

/** Collects, checks and writes the documents of one import. */
export class DocumentImporter {
  count = 0
  private readonly dataDir: string
  private readonly isWritten: boolean
  private readonly isDryRun: boolean
  private pending: { collection: DocumentCollection; document: TransferredDocument }[] = []
  /** Ids of current documents, and keys of past revisions. */
  private readonly ids = new Set<string>()
  /** Layouts of the projects in the file, and of projects that were looked up. */
  private readonly layouts = new Map<string, GraphLayout>()

  /** `isWritten`: documents are stored, not only checked. `isDryRun`: the data folder is not changed. */
  constructor(dataDir: string, isKept: boolean, isTrial: boolean) {
    this.dataDir = dataDir
    this.isWritten = isKept
    this.isDryRun = isTrial
  }

  /** Ids of the current documents in the file, and keys of past revisions; none if documents are only checked. */
  get storedIds(): ReadonlySet<string> {
    return this.isWritten && !this.isDryRun ? this.ids : new Set()
  }

  /** Adds a document. Throws LineError if its id is a duplicate, or if a past revision has no current document. */
  add(document: TransferredDocument, kind: 'configuration' | 'past'): void {
    const collection = kind === 'past' ? PAST_DOCUMENTS : CURRENT_DOCUMENTS
    const key = documentKey(document, collection)
    if (this.ids.has(key)) throw new LineError(`${kind}.id`, 'duplicate id')
    if (kind === 'past' && !this.ids.has(document.id))
      throw new LineError('past.id', 'no current document with this id precedes it')
    if (kind === 'configuration' && document.kind === projectsKind && this.isWritten)
      this.layouts.set(document.id, parseLayout(readFields(document)))
    this.ids.add(key)
    this.count += 1
    if (this.isWritten) this.pending.push({ collection, document })
  }

  /** Throws LineError if neither the file nor the folder knows the project. `exists`: the folder has its graph. */
  checkProject(project: string, isThere: boolean): void {
    if (this.ids.size > 0 && !this.ids.has(project))
      throw new LineError('graph.project', 'the configuration in the file does not contain this project')
    if (this.ids.size === 0 && !isThere)
      throw new LineError(
        'graph.project',
        'the folder does not contain this project, and the file has no configuration',
      )
  }

  /** The layout of a project as in the file, or else as in the data folder. */
  async layoutOf(project: string): Promise<GraphLayout> {
    const layout = this.layouts.get(project) ?? (await this.layoutInFolder(project))
    this.layouts.set(project, layout)
    return layout
  }

  private async layoutInFolder(project: string): Promise<GraphLayout> {
    return (
      (await this.inFolder((collections) =>
        parseLayout((collections.get(CURRENT_DOCUMENTS, project) as ProjectDocument | null)?.fields ?? {}),
      )) ?? parseLayout({})
    )
  }

  /**
   * The model of a project in the data folder; null: it has none. Throws OperationalError if the model does not compile, because the lines
   * could not be compared with it.
   */
  async modelOf(project: string): Promise<StoredModel | null> {
    const fields = await this.inFolder((collections) => {
      const all = collections.all(CURRENT_DOCUMENTS).map(([, document]) => document as StoredDocument)
      return all.find(({ kind, project_id }) => kind === modelsKind && project_id === project)?.fields ?? null
    })
    if (fields === null) return null
    const model = compiledModel(fields)
    if (model.ok) return model
    throw new OperationalError(`the model of the project does not compile, correct it first: ${model.error.join('; ')}`)
  }

  /** Reads the configuration of the data folder; null: it has none. */
  private async inFolder<T>(read: (collections: DocumentReader) => T): Promise<T | null> {
    const folder = join(this.dataDir, CONFIGURATION_FOLDER)
    if (!existsSync(join(folder, DATA_FILE))) return null
    const collections = openCollections(folder, { readOnly: true })
    try {
      return read(collections)
    } finally {
      await collections.close()
    }
  }

  /**
   * Writes all documents in one transaction: a folder has a whole configuration or none. Returns true if it wrote any.
   * Throws OperationalError if the folder has another configuration.
   */
  async write(): Promise<boolean> {
    const { pending } = this
    this.pending = []
    if (pending.length === 0) return false
    const folder = join(this.dataDir, CONFIGURATION_FOLDER)
    if (this.isDryRun && !existsSync(join(folder, DATA_FILE))) return false
    const collections = this.isDryRun ? openCollections(folder, { readOnly: true }) : openOwnCollections(folder, {})
    try {
      const before = new Map(collections.all(CURRENT_DOCUMENTS))
      const past = new Map(collections.all(PAST_DOCUMENTS))
      const documents = pending.map(({ collection, document }) =>
        collection === PAST_DOCUMENTS ? { collection, document } : { collection, document: reprovisioned(document) },
      )
      const isSame = documents.every(({ collection, document }) =>
        isEqualJson((collection === PAST_DOCUMENTS ? past : before).get(documentKey(document, collection)), document),
      )
      if (before.size > 0 && !isSame)
        throw new OperationalError(
          `the folder ${this.dataDir} has another configuration: \`--project ID\` imports the graphs into a project of it`,
        )
      if (before.size > 0 || this.isDryRun) return false
      await collections.transact((changes) => {
        for (const { collection, document } of documents)
          changes.put(collection, documentKey(document, collection), document)
      })
      return true
    } finally {
      await collections.close()
    }
  }
}

/**
 * After an import into one constituent of a composite project: sets the project to PENDING, so that the next start creates
 * the missing proxies in the global graph.
 */
export async function requestProxyRepair(dataDir: string, project: string): Promise<void> {
  if (!hasGraph(dataDir, { project, part: 'global' })) return
  const collections = openOwnCollections(join(dataDir, CONFIGURATION_FOLDER), {})
  try {
    await collections.transact((changes) => {
      const document = changes.get(CURRENT_DOCUMENTS, project) as TransferredDocument | null
      if (document !== null) changes.put(CURRENT_DOCUMENTS, project, pending(document))
    })
  } finally {
    await collections.close()
  }
}

interface ProjectDocument extends TransferredDocument {
  readonly fields?: { readonly db_connection?: { readonly alias_mapping?: string } }
}

/** The fields of a project. Throws LineError if a member that locates its graphs is not a string. */
function readFields(project: ProjectDocument): DocumentFields {
  const fields = readObject(project.fields ?? {}, 'configuration.fields')
  const connection = readObject(fields.db_connection ?? {}, 'configuration.fields.db_connection')
  for (const name of ['name', 'composite_db_name', 'alias_mapping']) {
    const value = connection[name] ?? ''
    if (typeof value !== 'string')
      throw new LineError(`configuration.fields.db_connection.${name}`, `expected a string, found ${jsonKindOf(value)}`)
  }
  return fields
}

/** Sets a composite project to PENDING: the next start provisions the links between its constituents again. */
function reprovisioned(document: TransferredDocument): TransferredDocument {
  const { fields } = document as ProjectDocument
  return document.kind === projectsKind && fields?.db_connection?.alias_mapping !== undefined
    ? pending(document)
    : document
}

/** Provisioning is idempotent, so it is safe to repeat it at the next start. */
function pending(project: TransferredDocument): TransferredDocument {
  return {
    ...project,
    fields: { ...(project as ProjectDocument).fields, ikg_status: 'PENDING' },
  } as TransferredDocument
}

function isEqualJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
