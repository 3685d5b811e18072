// How often an agent may ask: a bucket of tokens for each, filled at a constant rate. Without a limit there is nothing.
import type { ServiceError } from '../kernel/errors.ts'

/** Null: go on. */
export type RateLimiter = (agentId: string) => ServiceError | null

interface TokenBucket {
  tokens: number
  atMs: number
}

/** Buckets that have been full for long are forgotten when there are more than this. */
const BUCKETS_MAX = 10_000

export function createRateLimiter(perSecond: number, burst: number, nowMs: () => number): RateLimiter | null {
  if (perSecond === 0) return null
  const size = burst === 0 ? perSecond : burst
  const buckets = new Map<string, TokenBucket>()

  return (agentId) => {
    const now = nowMs()
    let bucket = buckets.get(agentId)
    if (bucket === undefined) {
      if (buckets.size >= BUCKETS_MAX) dropFullBuckets(buckets, size, perSecond, now)
      bucket = { tokens: size, atMs: now }
      buckets.set(agentId, bucket)
    }
    // A clock that is set back fills nothing.
    const passedS = Math.max(0, now - bucket.atMs) / 1000
    bucket.tokens = Math.min(size, bucket.tokens + passedS * perSecond)
    bucket.atMs = now
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      return null
    }
    const retryAfterS = Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
    return { kind: 'too-many', retryAfterS, perSecond, wholeInS: Math.ceil((size - bucket.tokens) / perSecond) }
  }
}

function dropFullBuckets(buckets: Map<string, TokenBucket>, size: number, perSecond: number, nowMs: number): void {
  for (const [id, { tokens, atMs }] of buckets) {
    if (tokens + ((nowMs - atMs) / 1000) * perSecond >= size) buckets.delete(id)
  }
}
