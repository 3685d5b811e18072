// Copies the graphs of one project between a data folder and database servers, and compares both afterwards. A copy that was
// interrupted continues after its last batch.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BoltServer, defaultBoltLimits } from '../../bolt/bolt-server.ts'
import { layoutOf } from '../../config/db-connection.ts'
import { type DocumentFields, projectsKind, type StoredDocument } from '../../config/kind.ts'
import { placeUrl } from '../../kernel/bolt-address.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS, DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { lockFolder } from '../../store/process/folder-lock.ts'
import { compareGraphs, type GraphComparison } from './compare-graphs.ts'
import { type CopiedDatabase, copiedDatabases } from './copied-databases.ts'
import type { CopyTarget, CopyTargets } from './copy-target.ts'
import { completeProject, FolderGraph, type FolderProject, requireGraph } from './folder-graph.ts'
import { FolderTargets } from './folder-target.ts'
import type { CopiedCounts, ElementPage, GraphReader } from './graph-reader.ts'
import { COPY_QUERY_MS, type CopyDatabase, type NodeKeys, ServerGraph } from './server-graph.ts'
import { type CopySource, noteIn, ServerTargets, storedVersion } from './server-target.ts'

/** A copy of the graphs of one project. */
interface GraphCopyRequest {
  readonly dataDir: string
  /** Fields with the `db_connection` of the databases; its credentials are not used. */
  readonly connection: DocumentFields
  readonly direction: 'to-server' | 'to-folder'
  /** Name or id; absent: the only project of the folder. */
  readonly project?: string
  readonly username: string | null
  readonly password: string | null
  /** For a copy from a server: the properties whose values are the external ids of nodes of other tools, by label. */
  readonly keys: NodeKeys
  /** Only compare. */
  readonly isComparison: boolean
  /** Called with the id of the project when all graphs are equal, while the folder is still locked. */
  readonly onEqual?: (projectId: string) => Promise<void>
  readonly progress: (done: number, total: number | null, what: string) => void
}

/** The copy of one graph. */
export interface DatabaseCopy {
  /** As in `CopiedDatabase`. */
  readonly name: string
  /** The URL of the database. */
  readonly place: string
  readonly comparison: GraphComparison
  /** Elements that this run wrote. */
  readonly written: CopiedCounts
  /** Seconds. */
  readonly copyS: number
  readonly compareS: number
  readonly isResumed: boolean
  /** How to begin again; null for a comparison. */
  readonly restartHint: string | null
}

/** The result of a copy. */
export interface CopyResult {
  /** Several for a composite project. */
  readonly databases: readonly DatabaseCopy[]
  readonly isEqual: boolean
  readonly counts: CopiedCounts
  /** Of all graphs; of one graph its own. */
  readonly hash: string
}

/** Everything that a copy needs. */
interface ConnectedCopy {
  readonly request: GraphCopyRequest
  readonly project: FolderProject
  readonly databases: readonly (CopiedDatabase & CopyDatabase)[]
}

/**
 * Copies and compares. If a graph differs, the whole copy stays unfinished. Rejects with OperationalError, or with ThrownServiceError if
 * a server cannot be reached.
 */
export async function copyGraph(request: GraphCopyRequest): Promise<CopyResult> {
  const { dataDir, direction, isComparison } = request
  if (!existsSync(join(dataDir, CONFIGURATION_FOLDER, DATA_FILE)))
    throw new OperationalError(`the folder ${dataDir} has no organization`)
  const lock = lockFolder(dataDir)
  const servers = new Map<string, BoltServer>()
  try {
    const document = await projectOf(dataDir, request.project)
    const project: FolderProject = { dataDir, id: document.id, layout: layoutOf(document) }
    const databases = await connect(request, copiedDatabases(document, request.connection), servers)
    const run = isComparison ? compareOnly : direction === 'to-server' ? copyToServers : copyToFolder
    const result = resultOf(await run({ request, project, databases }))
    if (result.isEqual) await request.onEqual?.(project.id)
    return result
  } finally {
    try {
      for (const server of servers.values()) await server.close()
    } finally {
      lock.release()
    }
  }
}

/** Connects to the databases. Adds the servers to `servers`. Rejects with OperationalError if two names are one database. */
async function connect(
  { username, password, progress }: GraphCopyRequest,
  databases: readonly CopiedDatabase[],
  servers: Map<string, BoltServer>,
): Promise<ConnectedCopy['databases']> {
  const opened: (CopiedDatabase & CopyDatabase)[] = []
  const ids = new Map<unknown, string>()
  for (const one of databases) {
    const { url, database } = one.place
    const place = placeUrl(one.place)
    progress(0, null, `connecting to ${place}`)
    const server =
      servers.get(url) ??
      new BoltServer({ url, username, password }, { limits: { ...defaultBoltLimits, queryTimeMs: COPY_QUERY_MS } })
    servers.set(url, server)
    await server.probe(database)
    if (databases.length > 1) {
      // A server may have several addresses, and a database several names.
      const [found] = await server.read(database, { text: 'CALL db.info() YIELD id', parameters: {} }, COPY_QUERY_MS)
      const other = ids.get(found?.id)
      if (other !== undefined)
        throw new OperationalError(`${place}: the same database as ${other}; each needs one of its own`)
      ids.set(found?.id, place)
    }
    opened.push({ ...one, server, database, driver: await server.module(), url: place })
  }
  return opened
}

