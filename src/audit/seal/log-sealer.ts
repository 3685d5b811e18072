// Seals one log: appends entries to its files, signs batches and a checkpoint, and records all of it in one transaction of the
// index. A process that is killed at any point leaves a log that the next one continues: until the transaction nothing has
// happened, and after it the checkpoint is published again (docs/decisions/0038-audit-sealing.md).
import { randomBytes, randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sealer } from '../../config/kind.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { type AuditHead, type AuditHeads, continuesHead, lostEndsWith } from '../../store/audit/audit-heads.ts'
import type { AuditIndex, AuditIndexEdits } from '../../store/audit/audit-index.ts'
import { comparePostings } from '../../store/audit/audit-terms.ts'
import type {
  AuditBatch,
  AuditCheckpoint,
  AuditCursor,
  AuditGeneration,
  AuditLog,
} from '../../store/audit/audit-types.ts'
import type { AuditEntry } from '../audit-entry.ts'
import { describeEntry, factsOf } from '../entry-terms.ts'
import { checkpointText, type LogCheckpoint } from '../log/checkpoint.ts'
import { emptyTree, rootOf, type TreeState } from '../log/merkle.ts'
import { prunedText } from '../log/pruned-note.ts'
import { signNote } from '../log/signed-note.ts'
import { TileFolder } from '../log/tile-folder.ts'
import { TILE_WIDTH } from '../log/tile-path.ts'
import { signBatches } from './batches.ts'
import { BundleTerms } from './bundle-terms.ts'
import { type LogEntryType, logEntry } from './log-entries.ts'
import type { PlatformKey, PlatformKeys } from './platform-keys.ts'

/** Batches and checkpoints that one transaction removes at most. */
const THINNED_MAX = 2000
const HOUR_MS = 3_600_000
/** The beginning of a signature line of a note. */
const SIGNATURE_LINE = '\n— '
const HASH_KEY_BYTES = 32
const NAME_LENGTH = 10
const NAME_LETTERS = 'abcdefghijklmnopqrstuvwxyz'

/** Whose log it is. */
export interface LogOwner {
  /** The name of the folder of the log. */
  readonly id: string
  /** The project or the organization, as a global id. */
  readonly owner: string
  readonly kind: AuditLog['kind']
}

/** Collaborators of the sealing of a log. */
export interface LogSealerDeps {
  readonly index: AuditIndex
  readonly keys: PlatformKeys
  /** Encrypts and decrypts the key of hashes. */
  readonly sealer: Sealer
  readonly clock: Clock
  /** The folder with one folder per log. */
  readonly folder: string
  /** The first part of origins. */
  readonly origin: string
  /** Returns a number for a generation that no other one has. */
  nextGeneration(): number
  /** The newest states of the logs, in the configuration. */
  readonly heads: Pick<AuditHeads, 'get' | 'put'>
  /**
   * Called when a log continues under another origin, because the index does not have what was sealed up to `before`. `isPublished`: the
   * folder of the log has these entries.
   */
  onIndexLost(
    owner: LogOwner,
    before: Pick<LogCheckpoint, 'origin' | 'size'>,
    origin: string,
    isPublished: boolean,
  ): void
}

/** The path that authenticates the encrypted key of hashes. */
export function hashKeyPath(logId: string): string {
  return `audit/logs/${logId}/hash-key`
}

/** Seals one log. Calls must not overlap. */
export class LogSealer {
  readonly owner: LogOwner
  private readonly deps: LogSealerDeps
  private log: AuditLog
  private checkpoint: AuditCheckpoint | null
  private files: TileFolder | null = null
  /** The last bundle, if it is partial: its postings are not stored again. */
  private open: BundleTerms | null = null
  private mustPublish = true
  private hashKeyBytes: Uint8Array | null = null
  /** The end of the log that the index does not have, until the log continues after it. */
  private lostHead: AuditHead | null = null

