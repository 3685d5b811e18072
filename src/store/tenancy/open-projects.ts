// The open graphs of this process by project. If more are open than allowed, the least recently used projects are closed, unless
// they are being read or written, or are held.
import type { GraphStore, OpenSnapshot, WriteBatch } from '../../engine/store.ts'
import type { LmdbEnvironment } from '../graph/environment.ts'

/** An open environment, and the store that callers use. */
export interface OpenConstituent {
  readonly environment: LmdbEnvironment
  readonly store: GraphStore
}

/** A store that reopens its environment if it is used after it was closed. */
export class ReopeningStore implements GraphStore {
  private readonly inner: () => GraphStore
  private readonly hold: <T>(work: () => Promise<T>) => Promise<T>

  /** `inner` returns the open store. `hold` keeps the project open until the work is done. */
  constructor(inner: () => GraphStore, hold: <T>(work: () => Promise<T>) => Promise<T>) {
    this.inner = inner
    this.hold = hold
  }

  snapshot(): OpenSnapshot {
    return this.inner().snapshot()
  }

  write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    return this.hold(() => this.inner().write(change))
  }
}

interface OpenProject {
  /** By folder of the constituent. */
  readonly constituents: Map<string, OpenConstituent>
  /** Number of the last use: greater is later. */
  lastUse: number
}

/** The open projects of this process. */
export class OpenProjects {
  private readonly max: number
  private readonly projects = new Map<string, OpenProject>()
  private readonly held = new Map<string, number>()
  /** Projects being closed. */
  private readonly closing = new Map<string, Promise<void>>()
  private readonly listeners: ((projectId: string) => void)[] = []
  private uses = 0
  private count = 0

  /** `max`: environments that may be open at once. It is exceeded only if all of them are in use. */
  constructor(max: number) {
    this.max = max
  }

  /** Registers a listener, called with each project that is closed to stay below the maximum. */
  onEvicted(listener: (projectId: string) => void): void {
    this.listeners.push(listener)
  }

  /** Returns an open constituent, or undefined, and marks the project as used. */
  find(projectId: string, folder: string): OpenConstituent | undefined {
    const project = this.projects.get(projectId)
    if (project === undefined) return undefined
    this.uses += 1
    project.lastUse = this.uses
    return project.constituents.get(folder)
  }

  /** Adds an open constituent. */
  add(projectId: string, folder: string, part: OpenConstituent): void {
    let project = this.projects.get(projectId)
    if (project === undefined) {
      project = { constituents: new Map(), lastUse: 0 }
      this.projects.set(projectId, project)
    }
    this.uses += 1
    project.lastUse = this.uses
    project.constituents.set(folder, part)
    this.count += 1
  }

  /** All open environments. */
  *environments(): Iterable<LmdbEnvironment> {
    for (const { constituents } of this.projects.values())
      for (const { environment } of constituents.values()) yield environment
  }

  /** Keeps the project open until the work is done. */
  async hold<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    this.held.set(projectId, (this.held.get(projectId) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const left = this.held.get(projectId)! - 1
      if (left === 0) this.held.delete(projectId)
      else this.held.set(projectId, left)
    }
  }

  /**
   * Call it before another graph of the project is opened. Closes other projects until fewer than the maximum are open, minus
   * `more`. Resolves when they are closed, and when a pending close of this project is done.
   */
  async evictFor(projectId: string, more = 0): Promise<void> {
    this.startEvictionFor(projectId, more)
    await Promise.all(this.closing.values())
  }

  /** As `evictFor` without waiting: idle projects are closed after this turn of the event loop. */
  startEvictionFor(projectId: string, more = 0): void {
    for (let toClose = this.count - this.max + 1 + more; toClose > 0; ) {
      const oldest = this.oldestIdle(projectId)
      if (oldest === null) return
      toClose -= this.projects.get(oldest)!.constituents.size
      void this.close(oldest)
      for (const listener of this.listeners) listener(oldest)
    }
  }

  private oldestIdle(except: string): string | null {
    let oldest: string | null = null
    let used = Number.POSITIVE_INFINITY
    for (const [projectId, project] of this.projects) {
      if (project.lastUse >= used || projectId === except || this.held.has(projectId) || !isIdle(project)) continue
      oldest = projectId
      used = project.lastUse
    }
    return oldest
  }

  /** Closes a project after pending writes. Does nothing if it is not open. */
  async close(projectId: string): Promise<void> {
    const project = this.projects.get(projectId)
    const before = this.closing.get(projectId)
    if (project === undefined) return before
    this.projects.delete(projectId)
    this.count -= project.constituents.size
    const closing = Promise.all([
      before,
      ...Array.from(project.constituents.values(), (part) => part.environment.close()),
    ])
    const done = closing
      .then(() => undefined)
      .finally(() => {
        if (this.closing.get(projectId) === done) this.closing.delete(projectId)
      })
    this.closing.set(projectId, done)
    await done
  }

  /** Closes all projects. */
  async closeAll(): Promise<void> {
    for (const projectId of [...this.projects.keys()]) await this.close(projectId)
    await Promise.all(this.closing.values())
  }
}

function isIdle({ constituents }: OpenProject): boolean {
  for (const { environment } of constituents.values()) if (!environment.isIdle) return false
  return true
}
