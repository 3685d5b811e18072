// Agent keys: created once, stored as a hash, and looked up in memory for every decision. A credential with a public key of
// the client has no key of ours: its agent sends tokens that it signs itself.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { JWK } from 'jose'
import {
  applicationAgentsKind,
  type ConfigSource,
  type DocumentFields,
  type StoredDocument,
  tombstoneKind,
} from '../config/kind.ts'
import type { AgentCaller, ApiPermission } from '../kernel/request/caller.ts'
import type { CredentialKind, RefusedCredentials } from '../kernel/request/request-audit.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { AgentTokens, CredentialCaller } from './agent-token.ts'

/** Kind name of agent credentials. */
export const agentCredentialsKind = 'application-agent-credentials'
const tombstonesKind = tombstoneKind(agentCredentialsKind)

/** Lets secret scanners recognize a key. */
const PREFIX = 'vgk_'
const KID_LENGTH = 16
const KEY_LENGTH = PREFIX.length + KID_LENGTH + 43

/** A new key with what is stored of it. */
interface MintedKey {
  /** Prefix, key id and 256 random bits, URL-safe. Shown once. */
  readonly key: string
  /** The key id. Public; the hash is looked up by it. */
  readonly kid: string
  readonly hash: string
}

/** Creates a key from the system's random source. */
export function mintAgentKey(): MintedKey {
  const kid = randomBytes(12).toString('base64url')
  const key = `${PREFIX}${kid}${randomBytes(32).toString('base64url')}`
  return { key, kid, hash: hash('sha256', key, 'base64url') }
}

interface AgentKeyEntry {
  readonly hash: Buffer
  /** The key, once its hash has been verified: comparing strings takes a tenth of the time of SHA-256. */
  verified: string | null
  readonly expiresAtMs: number
  readonly credential: CredentialCaller
}

function matchesKey(entry: AgentKeyEntry, key: string): boolean {
  if (entry.verified !== null) return equalInConstantTime(entry.verified, key)
  if (!timingSafeEqual(hash('sha256', key, 'buffer'), entry.hash)) return false
  entry.verified = key
  return true
}

/** Compares in constant time, so that the response time does not reveal how much of a key is right. */
function equalInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}

/**
 * All agent keys, indexed by key id. Follows the configuration: a deletion or a change of permissions takes effect with
 * its commit.
 */
export class AgentKeys {
  private readonly clock: Clock
  private readonly entries = new Map<string, AgentKeyEntry>()
  private readonly callers = new Map<string, AgentCaller>()
  private readonly tokens: AgentTokens