  /** Reads the state of the log from the index. */
  constructor(owner: LogOwner, deps: LogSealerDeps) {
    this.owner = owner
    this.deps = deps
    const stored = deps.index.state(owner.id)
    const head = deps.heads.get(owner.id)
    this.log = stored ?? newLog(owner, deps.sealer)
    if (head?.lost !== undefined) this.log = { ...this.log, lost: lostEndsWith(this.log.lost ?? [], head.lost) }
    if (head !== null && !continuesHead(stored, head)) {
      this.lostHead = head
      this.log = afterLoss(this.log, head)
    }
    this.checkpoint = deps.index.newestCheckpoint(owner.id)
  }

  /** The sealed state. */
  get state(): AuditLog {
    return this.log
  }

  /** The key of hashes of values. */
  hashKey(): Uint8Array {
    const { id } = this.owner
    this.hashKeyBytes ??= Buffer.from(this.deps.sealer.open(this.log.hashKey, hashKeyPath(id)), 'base64')
    return this.hashKeyBytes
  }

  /** Seals entries in this order, with the progress in their streams. Rejects if they could not be sealed; then nothing is. */
  async seal(entries: readonly AuditEntry[], cursors: ReadonlyMap<string, AuditCursor>): Promise<void> {
    await this.republish()
    await this.reopen()
    const key = await this.changeKey()
    await this.append(key, entries, (edits) => {
      for (const [stream, cursor] of cursors) edits.putCursor(this.owner.id, stream, cursor)
    })
  }

  /**
   * Publishes the newest checkpoint again if a killed process may not have done so. Rejects with LogDamagedError if a checkpoint was
   * published that does not agree with the index: to replace it would hide a fork.
   */
  async republish(): Promise<void> {
    const { checkpoint } = this
    if (!this.mustPublish || this.log.isDamaged === true) return
    if (checkpoint !== null) {
      const files = this.filesOf(checkpoint.generation)
      const root = Buffer.from(checkpoint.root, 'base64')
      await files.checkContinues({ size: checkpoint.size, root })
      if ((await files.checkpoint()) !== checkpoint.note) await files.publish(checkpoint.note)
    }
    this.mustPublish = false
  }

  /**
   * Gives up the present generation, because its files differ from the state in the index: the next entry begins another one. The
   * files stay as they are, for an investigation.
   */
  async abandon(): Promise<void> {
    const log: AuditLog = { ...this.log, mustReopen: true, isDamaged: true }
    await this.deps.index.write((edits) => edits.putLog(log))
    this.log = log
  }

  /** Begins another generation if a restore requires it. Resolves with true if it did. */
  async reopen(): Promise<boolean> {
    if (!this.log.mustReopen) return false
    await this.append(await this.changeKey(), [], () => undefined)
    return true
  }

  /**
   * Signs a checkpoint with both keys if the platform key was changed: it is the last one of the old key and the first one of the
   * new key. Resolves with the key in use; sign with this one, because the key may be replaced again at any time.
   */
  async changeKey(): Promise<PlatformKey> {
    const { checkpoint } = this
    const key = await this.deps.keys.current()
    if (checkpoint === null || checkpoint.kid === key.kid || this.log.isDamaged === true) return key
    const generation = this.generationOf(checkpoint.generation)
    const before = this.deps.keys.retired(checkpoint.kid)
    const log = { ...this.log, checkpoint: this.log.checkpoint + 1 }
    const next = await this.sign(log, generation, key, before === null ? [] : [before])
    await this.deps.index.write((edits) => {
      edits.putLog(log)
      edits.putCheckpoint(log.id, next)
    })
    this.log = log
    await this.publish(next)
    return key
  }

  /**
   * Removes bundles before the entry `before` of a generation, because of their age, and records this in the log.
   */
  async prune(generation: AuditGeneration, before: number): Promise<void> {
    assert(before % TILE_WIDTH === 0 || before === generation.size, 'whole bundles are removed')
    await this.republish()
    const key = await this.changeKey()
    const { number, origin } = generation
    const isPresent = this.isPresent(generation)
    // `firstIndex` is of the log with the entry; a verifier of this log must not take the index of an earlier one.
    const members = isPresent ? { firstIndex: before } : { previous: { origin, firstIndex: before } }
    this.log = {
      ...this.log,
      generations: this.log.generations.map((each) => (each.number === number ? { ...each, prunedTo: before } : each)),
    }
    try {
      await this.append(key, [this.ownEntry('svc.audit.log.pruned', members)], () => undefined)
    } catch (failure) {
      this.log = this.deps.index.state(this.owner.id) ?? this.log
      throw failure
    }
    await this.removeFiles(generation, before)
  }

