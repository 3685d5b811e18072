// How the calls to resolvers end, and the verifications of tokens, by the configuration that caused them. Kept in the memory of a
// serving process; its lanes report their counts with each response.
import type { CounterDeltas } from './metrics.ts'

/** A kind of configuration that depends on another service. */
type ConnectionKind = 'resolver' | 'token-introspect'

/** The outcomes of one configuration since the process started. */
export interface ConnectionHealth {
  readonly kind: ConnectionKind
  /** The id of the configuration. */
  readonly id: string
  readonly succeeded: number
  readonly failed: number
  /** RFC 3339; null: none yet. */
  readonly lastSuccessTime: string | null
  readonly lastFailureTime: string | null
  /** Names neither the request, the address nor the answer; null: no failure yet. */
  readonly lastFailure: string | null
}

/** Configurations beyond this number are not counted. */
const CONNECTIONS_MAX = 1000

const FAMILY = 'connection'

interface CountedConnection {
  readonly kind: ConnectionKind
  readonly id: string
  succeeded: number
  failed: number
  lastSuccessMs: number | null
  lastFailureMs: number | null
  lastFailure: string | null
}

/** Counts outcomes. */
export class ConnectionOutcomes {
  private readonly now: () => number
  private readonly connections = new Map<string, CountedConnection>()
  private deltas: Record<string, number> = {}

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.now = now
  }

  /** Records one outcome. `failure`: the reason; null: it succeeded. */
  record(kind: ConnectionKind, id: string, failure: string | null): void {
    const key = JSON.stringify([FAMILY, kind, id, failure])
    this.deltas[key] = (this.deltas[key] ?? 0) + 1
    this.count(kind, id, failure, 1)
  }

  /** In a lane: returns the counts since the last call. */
  takeDeltas(): CounterDeltas {
    const { deltas } = this
    this.deltas = {}
    return deltas
  }

  /** Adds the counts of a lane. Counts of other families are ignored. */
  addDeltas(counts: CounterDeltas): void {
    for (const [key, added] of Object.entries(counts)) {
      if (!key.startsWith(`["${FAMILY}",`)) continue
      const [, kind, id, failure] = JSON.parse(key) as [string, ConnectionKind, string, string | null]
      this.count(kind, id, failure, added)
    }
  }

  /** All outcomes. */
  read(): readonly ConnectionHealth[] {
    const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())
    return [...this.connections.values()].map(
      ({ kind, id, succeeded, failed, lastSuccessMs, lastFailureMs, lastFailure }) => ({
        kind,
        id,
        succeeded,
        failed,
        lastSuccessTime: time(lastSuccessMs),
        lastFailureTime: time(lastFailureMs),
        lastFailure,
      }),
    )
  }

  private count(kind: ConnectionKind, id: string, failure: string | null, added: number): void {
    const key = `${kind} ${id}`
    let found = this.connections.get(key)
    if (found === undefined) {
      if (this.connections.size >= CONNECTIONS_MAX) return
      found = { kind, id, succeeded: 0, failed: 0, lastSuccessMs: null, lastFailureMs: null, lastFailure: null }
      this.connections.set(key, found)
    }
    if (failure === null) {
      found.succeeded += added
      found.lastSuccessMs = this.now()
    } else {
      found.failed += added
      found.lastFailureMs = this.now()
      found.lastFailure = failure
    }
  }
}

/** Adds the outcomes of several processes. */
export function sumOfHealth(processes: readonly (readonly ConnectionHealth[])[]): readonly ConnectionHealth[] {
  const sums = new Map<string, ConnectionHealth>()
  for (const one of processes.flat()) {
    const key = `${one.kind} ${one.id}`
    const before = sums.get(key)
    sums.set(key, before === undefined ? one : sumOf(before, one))
  }
  return [...sums.values()]
}

function sumOf(a: ConnectionHealth, b: ConnectionHealth): ConnectionHealth {
  const laterFailure = (b.lastFailureTime ?? '') > (a.lastFailureTime ?? '') ? b : a
  return {
    ...a,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    lastSuccessTime: (b.lastSuccessTime ?? '') > (a.lastSuccessTime ?? '') ? b.lastSuccessTime : a.lastSuccessTime,
    lastFailureTime: laterFailure.lastFailureTime,
    lastFailure: laterFailure.lastFailure,
  }
}
