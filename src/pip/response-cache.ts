// Caches selected values of upstream responses, for equal requests under the same revision of a resolver.
import { LRUCache } from 'lru-cache'
import { type Clock, isWithin } from '../kernel/time/clock.ts'

/** A value selected from a response. */
export interface SelectedValue {
  /** JSON data. */
  readonly value: unknown
  /** Size of the whole response. */
  readonly bytes: number
}

/** Maximum bytes of all cached responses. */
const CACHED_BYTES_MAX = 16 * 1024 * 1024
/** Bytes charged for an entry in addition to key and response. */
const ENTRY_BYTES = 512

interface CachedResponse {
  readonly selected: SelectedValue
  readonly fromMs: number
}

/** A cache bounded by bytes and time. */
export class ResponseCache {
  private readonly clock: Clock
  private readonly ttlMs: number
  private readonly entries = new LRUCache<string, CachedResponse>({ maxSize: CACHED_BYTES_MAX })

  /** `ttlMs`: milliseconds for which a value is returned; 0 caches nothing. */
  constructor(clock: Clock, ttlMs: number) {
    this.clock = clock
    this.ttlMs = ttlMs
  }

  /** Returns the value of a key, or null. */
  get(key: string): SelectedValue | null {
    const entry = this.entries.get(key)
    if (entry === undefined) return null
    // Not the cache's own `ttl`: a clock that was set back must not keep an entry alive.
    if (isWithin(this.clock.now(), entry.fromMs, this.ttlMs)) return entry.selected
    this.entries.delete(key)
    return null
  }

  /** Stores a value; evicts the least recently used ones if there are too many bytes. */
  set(key: string, selected: SelectedValue): void {
    if (this.ttlMs === 0) return
    const size = ENTRY_BYTES + 2 * key.length + selected.bytes
    this.entries.set(key, { selected, fromMs: this.clock.now() }, { size })
  }
}
