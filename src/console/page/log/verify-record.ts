// Verifies a log and its records in the page: signatures, inclusion, and that the log continues the state that this browser has seen.
import { ApiError } from '../api.ts'
import {
  type GivenProof,
  type ListedRecord,
  type LogTrees,
  readCheckpoint,
  readConsistency,
  readProof,
  readTrees,
} from './audit-api.ts'
import { base64Of, bytesOfBase64, bytesOfText } from './audit-bytes.ts'
import { logKeyOf, type NoteKey, openCheckpoint, type TreeHead } from './checkpoint-note.ts'
import { hashOfLeaf, provesConsistency, provesInclusion } from './merkle-proof.ts'
import { rememberCheckpoint, type SeenCheckpoint, seenCheckpoints } from './seen-log.ts'

/** A verified statement. `unknown`: it could not be verified, which is no statement about the log. */
export interface VerifiedStep {
  readonly state: 'good' | 'bad' | 'unknown'
  readonly title: string
  readonly detail: string
}

/** The result. `fork`: the checkpoints that contradict each other. */
export interface Verdict {
  readonly state: 'good' | 'bad' | 'unknown'
  readonly steps: readonly VerifiedStep[]
  readonly size: number
  readonly fork: { readonly seen: SeenCheckpoint; readonly found: string } | null
  /** A state with another key or generation than those that this browser has seen. The user decides whether it is expected. */
  readonly unexpected: SeenCheckpoint | null
}

/** Browsers offer cryptography only to pages of https and of the same machine. */
const unsupported: VerifiedStep = {
  state: 'unknown',
  title: 'Not verifiable in this browser',
  detail: 'The cryptography of the browser is available only over https and on the machine of the service itself.',
}

/** To the second, in UTC. */
function dayText(time: string): string {
  return `${time.slice(0, 19).replace('T', ' ')} UTC`
}

const good = (title: string, detail: string): VerifiedStep => ({ state: 'good', title, detail })
const bad = (title: string, detail: string): VerifiedStep => ({ state: 'bad', title, detail })
const unknown = (title: string, detail: string): VerifiedStep => ({ state: 'unknown', title, detail })

function verdictOf(steps: readonly VerifiedStep[], size: number, more: Partial<Verdict> = {}): Verdict {
  const has = (state: VerifiedStep['state']): boolean => steps.some((step) => step.state === state)
  return {
    state: has('bad') ? 'bad' : has('unknown') ? 'unknown' : 'good',
    steps,
    size,
    fork: null,
    unexpected: null,
    ...more,
  }
}

/** Verifies the newest checkpoint of a log. Rejects as `call` does. */
export async function verifyLog(log: string, signal: AbortSignal): Promise<Verdict> {
  if (crypto.subtle === undefined) return verdictOf([unsupported], 0)
  const trees = await readTrees(log, signal)
  const generation = trees.generations.at(-1)
  if (generation === undefined)
    return verdictOf([good('Nothing is signed yet', 'Entries are signed about a second after they are recorded.')], 0)
  const note = await readCheckpoint(generation, signal)
  return verifyCheckpoint(log, trees, generation.generation, note, signal)
}

/** Verifies that the log has a record. Rejects as `call` does. */
export async function verifyRecord(log: string, record: ListedRecord, signal: AbortSignal): Promise<Verdict> {
  if (crypto.subtle === undefined) return verdictOf([unsupported], 0)
  const [trees, given] = await Promise.all([readTrees(log, signal), readProof(log, record, signal)])
  const checkpoint = await verifyCheckpoint(log, trees, record.generation, given.checkpoint, signal)
  const steps = await inclusionSteps(record, given, trees)
  const { size, fork, unexpected } = checkpoint
  return verdictOf([...steps, ...checkpoint.steps], size, { fork, unexpected })
}

async function inclusionSteps(record: ListedRecord, given: GivenProof, trees: LogTrees): Promise<VerifiedStep[]> {
  const shown = 'The record on this page is the entry of the log'
  // Both texts were read by the same JSON reader: they are equal if their members are, in this order.
  if (given.index !== record.index || !isSameJson(given.entry, record.entry))
    return [bad(shown, 'The entry in the proof has another content than the record in the list.')]
  const opened = await openCheckpoint(given.checkpoint, await keysOf(trees, record.generation))
  const path = 'The log contains the entry'
  // The step about the checkpoint has the reason.
  if (typeof opened === 'string') return [bad(path, 'Without a valid checkpoint, nothing is proven.')]
  const proof = given.proof.map(bytesOfBase64).filter((hash) => hash !== null)
  const { size, root } = opened.head
  const leaf = await hashOfLeaf(bytesOfText(given.entry))
  const isIncluded =
    proof.length === given.proof.length && (await provesInclusion(leaf, record.index, size, proof, root))
  return [
    good(shown, `SHA-256 of its text: ${base64Of(leaf)}`),
    isIncluded
      ? good(
          path,
          `${proof.length} hashes lead from entry ${record.index} to the root of ${size} entries: ${base64Of(root)}`,
        )
      : bad(path, 'The hashes do not lead from the entry to the signed root: the entry or the proof was changed.'),
  ]
}

