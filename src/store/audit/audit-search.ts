// Finds the bundles of a log in which values occur. The postings of several values are intersected by jumping from one candidate to
// the next, so a rare value makes a search fast, also together with frequent ones.
import { AUDIT_ENTRY, type AuditPostingKey } from '../format/keys.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { type AuditDatabases, auditKey, bundleNumber } from './audit-databases.ts'
import { hashOfTerm, indexedResource } from './audit-terms.ts'
import {
  AUDIT_DIMENSION,
  type AuditBundle,
  type AuditDimension,
  type AuditFilter,
  type AuditLog,
  type AuditPosition,
} from './audit-types.ts'

const WORD = 2 ** 32
const BUNDLE_MAX = WORD - 1

type HashedTerm = Omit<AuditPostingKey, 'generation' | 'bundle'>

/** See `AuditIndex.find`. */
export function findBundles(
  databases: AuditDatabases,
  reading: ReadOptions,
  log: AuditLog,
  filter: AuditFilter,
  position: AuditPosition | null,
  limit: number,
  isReverse: boolean,
): readonly AuditBundle[] {
  const dimensions = [
    termsOf(AUDIT_DIMENSION.type, filter.types),
    termsOf(AUDIT_DIMENSION.actor, filter.actors),
    termsOf(AUDIT_DIMENSION.resource, filter.resources?.map(indexedResource)),
  ].filter((terms) => terms !== null)
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = filter
  const numbers = log.generations.map(({ number }) => number)
  if (isReverse) numbers.reverse()
  const first = position === null ? 0 : numbers.indexOf(position.generation)
  const found: AuditBundle[] = []
  if (first < 0) return found
  for (const generation of numbers.slice(first)) {
    let from = isReverse ? BUNDLE_MAX : 0
    if (position !== null && position.generation === generation) from = position.bundle
    const search = { databases, reading, generation, isReverse, fromMs, toMs }
    while (found.length < limit) {
      const candidate = nextCandidate(search, dimensions, from)
      if (candidate === null) break
      found.push(candidate)
      from = candidate.bundle + (isReverse ? -1 : 1)
      if (from < 0) break
    }
    if (found.length >= limit) break
  }
  return found
}

interface Search {
  readonly databases: AuditDatabases
  readonly reading: ReadOptions
  readonly generation: number
  readonly isReverse: boolean
  readonly fromMs: number
  readonly toMs: number
}

/** The next bundle from `from` on in which each dimension has one of its values, and that has entries in the time. */
function nextCandidate(
  search: Search,
  dimensions: readonly (readonly HashedTerm[])[],
  from: number,
): AuditBundle | null {
  let at = from
  for (;;) {
    const next = nextOfDimensions(search, dimensions, at)
    if (next === null) return null
    const inTime = nextInTime(search, next)
    if (inTime === null || inTime.bundle === next || dimensions.length === 0) return inTime
    at = inTime.bundle
  }
}

/** The next bundle from `from` on in which each dimension has one of its values; there may be no such bundle. */
function nextOfDimensions(search: Search, dimensions: readonly (readonly HashedTerm[])[], from: number): number | null {
  let at: number | null = from
  for (let agreed = 0, i = 0; agreed < dimensions.length; i = (i + 1) % dimensions.length) {
    const next: number | null = nextOfTerms(search, dimensions[i] ?? [], at)
    if (next === null) return null
    agreed = next === at ? agreed + 1 : 1
    at = next
  }
  return at
}

/** The next bundle from `from` on that has entries in the time. Bundles are almost in the order of time, but not quite. */
function nextInTime(search: Search, from: number): AuditBundle | null {
  const { databases, reading, generation, isReverse, fromMs, toMs } = search
  const start = auditKey(AUDIT_ENTRY.bundle, '', bundleNumber({ generation, bundle: from }))
  const last = isReverse ? Math.max(0, generation * WORD - 1) : (generation + 1) * WORD
  const end = auditKey(AUDIT_ENTRY.bundle, '', last)
  const range = { start, end, ...reading, ...(isReverse && { reverse: true }) }
  for (const { key, valueView } of databases.entries.entries(range)) {
    if (Math.floor(key.number / WORD) !== generation) return null
    const { view } = valueView
    const times = { fromMs: view.getFloat64(0, true), toMs: view.getFloat64(8, true) }
    if (times.toMs >= fromMs && times.fromMs < toMs) return { generation, bundle: key.number % WORD, ...times }
  }
  return null
}

/** The nearest bundle from `from` on in which one of the values occurs. */
function nextOfTerms(search: Search, terms: readonly HashedTerm[], from: number): number | null {
  let nearest: number | null = null
  for (const term of terms) {
    const next = nextOfTerm(search, term, from)
    if (next === null) continue
    if (nearest === null || (search.isReverse ? next > nearest : next < nearest)) nearest = next
  }
  return nearest
}

function nextOfTerm(search: Search, term: HashedTerm, from: number): number | null {
  const { databases, reading, generation, isReverse } = search
  const start = { ...term, generation, bundle: from }
  const range = { start, end: undefined, limit: 1, ...reading, ...(isReverse && { reverse: true }) }
  for (const key of databases.postings.raw.getKeys(range)) {
    const isSame =
      key.generation === generation &&
      key.dimension === term.dimension &&
      key.high === term.high &&
      key.low === term.low
    return isSame ? key.bundle : null
  }
  return null
}

/** Null: the dimension does not restrict the result. */
function termsOf(dimension: AuditDimension, values: readonly string[] | undefined): readonly HashedTerm[] | null {
  if (values === undefined || values.length === 0) return null
  return values.map((value) => hashOfTerm({ dimension, value }))
}
