// The reads of the audit logs for auditors: batches, manifests and checkpoints, records with their proofs, the files of the logs, and
// exports. The schemas of queries and answers, and the port that the routes call.
import { z } from 'zod'
import type { ServiceError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/request/caller.ts'
import type { Result } from '../../kernel/result.ts'

const text = z.string()
const count = z.int().min(0)
const time = z.iso.datetime()
const hexHash = text.describe('SHA-256 in hexadecimal')

/** Items of a page, at most and by default. */
export const PAGE_SIZE_MAX = 50

const projectId = z
  .string()
  .min(1)
  .max(256)
  .describe('the project; for a service account also the organization, which has a log of its own')
const cursor = z.string().max(256).optional().describe('`next_cursor` of the page before')
const pagesize = z
  .string()
  .regex(/^(?:[1-9]|[1-4]\d|50)$/, { error: `expected an integer from 1 to ${PAGE_SIZE_MAX}` })
  .optional()
  .describe(`1 to ${PAGE_SIZE_MAX}, default ${PAGE_SIZE_MAX}`)
const number = (what: string) =>
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,15})$/, { error: 'expected an integer' })
    .optional()
    .describe(what)
const generation = z
  .string()
  .max(64)
  .optional()
  .describe('the history of the log, of which a restore begins another one; absent: the newest')
const instant = z.iso.datetime({ offset: true }).optional()
/** The path of a relationship has two external ids, whose characters are percent-encoded. */
const value = z.string().min(1).max(32_768).optional()

/** The query of `logs`, `manifests` and `checkpoints`. */
export const auditPageQuery = z.strictObject({ project_id: projectId, cursor, pagesize })

/** The query that names a log. */
export const auditLogQuery = z.strictObject({ project_id: projectId })

const filterShape = {
  from: instant.describe('only records at or after this time (RFC 3339)'),
  to: instant.describe('only records before this time (RFC 3339)'),
  type: z
    .string()
    .regex(/^[A-Za-z0-9_.]{1,128}\*?$/, { error: 'expected an event type, or its beginning and `*`' })
    .optional()
    .describe('only this event type; a wildcard `*` at the end matches all that begin so'),
  actor: value.describe('only records that this account, agent, application, credential or user caused: its id'),
  resource: value.describe('only records about this resource: the attribute `subject`, or its last part'),
}

/** The query of records. */
export const auditRecordQuery = z.strictObject({
  project_id: projectId,
  ...filterShape,
  order: z.enum(['oldest', 'newest']).optional().describe('which records come first, default `newest`'),
  cursor,
  pagesize,
})

/** The query of an inclusion proof. */
export const inclusionQuery = z.strictObject({
  project_id: projectId,
  generation,
  size: number('size of a listed checkpoint, to which the proof leads; absent: the newest one'),
})

/** The query of a consistency proof. */
export const consistencyQuery = z.strictObject({
  project_id: projectId,
  generation,
  from: number('size of the earlier tree; absent: 0'),
  to: number('size of the later checkpoint; absent: the newest checkpoint'),
})

/** The query of an export. */
export const auditExportQuery = z.strictObject({
  project_id: projectId,
  generation,
  ...filterShape,
  from_index: number('index of the first record; absent: the first one that retention has left'),
  to_index: number('index after the last record; absent: the size of the newest checkpoint'),
})

const signatureMembers = {
  signature: text.describe('DER in base64: ECDSA on P-256 with SHA-256'),
  kid: text.describe('the key in the JWKS'),
  alg: z.literal('ES256-DER'),
}
const generationName = text.describe('the history of the log to which the indexes belong')
const origin = text.describe('first line of the checkpoints of this generation')

/** A sealed range of entries. */
const auditBatchItem = z
  .strictObject({
    batch_id: text,
    project_id: text,
    sequence: count.describe('from 1; counts over generations'),
    data: z.array(text).describe('the entries, each a CloudEvent as the JSON text that was hashed'),
    hash: hexHash.describe('SHA-256 of the entries joined by line feeds, in hexadecimal; its text is signed'),
    ...signatureMembers,
    chain_hash: hexHash.describe('`head_hash` of the manifest'),
    manifest_id: text,
    generation: generationName,
    from: count.describe('index of the first entry'),
    to: count.describe('index after the last entry'),
    is_pruned: z.boolean().describe('true: retention has removed the entries, so `data` is empty'),
    is_missing: z.boolean().describe('true: files of the log are missing or damaged, so `data` is empty'),
  })
  .meta({ id: 'AuditLogBatch' })

