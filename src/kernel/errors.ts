// Errors outside of the query engine, in terms of the domain. The mapping to HTTP status codes is in src/http.
import { err, type Result } from './result.ts'

/** Carries a ServiceError as an exception, from code whose callers would all just return it. */
export class ThrownServiceError extends Error {
  override readonly name: string = 'ThrownServiceError'
  readonly error: ServiceError
  /** Whether the operator must see it: `message` then contains details that callers must not see. */
  get needsLogging(): boolean {
    return this.message !== this.error.kind
  }

  constructor(error: ServiceError) {
    super(error.kind)
    this.error = error
  }
}

/** Stored data is damaged; no decision is based on it. `message` names the place for the operator. */
export class DataCorruptionError extends ThrownServiceError {
  override readonly name = 'DataCorruptionError'
  /** `what`: shown to the caller. `place`: logged only. */
  constructor(what: string, place: string) {
    super({ kind: 'unavailable', message: `${what} is damaged` })
    this.message = `${what} is damaged: ${place}`
  }
}

/** A change could not be written, and no part of it was stored. `message` gives the operator the reason. */
export class StorageWriteError extends ThrownServiceError {
  override readonly name = 'StorageWriteError'
  /** `lack`: the space that was exhausted; null if the cause is another one. */
  constructor(cause: string, lack: string | null) {
    super(
      lack !== null
        ? { kind: 'insufficient-storage', message: 'the storage is full' }
        : { kind: 'unavailable', message: 'the change cannot be stored now' },
    )
    this.message = `a change could not be written: ${cause}${lack === null ? '' : `: ${lack}`}`
  }
}

/**
 * A problem that only the operator can solve, such as a folder, a key or an address. Printed as one sentence without a
 * stack trace.
 *
 * @example
 * try {
 *   openStore('./graph')
 * } catch (error) {
 *   if (error instanceof OperationalError) console.error(error.message)
 * }
 */
export class OperationalError extends Error {
  override readonly name: string = 'OperationalError'
}

/** An element that no graph can hold, such as one with an empty external id. The message names the element and the part at fault. */
export class InvalidElementError extends TypeError {
  override readonly name: string = 'InvalidElementError'
}

/** Where a client finds the authorization server, and which scopes to request (RFC 9728, section 5.1). */
interface ResourceChallenge {
  readonly resourceMetadata: string
  readonly scope: string
}

/**
 * Every expected failure of a service. Messages: lower case, no full stop, text of the caller in back-ticks, never
 * a class name, a path or a host name.
 */
export type ServiceError =
  /** 400: the body has wrong syntax, types or sizes. */
  | { readonly kind: 'malformed'; readonly issues: readonly string[] }
  /** 422: well-formed, but it cannot be processed. */
  | { readonly kind: 'invalid'; readonly issues: readonly string[] }
  /** 422: the location is not one of the project's. */
  | { readonly kind: 'unknown-location'; readonly location: string; readonly parameter: string }
  /**
   * 401. `invalidToken`: why the bearer token is rejected, without revealing details (RFC 6750). `isDelegation`: it is
   * the token in `X-SVC-Token`, not the user's own.
   */
  | {
      readonly kind: 'unauthenticated'
      readonly message: string
      readonly invalidToken?: string
      readonly isDelegation?: true
      readonly challenge?: ResourceChallenge
    }
  | { readonly kind: 'forbidden'; readonly message: string }
  /**
   * 403: the token is valid but insufficient. `advice`: what its holder must do, as written in the policy (RFC 9470).
   */
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
  /** 415: the body is compressed, which is not supported. */
  | { readonly kind: 'unsupported-encoding'; readonly message: string }
  | { readonly kind: 'too-large'; readonly limitBytes: number }
  /** 408: the body did not arrive in time. */
  | { readonly kind: 'too-slow'; readonly message: string }
  /** 429: the caller exceeded its rate limit of `perSecond`, which is fully replenished after `wholeInS` seconds. */
  | { readonly kind: 'too-many'; readonly retryAfterS: number; readonly perSecond: number; readonly wholeInS: number }
  /** 429: the bodies that the caller is sending exceed its limit. */
  | { readonly kind: 'too-many-bytes'; readonly message: string; readonly retryAfterS: number }
  /** A limit of the process was exceeded, such as time or touched rows. */
  | { readonly kind: 'budget'; readonly limit: string; readonly message: string }
  /** 408: the time limit of the work was exceeded. */
  | { readonly kind: 'timed-out'; readonly message: string }
  /** 507: the disk is full. Nothing was written; reads still work. */
  | { readonly kind: 'insufficient-storage'; readonly message: string }
  /** 503: temporarily unavailable; the caller may retry. */
  | { readonly kind: 'unavailable'; readonly message: string; readonly retryAfterS?: number }

/** The error for a project without a graph: it is not provisioned yet, or it was deleted. */
export const graphNotFound: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})
