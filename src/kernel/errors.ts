// What can go wrong outside the engine, in the words of the domain. Status numbers live in http/problems.ts alone.

/** A ServiceError that comes from so deep that everybody on the way would only hand it on. */
export class ThrownServiceError extends Error {
  override readonly name: string = 'ServiceFault'
  readonly error: ServiceError
  /** The operator has to know of it, too: `message` says what. */
  get needsLogging(): boolean {
    return this.message !== this.error.kind
  }

  constructor(error: ServiceError) {
    super(error.kind)
    this.error = error
  }
}

/** What was read of the database is not what was written: nothing is decided by it. `message` tells the operator where. */
export class DataCorruptionError extends ThrownServiceError {
  override readonly name = 'DamageFault'
  /** `what` goes to the caller, `place` to the log. */
  constructor(what: string, place: string) {
    super({ kind: 'unavailable', message: `${what} is damaged` })
    this.message = `${what} is damaged: ${place}`
  }
}

/** A change could not be brought to disk, and nothing of it was. `message` tells the operator why. */
export class StorageWriteError extends ThrownServiceError {
  override readonly name = 'WriteFault'
  /** `lack`: which room there was too little of; null when it was something else. */
  constructor(cause: string, lack: string | null) {
    super(
      lack !== null
        ? { kind: 'insufficient-storage', message: 'there is no room left to store this' }
        : { kind: 'unavailable', message: 'this cannot be stored now' },
    )
    this.message = `a change could not be written: ${cause}${lack === null ? '' : `: ${lack}`}`
  }
}

/** What only the operator can mend: a folder, a key, an address. One sentence for the terminal, without a stack. */
export class OperationalError extends Error {
  override readonly name: string = 'OperatorFault'
}

/** Where a client learns who gives tokens, and which scopes to ask for (RFC 9728, 5.1). */
export interface ResourceChallenge {
  readonly resourceMetadata: string
  readonly scope: string
}

/**
 * Every expected failure of a service. Messages: lower case, no full stop, the caller's own words in back-ticks,
 * never a class name, a path or a physical environment.
 */
export type ServiceError =
  /** The body is not what the endpoint takes: syntax, types, sizes (400). */
  | { readonly kind: 'malformed'; readonly issues: readonly string[] }
  /** Well-formed, but it cannot be done as asked (422). */
  | { readonly kind: 'invalid'; readonly issues: readonly string[] }
  /** 422; interface, decisions rule 4. */
  | { readonly kind: 'unknown-location'; readonly location: string; readonly parameter: string }
  /**
   * `invalidToken`: a bearer token was shown and is not taken; why, in words that give nothing away (RFC 6750).
   * `isDelegation`: it is the one in `X-SVC-Token`, and not the user's own.
   */
  | {
      readonly kind: 'unauthenticated'
      readonly message: string
      readonly invalidToken?: string
      readonly isDelegation?: true
      readonly challenge?: ResourceChallenge
    }
  | { readonly kind: 'forbidden'; readonly message: string }
  /** The token is good and not good enough (403); what its holder must do, in the words of the policy (facts 1.5.2, RFC 9470). */
  | {
      readonly kind: 'step-up'
      readonly advice: readonly Readonly<Record<string, string>>[]
      readonly resourceMetadata?: string
    }
  /** 404. */
  | { readonly kind: 'not-found'; readonly message: string; readonly what?: 'knowledge query' }
  | { readonly kind: 'conflict'; readonly message: string }
  | { readonly kind: 'stale-etag' }
  | { readonly kind: 'method-not-allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'unsupported-media-type'; readonly message: string }
  /** The body is compressed, and nothing here unpacks it (415). */
  | { readonly kind: 'unsupported-encoding'; readonly message: string }
  | { readonly kind: 'too-large'; readonly limitBytes: number }
  /** What the caller began to send did not come (408). */
  | { readonly kind: 'too-slow'; readonly message: string }
  /** The caller asks more often than it may (429); its limit is whole again in `wholeInS`. */
  | { readonly kind: 'too-many'; readonly retryAfterS: number; readonly perSecond: number; readonly wholeInS: number }
  /** The bodies that the caller is sending reach its limit (429). */
  | { readonly kind: 'too-many-bytes'; readonly message: string; readonly retryAfterS: number }
  /** A named limit of the process was reached (time, rows touched). */
  | { readonly kind: 'budget'; readonly limit: string; readonly message: string }
  /** The time limit of the work was reached (408). */
  | { readonly kind: 'timed-out'; readonly message: string }
  /** The disk is full; nothing was written, and what is there can still be read (507). */
  | { readonly kind: 'insufficient-storage'; readonly message: string }
  /** Not now; the caller may try again (503). */
  | { readonly kind: 'unavailable'; readonly message: string; readonly retryAfterS?: number }
