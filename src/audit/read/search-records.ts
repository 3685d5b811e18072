// Finds records: the index names the bundles that may have matches, and their entries are read and compared. A page reads a limited
// number of bundles, so it may have few records, or none, although more follow.
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditBundle, AuditGeneration, AuditLog } from '../../store/audit/audit-types.ts'
import { describeEntry } from '../entry-terms.ts'
import { entryFacts } from '../log/entry-facts.ts'
import { TILE_WIDTH } from '../log/tile-path.ts'
import type { GenerationReader, LogReader } from './log-reader.ts'
import type { FoundRecord } from './read-operations.ts'
import type { RecordFilter } from './record-filter.ts'

/** Bundles that one page reads at most. */
const BUNDLES_MAX = 128
/** Bundles that one look into the index returns. */
const BUNDLES_AT_ONCE = 16
/** Bytes of entries in a page, beyond which no record is added. */
const PAGE_BYTES = 4 * 1024 * 1024

/** In entries whose payload is outside of them. */
const REFERENCE = '"dataref"'

/** The place of an entry in a log. */
export interface RecordPosition {
  /** Number of the generation. */
  readonly generation: number
  readonly index: number
}

/** The log and the filter of a search. */
interface RecordSearch {
  readonly index: AuditIndex
  readonly reader: LogReader
  readonly log: AuditLog
  readonly filter: RecordFilter
  readonly isNewestFirst: boolean
}

/** Records, and the place where the search continues; null: at the end. */
interface FoundRecords {
  readonly items: readonly FoundRecord[]
  readonly next: RecordPosition | null
}

/** Finds at most `limit` records from `position` on. Null: from the beginning. */
export async function searchRecords(
  search: RecordSearch,
  position: RecordPosition | null,
  limit: number,
): Promise<FoundRecords> {
  const { index, log, filter, isNewestFirst } = search
  const items: FoundRecord[] = []
  let bytes = 0
  let from = position
  for (let read = 0; read < BUNDLES_MAX; ) {
    const order = isNewestFirst ? 'newest first' : 'oldest first'
    const start = from === null ? null : { generation: from.generation, bundle: bundleOf(from.index) }
    const bundles = index.find(log.id, filter.index, start, BUNDLES_AT_ONCE, order)
    for (const bundle of bundles) {
      read += 1
      for (const { position: at, entry } of await matchesOf(search, bundle, from)) {
        const isFull = items.length === limit || (items.length > 0 && bytes + entry.length > PAGE_BYTES)
        if (isFull) return { items, next: at }
        const { name, origin } = log.generations.find(({ number }) => number === at.generation) as AuditGeneration
        items.push({ index: at.index, generation: name, origin, entry })
        bytes += entry.length
      }
    }
    const last = bundles.at(-1)
    if (bundles.length < BUNDLES_AT_ONCE || last === undefined) return { items, next: null }
    from = after(last, isNewestFirst, log)
    if (from === null) return { items, next: null }
  }
  return { items, next: from }
}

interface Match {
  readonly position: RecordPosition
  readonly entry: Uint8Array
}

/** The matches in a bundle, in the order of the search, without those before `from`. Retention may remove it during the search. */
async function matchesOf(
  { index, reader, log, filter, isNewestFirst }: RecordSearch,
  { generation, bundle }: AuditBundle,
  from: RecordPosition | null,
): Promise<readonly Match[]> {
  const found = log.generations.find(({ number }) => number === generation)
  if (found === undefined) return []
  const bounds = from?.generation === generation ? from.index : null
  const first = Math.max(found.prunedTo, bundle * TILE_WIDTH, isNewestFirst ? 0 : (bounds ?? 0))
  const end = Math.min(found.size, (bundle + 1) * TILE_WIDTH, isNewestFirst ? (bounds ?? found.size) + 1 : found.size)
  if (first >= end) return []
  const files = reader.generation(index, log, found)
  const entries = (await files.intactEntries(first, end)) ?? []
  const matches: Match[] = []
  for (const [at, entry] of entries.entries())
    if (await isMatch(files, filter, entry, first + at))
      matches.push({ position: { generation, index: first + at }, entry })
  return isNewestFirst ? matches.reverse() : matches
}

/** Whether the entry `at` matches. Most entries of a bundle are excluded without parsing them. */
export async function isMatch(
  files: GenerationReader,
  filter: RecordFilter,
  entry: Uint8Array,
  at: number,
): Promise<boolean> {
  if (filter.given === null) return true
  const bytes = Buffer.from(entry.buffer, entry.byteOffset, entry.length)
  const { texts, actorText } = filter
  if (!texts.every((text) => bytes.includes(text))) return false
  const body = bytes.includes(REFERENCE) ? entryFacts(bytes).body : null
  if (body === null && actorText !== null && !bytes.includes(actorText)) return false
  return filter.matches(describeEntry(bytes, body === null ? null : await files.body(at, body)))
}

function bundleOf(index: number): number {
  return Math.floor(index / TILE_WIDTH)
}

/** The first place after a bundle; null: the log has none. */
function after({ generation, bundle }: AuditBundle, isNewestFirst: boolean, log: AuditLog): RecordPosition | null {
  if (!isNewestFirst) return { generation, index: (bundle + 1) * TILE_WIDTH }
  if (bundle > 0) return { generation, index: bundle * TILE_WIDTH - 1 }
  const before = log.generations[log.generations.findIndex(({ number }) => number === generation) - 1]
  return before === undefined ? null : { generation: before.number, index: Math.max(0, before.size - 1) }
}
