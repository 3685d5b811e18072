// The configuration that an import brings: all of it before the first graph, into a folder that has none, or that has the same.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { layoutIn } from '../config/db-connection.ts'
import type { Fields } from '../config/kind.ts'
import type { GraphLayout } from '../engine/store.ts'
import { OperatorFault } from '../kernel/errors.ts'
import { foundName } from '../kernel/found.ts'
import { openCollections } from '../store/lmdb/collections.ts'
import { DATA_FILE } from '../store/lmdb/folder.ts'
import { CONFIGURATION, DOCUMENTS, type Document, keyOf, PAST } from './folders.ts'
import { hasGraph } from './import-graphs.ts'
import { LineFault, object } from './line-fields.ts'

type Collection = typeof DOCUMENTS | typeof PAST

export class ImportDocuments {
  count = 0
  private readonly dataDir: string
  private readonly isKept: boolean
  private readonly isTrial: boolean
  private waiting: { collection: Collection; document: Document }[] = []
  /** Of documents, and keys of their past ones. */
  private readonly ids = new Set<string>()
  /** Of the projects in the file, and of those that were asked for. */
  private readonly layouts = new Map<string, GraphLayout>()

  /** `isKept`: they are written; else they are only looked at. */
  constructor(dataDir: string, isKept: boolean, isTrial: boolean) {
    this.dataDir = dataDir
    this.isKept = isKept
    this.isTrial = isTrial
  }

  /** Throws LineFault. */
  take(document: Document, kind: 'configuration' | 'past'): void {
    const collection = kind === 'past' ? PAST : DOCUMENTS
    const key = keyOf(document, collection)
    if (this.ids.has(key)) throw new LineFault(`${kind}.id`, 'is there twice')
    if (kind === 'past' && !this.ids.has(document.id))
      throw new LineFault('past.id', 'no document of that id stands before it')
    if (kind === 'configuration' && document.kind === 'projects' && this.isKept)
      this.layouts.set(document.id, layoutIn(readFields(document)))
    this.ids.add(key)
    this.count += 1
    if (this.isKept) this.waiting.push({ collection, document })
  }

  /** Whether a graph of the project may be made. Throws LineFault. */
  expectProject(project: string, isThere: boolean): void {
    if (this.ids.size > 0 && !this.ids.has(project))
      throw new LineFault('graph.project', 'the configuration in the file has no such project')
    if (this.ids.size === 0 && !isThere)
      throw new LineFault('graph.project', 'the folder has no such project, and the file no configuration')
  }

  /** What the file says of the project, or the folder where the file does not count. */
  async layoutOf(project: string): Promise<GraphLayout> {
    const layout = this.layouts.get(project) ?? (await this.layoutInFolder(project))
    this.layouts.set(project, layout)
    return layout
  }

  private async layoutInFolder(project: string): Promise<GraphLayout> {
    const folder = join(this.dataDir, CONFIGURATION)
    if (!existsSync(join(folder, DATA_FILE))) return layoutIn({})
    const collections = openCollections(folder, { readOnly: true })
    try {
      const document = collections.get(DOCUMENTS, project) as ProjectDocument | null
      return layoutIn(document?.fields ?? {})
    } finally {
      await collections.close()
    }
  }

  /** Together: a folder has all of a configuration or nothing. Answers whether anything was written. Throws OperatorFault. */
  async write(): Promise<boolean> {
    const { waiting } = this
    this.waiting = []
    if (waiting.length === 0) return false
    const folder = join(this.dataDir, CONFIGURATION)
    if (this.isTrial && !existsSync(join(folder, DATA_FILE))) return false
    const collections = openCollections(folder, this.isTrial ? { readOnly: true } : {})
    try {
      const before = new Map(collections.all(DOCUMENTS))
      const past = new Map(collections.all(PAST))
      const documents = waiting.map(({ collection, document }) =>
        collection === PAST ? { collection, document } : { collection, document: provisionedAgain(document) },
      )
      const isSame = documents.every(({ collection, document }) =>
        same((collection === PAST ? past : before).get(keyOf(document, collection)), document),
      )
      if (before.size > 0 && !isSame)
        throw new OperatorFault(
          `the folder ${this.dataDir} has a configuration of its own: \`--project ID\` imports the graphs into a project of it`,
        )
      if (before.size > 0 || this.isTrial) return false
      await collections.transact((changes) => {
        for (const { collection, document } of documents) changes.put(collection, keyOf(document, collection), document)
      })
      return true
    } finally {
      await collections.close()
    }
  }
}

/** Into a part of a composite graph without the others: the next start makes what the global graph lacks of it. */
export async function leaveProxies(dataDir: string, project: string): Promise<void> {
  if (!hasGraph(dataDir, { project, part: 'global' })) return
  const collections = openCollections(join(dataDir, CONFIGURATION), {})
  try {
    await collections.transact((changes) => {
      const document = changes.get(DOCUMENTS, project) as Document | null
      if (document !== null) changes.put(DOCUMENTS, project, pending(document))
    })
  } finally {
    await collections.close()
  }
}

interface ProjectDocument extends Document {
  readonly fields?: { readonly db_connection?: { readonly alias_mapping?: string } }
}

/** Of a project: what its graphs are found by is text. Throws LineFault. */
function readFields(project: ProjectDocument): Fields {
  const fields = object(project.fields ?? {}, 'configuration.fields')
  const connection = object(fields.db_connection ?? {}, 'configuration.fields.db_connection')
  for (const name of ['name', 'composite_db_name', 'alias_mapping']) {
    const value = connection[name] ?? ''
    if (typeof value !== 'string')
      throw new LineFault(`configuration.fields.db_connection.${name}`, `expected a string, found ${foundName(value)}`)
  }
  return fields
}

/** The parts of a composite graph know each other by more than their nodes: the next start sees to that. */
function provisionedAgain(document: Document): Document {
  const { fields } = document as ProjectDocument
  return document.kind === 'projects' && fields?.db_connection?.alias_mapping !== undefined
    ? pending(document)
    : document
}

/** A start provisions it, which may be repeated. */
function pending(project: Document): Document {
  return { ...project, fields: { ...(project as ProjectDocument).fields, ikg_status: 'PENDING' } } as Document
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
