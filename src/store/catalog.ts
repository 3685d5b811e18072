// Which environment holds a project's graph: (project, logical location) → environment. One folder per project;
// the default constituent stands apart from the located ones. Environments open when they are first asked for.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { GraphStore } from '../engine/store.ts'
import { assert } from '../kernel/assert.ts'
import { isGid } from '../kernel/ids.ts'
import { checkEnvironment } from './check.ts'
import { type EnvironmentOptions, type LmdbEnvironment, openEnvironment } from './lmdb/environment.ts'
import { DATA_FILE } from './lmdb/native.ts'

const PROJECTS = 'projects'
/** A project that is being removed is renamed first, so that a crash leaves no half project. */
const REMOVED = '.removed-'
const DEFAULT = 'default'

export class Catalog {
  private readonly root: string
  private readonly options: EnvironmentOptions
  /** By project, then by folder of the constituent. */
  private readonly open = new Map<string, Map<string, LmdbEnvironment>>()

  constructor(dataDir: string, options: EnvironmentOptions) {
    this.root = join(dataDir, PROJECTS)
    this.options = options
    if (options.readOnly === true) return
    mkdirSync(this.root, { recursive: true })
    // Finishes removals that a crash interrupted.
    for (const folder of readdirSync(this.root)) {
      if (folder.startsWith(REMOVED)) rmSync(join(this.root, folder), { recursive: true, force: true })
    }
  }

  /**
   * Makes the project's default constituent, and one for each location. What exists already stays as it is, so that an
   * interrupted provisioning is simply repeated.
   */
  async create(projectId: string, locations: readonly string[] = []): Promise<void> {
    const project = folderOfProject(projectId)
    for (const location of [null, ...locations])
      this.environment(projectId, project, folderOfConstituent(location), true)
  }

  /** Null when the project or the location does not exist. */
  graph(projectId: string, location: string | null): GraphStore | null {
    return this.find(projectId, location)
  }

  /** What is inconsistent in a graph; null when the project or the location does not exist. */
  check(projectId: string, location: string | null): string[] | null {
    const environment = this.find(projectId, location)
    return environment === null ? null : checkEnvironment(environment)
  }

  private find(projectId: string, location: string | null): LmdbEnvironment | null {
    if (location === null) {
      const known = this.open.get(projectId)?.get(DEFAULT)
      if (known !== undefined) return known
    }
    if (!isGid(projectId)) return null
    return this.environment(projectId, folderOfProject(projectId), folderOfConstituent(location), false)
  }

  private environment(projectId: string, project: string, folder: string, make: boolean): LmdbEnvironment | null {
    let constituents = this.open.get(projectId)
    const known = constituents?.get(folder)
    if (known !== undefined) return known
    const path = join(this.root, project, folder)
    if (!make && !existsSync(join(path, DATA_FILE))) return null
    mkdirSync(path, { recursive: true })
    const environment = openEnvironment(path, this.options)
    if (constituents === undefined) {
      constituents = new Map()
      this.open.set(projectId, constituents)
    }
    constituents.set(folder, environment)
    return environment
  }

  /** Waits for writes under way, then removes the project's data. No error when there is none. */
  async delete(projectId: string): Promise<void> {
    const project = folderOfProject(projectId)
    const constituents = this.open.get(projectId)
    this.open.delete(projectId)
    const path = join(this.root, project)
    const removed = join(this.root, `${REMOVED}${project}-${Date.now().toString(36)}`)
    // From here on nobody finds it; open files stay usable until they are closed.
    const exists = existsSync(path)
    if (exists) renameSync(path, removed)
    await closeAll(constituents)
    if (exists) await rm(removed, { recursive: true, force: true })
  }

  /** Closes what is open of a project that was removed, by this process or by another; its data is not touched. */
  async forget(projectId: string): Promise<void> {
    const constituents = this.open.get(projectId)
    this.open.delete(projectId)
    await closeAll(constituents)
  }

  async close(): Promise<void> {
    const all = [...this.open.values()]
    this.open.clear()
    for (const constituents of all) await closeAll(constituents)
  }
}

async function closeAll(constituents: ReadonlyMap<string, LmdbEnvironment> | undefined): Promise<void> {
  for (const environment of constituents?.values() ?? []) await environment.close()
}

function folderOfConstituent(location: string | null): string {
  // A location is free text of any length: its hash is a safe name on every file system.
  return location === null ? DEFAULT : join('locations', hash(location))
}

/** Ids differ in case, and not every file system does. Ids of our own minting have no lower case. */
function folderOfProject(projectId: string): string {
  assert(isGid(projectId), 'a project id is a global id')
  const id = projectId.slice('gid:'.length)
  return id.length <= 64 && id === id.toUpperCase() ? id : `h-${hash(projectId)}`
}

/** Below `projects`; null when the id is none. */
export function projectFolderOf(projectId: string): string | null {
  return isGid(projectId) ? folderOfProject(projectId) : null
}

function hash(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, 40)
}

/** Names of the folders that hold projects. */
export function projectFolders(dataDir: string): string[] {
  const root = join(dataDir, PROJECTS)
  return existsSync(root) ? readdirSync(root).filter((folder) => !folder.startsWith(REMOVED)) : []
}

/** Opens the projects below a data folder, creating what is missing. */
export function openCatalog(dataDir: string, options: EnvironmentOptions): Catalog {
  return new Catalog(dataDir, options)
}
