// The configuration that several instances of the service share (docs/decisions/0068-instances-that-share-a-configuration.md): a
// database server has it, and each data folder has a copy. Reads are of the copy; changes go through the server. One process of each
// instance keeps the copy up to date and holds, or tries to get, the lease of the work that only one instance does.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { BoltServer } from '../../bolt/bolt-server.ts'
import { type ConfigurationHead, ConfigurationStore, type FetchedChanges } from '../../bolt/configuration-store.ts'
import { parseBoltUrl } from '../../kernel/bolt-address.ts'
import { OperationalError, ThrownServiceError } from '../../kernel/errors.ts'
import type { CommitSignal } from '../../kernel/folder/commit-signal.ts'
import {
  CONFIGURATION_COMMIT_FILE,
  CONFIRMED_FILE,
  CURRENT_DOCUMENTS,
  ENDED_SESSIONS_FILE,
  LEASE_FILE,
} from '../../kernel/folder/data-folder.ts'
import type {
  DocumentEdit,
  DocumentReader,
  DocumentStore,
  DocumentTransaction,
} from '../../kernel/folder/document-store.ts'
import { isOfEndedSessions } from '../../mcp/session/ended-sessions.ts'
import type { SharedConfigurationFigures } from '../../ops/service-metrics.ts'
import type { Settings } from '../../settings.ts'
import type { Collections } from '../../store/documents/collections.ts'
import { type CopyState, copyStateOf, DocumentCopy, isShared } from '../../store/documents/document-copy.ts'
import { rehearseChange } from '../../store/documents/rehearsal.ts'
import { CommitCount } from '../../store/process/commit-counter.ts'
import { LeaderElection } from '../../store/process/leader-election.ts'
import { openSharedCounter, type SharedCounter } from '../../store/process/shared-counter.ts'
import { layoutOf } from '../db-connection.ts'
import { projectsKind, type StoredDocument } from '../kind.ts'
import { commitNumberOf, isCommitRecord } from '../repository.ts'

/** Pause between two looks at the server, milliseconds. */
const POLL_MS = 200
/** How long an instance that has ended without notice keeps the lease, and how often it is renewed, milliseconds. */
const LEASE_MS = 5000
const RENEW_MS = 1000
/** How long a request waits for a copy that is too old, and how often it looks, milliseconds. */
const WAIT_MAX_MS = 3000
const WAIT_STEP_MS = 10

/** The settings of the shared configuration. */
export type SharedConfigurationSettings = Pick<
  Settings,
  | 'dataDir'
  | 'configStore'
  | 'configStoreUsername'
  | 'configStorePassword'
  | 'configStoreAgeMaxMs'
  | 'databaseConnectTimeMs'
  | 'databaseTimeMs'
  | 'databaseRetryMs'
>

/** The copy in a data folder, and the connection to the server. */
export class SharedConfiguration implements DocumentStore {
  private readonly collections: Collections
  private readonly copy: DocumentCopy
  private readonly stored: ConfigurationStore
  /** Null: this process does not look for changes. */
  private readonly elections: LeaderElection | null
  private readonly report: (line: string) => void
  private readonly ageMaxMs: number
  private readonly url: string
  /** Time limit of the move of a configuration to the server, milliseconds. */
  private readonly moveTimeMs: number
  /** The time at which the copy was the newest, in milliseconds modulo 2^32; 0: never. */
  private readonly confirmed: SharedCounter
  /** The time until which this instance has the lease, in milliseconds modulo 2^32; 0: it does not. */
  private readonly lease: SharedCounter
  private waiting: Promise<void> | null = null
  private lastChange: Promise<unknown> = Promise.resolve()
  private problem: string | null = null
  private isClosed = false
  /** Ends the pauses of what runs. */
  private readonly pauses = new Set<() => void>()
  /** The polls and the renewals of the lease; null: another process of this instance does it. */
  private running: Promise<unknown> | null = null

