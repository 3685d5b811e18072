// Remembers which sessions were ended before their time, beside the configuration, so that all processes know and a restart
// forgets none. Bounded: beyond the bound the oldest are forgotten, and with them every session that is as old counts as ended.
import { randomInt } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import type { EndedSessions, OpenSession } from './session-ids.ts'

interface Reading {
  get(collection: string, key: string): unknown
  all(collection: string): readonly (readonly [string, unknown])[]
}

interface Changes extends Reading {
  put(collection: string, key: string, value: unknown): void
  remove(collection: string, key: string): void
}

/** Seen by all processes at once; says nothing by itself. */
export interface Moment {
  load(): number
  store(value: number): void
}

export interface EndedStore {
  read<T>(look: (reading: Reading) => T): T
  transact<T>(change: (changes: Changes) => T): Promise<T>
}

interface Kept {
  readonly openedMs: number
  readonly expiresMs: number
}

/** Of one project, until they would have expired. */
const KEPT_MAX = 10_000
/** What is kept of each project, by its id. */
const PROJECTS = 'mcp-ended'

export class StoredEndedSessions implements EndedSessions {
  private readonly store: EndedStore
  private readonly shared: Moment
  private readonly clock: Clock
  private readonly keptMax: number

  constructor(store: EndedStore, shared: Moment, clock: Clock, keptMax = KEPT_MAX) {
    this.store = store
    this.shared = shared
    this.clock = clock
    this.keptMax = keptMax
  }

  moment(): number {
    return this.shared.load()
  }

  has(projectId: string, { key, openedMs }: OpenSession): boolean {
    const name = collectionOf(projectId)
    return this.store.read((reading) => {
      const bound = reading.get(PROJECTS, projectId) as Bound | null
      if (bound === null) return false
      return openedMs <= bound.since || reading.get(name, key) !== null
    })
  }

  async add(projectId: string, { key, openedMs, expiresMs }: OpenSession): Promise<void> {
    const name = collectionOf(projectId)
    await this.store.transact((changes) => {
      const bound = (changes.get(PROJECTS, projectId) as Bound | null) ?? { count: 0, since: 0 }
      if (changes.get(name, key) !== null) return
      const left = bound.count < this.keptMax ? bound : this.prune(name, changes, bound)
      changes.put(name, key, { openedMs, expiresMs } satisfies Kept)
      changes.put(PROJECTS, projectId, { ...left, count: left.count + 1 } satisfies Bound)
    })
    // By chance and not by counting: of two processes that end sessions at once, neither may undo the other's step.
    this.shared.store(randomInt(2 ** 32))
  }

  /** Leaves nothing of projects that are not there any more. */
  async sweep(isThere: (projectId: string) => boolean): Promise<void> {
    const left = this.store.read((reading) => reading.all(PROJECTS).filter(([projectId]) => !isThere(projectId)))
    for (const [projectId] of left) {
      const name = collectionOf(projectId)
      await this.store.transact((changes) => {
        for (const [key] of changes.all(name)) changes.remove(name, key)
        changes.remove(PROJECTS, projectId)
      })
    }
  }

  private prune(name: string, changes: Changes, { since }: Bound): Bound {
    const nowMs = this.clock.now()
    const all = changes.all(name) as [string, Kept][]
    const running = all.filter(([, { expiresMs }]) => nowMs < expiresMs)
    running.sort(([, a], [, b]) => a.openedMs - b.openedMs)
    // With room for as many again, so that this is done seldom.
    const over = running.splice(0, Math.max(0, running.length - Math.floor(this.keptMax / 2)))
    const stay = new Set(running.map(([key]) => key))
    for (const [key] of all) if (!stay.has(key)) changes.remove(name, key)
    return { count: running.length, since: Math.max(since, over.at(-1)?.[1].openedMs ?? 0) }
  }
}

/** `count`: how many there are. `since`: sessions that were opened then or before have ended. */
interface Bound {
  readonly count: number
  readonly since: number
}

function collectionOf(projectId: string): string {
  return `mcp-ended-${projectId}`
}
