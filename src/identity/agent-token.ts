// Tokens that application agents sign with a key of their own, and send instead of an agent key. A verified token is
// cached, so that further requests with it cost a map lookup.
import { LRUCache } from 'lru-cache'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { keyIdOf, TokenKey, type TokenKeyOptions } from './self-signed-token.ts'

const CACHED_TOKENS_MAX = 1000

/** A credential, and the caller that it stands for. */
export class CredentialCaller {
  /** Id of the credential. */
  readonly keyId: string
  private readonly agentKey: string
  private agent: AgentCaller | null = null
  private caller: AgentCaller | null = null

  /** `agentKey`: the key of the agent in the map of agents. */
  constructor(keyId: string, agentKey: string) {
    this.keyId = keyId
    this.agentKey = agentKey
  }

  /** The agent as a caller with this credential; null: it was deleted. The same object until the agent changes. */
  callerIn(agents: ReadonlyMap<string, AgentCaller>): AgentCaller | null {
    const agent = agents.get(this.agentKey) ?? null
    if (agent !== this.agent) {
      this.agent = agent
      this.caller = agent === null ? null : { ...agent, keyId: this.keyId }
    }
    return this.caller
  }
}

/** A credential whose public key verifies tokens. */
interface TokenSigner {
  readonly credential: CredentialCaller
  readonly key: TokenKey
}

interface VerifiedAgentToken {
  readonly kid: string
  readonly signer: TokenSigner
  readonly expiresAtMs: number
}

/** Verifies the tokens of all agents. */
export class AgentTokens {
  private readonly clock: Clock
  private readonly signers = new Map<string, TokenSigner>()
  private readonly verified = new LRUCache<string, VerifiedAgentToken>({ max: CACHED_TOKENS_MAX })

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Whether a credential has the key with this id. */
  has(kid: string): boolean {
    return this.signers.has(kid)
  }

  /** Registers the key of a credential. Tokens of a key that had the same id before are verified again. */
  put(kid: string, credential: CredentialCaller, options: TokenKeyOptions): void {
    this.signers.set(kid, { credential, key: new TokenKey(options) })
  }

  /** Removes the key of a deleted credential. Its tokens end with it. */
  remove(kid: string): void {
    this.signers.delete(kid)
  }

  /** Returns the credential that a token names, which need not have signed it; null: it names none of ours. */
  namedBy(token: string): CredentialCaller | null {
    const kid = keyIdOf(token)
    return kid === null ? null : (this.signers.get(kid)?.credential ?? null)
  }

  /** Returns the credential that signed; null if the token is invalid or expired. Synchronous for a cached token. */
  authenticate(token: string): Promise<CredentialCaller | null> | CredentialCaller | null {
    const cached = this.verified.get(token)
    if (cached !== undefined && this.signers.get(cached.kid) === cached.signer) {
      return this.clock.now() < cached.expiresAtMs ? cached.signer.credential : null
    }
    const kid = keyIdOf(token)
    const signer = kid === null ? undefined : this.signers.get(kid)
    return kid === null || signer === undefined ? null : this.verify(token, kid, signer)
  }

  private async verify(token: string, kid: string, signer: TokenSigner): Promise<CredentialCaller | null> {
    const expiresAtMs = await signer.key.verify(token, this.clock.now())
    // The credential may have been deleted during the signature check.
    if (expiresAtMs === null || this.signers.get(kid) !== signer) return null
    this.verified.set(token, { kid, signer, expiresAtMs })
    return signer.credential
  }
}
