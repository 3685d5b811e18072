// Stores the sessions that were ended before they expired, next to the configuration, so that all processes and restarts know
// them. The number is bounded: when the oldest entries are dropped, all sessions of that age count as ended.
import { randomInt } from 'node:crypto'
import type { DocumentStore, DocumentTransaction } from '../../kernel/folder/document-store.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { EndedSessions, OpenSession } from './session-ids.ts'

/** A number shared by all processes. Its value has no meaning; it only changes. */
export interface ChangeCounter {
  load(): number
  store(value: number): void
}

interface EndedSession {
  readonly openedMs: number
  readonly expiresMs: number
}

/** Maximum number of stored sessions of one project. */
const ENDED_MAX = 10_000
/** The collection of project summaries, by project id. */
const SUMMARIES = 'mcp-ended'

/** The ended sessions in the document store. */
export class StoredEndedSessions implements EndedSessions {
  private readonly store: DocumentStore
  private readonly counter: ChangeCounter
  private readonly clock: Clock
  private readonly endedMax: number

  constructor(store: DocumentStore, shared: ChangeCounter, clock: Clock, keptMax = ENDED_MAX) {
    this.store = store
    this.counter = shared
    this.clock = clock
    this.endedMax = keptMax
  }

  changeNumber(): number {
    return this.counter.load()
  }

  has(projectId: string, { key, openedMs }: OpenSession): boolean {
    const name = collectionOf(projectId)
    return this.store.read((reading) => {
      const bound = reading.get(SUMMARIES, projectId) as ProjectSummary | null
      if (bound === null) return false
      return openedMs <= bound.since || reading.get(name, key) !== null
    })
  }

  async add(projectId: string, { key, openedMs, expiresMs }: OpenSession): Promise<void> {
    const name = collectionOf(projectId)
    await this.store.transact((changes) => {
      const bound = (changes.get(SUMMARIES, projectId) as ProjectSummary | null) ?? { count: 0, since: 0 }
      if (changes.get(name, key) !== null) return
      const left = bound.count < this.endedMax ? bound : this.dropOldest(name, changes, bound)
      changes.put(name, key, { openedMs, expiresMs } satisfies EndedSession)
      changes.put(SUMMARIES, projectId, { ...left, count: left.count + 1 } satisfies ProjectSummary)
    })
    // Random instead of incremented: two processes that end sessions concurrently must not write the same number.
    this.counter.store(randomInt(2 ** 32))
  }

  /** Removes the data of deleted projects. */
  async sweep(isThere: (projectId: string) => boolean): Promise<void> {
    const left = this.store.read((reading) => reading.all(SUMMARIES).filter(([projectId]) => !isThere(projectId)))
    for (const [projectId] of left) {
      const name = collectionOf(projectId)
      await this.store.transact((changes) => {
        for (const [key] of changes.all(name)) changes.delete(name, key)
        changes.delete(SUMMARIES, projectId)
      })
    }
  }

  private dropOldest(name: string, changes: DocumentTransaction, { since }: ProjectSummary): ProjectSummary {
    const nowMs = this.clock.now()
    const all = changes.all(name) as [string, EndedSession][]
    const running = all.filter(([, { expiresMs }]) => nowMs < expiresMs)
    running.sort(([, a], [, b]) => a.openedMs - b.openedMs)
    // Halves the number, so that this runs rarely.
    const over = running.splice(0, Math.max(0, running.length - Math.floor(this.endedMax / 2)))
    const stay = new Set(running.map(([key]) => key))
    for (const [key] of all) if (!stay.has(key)) changes.delete(name, key)
    return { count: running.length, since: Math.max(since, over.at(-1)?.[1].openedMs ?? 0) }
  }
}

/** `count`: number of stored sessions. `since`: sessions opened at this time or earlier have ended, milliseconds. */
interface ProjectSummary {
  readonly count: number
  readonly since: number
}

/** Whether documents of the collection are ended sessions. */
export function isOfEndedSessions(collection: string): boolean {
  return collection === SUMMARIES || collection.startsWith(`${SUMMARIES}-`)
}

function collectionOf(projectId: string): string {
  return `${SUMMARIES}-${projectId}`
}
