// Caches results that a search computed as a whole for its first page, so that all pages together cost one search. Only
// page tokens refer to an entry, and nothing depends on it: a missing entry, or one of another process, is searched again.
import { LRUCache } from 'lru-cache'
import type { CompiledPolicy } from '../policy/policy-index.ts'

/** Maximum bytes of all cached results: some 16 million nodes, or 60,000 short lists. */
const CACHED_BYTES_MAX = 64 * 1024 * 1024

/** Bytes charged for each list in addition to its nodes; measured as 700 and rounded up. */
const BYTES_PER_LIST = 1024

/** The nodes that one policy granted in a search. */
export interface CachedSearchResult {
  /** Ascending. */
  readonly nodes: Uint32Array
  /** The versions of the graphs that were searched. */
  readonly graphVersions: string
  /** True if the search had no other policy: then the list holds everything that was granted. */
  readonly isSinglePolicy: boolean
}

type ResultsByPolicy = ReadonlyMap<CompiledPolicy, CachedSearchResult>

/** An LRU cache of search results, bounded by bytes. */
export class SearchCache {
  private readonly searches: LRUCache<string, ResultsByPolicy>
  private readonly maxBytes: number

  constructor(maxBytes = CACHED_BYTES_MAX) {
    this.maxBytes = maxBytes
    this.searches = new LRUCache({ maxSize: maxBytes, sizeCalculation: bytesOfAll })
  }

  /** Returns what a policy granted in the search with this key, or null. */
  get(search: string, policy: CompiledPolicy): CachedSearchResult | null {
    return this.searches.get(search)?.get(policy) ?? null
  }

  /** Stores what a policy granted. `search`: key of the search, '' for a new one. Returns the key. */
  set(search: string, policy: CompiledPolicy, list: CachedSearchResult): string {
    if (bytesOf(list) > this.maxBytes) return search
    const key = search === '' ? crypto.randomUUID() : search
    // Copied, because the buffer that `nodes` is a view of may be many times as large.
    const stored = { ...list, nodes: list.nodes.slice() }
    // A new map, so that the cache computes the size again.
    this.searches.set(key, new Map(this.searches.get(key)).set(policy, stored))
    return key
  }

  /** Removes all results of a search. */
  delete(search: string): void {
    this.searches.delete(search)
  }
}

function bytesOfAll(results: ResultsByPolicy): number {
  let bytes = 0
  for (const list of results.values()) bytes += bytesOf(list)
  return bytes
}

function bytesOf({ nodes }: CachedSearchResult): number {
  return nodes.byteLength + BYTES_PER_LIST
}