  private constructor(
    collections: Collections,
    settings: SharedConfigurationSettings,
    server: BoltServer,
    database: string | null,
    report: (line: string) => void,
    signal: CommitSignal | null,
  ) {
    const { dataDir } = settings
    this.collections = collections
    this.report = report
    this.url = server.address.url
    this.ageMaxMs = settings.configStoreAgeMaxMs
    this.moveTimeMs = settings.databaseTimeMs
    this.stored = new ConfigurationStore(server, database)
    this.elections = signal === null ? null : new LeaderElection(dataDir, signal)
    const allCommits = new CommitCount(dataDir)
    const commits = openSharedCounter(join(dataDir, CONFIGURATION_COMMIT_FILE))
    const endedSessions = openSharedCounter(join(dataDir, ENDED_SESSIONS_FILE))
    this.confirmed = openSharedCounter(join(dataDir, CONFIRMED_FILE))
    this.lease = openSharedCounter(join(dataDir, LEASE_FILE))
    this.copy = new DocumentCopy(collections, {
      isLast: isCommitRecord,
      writing(documents) {
        const commit = commitNumberOf(documents)
        if (commit !== null) commits.store(commit)
      },
      written(documents) {
        if (documents.some(({ collection }) => isOfEndedSessions(collection))) endedSessions.increment()
        allCommits.increment()
      },
    })
  }

  /**
   * Opens the copy, and makes it if the folder has none. Rejects with OperationalError if the setting is not valid, if the server cannot
   * be reached for a first copy, or if the folder has a configuration of its own that cannot be moved to the server. `signal`: null:
   * this process is not one that looks for changes, because it may compute for seconds: the instance would stop answering.
   */
  static async open(
    collections: Collections,
    settings: SharedConfigurationSettings,
    report: (line: string) => void,
    signal: CommitSignal | null,
  ): Promise<SharedConfiguration> {
    const place = parseBoltUrl(settings.configStore)
    if (!place.ok) throw new OperationalError(`the setting config_store: ${place.error}`)
    const { url, database } = place.value
    const { configStoreUsername: username, configStorePassword: password } = settings
    if ((username === '') !== (password === '')) {
      throw new OperationalError('the settings config_store_username and config_store_password are required together')
    }
    const { databaseConnectTimeMs, databaseTimeMs, databaseRetryMs } = settings
    const limits = {
      // One for changes, one for polls.
      connectionsMax: 4,
      connectTimeMs: databaseConnectTimeMs,
      queryTimeMs: databaseTimeMs,
      retryTimeMs: databaseRetryMs,
    }
    const address = { url, username: username === '' ? null : username, password: username === '' ? null : password }
    // Without reports: the process that polls reports what it means for the instance.
    const server = new BoltServer(address, { limits })
    const shared = new SharedConfiguration(collections, settings, server, database, report, signal)
    try {
      await shared.begin()
    } catch (error) {
      await shared.close()
      if (error instanceof OperationalError) throw error
      throw new OperationalError(`the shared configuration in ${url}: ${(error as Error).message}`)
    }
    return shared
  }

  private async begin(): Promise<void> {
    // Version 0: another process may be making the copy.
    if ((this.copy.state()?.version ?? 0) === 0) await this.makeCopy()
    if (this.elections === null) return
    let isFirst = true
    this.elections.campaign('configuration', () => {
      // No other process has followed the server since this instance was started.
      if (isFirst) this.confirmed.store(0)
      this.running = Promise.all([this.poll(), this.keepLease()])
    })
    isFirst = false
  }

  private async makeCopy(): Promise<void> {
    const head = await this.stored.prepare()
    const own = this.collections.everything().filter(isShared)
    // Looked at after the documents were read, which another process may have copied.
    if (own.length > 0 && this.copy.state() === null) {
      await this.copy.begin(await this.move(own, head))
      this.report(`the configuration was moved to ${this.url}`)
    } else await this.copy.begin({ ...head, version: 0, commit: '' })
    await this.catchUp()
  }

  /** Writes the configuration of the folder to the server, whose configuration must be empty. */
  private async move(own: readonly DocumentEdit[], found: ConfigurationHead): Promise<ConfigurationHead> {
    // The id of the change: an instance that ends after it, and before the folder is a copy, recognizes its documents.
    const id = `moved ${createHash('sha256').update(JSON.stringify(own)).digest('hex')}`
    if (found.version > 0) {
      if ((await this.stored.commitOf(1)) !== id) throw new OperationalError(twoConfigurations(this.url))
      return { ...found, version: 1, commit: id }
    }
    refuseEmbeddedGraphs(own)
    const change = async ({ version }: ConfigurationHead) => {
      if (version > 0) throw new OperationalError(twoConfigurations(this.url))
      return { value: null, edits: { documents: own, events: [] } }
    }
    return (await this.stored.write('', change, { id, timeMs: this.moveTimeMs })).head ?? found
  }

  read<T>(look: (reader: DocumentReader) => T): T {
    return this.collections.read(look)
  }

