// The port to a signing key that the customer manages: an ECDSA key on P-256, whose private part never leaves a key service.
import type { Result } from '../../kernel/result.ts'
import type { Upstream } from '../../upstream/client.ts'

/** Why a key service did not answer as expected. */
export interface KeyFailure {
  /** The call that failed, as its vendor names it. */
  readonly call: string
  /** One line for an administrator of the project, without secrets. */
  readonly message: string
  /** Further information for the operator's log only, such as what a host name resolves to. */
  readonly detail?: string
}

/** A key in a key service. Calls have a deadline and are repeated after errors that may pass; they never reject. */
export interface CustomerKey {
  /** Resolves with the public key: SubjectPublicKeyInfo in DER, as the service returned it. */
  publicKey(): Promise<Result<Uint8Array, KeyFailure>>
  /** Resolves with the signature of a text: ECDSA with SHA-256, in DER. It is not verified yet. */
  sign(text: Uint8Array): Promise<Result<Uint8Array, KeyFailure>>
}

/** How a configuration identifies its key, with the secrets decrypted. */
export interface KeyIdentity {
  /** `key_resource`. */
  readonly resource: string
  /** `auth_params`. */
  readonly params: Readonly<Record<string, string>>
  /** The project of the configuration. */
  readonly projectId: string
}

/** Collaborators of key clients. */
export interface KeyClientDeps {
  /** The client that calls only allowed addresses. */
  readonly upstream: Pick<Upstream, 'send' | 'urlError'>
  /** The time limit of one public call of the port, with its repetitions. In milliseconds; default 10,000. */
  readonly deadlineMs?: number
  /** Environment variables, for the identity of this service. Absent: it has none. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** The client of one key service. */
export interface KeyService {
  /** The keys that `auth_params` may have. */
  readonly params: readonly string[]
  /** One message per error, as far as the identity itself shows; empty: it can be called. No message has a secret. */
  errors(identity: KeyIdentity, deps: Pick<KeyClientDeps, 'upstream' | 'environment'>): readonly string[]
  /** Creates the client of a key without errors. It calls nothing before its first use. */
  open(identity: KeyIdentity, deps: KeyClientDeps): CustomerKey
}

/** The message of a failure with its call. */
export function failureText({ call, message }: KeyFailure): string {
  return `${call}: ${message}`
}
