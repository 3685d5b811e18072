// Signatures of keys that customers manage: decides when a checkpoint of a log needs one, asks the key service, and hands the
// signature to the sealer. Key services are slow and fail, so nothing here delays the log
// (docs/decisions/0039-customer-managed-signing-keys.md).

import type { StoredDocument } from '../../config/kind.ts'
import type { Result } from '../../kernel/result.ts'
import { type Backoff, backoffMs } from '../../kernel/time/backoff.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { AuditIndex, AuditIndexEdits } from '../../store/audit/audit-index.ts'
import type { AuditCheckpoint, AuditKeyState } from '../../store/audit/audit-types.ts'
import { type SigningKeyConfiguration, signingKeyOf } from '../audit-signing.ts'
import { type CustomerKey, failureText } from '../customer-keys/customer-key.ts'
import { signVerified } from '../customer-keys/key-services.ts'
import { ecdsaKeyId, isKeyName, parseNote, signatureLine } from '../log/signed-note.ts'
import type { LogEntryType } from './log-entries.ts'

/** A log with this many entries after the last signature is signed at once. */
const SIGN_ENTRIES = 10_000
/** Delay after a failure. It doubles up to the maximum. */
const retryDelay: Backoff = { minMs: 2000, maxMs: 60_000 }
/** Key services that are called at the same time, and those of one project, so that slow ones delay no other project for long. */
const CALLS_AT_ONCE = 8
const PROJECT_CALLS_AT_ONCE = 2
/** After a change, the configurations are looked through this often; without one, this often, for what is due by its time. */
const LOOK_MS = 250
const LOOK_IDLE_MS = 1000
/** Looking through them takes at most this share of a processor. */
const LOOK_SHARE = 0.05
/** The same error is logged this often. */
const ERROR_LOG_MS = 60_000

/** The logs as far as signatures concern them. Calls must not overlap. */
export interface SignedLogs {
  /** Adds signature lines to a checkpoint of the log of a project. `change`: edits of the same transaction. */
  addSignatures(
    projectId: string,
    checkpoint: number,
    lines: readonly string[],
    change: (edits: AuditIndexEdits) => void,
  ): Promise<void>
  /** Adds an entry to the log about itself. */
  record(
    projectId: string,
    type: LogEntryType,
    members: object,
    change: (edits: AuditIndexEdits) => void,
  ): Promise<void>
}

/** Collaborators of the signatures. */
interface CustomerSignaturesDeps {
  readonly index: AuditIndex
  readonly clock: Clock
  /** A log with new entries is signed this often. */
  readonly intervalMs: number
  /** Differs after any process has committed to the configuration or to the index. */
  commits(): number
  /** All audit signing configurations. */
  configurations(): readonly StoredDocument[]
  /** A past revision of a configuration, or null. */
  pastRevision(id: string, revision: number): StoredDocument | null
  /** The client of a key, or what is wrong with its configuration. Throws if its secrets cannot be decrypted. */
  openKey(document: StoredDocument, key: SigningKeyConfiguration): Result<CustomerKey, readonly string[]>
  /** The name of the folder of the log of a project. */
  logId(projectId: string): string
  /** Called after each failure. */
  onFailure(): void
  /** Called with the time since which the oldest failing signature is due, in milliseconds since the epoch; null: none fails. */
  onOverdue(sinceMs: number | null): void
  readonly log: (entry: {
    readonly level: 'info' | 'error'
    readonly message: string
    readonly [field: string]: unknown
  }) => void
}

interface Attempt {
  readonly document: StoredDocument
  readonly key: SigningKeyConfiguration
  readonly checkpoint: AuditCheckpoint
  /** Number of the last request at its start. */
  readonly request: number
}

/** A failed configuration. */
interface Retry {
  readonly revision: number
  readonly failures: number
  readonly atMs: number
  readonly loggedMs: number
  /** A later request is attempted at once. */
  readonly request: number
}

type Outcome =
  | { readonly attempt: Attempt; readonly lines: readonly string[] }
  | { readonly attempt: Attempt; readonly error: string; readonly detail?: string }

/** The configuration of a key as it was opened last. Its client keeps tokens. */
interface OpenedKey {
  readonly revision: number
  readonly client: CustomerKey
}