  /** Removes files that the log does not need according to its state: those that a killed process did not remove. */
  async removeFiles(generation: AuditGeneration, before: number): Promise<void> {
    const { number, name, origin } = generation
    const files = new TileFolder(join(this.folder(), name))
    // The entry about the removal is in another log, so a verifier of this one needs a note.
    const text = prunedText({ origin, firstIndex: before })
    if (!this.isPresent(generation) && (await files.prunedNote())?.startsWith(`${text}\n`) !== true) {
      const key = await this.deps.keys.current()
      await files.writePrunedNote(await signNote(text, [key.noteSigner(origin)]))
    }
    await files.prune(before, !this.isPresent(generation) && before === generation.size)
    await this.deps.index.removeBundles(number, Math.ceil(before / TILE_WIDTH))
  }

  /**
   * Removes what the index would otherwise keep forever: batches whose entries were all removed, from the oldest one on, so that the
   * chain of the others stays complete; and of the checkpoints before `beforeMs` all but the last one of each hour and of each
   * generation, and those that several keys have signed. Resolves with false if there is more.
   */
  async thin(beforeMs: number): Promise<boolean> {
    const { log } = this
    const { firstSequence = 1, thinnedTo = 0 } = log
    const { index } = this.deps
    const removed = whileTrue(
      (limit) => index.batches(log.id, firstSequence - 1, limit),
      (batch) => this.isRemoved(batch),
    )
    const checkpoints = (limit: number) => index.checkpointsAfter(log.id, thinnedTo, limit)
    const isOld = ({ number, createdMs }: AuditCheckpoint): boolean =>
      number < log.checkpoint && hourOf(createdMs) < hourOf(beforeMs)
    const old = whileTrue(checkpoints, isOld)
    const after = checkpoints(old.length + 1)
    const [last, lastRemoved] = [old.at(-1), removed.at(-1)]
    if (removed.length === 0 && last === undefined) return true
    const thinned: AuditLog = {
      ...log,
      ...(lastRemoved !== undefined && { firstSequence: lastRemoved.sequence + 1 }),
      ...(last !== undefined && { thinnedTo: last.number }),
    }
    await index.write((edits) => {
      edits.putLog(thinned)
      for (const { sequence } of removed) edits.removeBatch(log.id, sequence)
      for (const [at, each] of old.entries())
        if (!isKept(each, after[at + 1] as AuditCheckpoint)) edits.removeCheckpoint(log.id, each.number)
    })
    this.log = thinned
    return removed.length < THINNED_MAX && old.length < THINNED_MAX
  }

  /** Whether retention has removed all entries of a batch. The newest batch stays, as the start of the next one. */
  private isRemoved({ generation, to, sequence }: AuditBatch): boolean {
    const found = this.log.generations.find(({ number }) => number === generation)
    return sequence < this.log.sequence && (found === undefined || to <= found.prunedTo)
  }

  private isPresent({ number }: AuditGeneration): boolean {
    return number === this.log.generations.at(-1)?.number
  }

  /** Marks the log as that of a deleted project. */
  async markDeleted(): Promise<void> {
    const log = { ...this.log, deletedMs: this.deps.clock.now() }
    await this.deps.index.write((edits) => edits.putLog(log))
    this.log = log
  }

  /** The folder of the log. */
  folder(): string {
    return join(this.deps.folder, this.owner.id)
  }

  /** Adds signature lines of further keys to a checkpoint. `change`: edits of the same transaction. */
  async addSignatures(
    number: number,
    lines: readonly string[],
    change: (edits: AuditIndexEdits) => void,
  ): Promise<void> {
    const { index } = this.deps
    const [checkpoint] = index.checkpoints(this.owner.id, number + 1, 1)
    assert(checkpoint?.number === number, 'a checkpoint that gets signatures exists')
    const added = lines.filter((line) => !checkpoint.note.includes(line))
    const signed = { ...checkpoint, note: checkpoint.note + added.join('') }
    await index.write((edits) => {
      edits.putCheckpoint(this.owner.id, signed)
      change(edits)
    })
    if (this.checkpoint?.number === number) await this.publish(signed)
  }

