// The members of an audit entry that the log itself depends on. Entries are CloudEvents in JSON; entries of other forms have no
// facts.
import { decodeBase64, type LogCheckpoint } from './checkpoint.ts'

/** The type of the entry that is written before entries are removed. */
export const PRUNED_TYPE = 'svc.audit.log.pruned'

/** The type of the first entry of every log. */
const OPENED_TYPE = 'svc.audit.log.opened'

const BODY_REFERENCE = /^bodies\/([0-9a-f]{64})$/

/** Facts of one entry. */
interface EntryFacts {
  /** The stream of the event; null if the entry has no sequence. */
  readonly source: string | null
  /** Increases within the stream. Comparable as text. */
  readonly sequence: string
  /** SHA-256 of the payload in the folder of bodies, in hexadecimal; null if the payload is in the entry. */
  readonly body: string | null
  /** For `PRUNED_TYPE`: the index of the first entry that was not removed; otherwise null. */
  readonly prunedTo: number | null
  /** For the first entry of a log: the log that it replaces. */
  readonly previous: ReplacedLog | null
}

/** The log that another one replaces, where the replacement began. */
export interface ReplacedLog extends LogCheckpoint {
  /** True: its files were changed or removed; false: a backup was restored. */
  readonly isDamaged: boolean
}

const noFacts: EntryFacts = { source: null, sequence: '', body: null, prunedTo: null, previous: null }

/** Reads the facts of an entry. */
export function entryFacts(entry: Uint8Array): EntryFacts {
  const event = parsed(entry)
  if (typeof event !== 'object' || event === null) return noFacts
  const { source, sequence, dataref, type, data } = event as Readonly<Record<string, unknown>>
  const isSequence = typeof source === 'string' && typeof sequence === 'string'
  return {
    source: isSequence ? source : null,
    sequence: isSequence ? sequence : '',
    body: typeof dataref === 'string' ? (BODY_REFERENCE.exec(dataref)?.[1] ?? null) : null,
    prunedTo: type === PRUNED_TYPE ? firstIndexOf(data) : null,
    previous: type === OPENED_TYPE ? previousOf(data) : null,
  }
}

function parsed(entry: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(entry.buffer, entry.byteOffset, entry.length).toString())
  } catch {
    return null
  }
}

function firstIndexOf(data: unknown): number | null {
  const { firstIndex } = (data ?? {}) as { readonly firstIndex?: unknown }
  return Number.isSafeInteger(firstIndex) ? (firstIndex as number) : null
}

function previousOf(data: unknown): ReplacedLog | null {
  const { previous, reason } = (data ?? {}) as { readonly previous?: unknown; readonly reason?: unknown }
  const { origin, size, root } = (previous ?? {}) as Readonly<Record<string, unknown>>
  const hash = typeof root === 'string' ? decodeBase64(root) : null
  if (typeof origin !== 'string' || !Number.isSafeInteger(size) || hash === null) return null
  return { origin, size: size as number, root: hash, isDamaged: reason === 'damaged' }
}