/** A project with an embedded graph. */
async function projectOf(dataDir: string, wanted: string | undefined): Promise<StoredDocument> {
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), { readOnly: true })
  try {
    const projects = collections
      .all(CURRENT_DOCUMENTS)
      .map(([, document]) => document as StoredDocument)
      .filter(({ kind }) => kind === projectsKind)
    const found = projects.filter(({ id, name }) => wanted === undefined || id === wanted || name === wanted)
    const names = projects.map(({ name }) => name).join(', ')
    if (projects.length === 0) throw new OperationalError(`the folder ${dataDir} has no project`)
    if (found.length === 0)
      throw new OperationalError(`the folder ${dataDir} has no project ${wanted}: it has ${names}`)
    if (found.length > 1)
      throw new OperationalError(`the folder ${dataDir} has several projects: name one of ${names} with --project`)
    const [project] = found as [StoredDocument]
    if (layoutOf(project).isInServer === true)
      throw new OperationalError(
        `the project ${project.name} has its graph in a database server already: name a project whose graph is in the folder ${dataDir}`,
      )
    return project
  } finally {
    await collections.close()
  }
}

function resultOf(databases: readonly DatabaseCopy[]): CopyResult {
  const all = databases.map(({ comparison }) => comparison)
  const sum = (of: (comparison: GraphComparison) => number): number => all.reduce((total, one) => total + of(one), 0)
  const [first] = all
  return {
    databases,
    isEqual: all.every(({ differences }) => differences.length === 0),
    counts: { nodes: sum(({ nodes }) => nodes), relationships: sum(({ relationships }) => relationships) },
    hash:
      all.length === 1
        ? first!.hash
        : createHash('sha256')
            .update(JSON.stringify(all.map(({ hash }) => hash)))
            .digest('hex')
            .slice(0, first!.hash.length),
  }
}

async function compareOnly({ request, project, databases }: ConnectedCopy): Promise<DatabaseCopy[]> {
  requireGraph(project)
  // A project is not connected to a database that a service refuses.
  if (request.onEqual !== undefined) await requireFinished(databases)
  await completeProject(project)
  const copies: DatabaseCopy[] = []
  for (const database of databases) {
    const run = runOf(request, database, databases.length)
    const result = await withGraph(project, database, (folder) => {
      const server = new ServerGraph(database, { keys: request.keys })
      return request.direction === 'to-server' ? compare(run, folder, server) : compare(run, server, folder)
    })
    const written = { nodes: 0, relationships: 0 }
    copies.push({ ...run.named, ...result, written, copyS: 0, isResumed: false, restartHint: null })
  }
  return copies
}

async function withGraph<T>(
  { dataDir, id }: FolderProject,
  { part }: CopiedDatabase,
  use: (graph: FolderGraph) => Promise<T> | T,
): Promise<T> {
  const graph = FolderGraph.open({ dataDir, id, part })
  try {
    return await use(graph)
  } finally {
    await graph.close()
  }
}

async function copyToServers(opened: ConnectedCopy): Promise<DatabaseCopy[]> {
  const { project, databases } = opened
  requireGraph(project)
  await completeProject(project)
  const graphs: (readonly [CopyDatabase, CopySource])[] = []
  for (const database of databases) {
    const { part } = database
    const version = await withGraph(project, database, (graph) => graph.version())
    const hasProxies = project.layout.isComposite && part !== 'global'
    graphs.push([database, { project: project.id, part, version, hasProxies }])
  }
  return await copyAll(opened, await ServerTargets.open(graphs), (database, use) => withGraph(project, database, use))
}

async function copyToFolder(opened: ConnectedCopy): Promise<DatabaseCopy[]> {
  const { project, databases } = opened
  const { isComposite } = project.layout
  await requireFinished(databases)
  const versions = await Promise.all(databases.map(storedVersion))
  if (isComposite)
    for (const database of databases) if (database.part !== 'global') await new ServerGraph(database).requireProxies()
  const parts = databases.map(({ part }) => part)
  const targets = await FolderTargets.open(project, parts, sourceText(opened))
  const { keys } = opened.request
  const fromServer: WithSource = (database, use) => use(new ServerGraph(database, { needsIds: isComposite, keys }))
  return await copyAll(opened, targets, fromServer, async () => {
    // Graphs that are copied one after another belong together only if none of them has changed.
    for (const [at, database] of databases.entries()) {
      if ((await storedVersion(database)) === versions[at]) continue
      throw new OperationalError(
        `${database.url}: a service has written to the database during the copy, which stays unfinished: repeat it when no service writes`,
      )
    }
  })
}

