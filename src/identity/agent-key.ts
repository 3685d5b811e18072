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
import type { AgentCaller, ApiPermission } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { AgentTokens } from './agent-token.ts'

/** Kind name of agent credentials. */
export const agentCredentialsKind = 'application-agent-credentials'
const tombstonesKind = tombstoneKind(agentCredentialsKind)

/** Lets secret scanners recognize a key. */
const PREFIX = 'vgk_'
const KID_LENGTH = 16
const KEY_LENGTH = PREFIX.length + KID_LENGTH + 43

/** A new key with what is stored of it. */
export interface MintedKey {
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
  readonly agentId: string
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
    return this.callers.get(entry.agentId) ?? null
  }

  private authenticateToken(token: string): Promise<AgentCaller | null> | AgentCaller | null {
    const callerOf = (callerKey: string | null): AgentCaller | null =>
      callerKey === null ? null : (this.callers.get(callerKey) ?? null)
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
    this.putSecret(fields, id, application_agent_id as string, until as string)
  }

  private putCredential({ fields, parent_id }: StoredDocument): void {
    this.putSecret(fields, parent_id, parent_id, fields.expire_time as string)
  }

  /** `callerKey`: the key of the caller in `callers`. */
  private putSecret(fields: DocumentFields, callerKey: string, agentId: string, expireTime: string): void {
    const { kid, key_hash, public_jwk, algorithm } = fields
    const expiresAtMs = Date.parse(expireTime)
    if (typeof key_hash === 'string') {
      this.entries.set(kid as string, {
        hash: Buffer.from(key_hash, 'base64url'),
        verified: null,
        expiresAtMs,
        agentId: callerKey,
      })
    } else {
      const options = { owner: agentId, jwk: public_jwk as JWK, algorithm: algorithm as string, expiresAtMs }
      this.tokens.put(kid as string, callerKey, options)
    }
  }

  private removeCredential({ fields }: StoredDocument): void {
    this.entries.delete(fields.kid as string)
    this.tokens.remove(fields.kid as string)
  }
}
