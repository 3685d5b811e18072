// The open graphs of one process, by project. Those that were not used for the longest time are closed when there are more
// than the process may have open. Never closed: what is being read or written, and what somebody holds.
import type { GraphStore, Snapshot, WriteBatch } from '../../engine/store.ts'
import type { LmdbEnvironment } from '../graph/environment.ts'

/** One environment, and the store that its users get. */
export interface OpenConstituent {
  readonly environment: LmdbEnvironment
  readonly store: GraphStore
}

/** A part of a project as it is read and written, for as long as anybody likes: used after it was closed, it is opened again. */
export class ReopeningStore implements GraphStore {
  private readonly inner: () => GraphStore
  private readonly hold: <T>(work: () => Promise<T>) => Promise<T>

  /** `inner` gives the store, open. The project stays open while the work that is given to `hold` goes on. */
  constructor(inner: () => GraphStore, hold: <T>(work: () => Promise<T>) => Promise<T>) {
    this.inner = inner
    this.hold = hold
  }

  snapshot(): Snapshot {
    return this.inner().snapshot()
  }

  write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    return this.hold(() => this.inner().write(change))
  }
}

interface OpenProject {
  /** By folder of the constituent. */
  readonly constituents: Map<string, OpenConstituent>
  /** When it was used last: greater is later. */
  lastUse: number
}

export class OpenProjects {
  private readonly max: number
  private readonly projects = new Map<string, OpenProject>()
  private readonly held = new Map<string, number>()
  /** What is being closed, by project. */
  private readonly closing = new Map<string, Promise<void>>()
  private readonly listeners: ((projectId: string) => void)[] = []
  private uses = 0
  private count = 0

  /** `max`: environments that may be open at once. More are open only while all of them are in use. */
  constructor(max: number) {
    this.max = max
  }

  /** Calls the listener for each project whose graphs were closed to make way for others. */
  onEvicted(listener: (projectId: string) => void): void {
    this.listeners.push(listener)
  }

  /** Undefined when it is not open. */
  find(projectId: string, folder: string): OpenConstituent | undefined {
    const project = this.projects.get(projectId)
    if (project === undefined) return undefined
    this.uses += 1
    project.lastUse = this.uses
    return project.constituents.get(folder)
  }

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

  *environments(): Iterable<LmdbEnvironment> {
    for (const { constituents } of this.projects.values())
      for (const { environment } of constituents.values()) yield environment
  }

  /** The project stays open until the work is done. */
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
   * Before one more graph of the project is opened: closes so many others that there are fewer than the maximum, and `more`
   * beyond that. Resolves when they are closed, and this project as well where it was being closed.
   */
  async evictFor(projectId: string, more = 0): Promise<void> {
    this.startEvictionFor(projectId, more)
    await Promise.all(this.closing.values())
  }

  /** As `makeWay`, for those who cannot wait: what is read and written by nobody is closed at the end of this turn. */
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

  /** Waits for writes under way. Nothing to do where it is not open. */
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

  async closeAll(): Promise<void> {
    for (const projectId of [...this.projects.keys()]) await this.close(projectId)
    await Promise.all(this.closing.values())
  }
}

function isIdle({ constituents }: OpenProject): boolean {
  for (const { environment } of constituents.values()) if (!environment.isIdle) return false
  return true
}