/** The link of a batch in the chain. */
const auditManifestItem = z
  .strictObject({
    manifest_id: text,
    batch_id: text,
    batch_uri: text.describe('where the batch can be read'),
    project_id: text,
    sequence: count,
    prev_hash: text.describe('`head_hash` of the manifest before; empty for the first one of the log'),
    data_hash: hexHash.describe('`hash` of the batch'),
    head_hash: hexHash.describe(
      'SHA-256 of project_id, sequence, prev_hash, data_hash and batch_id, joined by `|`; its text is signed',
    ),
    ...signatureMembers,
    created_at: time,
  })
  .meta({ id: 'AuditManifest' })

/** A signed state of a log. */
const auditCheckpointItem = z
  .strictObject({
    checkpoint_id: text,
    project_id: text,
    sequence: count.describe('the last batch that it covers'),
    head_hash: hexHash.describe('of the manifest of this batch; its text is signed'),
    created_at: time,
    ...signatureMembers,
    generation: generationName,
    size: count.describe('number of entries'),
    root_hash: text.describe('root of the Merkle tree, in base64'),
    note: text.describe('the signed note (C2SP tlog-checkpoint)'),
  })
  .meta({ id: 'AuditCheckpoint' })

function pageOf(item: z.ZodType, id: string): z.ZodType {
  return z
    .strictObject({
      next_cursor: text.nullable().describe('for the next page; null: this is the last one'),
      has_more: z.boolean(),
      items: z.array(item),
    })
    .meta({ id })
}

/** A page of batches. */
export const auditBatchPage = pageOf(auditBatchItem, 'AuditLogBatchPage')
/** A page of manifests. */
export const auditManifestPage = pageOf(auditManifestItem, 'AuditManifestPage')
/** A page of checkpoints. */
export const auditCheckpointPage = pageOf(auditCheckpointItem, 'AuditCheckpointPage')

const auditEntry = z
  .looseObject({
    specversion: z.literal('1.0'),
    id: text,
    source: text,
    type: text,
    subject: text,
    time,
    data: z.unknown().optional().describe('the payload, an object: see the event types'),
    dataref: text.optional().describe('instead of `data` of a long payload: its path below the log'),
    datasha256: text.optional().describe('SHA-256 of this payload, in hexadecimal'),
  })
  .meta({ id: 'AuditEntry' })

/** A page of records. */
export const auditRecordPage = pageOf(
  z.strictObject({ index: count, generation: generationName, origin, entry: auditEntry }).meta({ id: 'AuditRecord' }),
  'AuditRecordPage',
)

const proofHashes = z.array(text).describe('hashes in base64 (RFC 9162)')

/** The answer with an inclusion proof. */
export const inclusionAnswer = z
  .strictObject({
    index: count,
    generation: generationName,
    origin,
    entry: text.describe('the entry, as the text that was hashed'),
    leaf_hash: text.describe('SHA-256 of a zero byte and the entry, in base64'),
    tree_size: count,
    root_hash: text,
    proof: proofHashes,
    checkpoint: text.describe('the signed note with `root_hash`'),
  })
  .meta({ id: 'AuditInclusionProof' })

/** The answer with a consistency proof. */
export const consistencyAnswer = z
  .strictObject({
    generation: generationName,
    origin,
    from: count,
    to: count,
    root_hash: text.describe('of the tree of `to` entries, in base64'),
    proof: proofHashes,
    checkpoint: text.describe('the signed note with `root_hash`'),
  })
  .meta({ id: 'AuditConsistencyProof' })