function isSameJson(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value)
  } catch {
    return false
  }
}

async function keysOf({ generations, customer_keys }: LogTrees, generation: string): Promise<NoteKey[]> {
  const own = generations.find((one) => one.generation === generation)?.verifier_keys ?? []
  const keys = await Promise.all([...own, ...customer_keys].map(logKeyOf))
  return keys.filter((key) => key !== null)
}

async function verifyCheckpoint(
  log: string,
  trees: LogTrees,
  generation: string,
  note: string,
  signal: AbortSignal,
): Promise<Verdict> {
  const opened = await openCheckpoint(note, await keysOf(trees, generation))
  const title = 'The checkpoint is signed'
  if (typeof opened === 'string') return verdictOf([bad(title, opened)], 0)
  const { head, signedBy } = opened
  const origin = trees.generations.find((one) => one.generation === generation)?.origin
  if (head.origin !== origin) return verdictOf([bad(title, `It is of another log: ${head.origin}`)], head.size)
  if (signedBy.length === 0)
    return verdictOf([unknown(title, 'This browser cannot verify signatures of this type.')], head.size)
  const all = seenCheckpoints(log)
  const seen = all.find((one) => one.origin === origin) ?? null
  const knownKeys = all.flatMap(({ keys }) => keys)
  const isNewKey = all.length > 0 && !signedBy.some((key) => knownKeys.includes(keyText(key)))
  const isNewGeneration = all.length > 0 && seen === null && trees.generations.at(-1)?.generation === generation
  const names = signedBy.map(({ name, id }) => `${name}, key ${id}`).join('; ')
  const steps = [
    isNewKey
      ? unknown(title, `By a key that this browser has not seen before: ${names}. Compare its id with the operator.`)
      : good(title, `By ${names}.`),
    isNewGeneration
      ? generationStep(all, trees)
      : seen === null
        ? firstSeen
        : await continuityStep(log, seen, head, generation, signal),
  ]
  const found: SeenCheckpoint = {
    origin,
    generation,
    size: head.size,
    root: base64Of(head.root),
    note,
    time: new Date().toISOString(),
    keys: [...new Set([...(seen?.keys ?? []), ...signedBy.map(keyText)])],
  }
  const isBad = steps.some(({ state }) => state === 'bad')
  if (steps.every(({ state }) => state === 'good') && (seen === null || seen.size < head.size))
    rememberCheckpoint(log, found)
  return verdictOf(steps, head.size, {
    fork: isBad && seen !== null ? { seen, found: note } : null,
    unexpected: !isBad && (isNewKey || isNewGeneration) ? found : null,
  })
}

function keyText({ id, bytes }: NoteKey): string {
  return `${id} ${base64Of(bytes)}`
}

const firstSeen = good(
  'The first checkpoint of this log that this browser sees',
  'It is remembered, to notice if the log is rewritten later.',
)

/** The log has another generation than before. */
function generationStep(all: readonly SeenCheckpoint[], { generations }: LogTrees): VerifiedStep {
  const lost = all.find(({ origin }) => !generations.some((one) => one.origin === origin))
  if (lost !== undefined)
    return bad(
      'A generation of the log was removed',
      `This browser has seen ${lost.generation} with ${lost.size} entries on ${dayText(lost.time)}.`,
    )
  return unknown(
    'The log has begun another generation',
    'A restore of a backup does so, or damage to the files of the log. The first entry of the generation has the reason.',
  )
}

async function continuityStep(
  log: string,
  seen: SeenCheckpoint,
  head: TreeHead,
  generation: string,
  signal: AbortSignal,
): Promise<VerifiedStep> {
  const title = 'The log continues what this browser has seen'
  const root = bytesOfBase64(seen.root)
  if (root === null) return unknown(title, 'The remembered checkpoint is unreadable.')
  const before: TreeHead = { origin: seen.origin, size: seen.size, root }
  const isShorter = head.size < seen.size
  const [first, second] = isShorter ? [head, before] : [before, head]
  const isSame = first.size === second.size
  try {
    const texts = isSame ? [] : await readConsistency(log, generation, first.size, second.size, signal)
    const proof = texts.map(bytesOfBase64).filter((hash) => hash !== null)
    const isComplete = proof.length === texts.length
    if (isComplete && (await provesConsistency(first.size, second.size, first.root, second.root, proof)))
      return good(title, `It had ${seen.size} entries on ${dayText(seen.time)}.`)
    return bad(
      'The log was rewritten',
      `It contradicts the ${seen.size} entries that were signed on ${dayText(seen.time)}.`,
    )
  } catch (failure) {
    if (!(failure instanceof ApiError)) throw failure
    if (failure.status === 503) return unknown(title, failure.message)
    if (isShorter)
      return bad(
        'Entries were removed',
        `The log has ${head.size} entries, and had ${seen.size} on ${dayText(seen.time)}.`,
      )
    return bad('The service does not prove that the log continues', failure.message)
  }
}