/** Gets the signatures of all signing configurations. */
export class CustomerSignatures {
  private readonly deps: CustomerSignaturesDeps
  private readonly states = new Map<string, AuditKeyState>()
  private readonly opened = new Map<string, OpenedKey>()
  /** Of replaced keys, by configuration. */
  private readonly openedBefore = new Map<string, OpenedKey>()
  private readonly running = new Map<string, { readonly projectId: string; readonly done: Promise<void> }>()
  private readonly retries = new Map<string, Retry>()
  /** Numbers in the order of attempts. */
  private readonly attempted = new Map<string, number>()
  private attempts = 0
  private finished: Outcome[] = []
  private commits = Number.NaN
  private lookedMs = Number.NEGATIVE_INFINITY
  private nextLookMs = 0
  private isClosed = false

  constructor(deps: CustomerSignaturesDeps) {
    this.deps = deps
    for (const state of deps.index.keyStates()) this.states.set(state.configuration, state)
  }

  /** Stores signatures that have arrived, and requests those that are due. Does not wait for a key service. */
  async step(logs: SignedLogs): Promise<void> {
    const nowMs = performance.now()
    const commits = this.deps.commits()
    if (this.finished.length === 0) {
      if (nowMs < this.nextLookMs) return
      if (commits === this.commits && nowMs - this.lookedMs < LOOK_IDLE_MS) return
    }
    this.commits = commits
    await this.look(logs)
    this.lookedMs = performance.now()
    this.nextLookMs = this.lookedMs + Math.max(LOOK_MS, (this.lookedMs - nowMs) / LOOK_SHARE)
  }

  /** Gets all signatures that are due now, and waits for them. */
  async settle(logs: SignedLogs): Promise<void> {
    do {
      await this.look(logs)
      await Promise.all(Array.from(this.running.values(), ({ done }) => done))
    } while (this.finished.length > 0)
  }

  /** Does not wait for the calls in progress, whose signatures are not stored: a key service may be slower than the shutdown. */
  close(): void {
    this.isClosed = true
  }

  private async look(logs: SignedLogs): Promise<void> {
    for (const outcome of this.finished.splice(0)) await this.isolated(outcome.attempt, () => this.store(logs, outcome))
    const documents = this.deps.configurations()
    await this.forgetDeleted(documents)
    // Those that have waited longest come first.
    const turn = ({ id }: StoredDocument): number => this.attempted.get(id) ?? 0
    for (const document of [...documents].sort((a, b) => turn(a) - turn(b))) {
      const key = signingKeyOf(document)
      if (key === null || this.isClosed) continue
      await this.isolated({ document, request: 0 }, async () => {
        await this.reportOverdue(logs, document, key)
        const attempt = this.mayStart(document) ? await this.dueAttempt(document, key) : null
        if (attempt !== null) this.start(attempt)
      })
    }
    const due = [...this.states.values()].map(({ overdueMs }) => overdueMs).filter((ms) => ms !== null)
    this.deps.onOverdue(due.length === 0 ? null : Math.min(...due))
  }

  /** A log that cannot be written must not delay the signatures of others. */
  private async isolated(failing: Pick<Attempt, 'document' | 'request'>, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (failure) {
      const error = failure instanceof Error ? failure.message : String(failure)
      this.noteFailure(failing, `the audit log cannot be written: ${error}`)
    }
  }

  private mayStart({ id, project_id }: StoredDocument): boolean {
    if (this.running.has(id) || this.running.size >= CALLS_AT_ONCE) return false
    let ofProject = 0
    for (const { projectId } of this.running.values()) if (projectId === project_id) ofProject += 1
    return ofProject < PROJECT_CALLS_AT_ONCE
  }

  private async forgetDeleted(documents: readonly StoredDocument[]): Promise<void> {
    const present = new Set(documents.filter((each) => signingKeyOf(each) !== null).map(({ id }) => id))
    const gone = [...this.states.keys()].filter((id) => !present.has(id))
    if (gone.length === 0) return
    await this.deps.index.write((edits) => {
      for (const id of gone) edits.removeKeyState(id)
    })
    const maps = [this.states, this.opened, this.openedBefore, this.retries, this.attempted]
    for (const id of gone) for (const map of maps) map.delete(id)
  }