  constructor(documents: ConfigSource, clock: Clock) {
    this.clock = clock
    this.tokens = new AgentTokens(clock)
    for (const agent of documents.all(applicationAgentsKind)) this.putAgent(agent)
    for (const credential of documents.all(agentCredentialsKind)) this.putCredential(credential)
    for (const tombstone of documents.all(tombstonesKind)) this.putTombstone(tombstone)
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const kind = (after ?? before)?.kind
        if (kind === applicationAgentsKind) {
          if (after !== null) this.putAgent(after)
          else if (before !== null) this.callers.delete(before.id)
        } else if (kind === tombstonesKind) {
          if (after !== null) this.putTombstone(after)
        } else if (kind === agentCredentialsKind) {
          if (before !== null) this.removeCredential(before)
          if (after !== null) this.putCredential(after)
        }
      }
    })
  }

  /**
   * Returns the caller, or null if the key or token is unknown or expired, or its agent is deleted. Runs before every
   * decision: synchronous for a key, with one map lookup, and for a token that was verified before.
   */
  authenticateAgent(key: string): Promise<AgentCaller | null> | AgentCaller | null {
    if (key.length !== KEY_LENGTH || !key.startsWith(PREFIX)) return this.authenticateToken(key)
    const entry = this.entries.get(key.slice(PREFIX.length, PREFIX.length + KID_LENGTH))
    if (entry === undefined || !matchesKey(entry, key)) return null
    // Written so that an unreadable time counts as expired.
    if (!(this.clock.now() < entry.expiresAtMs)) return null
    return entry.credential.callerIn(this.callers)
  }

  /** Describes a key or token that was refused. */
  refusedAgent(key: string): RefusedCredentials {
    if (key.length !== KEY_LENGTH || !key.startsWith(PREFIX)) {
      const named = this.tokens.namedBy(key)
      return this.refusalWith('agent-token', named, named === null ? 'unknown' : 'the token is invalid or expired')
    }
    const entry = this.entries.get(key.slice(PREFIX.length, PREFIX.length + KID_LENGTH))
    if (entry === undefined) return this.refusalWith('agent-key', null, 'unknown')
    if (!matchesKey(entry, key))
      return this.refusalWith('agent-key', entry.credential, 'the secret of the key is wrong')
    const reason = this.clock.now() < entry.expiresAtMs ? 'its agent was deleted' : 'expired'
    return this.refusalWith('agent-key', entry.credential, reason)
  }

  private refusalWith(kind: CredentialKind, credential: CredentialCaller | null, reason: string): RefusedCredentials {
    const projectId = credential?.callerIn(this.callers)?.projectId
    return {
      kind,
      reason,
      ...(credential !== null && { keyId: credential.keyId }),
      ...(projectId !== undefined && { projectId }),
    }
  }

  private authenticateToken(token: string): Promise<AgentCaller | null> | AgentCaller | null {
    const callerOf = (credential: CredentialCaller | null): AgentCaller | null =>
      credential === null ? null : credential.callerIn(this.callers)
    const verified = this.tokens.authenticate(token)
    return verified instanceof Promise ? verified.then(callerOf) : callerOf(verified)
  }

  private putAgent(agent: StoredDocument): void {
    this.callers.set(agent.id, {
      kind: 'agent',
      agentId: agent.id,
      applicationId: agent.parent_id,
      projectId: agent.project_id,
      permissions: new Set(agent.fields.api_permissions as readonly ApiPermission[]),
      user: null,
    })
  }

  /** Registers a key whose project is deleted. It authenticates, but everything it could access is deleted. */
  private putTombstone({ id, project_id, fields }: StoredDocument): void {
    const { kid, key_hash, application_id, application_agent_id, until } = fields
    this.callers.set(id, {
      kind: 'agent',
      agentId: application_agent_id as string,
      applicationId: application_id as string,
      projectId: project_id,
      permissions: new Set(fields.api_permissions as readonly ApiPermission[]),
      user: null,
    })
    // A client may have registered its key again since, for another project.
    if (typeof key_hash !== 'string' && this.tokens.has(kid as string)) return
    // Tombstones of earlier releases do not name their credential.
    const credential = new CredentialCaller((fields.credential_id as string | undefined) ?? id, id)
    this.putSecret(fields, credential, application_agent_id as string, until as string)
  }

  private putCredential({ id, fields, parent_id }: StoredDocument): void {
    this.putSecret(fields, new CredentialCaller(id, parent_id), parent_id, fields.expire_time as string)
  }

  private putSecret(fields: DocumentFields, credential: CredentialCaller, agentId: string, expireTime: string): void {
    const { kid, key_hash, public_jwk, algorithm } = fields
    const expiresAtMs = Date.parse(expireTime)
    if (typeof key_hash === 'string') {
      this.entries.set(kid as string, {
        hash: Buffer.from(key_hash, 'base64url'),
        verified: null,
        expiresAtMs,
        credential,
      })
    } else {
      const options = { owner: agentId, jwk: public_jwk as JWK, algorithm: algorithm as string, expiresAtMs }
      this.tokens.put(kid as string, credential, options)
    }
  }

  private removeCredential({ fields }: StoredDocument): void {
    this.entries.delete(fields.kid as string)
    this.tokens.remove(fields.kid as string)
  }
}
