// The lines of an export of a log (NDJSON), and their verification: a checkpoint, then entries that each carry their inclusion
// proof, batches after their entries if the export has them, then the number of entries.
import { createHash } from 'node:crypto'
import { BatchChain, type BatchLine, readBatchLine } from './batch-chain.ts'
import { decodeBase64, type LogCheckpoint } from './checkpoint.ts'
import { entryFacts } from './entry-facts.ts'
import { emptyTree, equalBytes, extendTree, isIncluded, leafHash, rootOf, type TreeState } from './merkle.ts'
import { type LogFault, type LogFaultKind, openCheckpoint, type VerifyOptions } from './verify-log.ts'

const FAULTS_MAX = 100

/** The first line. */
interface ExportHeader {
  /** The signed checkpoint to which the proofs lead. */
  readonly checkpoint: string
  /** Index of the first entry of the exported range. */
  readonly from: number
  /** Index after the last one. */
  readonly to: number
  /** The filter of the export; null if it has every entry of the range. */
  readonly filter: object | null
}

/** One entry. */
interface ExportedEntry {
  readonly index: number
  readonly entry: Uint8Array
  readonly proof: readonly Uint8Array[]
  /** Its payload, if it is outside of the entry; null if the export leaves it out. */
  readonly body: Uint8Array | null
}

/** The first line of an export, without its line feed. */
export function exportHeaderLine(header: ExportHeader): string {
  return JSON.stringify({ log: header })
}

/** The line of an entry, without its line feed. The entry and its payload must be UTF-8. */
export function exportEntryLine({ index, entry, proof, body }: ExportedEntry): string {
  const hashes = proof.map((hash) => Buffer.from(hash).toString('base64'))
  return JSON.stringify({ index, entry: textOf(entry), proof: hashes, ...(body !== null && { body: textOf(body) }) })
}

/** The line of a batch, without its line feed. It follows the last entry of the batch, in an export without filter. */
export function exportBatchLine(batch: BatchLine): string {
  return JSON.stringify({ batch })
}

/** The last line of an export, without its line feed. */
export function exportEndLine(entries: number): string {
  return JSON.stringify({ end: { entries } })
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}

/** The result of the verification of an export. */
export interface ExportVerdict {
  /** Null if the checkpoint is not valid. */
  readonly checkpoint: LogCheckpoint | null
  readonly signedBy: readonly string[]
  readonly from: number
  readonly to: number
  /** The export cannot show that no entry was left out, because a filter chose them. */
  readonly isSelection: boolean
  /** Whether the checkpoint to compare with was compared: it needs the same size, or an export of all entries. */
  readonly isCompared: boolean
  readonly entries: number
  readonly bodies: number
  readonly batches: number
  /** By index; empty if the export is sound. At most 100. */
  readonly faults: readonly LogFault[]
}

/** The text is not an export. */
export class NotAnExportError extends Error {
  override readonly name = 'NotAnExportError'
}

/** Verifies the lines of an export. Rejects with NotAnExportError if the first line is not that of an export. */
export async function verifyExport(lines: AsyncIterable<string>, options: VerifyOptions): Promise<ExportVerdict> {
  let reader: ExportReader | null = null
  for await (const line of lines) {
    if (reader === null) reader = new ExportReader(readHeader(line), options)
    else reader.readLine(line)
  }
  if (reader === null) throw new NotAnExportError('the file is empty')
  return reader.verdict()
}

function readHeader(line: string): ExportHeader {
  const { log } = (parseObject(line) ?? {}) as { readonly log?: Partial<ExportHeader> }
  const { checkpoint, from, to, filter } = log ?? {}
  if (typeof checkpoint !== 'string' || !isIndex(from) || !isIndex(to) || typeof filter !== 'object')
    throw new NotAnExportError(
      'the first line is not that of an export: {"log":{"checkpoint":…,"from":…,"to":…,"filter":…}}',
    )
  return { checkpoint, from, to, filter }
}

class ExportReader {
  private readonly header: ExportHeader
  private readonly options: VerifyOptions
  private readonly checkpoint: LogCheckpoint | null
  private readonly signedBy: readonly string[]
  private readonly faults: LogFault[] = []
  /** Of the entries so far, if the export has all from the first one on. */
  private tree: TreeState | null
  private isCompared = false
  /** The least index that the next entry may have. */
  private next: number
  private entries = 0
  private bodies = 0
  private batches = 0
  private readonly chain: BatchChain
  private end: number | null = null