  /** Adds an entry of the log about itself. `change`: edits of the same transaction. */
  async record(type: LogEntryType, members: object, change: (edits: AuditIndexEdits) => void): Promise<void> {
    await this.republish()
    await this.reopen()
    const key = await this.changeKey()
    await this.append(key, [this.ownEntry(type, members)], change)
  }

  /** An entry of the log about itself. */
  private ownEntry(type: LogEntryType, members: object): AuditEntry {
    const generation = this.log.generations.at(-1) as AuditGeneration
    const timeMs = this.deps.clock.now()
    const entry = logEntry(this.owner, generation, generation.size, type, timeMs, members)
    return { sequence: 0, entry, body: null, facts: null }
  }

  private async append(
    key: PlatformKey,
    entries: readonly AuditEntry[],
    change: (edits: AuditIndexEdits) => void,
  ): Promise<void> {
    const { deps } = this
    let { log } = this
    let all = entries
    if (log.generations.length === 0 || log.mustReopen) {
      const before = log.generations.at(-1)
      const lost = await this.lostEnd(before)
      log = this.withGeneration(log)
      const opened = log.generations.at(-1) as AuditGeneration
      const known = lost ?? before
      const previous = known === undefined ? null : { origin: known.origin, size: known.size, root: known.root }
      const isDamaged = lost !== null || log.isDamaged === true
      const reason = previous === null ? 'new' : isDamaged ? 'damaged' : 'restored'
      if (lost !== null) deps.onIndexLost(this.owner, lost, opened.origin, lost.isPublished)
      const first = logEntry(this.owner, opened, 0, 'svc.audit.log.opened', opened.openedMs, { reason, previous })
      all = [{ sequence: 0, entry: first, body: null, facts: null }, ...entries]
      await this.removeUnknownFolders(log)
      if (lost !== null) {
        // The head too: if an earlier loss was forgotten with the index, the entries of the head are missing, and not those of the newest log.
        const ends = this.lostHead === null ? [lost] : [this.lostHead.generation, lost]
        log = { ...log, lost: lostEndsWith(log.lost ?? [], ends) }
      }
    }
    if (all.length === 0) return
    const generation = log.generations.at(-1) as AuditGeneration
    const files = this.filesOf(generation.number, generation)
    for (const { body } of all) if (body !== null) await files.writeBody(body.bytes)
    const texts = all.map(({ entry }) => entry)
    const { state, root } = await files.append(treeState(generation), texts)
    const batches = signBatches(log, generation, texts, key, deps.clock.now())
    const last = batches.at(-1) as AuditBatch
    const sealedMs = deps.clock.now()
    const { isDamaged: _, ...continued } = log
    log = {
      ...continued,
      generations: [
        ...log.generations.slice(0, -1),
        {
          ...generation,
          size: state.size,
          root: Buffer.from(root).toString('base64'),
          edge: state.edge.map((hash) => Buffer.from(hash).toString('base64')),
        },
      ],
      sequence: last.sequence,
      headHash: last.headHash,
      checkpoint: log.checkpoint + 1,
      mustReopen: false,
      sealedMs,
    }
    const checkpoint = await this.sign(log, log.generations.at(-1) as AuditGeneration, key, [])
    const bundles = this.describe(generation, all)
    // In the order of the index: neighbours are in the same page.
    const postings = bundles.flatMap((terms) => terms.takePostings()).sort(comparePostings)
    const { open } = this
    // If the transaction fails, the index does not have its postings.
    this.open = null
    await deps.index.write((edits) => {
      edits.putLog(log)
      for (const batch of batches) edits.putBatch(log.id, batch)
      edits.putCheckpoint(log.id, checkpoint)
      for (const terms of bundles) edits.putBundle(terms.times())
      for (const posting of postings) edits.putPosting(posting)
      edits.addSealed(all.length)
      change(edits)
    })
    this.open = open
    this.log = log
    this.lostHead = null
    await this.publish(checkpoint)
  }

