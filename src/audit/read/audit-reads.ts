// Reads the audit logs for auditors: finds the log that a caller may read, and answers with items, proofs, files and exports of it.
import { createPublicKey } from 'node:crypto'
import { DataCorruptionError, type ServiceError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/request/caller.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { timestamp } from '../../kernel/time/clock.ts'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type {
  AuditBatch,
  AuditCheckpoint,
  AuditGeneration,
  AuditLog,
  AuditSigningKey,
} from '../../store/audit/audit-types.ts'
import { leafHash } from '../log/merkle.ts'
import { PRUNED_FILE } from '../log/pruned-note.ts'
import { verifierKey } from '../log/signed-note.ts'
import { CHECKPOINT_FILE, type TileFolder } from '../log/tile-folder.ts'
import { hashesAtLevel, parseTilePath, TILE_WIDTH } from '../log/tile-path.ts'
import { ExportTurns, exportRecords } from './export-records.ts'
import { type LogAccessDeps, readableLog } from './log-access.ts'
import { checkpointOf, generationOf, LogReader } from './log-reader.ts'
import { decodeCursor, decodeRecordCursor, encodeCursor, encodeRecordCursor } from './page-cursor.ts'
import {
  type AuditBatchItem,
  type AuditCheckpointItem,
  type AuditKeySet,
  type AuditManifestItem,
  type AuditReads,
  type ItemPage,
  PAGE_SIZE_MAX,
} from './read-operations.ts'
import { readRecordFilter } from './record-filter.ts'
import { searchRecords } from './search-records.ts'

/** Bytes of entries in a page of batches, beyond which no batch is added. */
const PAGE_BYTES = 4 * 1024 * 1024
/** The generation in the path of tiles that stands for the newest one. */
export const NEWEST = 'newest'

const ALGORITHM = 'ES256-DER'
const BODY_PATH = /^bodies\/([0-9a-f]{64})$/

/** Collaborators of the reads. */
interface AuditReadDeps extends LogAccessDeps {
  index(): Promise<AuditIndex>
  /** The folder with one folder per log. */
  readonly folder: string
  /** Where clients reach the service, without a slash at the end. */
  readonly publicUrl: string
  /** The verifier keys of the keys that the customer of a project manages, with those that were replaced. */
  customerKeys(projectId: string): readonly string[]
  /** Called for a failure that the answer does not report, or only in part. */
  onFailure(failure: { readonly error: unknown }): void
}

/** A log that the caller may read; null: no entry is sealed yet. */
interface OpenedLog {
  readonly index: AuditIndex
  readonly log: AuditLog | null
}

/** Builds the reads. */
export function createAuditReads(deps: AuditReadDeps): AuditReads {
  const reader = new LogReader(deps.folder)
  const turns = new ExportTurns()

  async function open(caller: Caller, owner: string): Promise<Result<OpenedLog, ServiceError>> {
    const index = await deps.index()
    const id = readableLog(deps, caller, owner, (log) => index.state(log))
    return id.ok ? ok({ index, log: index.state(id.value) }) : id
  }

  const ownerOf = (query: URLSearchParams): string => query.get('project_id') ?? ''

  /** A page of items with numbers. `read`: returns those after a place. */
  async function page<T, Item>(
    caller: Caller,
    query: URLSearchParams,
    kind: string,
    lastOf: (log: AuditLog) => number,
    read: (index: AuditIndex, log: AuditLog, place: number | null, limit: number) => readonly T[],
    numberOf: (item: T) => number,
    itemOf: (index: AuditIndex, log: AuditLog, item: T) => Promise<{ readonly item: Item; readonly bytes: number }>,
  ): Promise<Result<ItemPage<Item>, ServiceError>> {
    const opened = await open(caller, ownerOf(query))
    if (!opened.ok) return opened
    const { index, log } = opened.value
    const place = decodeCursor(query.get('cursor'), kind, log?.id ?? '', log === null ? 0 : lastOf(log))
    if (!place.ok) return place
    if (log === null) return ok({ next_cursor: null, has_more: false, items: [] })
    const limit = limitOf(query)
    const found = read(index, log, place.value, limit + 1)
    const items: Item[] = []
    let [bytes, last] = [0, 0]
    for (const one of found.slice(0, limit)) {
      const described = await itemOf(index, log, one)
      if (items.length > 0 && bytes + described.bytes > PAGE_BYTES) break
      items.push(described.item)
      bytes += described.bytes
      last = numberOf(one)
    }
    const hasMore = items.length < found.length
    return ok({ next_cursor: hasMore ? encodeCursor(kind, log.id, last) : null, has_more: hasMore, items })
  }

  async function batchItem(
    index: AuditIndex,
    log: AuditLog,
    batch: AuditBatch,
  ): Promise<{ item: AuditBatchItem; bytes: number }> {
    const { entries, isMissing } = await entriesOf(index, log, batch)
    const bytes = entries?.reduce((sum, { length }) => sum + length, 0) ?? 0
    const { batchId, sequence, hash, signature, kid, headHash, manifestId, from, to } = batch
    const item = {
      batch_id: batchId,
      project_id: log.owner,
      sequence,
      data: entries?.map(textOf) ?? [],
      hash,
      signature,
      kid,
      alg: ALGORITHM,
      chain_hash: headHash,
      manifest_id: manifestId,
      generation: log.generations.find(({ number }) => number === batch.generation)?.name ?? '',
      from,
      to,
      is_pruned: entries === null && !isMissing,
      is_missing: isMissing,
    } as const
    return { item, bytes }
  }

  /** Null: they were removed, at least the first ones. `isMissing`: not by retention. */
  async function entriesOf(
    index: AuditIndex,
    log: AuditLog,
    { generation, from, to }: AuditBatch,
  ): Promise<{ readonly entries: readonly Uint8Array[] | null; readonly isMissing: boolean }> {
    const found = log.generations.find(({ number }) => number === generation)
    if (found === undefined) return { entries: null, isMissing: false }
    try {
      return { entries: await reader.generation(index, log, found).entries(from, to), isMissing: false }
    } catch (error) {
      // Other batches of the page, and the signatures of this one, can still be read.
      if (!(error instanceof DataCorruptionError)) throw error
      deps.onFailure({ error })
      return { entries: null, isMissing: true }
    }
  }

  /** Where exactly one batch is read. */
  function batchUri({ id, owner }: AuditLog, sequence: number): string {
    const query = new URLSearchParams({ project_id: owner, pagesize: '1' })
    if (sequence > 1) query.set('cursor', encodeCursor('logs', id, sequence - 1))
    return `${deps.publicUrl}/audit/v1/logs?${query}`
  }

  /** The generation and the checkpoint of a query. Errors: `not-found`, `malformed`. */
  async function openAt(
    caller: Caller,
    query: URLSearchParams,
    sizeParameter: string,
  ): Promise<Result<OpenedAt, ServiceError>> {
    const opened = await open(caller, ownerOf(query))
    if (!opened.ok) return opened
    const { index, log } = opened.value
    const name = query.get('generation')
    const generation = log === null ? null : generationOf(log, name)
    if (log === null || generation === null)
      return err({
        kind: 'not-found',
        message: name === null ? 'the audit log has no entries yet' : `the audit log has no generation \`${name}\``,
      })
    const size = numberOf(query, sizeParameter)
    const checkpoint = checkpointOf(index, log, generation.number, size)
    if (checkpoint === null)
      return malformed(`${sizeParameter}: expected the size of a checkpoint of the log, found \`${size}\``)
    return ok({ index, log, generation, checkpoint })
  }

  return {
    batches: (caller, query) =>
      page(
        caller,
        query,
        'logs',
        ({ sequence }) => sequence,
        (index, { id }, place, limit) => index.batches(id, place ?? 0, limit),
        ({ sequence }) => sequence,
        batchItem,
      ),

    manifests: (caller, query) =>
      page(
        caller,
        query,
        'manifests',
        ({ sequence }) => sequence,
        (index, { id }, place, limit) => index.batches(id, place ?? 0, limit),
        ({ sequence }) => sequence,
        async (_, log, batch) => ({
          item: manifestItem(log, batch, batchUri(log, batch.sequence)),
          bytes: 0,
        }),
      ),

    checkpoints: (caller, query) =>
      page(
        caller,
        query,
        'checkpoints',
        ({ checkpoint }) => checkpoint,
        (index, { id }, place, limit) => index.checkpoints(id, place ?? Number.POSITIVE_INFINITY, limit),
        ({ number }) => number,
        async (_, log, checkpoint) => ({ item: checkpointItem(log, checkpoint), bytes: 0 }),
      ),

    async keys() {
      const keys = (await deps.index()).keys()
      return { keys: keys.map(publicKeyItem) }
    },

    async trees(caller, query) {
      const opened = await open(caller, ownerOf(query))
      if (!opened.ok) return opened
      const { index, log } = opened.value
      const keys = index.keys().map(({ spki }) => Buffer.from(spki, 'base64'))
      return ok({
        project_id: ownerOf(query),
        customer_keys: [...deps.customerKeys(ownerOf(query))],
        generations: (log?.generations ?? []).map(({ name, origin, openedMs, size, prunedTo }) => ({
          generation: name,
          origin,
          url: `${deps.publicUrl}/audit/v1/tlog/${log?.id}/${name}`,
          opened_at: timestamp(openedMs),
          size,
          first_index: prunedTo,
          verifier_keys: keys.map((spki) => verifierKey(origin, spki)),
        })),
      })
    },

    async records(caller, query) {
      const isNewestFirst = query.get('order') !== 'oldest'
      const filter = readRecordFilter(query)
      if (!filter.ok) return filter
      const opened = await open(caller, ownerOf(query))
      if (!opened.ok) return opened
      const { index, log } = opened.value
      const place = decodeRecordCursor(query.get('cursor'), log ?? { id: '', generations: [] }, isNewestFirst)
      if (!place.ok) return place
      if (log === null) return ok({ nextCursor: null, items: [] })
      const search = { index, reader, log, filter: filter.value, isNewestFirst }
      const { items, next } = await searchRecords(search, place.value, limitOf(query))
      return ok({ nextCursor: next === null ? null : encodeRecordCursor(log.id, next, isNewestFirst), items })
    },

    async inclusion(caller, path, query) {
      const opened = await openAt(caller, query, 'size')
      if (!opened.ok) return opened
      const { log, generation, checkpoint } = opened.value
      const index = /^(?:0|[1-9]\d{0,15})$/.test(path) ? Number(path) : Number.NaN
      if (!(index < checkpoint.size)) return notFound(`the tree of ${checkpoint.size} entries has no entry \`${path}\``)
      const files = reader.generation(opened.value.index, log, generation)
      const [entry] = (await files.entries(index, index + 1)) ?? []
      if (entry === undefined) return notFound(`retention has removed the entry ${index}`)
      const proof = await files.inclusionProof(index, checkpoint.size)
      return ok({
        index,
        generation: generation.name,
        origin: generation.origin,
        entry: textOf(entry),
        leaf_hash: base64(leafHash(entry)),
        tree_size: checkpoint.size,
        root_hash: checkpoint.root,
        proof: proof.map(base64),
        checkpoint: checkpoint.note,
      })
    },

    async consistency(caller, query) {
      const opened = await openAt(caller, query, 'to')
      if (!opened.ok) return opened
      const { index, log, generation, checkpoint } = opened.value
      const from = numberOf(query, 'from') ?? 0
      if (from > checkpoint.size)
        return malformed(`from: expected at most ${checkpoint.size}, the size of the later tree, found \`${from}\``)
      const proof =
        from === 0 ? [] : await reader.generation(index, log, generation).consistencyProof(from, checkpoint.size)
      return ok({
        generation: generation.name,
        origin: generation.origin,
        from,
        to: checkpoint.size,
        root_hash: checkpoint.root,
        proof: proof.map(base64),
        checkpoint: checkpoint.note,
      })
    },

    async export(caller, query, isHead) {
      const filter = readRecordFilter(query)
      if (!filter.ok) return filter
      const withoutSize = new URLSearchParams(query)
      withoutSize.delete('to_index')
      const opened = await openAt(caller, withoutSize, 'to_index')
      if (!opened.ok) return opened
      const { index, log, generation, checkpoint } = opened.value
      const to = numberOf(query, 'to_index') ?? checkpoint.size
      const from = numberOf(query, 'from_index') ?? Math.min(generation.prunedTo, to)
      if (to > checkpoint.size) return malformed(`to_index: expected at most ${checkpoint.size}, found \`${to}\``)
      if (from > to) return malformed(`from_index: expected at most ${to}, found \`${from}\``)
      if (from < generation.prunedTo && from < to)
        return malformed(`from_index: retention has removed the entries before ${generation.prunedTo}`)
      const files = reader.generation(index, log, generation)
      const lines = exportRecords({ index, files, log, generation, checkpoint, from, to, filter: filter.value, turns })
      return ok(await startedExport(lines, isHead, deps.onFailure))
    },

    async file(caller, logId, name, path) {
      const index = await deps.index()
      const log = index.state(logId)
      // The id of a log is that of its project, which the caller must be allowed to read.
      const readable = readableLog(deps, caller, log?.owner ?? `gid:${logId}`, () => log)
      if (!readable.ok) return readable
      const generation = log === null ? null : generationOf(log, name === NEWEST ? null : name)
      if (log === null || generation === null) return notFound(`no audit log \`${logId}/${name}\``)
      const { files } = reader.generation(index, log, generation)
      if (path === CHECKPOINT_FILE || path === PRUNED_FILE) {
        const note = path === PRUNED_FILE ? await files.prunedNote() : await files.checkpoint()
        return note === null
          ? notFound(`the audit log has no file \`${path}\``)
          : ok({ bytes: new TextEncoder().encode(note), mediaType: 'text/plain; charset=utf-8' })
      }
      const body = BODY_PATH.exec(path)?.[1]
      const bytes = body === undefined ? await tileOf(files, generation, path) : await files.readBody(body)
      if (bytes === null) return notFound(`the audit log has no file \`${path}\``)
      const mediaType = body === undefined ? 'application/octet-stream' : 'application/json'
      return ok({ bytes: new Uint8Array(bytes), mediaType })
    },
  }
}

interface OpenedAt {
  readonly index: AuditIndex
  readonly log: AuditLog
  readonly generation: AuditGeneration
  readonly checkpoint: AuditCheckpoint
}

/**
 * Waits for the first lines, so that a failure before them is answered with an error. A later failure ends the answer without its last
 * line. `isHead`: nothing is read.
 */
async function startedExport(
  lines: AsyncGenerator<string, void>,
  isHead: boolean,
  onFailure: AuditReadDeps['onFailure'],
): Promise<AsyncIterator<string, void>> {
  if (isHead) return lines
  const first = await lines.next()
  return (async function* () {
    try {
      if (first.done !== true) yield first.value
      yield* lines
    } catch (error) {
      onFailure({ error })
      throw error
    } finally {
      await lines.return()
    }
  })()
}

/** Files beyond the sealed size may still change. */
async function tileOf(files: TileFolder, { size }: AuditGeneration, path: string): Promise<Uint8Array | null> {
  const tile = parseTilePath(path)
  if (tile === null || tile.index * TILE_WIDTH + tile.width > hashesAtLevel(tile.level, size)) return null
  return files.read(tile)
}

function manifestItem({ owner }: AuditLog, batch: AuditBatch, uri: string): AuditManifestItem {
  const { manifestId, batchId, sequence, prevHash, hash, headHash, manifestSignature, kid, createdMs } = batch
  return {
    manifest_id: manifestId,
    batch_id: batchId,
    batch_uri: uri,
    project_id: owner,
    sequence,
    prev_hash: prevHash,
    data_hash: hash,
    head_hash: headHash,
    signature: manifestSignature,
    kid,
    alg: ALGORITHM,
    created_at: timestamp(createdMs),
  }
}

function checkpointItem(log: AuditLog, checkpoint: AuditCheckpoint): AuditCheckpointItem {
  const { checkpointId, sequence, headHash, createdMs, signature, kid, generation, size, root, note } = checkpoint
  return {
    checkpoint_id: checkpointId,
    project_id: log.owner,
    sequence,
    head_hash: headHash,
    created_at: timestamp(createdMs),
    signature,
    kid,
    alg: ALGORITHM,
    generation: log.generations.find(({ number }) => number === generation)?.name ?? '',
    size,
    root_hash: root,
    note,
  }
}

function publicKeyItem({ kid, spki, createdMs, retiredMs }: AuditSigningKey): AuditKeySet['keys'][number] {
  const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  return {
    kty: 'EC',
    crv: 'P-256',
    x,
    y,
    kid,
    use: 'sig',
    alg: 'ES256',
    created_at: timestamp(createdMs),
    retired_at: retiredMs === null ? null : timestamp(retiredMs),
  }
}

function limitOf(query: URLSearchParams): number {
  return numberOf(query, 'pagesize') ?? PAGE_SIZE_MAX
}

function numberOf(query: URLSearchParams, name: string): number | null {
  const text = query.get(name)
  return text === null ? null : Number(text)
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function malformed(issue: string): Result<never, ServiceError> {
  return err({ kind: 'malformed', issues: [issue] })
}

function notFound(message: string): Result<never, ServiceError> {
  return err({ kind: 'not-found', message })
}
