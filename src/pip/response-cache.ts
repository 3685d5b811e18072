// What upstreams answered a moment ago, kept for equal requests under the same revision of a resolver.
import { type Clock, isWithin } from '../kernel/clock.ts'

export interface SelectedValue {
  /** JSON data. */
  readonly value: unknown
  /** Of the answer that it was selected from. */
  readonly bytes: number
}

/** All answers together. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024
/** What an answer takes beside its bytes. */
const KEPT_BYTES_LEAST = 512

interface CachedResponse extends SelectedValue {
  readonly fromMs: number
}

export class ResponseCache {
  private readonly clock: Clock
  private readonly keptMs: number
  private readonly kept = new Map<string, CachedResponse>()
  private bytes = 0

  /** 0 keeps nothing. */
  constructor(clock: Clock, keptMs: number) {
    this.clock = clock
    this.keptMs = keptMs
  }

  get(key: string): SelectedValue | null {
    const kept = this.kept.get(key)
    if (kept === undefined) return null
    if (isWithin(this.clock.now(), kept.fromMs, this.keptMs)) return kept
    this.forget(key)
    return null
  }

  set(key: string, selected: SelectedValue): void {
    if (this.keptMs === 0) return
    this.forget(key)
    this.kept.set(key, { ...selected, fromMs: this.clock.now() })
    this.bytes += sizeOf(key, selected)
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= KEPT_BYTES_MAX) break
      this.forget(oldest)
    }
  }

  private forget(key: string): void {
    const kept = this.kept.get(key)
    if (kept === undefined) return
    this.bytes -= sizeOf(key, kept)
    this.kept.delete(key)
  }
}

function sizeOf(key: string, { bytes }: SelectedValue): number {
  return KEPT_BYTES_LEAST + 2 * key.length + bytes
}
