// The values in the index of the audit logs. The entries themselves are in files next to it, one folder for each generation of a
// log.

import type { AuditPostingKey } from '../format/keys.ts'

/** One history of a log. A restore begins another one, because sequences after the restored state may have been published. */
export interface AuditGeneration {
  /** Unique in the data folder. */
  readonly number: number
  /** The name of its folder: 10 random letters. */
  readonly name: string
  /** The first line of its checkpoints, and the name of its keys. */
  readonly origin: string
  readonly openedMs: number
  /** Sequence of its first batch. */
  readonly firstBatch: number
  /** The number of sealed entries. */
  readonly size: number
  /** The root of the tree of `size` entries, in base64. */
  readonly root: string
  /** The complete subtrees at the right edge of the tree, largest first, in base64. */
  readonly edge: readonly string[]
  /** Entries before this index were removed because of their age. */
  readonly prunedTo: number
}

/** A log: that of a project, or that of the organization. */
export interface AuditLog {
  /** The name of its folder. */
  readonly id: string
  /** The project or the organization, as a global id. */
  readonly owner: string
  readonly kind: 'project' | 'organization'
  /** Oldest first. The last one is the present one. */
  readonly generations: readonly AuditGeneration[]
  /** Sequence of the last batch; 0: there is no batch. Counts over generations. */
  readonly sequence: number
  /** Batches before this one were removed, because retention has removed all their entries; absent: 1. */
  readonly firstSequence?: number
  /** `head_hash` of the last batch; empty: there is no batch. */
  readonly headHash: string
  /** Number of the last checkpoint. Counts over generations. */
  readonly checkpoint: number
  /** Of the checkpoints up to this one, only some were kept, because they are old; absent: 0. */
  readonly thinnedTo?: number
  /** The key of the hashes of values, encrypted with the master key. */
  readonly hashKey: string
  /** When its project was deleted; null: it was not. */
  readonly deletedMs: number | null
  /** True: the next entry begins another generation. */
  readonly mustReopen: boolean
  /** The files of the present generation differ from this state, so that it cannot be continued; absent: they do not. */
  readonly isDamaged?: boolean
  /** When the last batch was sealed. */
  readonly sealedMs: number
  /** Ends of the log that were lost with its index, oldest first; absent: none were. */
  readonly lost?: readonly LostLogEnd[]
  /** The numbers that the index does not have, because it was replaced by an older one; oldest first; absent: it has all. */
  readonly missing?: readonly MissingNumbers[]
}

/** Batches and checkpoints between those of an older index and those that were made after it was put back. */
interface MissingNumbers {
  /** The last batch before them, and the last one of them. */
  readonly batches: { readonly after: number; readonly to: number }
  /** `head_hash` of the last missing batch. */
  readonly headHash: string
  readonly checkpoints: { readonly after: number; readonly to: number }
}

/** A generation of which the index has lost entries, because the folder of the audit trail was removed or replaced. */
export interface LostLogEnd {
  /** The name of its folder. */
  readonly name: string
  readonly origin: string
  readonly size: number
}

/** How far a stream of an outbox is sealed. */
export interface AuditCursor {
  /** The origin of the last sealed record. */
  readonly origin: string
  /** Sequence of the next event. */
  readonly next: number
}

/** Entries that were signed together, with their manifest. */
export interface AuditBatch {
  /** From 1. Counts over generations. */
  readonly sequence: number
  readonly batchId: string
  /** Number of the generation. */
  readonly generation: number
  /** Indexes of its entries in the generation: from `from` up to and without `to`. */
  readonly from: number
  readonly to: number
  /** SHA-256 of the entries joined by line feeds, in hex. */
  readonly hash: string
  /** `head_hash` of the batch before; empty for the first one. */
  readonly prevHash: string
  /** SHA-256 of owner, sequence, prevHash, hash and batchId, joined by `|`, in hex. */
  readonly headHash: string
  /** Of the text of `hash`: ECDSA on P-256 with SHA-256, DER in base64. */
  readonly signature: string
  readonly manifestId: string
  /** Of the text of `headHash`. */
  readonly manifestSignature: string
  readonly kid: string
  readonly createdMs: number
}

/** A published state of a log. */
export interface AuditCheckpoint {
  /** From 1. Counts over generations. */
  readonly number: number
  readonly checkpointId: string
  /** Number of the generation. */
  readonly generation: number
  /** The last batch that it covers. */
  readonly sequence: number
  readonly headHash: string
  readonly size: number
  /** In base64. */
  readonly root: string
  /** The signed note (C2SP tlog-checkpoint), as published. */
  readonly note: string
  /** Of the text of `headHash`. */
  readonly signature: string
  readonly kid: string
  readonly createdMs: number
}

/** How a key that the customer manages has signed the log of its project. */
export interface AuditKeyState {
  /** Id of the configuration. */
  readonly configuration: string
  /** Revision of the configuration whose key signed last; 0: none has signed. */
  readonly revision: number
  readonly kid: string
  /** The public key that signed last: DER of SubjectPublicKeyInfo in base64; empty: none has signed. */
  readonly spki: string
  /** When it last signed; null: never. */
  readonly signedMs: number | null
  /** The last checkpoint that it signed: its number, generation, entries and platform key. */
  readonly checkpoint: number
  readonly generation: number
  readonly size: number
  readonly platformKid: string
  /** Why the last attempt failed; empty: it did not fail. */
  readonly error: string
  /** Since when a signature is due and fails; null: none is. */
  readonly overdueMs: number | null
  /** Whether the log has an entry about it. */
  readonly isReported: boolean
  /** Number of the last request (`addKeyRequest`) that was done; 0: none. */
  readonly requestDone: number
}

/** A key that signs the logs. */
export interface AuditSigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  /** The public key: DER of SubjectPublicKeyInfo in base64. */
  readonly spki: string
  /** The private key: JWK, encrypted with the master key. */
  readonly sealedPrivate: string
  readonly createdMs: number
  /** When another key replaced it; null: it is the present one. */
  readonly retiredMs: number | null
}

/** The dimensions of the search. Stored: never renumber them. */
export const AUDIT_DIMENSION = { type: 1, actor: 2, resource: 3 } as const
/** The number of a dimension. */
export type AuditDimension = (typeof AUDIT_DIMENSION)[keyof typeof AUDIT_DIMENSION]

/** A value by which an entry can be found. */
export interface AuditTerm {
  readonly dimension: AuditDimension
  readonly value: string
}

/** That a value occurs in a bundle. */
export type AuditPosting = AuditPostingKey

/** The entries of one bundle that were sealed: terms, and when the entries happened. */
export interface AuditBundle {
  readonly generation: number
  /** Index of the first entry divided by 256. */
  readonly bundle: number
  readonly fromMs: number
  readonly toMs: number
}

/** The condition of a search. Members that are absent or empty do not restrict the result. */
export interface AuditFilter {
  readonly types?: readonly string[]
  readonly actors?: readonly string[]
  readonly resources?: readonly string[]
  /** Milliseconds since the epoch, inclusive. */
  readonly fromMs?: number
  /** Milliseconds since the epoch, exclusive. */
  readonly toMs?: number
}

/** A place among the bundles of a log. */
export interface AuditPosition {
  readonly generation: number
  readonly bundle: number
}