  /** The changes of this process follow each other, so that they do not all wait in the server. */
  transact<T>(change: (transaction: DocumentTransaction) => T): Promise<T> {
    const result = this.lastChange.then(() => this.change(change))
    this.lastChange = result.catch(() => undefined)
    return result
  }

  private async change<T>(change: (transaction: DocumentTransaction) => T): Promise<T> {
    let from = 0
    const { value, edits, head } = await this.stored.write(this.state.instance, async (newest, fetch) => {
      let { state } = this
      this.check(state, newest)
      while (state.version < newest.version) {
        await this.apply(state, await fetch(state.version))
        state = this.state
      }
      from = state.version
      return this.read((reader) => rehearseChange(reader, change))
    })
    if (head !== null) await this.copy.apply(from, { head, after: '', ...edits })
    return value
  }

  /** Applies what follows a state of the copy. Throws OperationalError if it follows another state. */
  private async apply(state: CopyState, changes: FetchedChanges): Promise<void> {
    this.check(state, changes.head)
    if (changes.after !== null && changes.after !== state.commit) throw this.foreign()
    await this.copy.apply(state.version, changes)
  }

  /** Identifies the data folder among the instances. */
  get instance(): string {
    return this.state.instance
  }

  private get state(): CopyState {
    const state = this.copy.state()
    if (state === null) throw new OperationalError('the copy of the shared configuration is lost')
    return state
  }

  /**
   * Throws OperationalError if the server has another configuration than the one that was copied, or an older state of it. `state` was
   * read before `head`.
   */
  private check(state: CopyState, head: ConfigurationHead): void {
    if (state.store !== head.store || state.version > head.version) throw this.foreign()
    if (state.version === head.version && state.commit !== head.commit) throw this.foreign()
  }

  private foreign(): OperationalError {
    return new OperationalError(
      `the configuration in ${this.url} is not the one of which this data folder has a copy, or an older state of it: stop the service and start it with an empty data folder`,
    )
  }

  /** Fetches what the copy lacks of the newest version. Another process may fetch the same. */
  async catchUp(): Promise<void> {
    for (;;) {
      const { state } = this
      const head = await this.stored.head()
      this.check(state, head)
      if (state.version === head.version) return
      await this.apply(state, await this.stored.changesAfter(state.version, state.instance))
    }
  }

  private async poll(): Promise<void> {
    while (!this.isClosed) {
      const startedMs = Date.now()
      try {
        await this.catchUp()
        this.confirmed.store(timeWord(startedMs))
        if (this.problem !== null) this.report(`the configuration in ${this.url} can be read again`)
        this.problem = null
      } catch (error) {
        const { message } = error as Error
        // Each attempt to reach a server may fail in another way.
        const problem = error instanceof OperationalError ? message : 'not read'
        if (problem !== this.problem) this.report(`the configuration in ${this.url} cannot be read: ${message}`)
        this.problem = problem
      }
      await this.pause(POLL_MS)
    }
  }

  /** Apart from the polls: a lease that another instance has locked must not delay them. */
  private async keepLease(): Promise<void> {
    while (!this.isClosed) {
      if (this.age() <= this.ageMaxMs) await this.renewLease().catch(() => undefined)
      await this.pause(this.age() <= this.ageMaxMs ? RENEW_MS : POLL_MS)
    }
  }

  private async renewLease(): Promise<void> {
    const nowMs = Date.now()
    const isTaken = await this.stored.takeLease(this.state.instance, LEASE_MS)
    // Counted from before the request, so the lease ends here not later than in the server.
    this.lease.store(isTaken ? timeWord(nowMs + LEASE_MS) : 0)
  }