  constructor(header: ExportHeader, options: VerifyOptions) {
    this.header = header
    this.options = options
    this.next = header.from
    this.chain = new BatchChain(options.verifiers)
    const opened = openCheckpoint(header.checkpoint, options)
    this.checkpoint = opened.ok ? opened.value.checkpoint : null
    this.signedBy = opened.ok ? opened.value.signedBy : []
    this.tree = header.from === 0 && header.filter === null ? emptyTree : null
    if (!opened.ok) this.report('unsigned', null, opened.error)
    else this.compareSizes(opened.value.checkpoint)
    this.compareTree()
  }

  readLine(line: string): void {
    if (this.checkpoint === null) return
    if (this.end !== null) {
      this.report('inserted', this.next, 'a line follows the last one')
      return
    }
    const members = parseObject(line) ?? {}
    const { end, batch } = members as { readonly end?: { readonly entries?: unknown }; readonly batch?: unknown }
    if (isIndex(end?.entries)) this.end = end.entries
    else if (batch !== undefined) this.readBatch(readBatchLine(batch))
    else this.readEntry(members, this.checkpoint)
  }

  verdict(): ExportVerdict {
    const { from, to, filter } = this.header
    if (this.checkpoint !== null) this.checkEnd()
    const faults = this.faults.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
    const { checkpoint, signedBy, isCompared, entries, bodies, batches } = this
    const isSelection = filter !== null
    return { checkpoint, signedBy, from, to, isSelection, isCompared, entries, bodies, batches, faults }
  }

  private readEntry(members: object, { size, root }: LogCheckpoint): void {
    const { index, entry, proof, body } = members as Readonly<Record<string, unknown>>
    const hashes = Array.isArray(proof) ? proof.map((hash) => decodeBase64(String(hash))) : [null]
    if (!isIndex(index) || typeof entry !== 'string' || !hashes.every((hash) => hash !== null)) {
      this.report('changed', this.next, 'the line is not that of an entry: {"index":…,"entry":…,"proof":[…]}')
      this.next += 1
      return
    }
    this.entries += 1
    if (index < this.next) this.report('inserted', index, `entry ${index} follows entry ${this.next - 1}`)
    else if (index >= this.header.to) this.report('inserted', index, `entry ${index} is outside of the exported range`)
    else if (index > this.next && this.header.filter === null)
      this.report('removed', this.next, `entry ${index} follows entry ${this.next - 1}`)
    this.next = Math.max(this.next, index + 1)
    const bytes = Buffer.from(entry)
    const leaf = leafHash(bytes)
    if (!isIncluded(leaf, index, size, hashes, root)) {
      this.report('changed', index, `entry ${index} is not proven to be in the signed log`)
      return
    }
    this.chain.addEntry(index, bytes)
    if (this.tree?.size === index) this.tree = extendTree(this.tree, [leaf])
    this.compareTree()
    const facts = entryFacts(bytes)
    if (facts.body === null || body === undefined) return
    this.bodies += 1
    if (typeof body !== 'string' || createHash('sha256').update(body).digest('hex') !== facts.body)
      this.report('changed', index, `the payload of entry ${index} does not have the hash in the entry`)
  }

  private readBatch(batch: BatchLine | null): void {
    this.batches += 1
    const wrong = batch === null ? 'a line is not that of a batch' : this.chain.check(batch)
    // A batch with an entry that is removed, changed or inserted cannot be right: the fault is that of the entry.
    const isExplained = batch !== null && this.faults.some(({ index }) => index !== null && index >= batch.from)
    if (wrong !== null && !isExplained) this.report('changed', batch?.from ?? this.next, wrong)
  }

  private checkEnd(): void {
    const { to, filter } = this.header
    if (this.end === null) this.report('removed', this.next, 'the last line of the export is missing')
    else if (this.end !== this.entries)
      this.report('removed', this.next, `the export has ${this.entries} entries instead of ${this.end}`)
    else if (filter === null && this.next < to)
      this.report('removed', this.next, `the entries from ${this.next} to ${to - 1} are missing`)
  }

  private compareSizes({ origin, size, root }: LogCheckpoint): void {
    const { against } = this.options
    if (against === null || against.origin !== origin || against.size < size) return
    this.isCompared = true
    if (against.size > size) {
      this.report('removed', size, `the other checkpoint has ${against.size} entries, this export is of ${size}`)
    } else if (!equalBytes(root, against.root))
      this.report('forked', null, `the first ${size} entries are not those of the other checkpoint`)
  }

  private compareTree(): void {
    const { against } = this.options
    if (against === null || this.isCompared || this.tree?.size !== against.size) return
    if (against.origin !== this.checkpoint?.origin) return
    this.isCompared = true
    if (!equalBytes(rootOf(this.tree), against.root))
      this.report('forked', null, `the first ${against.size} entries are not those of the other checkpoint`)
  }

  private report(kind: LogFaultKind, index: number | null, message: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push({ kind, index, message })
  }
}

function parseObject(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
