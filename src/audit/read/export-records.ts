// The lines of an export of one generation of a log. It runs on the event loop, so it works in short slices: a slice ends after a few
// milliseconds, and other requests run before the next one. Exports take turns: only one of them works in a turn of the event loop.
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditBatch, AuditCheckpoint, AuditGeneration, AuditLog } from '../../store/audit/audit-types.ts'
import type { BatchLine } from '../log/batch-chain.ts'
import { entryFacts } from '../log/entry-facts.ts'
import { exportBatchLine, exportEndLine, exportEntryLine, exportHeaderLine } from '../log/export-lines.ts'
import { TILE_WIDTH } from '../log/tile-path.ts'
import type { GenerationReader } from './log-reader.ts'
import type { RecordFilter } from './record-filter.ts'
import { isMatch } from './search-records.ts'

/** A slice of work ends after this time, in milliseconds. */
const SLICE_MS = 2
/** Characters of a chunk, beyond which no line is added. */
const CHUNK_LENGTH = 64 * 1024
/** The client gets at least this often something, so that its connection is not idle, in milliseconds. */
const CHUNK_MS = 1000
/** Bundles or batches that one look into the index returns. */
const LOOKUP_MAX = 64

/** The range of entries of an export. */
interface ExportedRange {
  readonly index: AuditIndex
  readonly files: GenerationReader
  readonly log: AuditLog
  readonly generation: AuditGeneration
  readonly checkpoint: AuditCheckpoint
  readonly from: number
  readonly to: number
  readonly filter: RecordFilter
  readonly turns: ExportTurns
}

/** Lets the exports of a process work one after the other, each in a turn of the event loop of its own. */
export class ExportTurns {
  private readonly waiting: (() => void)[] = []

  /** Resolves when it is the turn of the caller. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve)
      if (this.waiting.length === 1) setImmediate(() => this.run())
    })
  }

  private run(): void {
    const resolve = this.waiting.shift()
    if (this.waiting.length > 0) setImmediate(() => this.run())
    resolve?.()
  }
}

/**
 * Yields the export in chunks of whole lines. Rejects if files are missing, or retention removes entries during the export: the export
 * then has no last line, which its verification reports.
 */
export async function* exportRecords(range: ExportedRange): AsyncGenerator<string, void> {
  const { files, checkpoint, filter, from, to, turns } = range
  await turns.next()
  const batches = filter.given === null ? batchesOf(range) : []
  const waiting = batches[Symbol.iterator]()
  let batch = waiting.next()
  let chunk = `${exportHeaderLine({ checkpoint: checkpoint.note, from, to, filter: filter.given })}\n`
  let count = 0
  let chunkMs = performance.now()
  for (const [first, end] of rangesOf(range)) {
    const entries = await files.entries(first, end)
    if (entries === null) throw new Error('retention removed entries during an export')
    const proofOf = await files.inclusionProver(first, checkpoint.size)
    // Files are read in other threads, and several exports may continue in the same turn.
    await turns.next()
    let sliceMs = performance.now()
    for (const [at, entry] of entries.entries()) {
      const index = first + at
      if (await isMatch(files, filter, entry, index)) {
        const proof = proofOf(index)
        chunk += `${exportEntryLine({ index, entry, proof, body: await bodyOf(files, entry, index) })}\n`
        count += 1
      }
      while (batch.done !== true && batch.value.to === index + 1) {
        chunk += `${exportBatchLine(lineOf(range.log, batch.value))}\n`
        batch = waiting.next()
      }
      const nowMs = performance.now()
      if (chunk.length >= CHUNK_LENGTH || (chunk !== '' && nowMs - chunkMs >= CHUNK_MS)) {
        yield chunk
        chunk = ''
        chunkMs = performance.now()
      } else if (nowMs - sliceMs < SLICE_MS) continue
      await turns.next()
      sliceMs = performance.now()
    }
  }
  yield `${chunk}${exportEndLine(count)}\n`
}

/** The ranges of entries to read: all bundles, or those that may have matches. */
function* rangesOf({ index, log, generation, from, to, filter }: ExportedRange): Generator<readonly [number, number]> {
  const within = (bundle: number): readonly [number, number] => [
    Math.max(from, bundle * TILE_WIDTH),
    Math.min(to, (bundle + 1) * TILE_WIDTH),
  ]
  const last = Math.ceil(to / TILE_WIDTH)
  for (let next = Math.floor(from / TILE_WIDTH); next < last; ) {
    if (filter.given === null) {
      yield within(next)
      next += 1
      continue
    }
    const position = { generation: generation.number, bundle: next }
    const bundles = index.find(log.id, filter.index, position, LOOKUP_MAX)
    for (const { generation: number, bundle } of bundles) {
      if (number !== generation.number || bundle >= last) return
      const [first, end] = within(bundle)
      if (first < end) yield [first, end]
      next = bundle + 1
    }
    if (bundles.length < LOOKUP_MAX) return
  }
}

/** The batches that lie completely in the range, in order. */
function* batchesOf({ index, log, generation, from, to }: ExportedRange): Generator<AuditBatch> {
  let after = Math.max(generation.firstBatch, log.firstSequence ?? 1) - 1
  // Batches are in the order of their entries: those before the range are skipped by bisection.
  let high = log.sequence
  while (after < high) {
    const middle = Math.ceil((after + high) / 2)
    const batch = index.batch(log.id, middle)
    const isBefore = batch !== null && batch.generation === generation.number && batch.from < from
    if (isBefore) after = middle
    else high = middle - 1
  }
  for (;;) {
    const batches = index.batches(log.id, after, LOOKUP_MAX)
    for (const batch of batches) {
      if (batch.generation !== generation.number || batch.to > to) return
      yield batch
      after = batch.sequence
    }
    if (batches.length < LOOKUP_MAX) return
  }
}

function lineOf({ owner }: AuditLog, batch: AuditBatch): BatchLine {
  const { batchId, sequence, from, to, hash, prevHash, headHash, signature } = batch
  return {
    batch_id: batchId,
    project_id: owner,
    sequence,
    from,
    to,
    hash,
    prev_hash: prevHash,
    chain_hash: headHash,
    signature,
  }
}

async function bodyOf(files: GenerationReader, entry: Uint8Array, at: number): Promise<Uint8Array | null> {
  if (!Buffer.from(entry.buffer, entry.byteOffset, entry.length).includes('"dataref"')) return null
  const { body } = entryFacts(entry)
  return body === null ? null : files.body(at, body)
}