/** Names what is copied: a copy continues only with the same databases and the same keys. */
function sourceText({ request: { keys }, databases }: ConnectedCopy): string {
  const urls = databases.map(({ url }) => url).join(', ')
  // The order of keys means nothing.
  return [urls, ...[...keys].map(([label, property]) => `--key ${label}=${property}`).sort()].join(' ')
}

/** Rejects with OperationalError if a database has an unfinished copy. */
async function requireFinished(databases: readonly CopyDatabase[]): Promise<void> {
  for (const database of databases) {
    if ((await noteIn(database)) === null) continue
    throw new OperationalError(
      `${database.url}: the database has an unfinished copy: finish it first, with \`verdigraph copy\` into this database`,
    )
  }
}

/** Calls `use` with the graph of a database that is copied. */
type WithSource = (
  database: CopiedDatabase & CopyDatabase,
  use: (source: GraphReader) => Promise<DatabaseCopy>,
) => Promise<DatabaseCopy>

/** Copies all graphs, and finishes them when all are equal. `requireUnchanged` rejects if the sources have changed since. */
async function copyAll(
  { request, databases }: ConnectedCopy,
  targets: CopyTargets,
  withSource: WithSource,
  requireUnchanged: () => Promise<void> = async () => undefined,
): Promise<DatabaseCopy[]> {
  const copies: DatabaseCopy[] = []
  try {
    for (const [index, database] of databases.entries()) {
      const run = runOf(request, database, databases.length)
      const copy = await withSource(database, async (source) => {
        const target = await targets.open(index)
        try {
          return await copyAndCompare(run, source, target)
        } finally {
          await target.close()
        }
      })
      copies.push(copy)
    }
  } catch (error) {
    // The targets are as they were before. If the notes cannot be removed, the same command continues.
    if (targets.isUntouched) await targets.abandon().catch(() => undefined)
    throw error
  }
  if (copies.some(({ comparison }) => comparison.differences.length > 0)) return copies
  await requireUnchanged()
  await targets.finish()
  return copies
}

/** Progress and name of the copy of one graph. */
interface DatabaseRun {
  readonly named: Pick<DatabaseCopy, 'name' | 'place'>
  readonly progress: GraphCopyRequest['progress']
}

function runOf({ progress }: GraphCopyRequest, { name, url }: CopiedDatabase & CopyDatabase, of: number): DatabaseRun {
  return {
    named: { name, place: url },
    progress: of === 1 ? progress : (done, total, what) => progress(done, total, `${name}: ${what}`),
  }
}

async function copyAndCompare(run: DatabaseRun, source: GraphReader, target: CopyTarget): Promise<DatabaseCopy> {
  const { isResumed } = target
  const began = performance.now()
  const written = await copyElements(run, source, target)
  const copied = await target.complete((done, total) => run.progress(done, total, 'lists of relationships'))
  const copyS = (performance.now() - began) / 1000
  const result = await compare(run, source, copied)
  return { ...run.named, ...result, written, copyS, isResumed, restartHint: target.restartHint }
}

async function copyElements({ progress }: DatabaseRun, source: GraphReader, target: CopyTarget): Promise<CopiedCounts> {
  const counts = await source.counts()
  const total = counts.nodes + counts.relationships
  const written = { nodes: 0, relationships: 0 }
  const began = performance.now()
  const show = (what: string): void => {
    const done = written.nodes + written.relationships
    const rate = Math.round((done * 1000) / Math.max(1, performance.now() - began))
    progress(done, total, `${what}: ${written.nodes} nodes, ${written.relationships} relationships, ${rate} per second`)
  }
  const { symbols } = source
  const { nodes, relationships } = target.position
  if (nodes !== null)
    await eachPage(
      nodes,
      (from) => source.nodes(from),
      async (items, next) => {
        await target.writeNodes(items, symbols, { nodes: next, relationships: 0 })
        written.nodes += items.length
        show('copying')
      },
    )
  if (relationships !== null)
    await eachPage(
      relationships,
      (from) => source.relationships(from),
      async (items, next) => {
        await target.writeRelationships(items, symbols, { nodes: null, relationships: next })
        written.relationships += items.length
        show('copying')
      },
    )
  return written
}

/** Writes one page while the next one is read. */
async function eachPage<T>(
  from: number,
  read: (from: number) => Promise<ElementPage<T>>,
  write: (items: readonly T[], next: number | null) => Promise<void>,
): Promise<void> {
  let page: ElementPage<T> | null = await read(from)
  while (page !== null) {
    const { items, next }: ElementPage<T> = page
    const reading: Promise<ElementPage<T> | null> = next === null ? Promise.resolve(null) : read(next)
    // What is written is known before an error of the read is reported.
    const [written] = await Promise.allSettled([write(items, next), reading])
    if (written.status === 'rejected') throw written.reason
    page = await reading
  }
}

async function compare(
  { progress }: DatabaseRun,
  left: GraphReader,
  right: GraphReader,
): Promise<Pick<DatabaseCopy, 'comparison' | 'compareS'>> {
  const began = performance.now()
  const comparison = await compareGraphs(left, right, (done, total) => progress(done, total, 'comparing'))
  return { comparison, compareS: (performance.now() - began) / 1000 }
}