  private withGeneration(log: AuditLog): AuditLog {
    const { clock, origin } = this.deps
    const name = Array.from(randomBytes(NAME_LENGTH), (byte) => NAME_LETTERS[byte % NAME_LETTERS.length]).join('')
    const generation: AuditGeneration = {
      number: this.deps.nextGeneration(),
      name,
      origin: `${origin}/${this.owner.kind}s/${this.owner.owner.replace(/^gid:/, '')}/${name}`,
      openedMs: clock.now(),
      firstBatch: log.sequence + 1,
      size: 0,
      root: Buffer.from(rootOf(emptyTree)).toString('base64'),
      edge: [],
      prunedTo: 0,
    }
    return { ...log, generations: [...log.generations, generation] }
  }

  /**
   * A process that was killed before the first transaction of a generation has left a folder that no log names. A folder with a
   * checkpoint is a published log, which is evidence: the index was lost or replaced.
   */
  private async removeUnknownFolders(log: AuditLog): Promise<void> {
    const known = new Set(log.generations.map(({ name }) => name))
    const found = await readdir(this.folder()).catch(() => [])
    for (const name of found) {
      const folder = join(this.folder(), name)
      if (known.has(name) || (await new TileFolder(folder).checkpoint()) !== null) continue
      await rm(folder, { recursive: true, force: true })
    }
  }

  /**
   * The end of the log that the index does not have; null: it has lost nothing. A published end is newer than the head if the process was
   * killed before it wrote the head.
   */
  private async lostEnd(before: AuditGeneration | undefined): Promise<LostEnd | null> {
    const head = this.lostHead
    if (head === null && before !== undefined) return null
    const published = await this.newestPublished()
    if (head === null) return published
    const isNewer =
      published !== null &&
      (published.origin === head.generation.origin
        ? published.size >= head.generation.size
        : published.timeMs > head.sealedMs)
    return isNewer ? published : { ...head.generation, isPublished: false }
  }

  /** The log in this folder whose last entry is the newest one; null: there is no published log. */
  private async newestPublished(): Promise<(LostEnd & { readonly timeMs: number }) | null> {
    let newest: (LostEnd & { readonly timeMs: number }) | null = null
    for (const name of await readdir(this.folder()).catch(() => [])) {
      const files = new TileFolder(join(this.folder(), name))
      const checkpoint = await files.published()
      if (checkpoint === null || checkpoint.size === 0) continue
      const timeMs = await timeOfLastEntry(files, checkpoint)
      const { origin, size } = checkpoint
      const root = Buffer.from(checkpoint.root).toString('base64')
      if (newest === null || timeMs > newest.timeMs) newest = { name, origin, size, root, timeMs, isPublished: true }
    }
    return newest
  }

  private async sign(
    log: AuditLog,
    { number, origin, size, root }: AuditGeneration,
    key: PlatformKey,
    others: readonly PlatformKey[],
  ): Promise<AuditCheckpoint> {
    const text = checkpointText({ origin, size, root: Buffer.from(root, 'base64') })
    const signers = [key, ...others].map((each) => each.noteSigner(origin))
    return {
      number: log.checkpoint,
      checkpointId: randomUUID(),
      generation: number,
      sequence: log.sequence,
      headHash: log.headHash,
      size,
      root,
      note: await signNote(text, signers),
      signature: key.sign(log.headHash),
      kid: key.kid,
      createdMs: this.deps.clock.now(),
    }
  }

  /** The bundles that get entries. */
  private describe({ number, size }: AuditGeneration, all: readonly AuditEntry[]): readonly BundleTerms[] {
    const described: BundleTerms[] = []
    let terms = this.open
    all.forEach(({ entry, body, facts }, at) => {
      const index = size + at
      const bundle = Math.floor(index / TILE_WIDTH)
      if (terms?.isOf(number, bundle) !== true) {
        const isBegun = at === 0 && index > bundle * TILE_WIDTH
        terms = new BundleTerms(number, bundle, isBegun ? this.deps.index.bundle(number, bundle) : null)
      }
      if (described.at(-1) !== terms) described.push(terms)
      terms.add(facts ?? factsOf(entry, body?.bytes ?? null))
    })
    this.open = terms
    return described
  }

