// The one waiter of a process: sleeps until any process on the data folder commits, and then calls all parts of this process that look
// for work. It wakes once in a second without a commit. Until the system has reported a write to the file, it reads the count each 25 ms.
import { type FSWatcher, watch } from 'node:fs'
import type { CommitSignal, CommitSubscription } from '../../kernel/folder/commit-signal.ts'
import { CommitCount } from './commit-counter.ts'

/** Time between two looks while commits follow each other, milliseconds. */
const PAUSE_MS = 25
/** Time between two looks without a commit, milliseconds. A process that is killed between a commit and its signal is rare. */
const BEAT_MS = 1000

interface Subscriber {
  readonly look: () => void
  readonly pauseMs: number
  lookedMs: number
  /** When it looks next; infinity: after the next commit. */
  dueMs: number
}

/** Options of a waiter, for tests. */
interface CommitWaiterOptions {
  /** False: reads the count each 25 ms, as on systems without reports of writes. */
  readonly usesReports?: boolean
  /** Time between two looks without a commit, milliseconds. */
  readonly beatMs?: number
}

/** Waits for the commits of all processes on one data folder. */
export class CommitWaiter implements CommitSignal {
  private readonly commits: CommitCount
  private readonly usesReports: boolean
  private readonly beatTimeMs: number
  private readonly subscribers = new Set<Subscriber>()
  private watcher: FSWatcher | null = null
  /** Whether the system has reported a write. */
  private isReported = false
  private timer: ReturnType<typeof setTimeout> | null = null
  /** The count at the last look. */
  private seen = 0
  /** No look because of a commit before this time. */
  private pausedUntilMs = 0
  /** When the timer reads the count; infinity: this process waits for a report. */
  private pollMs = 0
  private beatMs = 0

  /** Opens nothing before the first subscription, except the count. Throws the error of the system. */
  constructor(dataDir: string, options: CommitWaiterOptions = {}) {
    const { usesReports = process.platform === 'linux', beatMs = BEAT_MS } = options
    this.commits = new CommitCount(dataDir)
    this.usesReports = usesReports
    this.beatTimeMs = beatMs
  }

  /** See `CommitSignal`. */
  subscribe(look: () => void, pauseMs = PAUSE_MS): CommitSubscription {
    const subscriber: Subscriber = {
      look,
      pauseMs,
      lookedMs: Number.NEGATIVE_INFINITY,
      dueMs: Number.POSITIVE_INFINITY,
    }
    this.subscribers.add(subscriber)
    if (this.subscribers.size === 1) this.begin()
    return {
      lookWithin: (ms) => {
        subscriber.dueMs = Math.min(subscriber.dueMs, performance.now() + Math.max(0, ms))
        if (this.subscribers.has(subscriber)) this.schedule()
      },
      close: () => {
        if (this.subscribers.delete(subscriber) && this.subscribers.size === 0) this.end()
      },
    }
  }

  /** See `CommitSignal`. */
  async until(condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
    const endMs = performance.now() + timeoutMs
    let changed = Promise.withResolvers<void>()
    const subscription = this.subscribe(() => changed.resolve())
    try {
      for (;;) {
        changed = Promise.withResolvers()
        if (await condition()) return true
        const restMs = endMs - performance.now()
        if (restMs <= 0) return false
        subscription.lookWithin(restMs)
        await changed.promise
      }
    } finally {
      subscription.close()
    }
  }

  /** See `CommitSignal`. */
  announce(): void {
    this.commits.increment()
  }

  private begin(): void {
    this.seen = this.commits.load()
    this.beatMs = performance.now() + this.beatTimeMs
    this.pollMs = this.pausedUntilMs
    if (this.usesReports) {
      try {
        this.watcher = watch(this.commits.path, { persistent: false }, () => {
          this.isReported = true
          this.wake()
        })
        this.watcher.on('error', () => this.stopWatching())
        if (!this.isReported) this.commits.wake()
      } catch {
        // The system has a limit for the number of processes that get reports.
        this.watcher = null
      }
    }
    this.schedule()
  }

  private end(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.stopWatching()
  }

  private stopWatching(): void {
    this.watcher?.close()
    this.watcher = null
    this.pollMs = performance.now() + PAUSE_MS
    this.schedule()
  }

  private wake(): void {
    if (this.subscribers.size === 0) return
    const nowMs = performance.now()
    const isPaused = nowMs < this.pausedUntilMs
    if (!isPaused) {
      const canWait = this.watcher !== null && this.commits.load() === this.seen
      if (canWait) this.commits.beginWaiting()
      this.pollMs = canWait && this.isReported ? Number.POSITIVE_INFINITY : nowMs + PAUSE_MS
    }
    const count = this.commits.load()
    const hasCommits = !isPaused && count !== this.seen
    const isBeat = nowMs >= this.beatMs
    if (hasCommits) {
      this.pausedUntilMs = nowMs + PAUSE_MS
      this.pollMs = this.pausedUntilMs
    }
    if (hasCommits || isBeat) {
      this.seen = count
      this.beatMs = nowMs + this.beatTimeMs
    }
    try {
      for (const subscriber of [...this.subscribers]) {
        if (hasCommits || isBeat)
          subscriber.dueMs = Math.min(subscriber.dueMs, subscriber.lookedMs + subscriber.pauseMs)
        // One that was called before may have closed it.
        if (subscriber.dueMs > nowMs || !this.subscribers.has(subscriber)) continue
        subscriber.dueMs = Number.POSITIVE_INFINITY
        subscriber.lookedMs = nowMs
        subscriber.look()
      }
    } finally {
      this.schedule()
    }
  }

  private schedule(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    if (this.subscribers.size === 0) return
    const nowMs = performance.now()
    let nextMs = Math.min(this.beatMs, this.pollMs)
    for (const { dueMs } of this.subscribers) nextMs = Math.min(nextMs, dueMs)
    if (!Number.isFinite(nextMs)) return
    // Rounded up: a timer that fires too early would have to be set again.
    this.timer = setTimeout(() => this.wake(), Math.max(0, Math.ceil(nextMs - nowMs)))
    this.timer.unref()
  }
}
