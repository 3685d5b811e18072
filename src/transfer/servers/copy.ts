// Copies the graph of one project between a data folder and a database server, and compares both afterwards. A copy that was
// interrupted continues after its last batch.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type BoltAddress, BoltServer, defaultBoltLimits } from '../../bolt/bolt-server.ts'
import type { Symbols } from '../../bolt/stored-elements.ts'
import { layoutOf } from '../../config/db-connection.ts'
import { projectsKind, type StoredDocument } from '../../config/kind.ts'
import { type DatabasePlace, parseBoltUrl } from '../../kernel/bolt-address.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS, DATA_FILE } from '../../kernel/data-folder.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { openCollections } from '../../store/documents/collections.ts'
import type { NodeRecord } from '../../store/format/records.ts'
import { lockFolder } from '../../store/process/folder-lock.ts'
import { compareGraphs, type GraphComparison } from './compare-graphs.ts'
import { COPY_BEGIN, type CopyPosition, FolderGraph, type FolderProject, FolderTarget } from './folder-graph.ts'
import type { CopiedCounts, CopiedRelationship, ElementPage, GraphReader } from './graph-reader.ts'
import { COPY_QUERY_MS, type CopyDatabase, ServerGraph, ServerTarget } from './server-graph.ts'

/** A copy of the graph of one project. */
export interface GraphCopyRequest {
  readonly dataDir: string
  /** The URL of a database: `bolt://host:7687/movies`; without path its default database. */
  readonly url: string
  readonly direction: 'to-server' | 'to-folder'
  /** Name or id; absent: the only project of the folder. */
  readonly project?: string
  readonly username: string | null
  readonly password: string | null
  /** Only compare. */
  readonly isComparison: boolean
  /** Called with the id of the project when both graphs are equal, while the folder is still locked. */
  readonly onEqual?: (projectId: string) => Promise<void>
  readonly progress: (done: number, total: number | null, what: string) => void
}

/** The result of a copy. */
export interface CopyResult {
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

/** Where batches are written. */
interface CopyTarget {
  readonly position: CopyPosition
  readonly isResumed: boolean
  readonly restartHint: string
  writeNodes(nodes: readonly NodeRecord[], symbols: Symbols, position: CopyPosition): Promise<void>
  writeRelationships(
    relationships: readonly CopiedRelationship[],
    symbols: Symbols,
    position: CopyPosition,
  ): Promise<void>
  finish(): Promise<void>
  /** Removes the notes of a copy that has written nothing. */
  abandon(): Promise<void>
}

/**
 * Copies and compares. If the graphs differ, the copy stays unfinished. Rejects with OperationalError, or with ThrownServiceError if
 * the server cannot be reached.
 */
export async function copyGraph(request: GraphCopyRequest): Promise<CopyResult> {
  const { dataDir, direction, isComparison, progress } = request
  const place = parseBoltUrl(request.url)
  if (!place.ok) throw new OperationalError(place.error)
  if (!existsSync(join(dataDir, CONFIGURATION_FOLDER, DATA_FILE)))
    throw new OperationalError(`the folder ${dataDir} has no organization`)
  const lock = lockFolder(dataDir)
  try {
    const project: FolderProject = { dataDir, id: await projectOf(dataDir, request.project) }
    const server = new BoltServer(addressOf(place.value, request), {
      limits: { ...defaultBoltLimits, queryTimeMs: COPY_QUERY_MS },
    })
    try {
      progress(0, null, `connecting to ${request.url}`)
      await server.probe(place.value.database)
      const database: CopyDatabase = {
        server,
        database: place.value.database,
        driver: await server.module(),
        place: request.url,
      }
      const run = isComparison ? compareOnly : direction === 'to-server' ? copyToServer : copyToFolder
      const result = await run(request, project, database)
      if (result.comparison.differences.length === 0) await request.onEqual?.(project.id)
      return result
    } finally {
      await server.close()
    }
  } finally {
    lock.release()
  }
}

function addressOf({ url }: DatabasePlace, { username, password }: GraphCopyRequest): BoltAddress {
  return { url, username, password }
}

/** The id of a project with an embedded graph. */
async function projectOf(dataDir: string, wanted: string | undefined): Promise<string> {
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
    const { isComposite, isRemote } = layoutOf(project)
    if (isComposite)
      throw new OperationalError(
        `the project ${project.name} is composite: only projects with one database can be copied`,
      )
    if (isRemote === true)
      throw new OperationalError(
        `the project ${project.name} has its graph in a database server already: name a project whose graph is in the folder ${dataDir}`,
      )
    return project.id
  } finally {
    await collections.close()
  }
}

async function compareOnly(
  request: GraphCopyRequest,
  project: FolderProject,
  database: CopyDatabase,
): Promise<CopyResult> {
  const folder = FolderGraph.open(project)
  try {
    const server = new ServerGraph(database)
    const [left, right] = request.direction === 'to-server' ? [folder, server] : [server, folder]
    const [comparison, compareS] = await compare(request, left, right)
    const written = { nodes: 0, relationships: 0 }
    return { comparison, written, copyS: 0, compareS, isResumed: false, restartHint: null }
  } finally {
    await folder.close()
  }
}

async function copyToServer(
  request: GraphCopyRequest,
  project: FolderProject,
  database: CopyDatabase,
): Promise<CopyResult> {
  const source = FolderGraph.open(project)
  try {
    const target = await ServerTarget.open(database, project.id, source.version())
    return await copyAndCompare(request, source, target, async () => new ServerGraph(database))
  } finally {
    await source.close()
  }
}

async function copyToFolder(
  request: GraphCopyRequest,
  project: FolderProject,
  database: CopyDatabase,
): Promise<CopyResult> {
  const target = await FolderTarget.open(project, request.url)
  try {
    return await copyAndCompare(request, new ServerGraph(database), target, () =>
      target.complete((done, total) => request.progress(done, total, 'lists of relationships')),
    )
  } finally {
    await target.close()
  }
}

async function copyAndCompare(
  request: GraphCopyRequest,
  source: GraphReader,
  target: CopyTarget,
  complete: () => Promise<GraphReader>,
): Promise<CopyResult> {
  const { isResumed } = target
  const began = performance.now()
  const written = await copyElements(request, source, target).catch(async (error: unknown) => {
    // The target is as it was before. If the note cannot be removed, the same command continues.
    if (target.position.nodes === COPY_BEGIN.nodes) await target.abandon().catch(() => undefined)
    throw error
  })
  const copied = await complete()
  const copyS = (performance.now() - began) / 1000
  const [comparison, compareS] = await compare(request, source, copied)
  if (comparison.differences.length === 0) await target.finish()
  return { comparison, written, copyS, compareS, isResumed, restartHint: target.restartHint }
}

async function copyElements(
  { progress }: GraphCopyRequest,
  source: GraphReader,
  target: CopyTarget,
): Promise<CopiedCounts> {
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
    await Promise.all([write(items, next), reading])
    page = await reading
  }
}

async function compare(
  { progress }: GraphCopyRequest,
  left: GraphReader,
  right: GraphReader,
): Promise<readonly [GraphComparison, number]> {
  const began = performance.now()
  const comparison = await compareGraphs(left, right, (done, total) => progress(done, total, 'comparing'))
  return [comparison, (performance.now() - began) / 1000]
}
