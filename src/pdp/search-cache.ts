// What a search found for its first page and could not find in parts is kept for the pages behind it, so that all of them
// together cost one search. Only tokens lead to it, and nothing depends on it: what is gone, or was found by another
// process, is found anew.
import type { CompiledPolicy } from '../policy/policy-index.ts'

/** The oldest go when those kept are larger than this together: some 16 million results, or 60,000 short lists. */
const BYTES_MAX = 64 * 1024 * 1024

/** What is around the results of a list, with the name of its search; measured at 700, and rounded up. */
const BYTES_PER_LIST = 1024

export interface CachedSearchResult {
  /** Ascending. */
  readonly nodes: Uint32Array
  /** The states of the graphs that it was found in. */
  readonly graphVersions: string
  /** No other policy was asked: whatever was granted then is in the list. */
  readonly isSinglePolicy: boolean
}

export class SearchCache {
  private readonly bytesMax: number
  /** The one used last stands last. */
  private readonly searches = new Map<string, Map<CompiledPolicy, CachedSearchResult>>()
  private bytes = 0

  constructor(bytesMax = BYTES_MAX) {
    this.bytesMax = bytesMax
  }

  get(search: string, policy: CompiledPolicy): CachedSearchResult | null {
    const lists = this.searches.get(search)
    if (lists === undefined) return null
    this.searches.delete(search)
    this.searches.set(search, lists)
    return lists.get(policy) ?? null
  }

  /** `search` is its name, '' when it has none yet. Returns its name. */
  set(search: string, policy: CompiledPolicy, list: CachedSearchResult): string {
    const { nodes } = list
    if (bytesOf(list) > this.bytesMax) return search
    const name = search === '' ? crypto.randomUUID() : search
    const lists = this.searches.get(name) ?? new Map<CompiledPolicy, CachedSearchResult>()
    const replaced = lists.get(policy)
    this.bytes += bytesOf(list) - (replaced === undefined ? 0 : bytesOf(replaced))
    // What it is a part of may be many times as large.
    lists.set(policy, { ...list, nodes: nodes.slice() })
    this.searches.delete(name)
    this.searches.set(name, lists)
    for (const oldest of this.searches.keys()) {
      if (this.bytes <= this.bytesMax) break
      this.delete(oldest)
    }
    return name
  }

  delete(search: string): void {
    for (const list of this.searches.get(search)?.values() ?? []) this.bytes -= bytesOf(list)
    this.searches.delete(search)
  }
}

function bytesOf({ nodes }: CachedSearchResult): number {
  return nodes.byteLength + BYTES_PER_LIST
}
