// The rate limit of application agents: one token bucket per agent, refilled at a constant rate.
import type { ServiceError } from '../kernel/errors.ts'

/** Takes a token for a request of the agent. Returns null, or the error `too-many` if the bucket is empty. */
export type RateLimiter = (agentId: string) => ServiceError | null

interface TokenBucket {
  tokens: number
  atMs: number
}

/** With more buckets than this, full ones are dropped. */
const BUCKETS_MAX = 10_000

/** Creates a limiter; null if `perSecond` is 0, which means no limit. `burst`: size of a bucket; 0: `perSecond`. */
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
    // A clock that was set back adds no tokens.
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