  private async dueAttempt(document: StoredDocument, key: SigningKeyConfiguration): Promise<Attempt | null> {
    const { index, clock, intervalMs, logId } = this.deps
    const { id, project_id, revision } = document
    const checkpoint = index.newestCheckpoint(logId(project_id))
    if (checkpoint === null) return null
    const state = this.stateOf(id)
    const request = index.keyRequest(id)
    const isRequested = request > state.requestDone
    const isOtherKey = state.kid !== key.kid || state.spki !== spkiText(key)
    const isSigned = !isOtherKey && state.checkpoint === checkpoint.number && state.generation === checkpoint.generation
    if (isSigned) {
      if (isRequested) await this.put({ ...state, requestDone: request })
      return null
    }
    const nowMs = clock.now()
    const retry = this.retries.get(id)
    const isWaiting = retry !== undefined && retry.revision === revision && nowMs < retry.atMs
    if (isWaiting && (!isRequested || request <= retry.request)) return null
    const isDue =
      isRequested ||
      isOtherKey ||
      state.overdueMs !== null ||
      state.generation !== checkpoint.generation ||
      state.platformKid !== checkpoint.kid ||
      state.signedMs === null ||
      nowMs - state.signedMs >= intervalMs ||
      checkpoint.size - state.size >= SIGN_ENTRIES
    return isDue ? { document, key, checkpoint, request } : null
  }

  private start(attempt: Attempt): void {
    const { id, project_id: projectId } = attempt.document
    this.attempts += 1
    this.attempted.set(id, this.attempts)
    const done = this.attempt(attempt)
      .catch((failure: unknown): Outcome => ({ attempt, error: `the key cannot be opened: ${String(failure)}` }))
      .then((outcome) => {
        this.running.delete(id)
        this.finished.push(outcome)
      })
    this.running.set(id, { projectId, done })
  }

  private async attempt(attempt: Attempt): Promise<Outcome> {
    const { document, key, checkpoint } = attempt
    const parsed = parseNote(checkpoint.note)
    if (!parsed.ok) return { attempt, error: `the checkpoint is malformed: ${parsed.error}` }
    const text = Buffer.from(parsed.value.text)
    const signed = await this.line(document, key, text)
    if ('error' in signed) return { attempt, ...signed }
    const before = await this.lineOfReplacedKey(document, key, text)
    return { attempt, lines: [...before, signed.line] }
  }

  /** The last checkpoint of a replaced key is the first one of its successor. */
  private async lineOfReplacedKey(
    document: StoredDocument,
    key: SigningKeyConfiguration,
    text: Uint8Array,
  ): Promise<readonly string[]> {
    const { revision, kid, spki } = this.stateOf(document.id)
    if (spki === '' || (kid === key.kid && spki === spkiText(key)) || this.isClosed) return []
    const past = this.deps.pastRevision(document.id, revision)
    const replaced = past === null ? null : signingKeyOf(past)
    if (past === null || replaced === null) return []
    const signed = await this.line(past, replaced, text, this.openedBefore).catch((failure: unknown) => ({
      error: String(failure),
    }))
    if ('line' in signed) return [signed.line]
    const message = 'a replaced signing key did not sign its last checkpoint'
    this.deps.log({ level: 'error', message, configuration: document.id, kid, error: signed.error })
    return []
  }

  private async line(
    document: StoredDocument,
    key: SigningKeyConfiguration,
    text: Uint8Array,
    opened = this.opened,
  ): Promise<{ readonly line: string } | { readonly error: string; readonly detail?: string }> {
    const { kid, spki } = key
    if (spki === null || !isKeyName(kid))
      return { error: 'the key was not tested; update the configuration with `key_resource` and `kid`' }
    const client = this.client(document, key, opened)
    if ('error' in client) return client
    const signed = await signVerified(client.client, { spki }, text)
    if (signed.ok) return { line: signatureLine(kid, ecdsaKeyId(spki), signed.value) }
    const { detail } = signed.error
    return { error: failureText(signed.error), ...(detail !== undefined && { detail }) }
  }

  private client(
    document: StoredDocument,
    key: SigningKeyConfiguration,
    keys: Map<string, OpenedKey>,
  ): OpenedKey | { readonly error: string } {
    const { id, revision } = document
    const known = keys.get(id)
    if (known?.revision === revision) return known
    const created = this.deps.openKey(document, key)
    if (!created.ok) return { error: created.error.join('; ') }
    const opened = { revision, client: created.value }
    keys.set(id, opened)
    return opened
  }