  /** The state in the index is ahead of the published file until this resolves. */
  private async publish(checkpoint: AuditCheckpoint): Promise<void> {
    this.checkpoint = checkpoint
    this.mustPublish = true
    this.deps.heads.put(this.log)
    await this.filesOf(checkpoint.generation).publish(checkpoint.note)
    this.mustPublish = false
  }

  private generationOf(number: number): AuditGeneration {
    const found = this.log.generations.find((each) => each.number === number)
    assert(found !== undefined, 'a checkpoint is of a generation of its log')
    return found
  }

  /** The files of a generation. Those of the present one stay in memory. */
  private filesOf(number: number, generation = this.generationOf(number)): TileFolder {
    const path = join(this.folder(), generation.name)
    if (this.files?.path !== path) this.files = new TileFolder(path)
    return this.files
  }
}

/** The first items for which `isWanted` is true. At most `THINNED_MAX`; only one is read if it is not wanted. */
function whileTrue<T>(read: (limit: number) => readonly T[], isWanted: (item: T) => boolean): readonly T[] {
  if (!read(1).some(isWanted)) return []
  const items = read(THINNED_MAX)
  const end = items.findIndex((item) => !isWanted(item))
  return end < 0 ? items : items.slice(0, end)
}

function hourOf(timeMs: number): number {
  return Math.floor(timeMs / HOUR_MS)
}

/** Whether an old checkpoint stays. Signatures of customers and the change of a platform key are further lines of its note. */
function isKept({ createdMs, generation, note }: AuditCheckpoint, next: AuditCheckpoint): boolean {
  const isLast = hourOf(createdMs) !== hourOf(next.createdMs) || generation !== next.generation
  return isLast || note.indexOf(SIGNATURE_LINE) !== note.lastIndexOf(SIGNATURE_LINE)
}

/** 0 if the entry cannot be read. */
async function timeOfLastEntry(files: TileFolder, { size }: LogCheckpoint): Promise<number> {
  try {
    const [entry = new Uint8Array()] = await files.entries(size - 1, size)
    return describeEntry(entry, null).timeMs
  } catch {
    return 0
  }
}

/** The end of a generation, as the next one names it. */
type LostEnd = Pick<AuditGeneration, 'name' | 'origin' | 'size' | 'root'> & {
  /** Whether the folder of the log has its entries. */
  readonly isPublished: boolean
}

/**
 * The log as it has to continue after entries that the index does not have: under another origin, and with the next batch and checkpoint
 * after those of the head, so that no number is used twice.
 */
function afterLoss(log: AuditLog, { sequence, headHash, checkpoint, generation }: AuditHead): AuditLog {
  const isNew = log.generations.length === 0
  return {
    ...log,
    sequence,
    headHash,
    checkpoint,
    mustReopen: true,
    isDamaged: true,
    ...(isNew
      ? { firstSequence: sequence + 1, thinnedTo: checkpoint }
      : {
          generations: [
            ...log.generations.filter(({ origin }) => origin !== generation.origin),
            lostGeneration(log, generation),
          ],
          missing: [
            ...(log.missing ?? []),
            {
              batches: { after: log.sequence, to: sequence },
              headHash,
              checkpoints: { after: log.checkpoint, to: checkpoint },
            },
          ],
        }),
  }
}

function lostGeneration({ generations }: AuditLog, lost: AuditHead['generation']): AuditGeneration {
  const found = generations.find(({ origin }) => origin === lost.origin)
  return { edge: [], prunedTo: 0, ...found, ...lost }
}

/** The state of the tree of a generation. */
function treeState({ size, edge }: Pick<AuditGeneration, 'size' | 'edge'>): TreeState {
  return { size, edge: edge.map((hash) => Buffer.from(hash, 'base64')) }
}

function newLog({ id, owner, kind }: LogOwner, sealer: Sealer): AuditLog {
  return {
    id,
    owner,
    kind,
    generations: [],
    sequence: 0,
    headHash: '',
    checkpoint: 0,
    hashKey: sealer.seal(randomBytes(HASH_KEY_BYTES).toString('base64'), hashKeyPath(id)),
    deletedMs: null,
    mustReopen: false,
    sealedMs: 0,
  }
}