/** The public keys of the platform (RFC 7517). */
export const auditKeySet = z
  .strictObject({
    keys: z.array(
      z
        .strictObject({
          kty: z.literal('EC'),
          crv: z.literal('P-256'),
          x: text,
          y: text,
          kid: text,
          use: z.literal('sig'),
          alg: z.literal('ES256'),
          created_at: time,
          retired_at: time.nullable().describe('when another key replaced it; null: it is the present one'),
        })
        .meta({ id: 'AuditPublicKey' }),
    ),
  })
  .meta({ id: 'AuditKeySet' })

/** The generations of a log. */
export const auditTreesAnswer = z
  .strictObject({
    project_id: text,
    customer_keys: z
      .array(text)
      .describe('the customer-managed keys that sign and have signed checkpoints, as verifier keys of signed notes'),
    generations: z
      .array(
        z
          .strictObject({
            generation: generationName,
            origin,
            url: text.describe('base of the checkpoint and the tiles (C2SP tlog-tiles)'),
            opened_at: time,
            size: count,
            first_index: count.describe('entries before this one were removed by retention'),
            verifier_keys: z.array(text).describe('the keys of the platform as verifier keys of signed notes'),
          })
          .meta({ id: 'AuditGeneration' }),
      )
      .describe('oldest first; the last one is the present one'),
  })
  .meta({ id: 'AuditTrees' })

/** A page of records, as the port returns it: entries are bytes that must not change. */
interface RecordPage {
  readonly nextCursor: string | null
  readonly items: readonly FoundRecord[]
}

/** An entry with its place. */
export interface FoundRecord {
  readonly index: number
  readonly generation: string
  readonly origin: string
  /** JSON in UTF-8. */
  readonly entry: Uint8Array
}

/** A file of a log. */
export interface AuditFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mediaType: string
}

/** A page of items. */
export interface ItemPage<T> {
  readonly next_cursor: string | null
  readonly has_more: boolean
  readonly items: readonly T[]
}

/** See `auditBatchItem`. */
export type AuditBatchItem = z.infer<typeof auditBatchItem>
/** See `auditManifestItem`. */
export type AuditManifestItem = z.infer<typeof auditManifestItem>
/** See `auditCheckpointItem`. */
export type AuditCheckpointItem = z.infer<typeof auditCheckpointItem>
/** See `inclusionAnswer`. */
type InclusionAnswer = z.infer<typeof inclusionAnswer>
/** See `consistencyAnswer`. */
type ConsistencyAnswer = z.infer<typeof consistencyAnswer>
/** See `auditKeySet`. */
export type AuditKeySet = z.infer<typeof auditKeySet>
/** See `auditTreesAnswer`. */
export type AuditTreesAnswer = z.infer<typeof auditTreesAnswer>

type Answer<T> = Promise<Result<T, ServiceError>>

/**
 * Reads the audit logs. Queries are valid by their schemas. Errors of all operations: `forbidden` if the caller may not read the
 * log, `not-found` if the project of an agent was deleted, and `malformed` for cursors and numbers that do not fit it. They reject with
 * DataCorruptionError if files of the log are missing, or searched entries were changed.
 */
export interface AuditReads {
  batches(caller: Caller, query: URLSearchParams): Answer<ItemPage<AuditBatchItem>>
  manifests(caller: Caller, query: URLSearchParams): Answer<ItemPage<AuditManifestItem>>
  checkpoints(caller: Caller, query: URLSearchParams): Answer<ItemPage<AuditCheckpointItem>>
  /** The keys of the platform. They are public. */
  keys(): Promise<AuditKeySet>
  trees(caller: Caller, query: URLSearchParams): Answer<AuditTreesAnswer>
  records(caller: Caller, query: URLSearchParams): Answer<RecordPage>
  /** `index`: of the path. Also `not-found`. */
  inclusion(caller: Caller, index: string, query: URLSearchParams): Answer<InclusionAnswer>
  consistency(caller: Caller, query: URLSearchParams): Answer<ConsistencyAnswer>
  /** The lines of an export, in chunks. `isHead`: they are not read. Also `not-found`. */
  export(caller: Caller, query: URLSearchParams, isHead: boolean): Answer<AsyncIterator<string, void>>
  /** A file of a log by its path below the generation. Also `not-found`. */
  file(caller: Caller, log: string, generation: string, path: string): Answer<AuditFile>
}
