// The figures of a service for its operator: of all workers, and of the data folder.
import { readdir, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { type ConfigReader, projectsKind } from '../config/kind.ts'
import {
  AUDIT_FOLDER,
  CONFIGURATION_FOLDER,
  DATA_FILE,
  EVENTS_FOLDER,
  PROJECTS_FOLDER,
} from '../kernel/folder/data-folder.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { type ConnectionHealth, sumOfHealth } from '../ops/connection-health.ts'
import type { ProcessFigures } from '../ops/service-metrics.ts'
import type { CatalogCacheState } from '../store/tenancy/catalog.ts'
import { projectFolderNameOrNull } from '../store/tenancy/project-folders.ts'

/** The figures of one serving process. */
export interface OwnFigures {
  readonly process: ProcessFigures
  readonly cache: CatalogCacheState
  readonly connections: readonly ConnectionHealth[]
}

/** The figures of one worker. */
export interface WorkerFigures {
  /** The number of the worker; 1 if it is the only process. */
  readonly worker: number
  /** Null: it did not answer in time, or it is being started again. */
  readonly figures: OwnFigures | null
}

/** The size of one database. */
export interface EnvironmentSize {
  readonly kind: 'graph' | 'configuration' | 'events' | 'audit'
  /** Empty: it belongs to all projects. */
  readonly projectId: string
  /** The path in the data folder. */
  readonly path: string
  readonly bytes: number
}

/** The sizes of everything in the data folder. */
export interface StorageFigures {
  /** All files. */
  readonly bytes: number
  /** The largest first. */
  readonly environments: readonly EnvironmentSize[]
  /** The number of environments, of which `environments` has the largest. */
  readonly environmentsTotal: number
}

/** The status of the service. */
export interface ServiceStatus {
  readonly time: string
  readonly workers: readonly WorkerFigures[]
  readonly connections: readonly ConnectionHealth[]
  readonly storage: StorageFigures
}

/** Collaborators of the status. */
interface StatusDeps {
  readonly dataDir: string
  readonly clock: Clock
  readonly documents: ConfigReader
  /** The figures of all workers. */
  readWorkers(): Promise<readonly WorkerFigures[]>
}

/** The folder is walked again after this time. */
const STORAGE_AGE_MS = 5000
const ENVIRONMENTS_MAX = 200

/** Reads the status of a service. */
export class StatusReader {
  private readonly deps: StatusDeps
  private storage: { readonly readAtMs: number; readonly files: Promise<readonly FileSize[]> } | null = null

  constructor(deps: StatusDeps) {
    this.deps = deps
  }

  /** The status, with the databases of the organization's projects. */
  async read(organizationId: string): Promise<ServiceStatus> {
    const { clock, documents, readWorkers } = this.deps
    const [workers, files] = await Promise.all([readWorkers(), this.files()])
    const known = new Map<string, string>()
    for (const { id } of documents.inScope(projectsKind, organizationId)) {
      const folder = projectFolderNameOrNull(id)
      if (folder !== null) known.set(folder, id)
    }
    const environments = files.flatMap((file) => environmentOf(file, known) ?? []).sort((a, b) => b.bytes - a.bytes)
    return {
      time: timestamp(clock.now()),
      workers,
      connections: sumOfHealth(workers.map(({ figures }) => figures?.connections ?? [])),
      storage: {
        bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
        environments: environments.slice(0, ENVIRONMENTS_MAX),
        environmentsTotal: environments.length,
      },
    }
  }

  private files(): Promise<readonly FileSize[]> {
    const now = performance.now()
    if (this.storage === null || now - this.storage.readAtMs > STORAGE_AGE_MS)
      this.storage = { readAtMs: now, files: filesBelow(this.deps.dataDir) }
    return this.storage.files
  }
}

interface FileSize {
  /** Relative to the data folder. */
  readonly path: string
  readonly bytes: number
}

/** Null: the file is no database, or it belongs to a project of another organization. */
function environmentOf({ path, bytes }: FileSize, projects: ReadonlyMap<string, string>): EnvironmentSize | null {
  const parts = path.split(sep)
  if (parts.at(-1) !== DATA_FILE) return null
  const folder = parts.slice(0, -1).join('/')
  const [root = '', project = ''] = parts
  if (root === PROJECTS_FOLDER) {
    const projectId = projects.get(project)
    return projectId === undefined ? null : { kind: 'graph', projectId, path: folder, bytes }
  }
  const kinds = { [CONFIGURATION_FOLDER]: 'configuration', [EVENTS_FOLDER]: 'events', [AUDIT_FOLDER]: 'audit' } as const
  const kind = kinds[root as keyof typeof kinds]
  return kind === undefined ? null : { kind, projectId: '', path: folder, bytes }
}

/** Sizes on disk. Skips files that are deleted during the walk. */
async function filesBelow(folder: string): Promise<readonly FileSize[]> {
  const files: FileSize[] = []
  for (const path of await readdir(folder, { recursive: true })) {
    const file = await stat(join(folder, path)).catch(() => null)
    if (file?.isFile() === true) files.push({ path, bytes: file.blocks * 512 })
  }
  return files
}