  private async store(logs: SignedLogs, outcome: Outcome): Promise<void> {
    const { document, key, checkpoint, request } = outcome.attempt
    const { id, project_id, revision } = document
    const before = this.stateOf(id)
    const requestDone = Math.max(request, before.requestDone)
    const nowMs = this.deps.clock.now()
    if ('error' in outcome) {
      this.noteFailure(outcome.attempt, outcome.error, outcome.detail)
      await this.put({ ...before, error: outcome.error, overdueMs: before.overdueMs ?? nowMs, requestDone })
      return
    }
    const state: AuditKeyState = {
      configuration: id,
      revision,
      kid: key.kid,
      spki: spkiText(key),
      signedMs: nowMs,
      checkpoint: checkpoint.number,
      generation: checkpoint.generation,
      size: checkpoint.size,
      platformKid: checkpoint.kid,
      error: '',
      overdueMs: null,
      isReported: false,
      requestDone,
    }
    try {
      await logs.addSignatures(project_id, checkpoint.number, outcome.lines, (edits) => edits.putKeyState(state))
    } catch (failure) {
      // The transaction may have been committed; the signature is then published later.
      this.states.set(id, this.deps.index.keyState(id) ?? before)
      throw failure
    }
    this.states.set(id, state)
    this.retries.delete(id)
    if (!before.isReported) return
    const members = { kid: key.kid, size: checkpoint.size }
    await logs.record(project_id, 'svc.audit.log.signature.recovered', members, () => undefined)
    const message = 'a key service signs the audit log again'
    this.deps.log({ level: 'info', message, project: project_id, configuration: id, size: checkpoint.size })
  }

  private noteFailure(
    { document, request }: Pick<Attempt, 'document' | 'request'>,
    error: string,
    detail?: string,
  ): void {
    const { id, project_id, revision } = document
    const nowMs = this.deps.clock.now()
    const known = this.retries.get(id)
    const failures = (known?.revision === revision ? known.failures : 0) + 1
    const waitMs = backoffMs(retryDelay, failures)
    const isLogged = known === undefined || nowMs - known.loggedMs >= ERROR_LOG_MS
    const loggedMs = isLogged ? nowMs : known.loggedMs
    const tried = Math.max(request, known?.request ?? 0)
    this.retries.set(id, { revision, failures, atMs: nowMs + waitMs, loggedMs, request: tried })
    this.deps.onFailure()
    const message = 'a checkpoint was not signed by the key of the customer'
    const cause = { error, ...(detail !== undefined && { detail }) }
    if (isLogged) this.deps.log({ level: 'error', message, project: project_id, configuration: id, ...cause })
  }

  /** Records once that a signature is overdue by one interval. */
  private async reportOverdue(
    logs: SignedLogs,
    { id, project_id }: StoredDocument,
    { kid }: SigningKeyConfiguration,
  ): Promise<void> {
    const state = this.stateOf(id)
    if (state.overdueMs === null || state.isReported) return
    if (this.deps.clock.now() - state.overdueMs < this.deps.intervalMs) return
    const reported = { ...state, isReported: true }
    const members = { kid, size: state.size, error: state.error }
    await logs.record(project_id, 'svc.audit.log.signature.overdue', members, (edits) => edits.putKeyState(reported))
    this.states.set(id, reported)
  }

  private async put(state: AuditKeyState): Promise<void> {
    await this.deps.index.write((edits) => edits.putKeyState(state))
    this.states.set(state.configuration, state)
  }

  private stateOf(configuration: string): AuditKeyState {
    return this.states.get(configuration) ?? { ...noState, configuration }
  }
}

const noState: Omit<AuditKeyState, 'configuration'> = {
  revision: 0,
  kid: '',
  spki: '',
  signedMs: null,
  checkpoint: 0,
  generation: 0,
  size: 0,
  platformKid: '',
  error: '',
  overdueMs: null,
  isReported: false,
  requestDone: 0,
}

function spkiText({ spki }: SigningKeyConfiguration): string {
  return spki === null ? '' : Buffer.from(spki).toString('base64')
}
