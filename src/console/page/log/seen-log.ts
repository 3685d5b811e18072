// The last verified checkpoint of each log, and the keys that signed it, as this browser has seen them. Only a state that was kept
// outside of the service shows that a log was rewritten.

/** A verified state. */
export interface SeenCheckpoint {
  readonly origin: string
  readonly generation: string
  readonly size: number
  /** Base64. */
  readonly root: string
  readonly note: string
  /** RFC 3339. */
  readonly time: string
  /** Verifier keys without their names: ids and bytes, in base64. */
  readonly keys: readonly string[]
}

const PREFIX = 'verdigraph-audit:'

/** The states that were seen last, one for each generation of the log. `log`: the id of the project or organization. */
export function seenCheckpoints(log: string): readonly SeenCheckpoint[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(PREFIX + log) ?? '[]')
    return Array.isArray(stored) ? (stored as readonly SeenCheckpoint[]) : []
  } catch {
    return []
  }
}

/** Keeps a state instead of the one of the same generation, if the browser allows it. */
export function rememberCheckpoint(log: string, seen: SeenCheckpoint): void {
  const others = seenCheckpoints(log).filter(({ origin }) => origin !== seen.origin)
  try {
    localStorage.setItem(PREFIX + log, JSON.stringify([...others, seen]))
  } catch {
    // The browser keeps nothing: the next visit is like the first one.
  }
}

/** Forgets the states of a log. */
export function forgetCheckpoints(log: string): void {
  localStorage.removeItem(PREFIX + log)
}