  private pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = (): void => {
      clearTimeout(timer)
      this.pauses.delete(end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    this.pauses.add(end)
    if (this.isClosed) end()
    return promise
  }

  /** Whether this instance does the work that only one instance does, such as runs that follow a schedule. */
  isLeading(): boolean {
    const until = this.lease.load()
    if (until === 0) return false
    const leftMs = timeBetween(timeWord(Date.now()), until)
    // More: the clock was set back.
    return leftMs > 0 && leftMs <= LEASE_MS
  }

  /**
   * Whether another instance runs, for a command on a folder that is not served: gives the lease up, and looks whether an instance takes
   * it, or keeps it. Does not see an instance that does not reach the server. Rejects if the server does not answer.
   */
  async isAnotherRunning(): Promise<boolean> {
    const { instance } = this.state
    // This instance may have been killed while it had the lease.
    await this.stored.leaveLease(instance)
    await Bun.sleep(3 * RENEW_MS)
    const giveUpMs = performance.now() + LEASE_MS + RENEW_MS
    while (!(await this.stored.takeLease(instance, LEASE_MS))) {
      // The lease of an instance that was killed has expired.
      if (performance.now() > giveUpMs) return true
      await Bun.sleep(POLL_MS)
    }
    await this.stored.leaveLease(instance)
    return false
  }

  /** Milliseconds since the copy was known to be the newest. */
  private age(): number {
    const confirmed = this.confirmed.load()
    if (confirmed === 0) return Number.POSITIVE_INFINITY
    const age = timeBetween(confirmed, timeWord(Date.now()))
    // The clock was set back.
    return age < 0 ? Number.POSITIVE_INFINITY : age
  }

  /** For the metrics. */
  figures(): SharedConfigurationFigures {
    const age = this.age()
    return { ageS: Number.isFinite(age) ? age / 1000 : null, isLeading: this.isLeading() }
  }

  /**
   * Resolves when the copy is new enough to answer requests; null if it is. Rejects with ThrownServiceError `unavailable` if it does not
   * become so soon.
   */
  recent(): Promise<void> | null {
    if (this.age() <= this.ageMaxMs) return null
    this.waiting ??= this.untilRecent().finally(() => {
      this.waiting = null
    })
    return this.waiting
  }

  private async untilRecent(): Promise<void> {
    const giveUpMs = performance.now() + WAIT_MAX_MS
    while (this.age() > this.ageMaxMs) {
      if (performance.now() > giveUpMs || this.isClosed) {
        throw new ThrownServiceError({
          kind: 'unavailable',
          message: 'the configuration of this instance is too old, because its database server does not answer',
          retryAfterS: 2,
        })
      }
      await Bun.sleep(WAIT_STEP_MS)
    }
  }

  /** The reason why requests cannot be answered; null: they can. */
  notReadyReason(): string | null {
    return this.age() <= this.ageMaxMs ? null : 'the shared configuration is too old'
  }

  /** Gives up the lease and closes the connections. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    for (const end of this.pauses) end()
    await this.running
    if (this.running !== null && this.isLeading()) {
      this.lease.store(0)
      await this.stored.leaveLease(this.state.instance).catch(() => undefined)
    }
    await this.stored.close()
    this.elections?.close()
  }
}

/**
 * Opens the shared configuration that the settings name; null: they name none, and the data folder has the configuration. Rejects with
 * OperationalError as `SharedConfiguration.open`, which explains `signal`.
 */
export async function openSharedConfiguration(
  collections: Collections,
  settings: SharedConfigurationSettings,
  report: (line: string) => void,
  signal: CommitSignal | null,
): Promise<SharedConfiguration | null> {
  if (settings.configStore !== '') return SharedConfiguration.open(collections, settings, report, signal)
  refuseCopy(collections)
  return null
}

/** Throws OperationalError if the documents are a copy of a shared configuration, which the service would no longer follow. */
function refuseCopy(collections: Collections): void {
  if (collections.read(copyStateOf) === null) return
  throw new OperationalError(
    'the data folder has a copy of a configuration that several instances share: set config_store, or start with an empty data folder',
  )
}

/** A graph in a data folder belongs to one instance only. */
function refuseEmbeddedGraphs(documents: readonly DocumentEdit[]): void {
  const embedded = documents.flatMap(({ collection, json }) => {
    const document = collection === CURRENT_DOCUMENTS ? (JSON.parse(json!) as StoredDocument) : null
    return document?.kind === projectsKind && layoutOf(document).isInServer !== true ? [document.name] : []
  })
  if (embedded.length === 0) return
  throw new OperationalError(
    `the setting config_store: the graphs of these projects are in the data folder, where other instances cannot read them: ${embedded.join(', ')}. Copy them to a database server with \`verdigraph copy\``,
  )
}

function twoConfigurations(url: string): string {
  return `the data folder has a configuration of its own, and ${url} has another one: start the instance with an empty data folder`
}

/** Milliseconds in 32 bits, never 0. */
function timeWord(ms: number): number {
  return Math.floor(ms) % 2 ** 32 || 1
}

/** Milliseconds from one time to a later one, or negative, within 24 days. */
function timeBetween(from: number, to: number): number {
  return (to - from) | 0
}
