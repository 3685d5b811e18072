// Agent keys: minted once, kept as a hash, and looked up in memory for every decision.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type ConfigSource, type StoredDocument, tombstoneKind } from '../config/kind.ts'
import type { AgentCaller, ApiPermission } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'

const agentCredentialsKind = 'application-agent-credentials'
const tombstonesKind = tombstoneKind(agentCredentialsKind)

/** Lets scanners for leaked secrets recognise a key. */
const PREFIX = 'vgk_'
const KID_LENGTH = 16
const KEY_LENGTH = PREFIX.length + KID_LENGTH + 43

export interface MintedKey {
  /** Prefix, key id and 256 random bits, URL-safe; shown once. */
  readonly key: string
  /** Public; finds the hash. */
  readonly kid: string
  readonly hash: string
}

export function mintAgentKey(): MintedKey {
  const kid = randomBytes(12).toString('base64url')
  const key = `${PREFIX}${kid}${randomBytes(32).toString('base64url')}`
  return { key, kid, hash: hash('sha256', key, 'base64url') }
}

interface AgentKeyEntry {
  readonly hash: Buffer
  /** The key once it has been verified by its hash: comparing texts takes a tenth of the time of SHA-256. */
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

/** Takes the same time wherever two texts of one length differ, so that a key cannot be guessed piece by piece. */
function equalInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}

/** In step with the configuration: a deletion or a change of permissions holds from the moment it is stored. */
export class AgentKeys {
  private readonly clock: Clock
  private readonly entries = new Map<string, AgentKeyEntry>()
  private readonly callers = new Map<string, AgentCaller>()

  constructor(documents: ConfigSource, clock: Clock) {
    this.clock = clock
    for (const agent of documents.all('application-agents')) this.putAgent(agent)
    for (const credential of documents.all(agentCredentialsKind)) this.putCredential(credential)
    for (const gone of documents.all(tombstonesKind)) this.putTombstone(gone)
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const kind = (after ?? before)?.kind
        if (kind === 'application-agents') {
          if (after !== null) this.putAgent(after)
          else if (before !== null) this.callers.delete(before.id)
        } else if (kind === tombstonesKind) {
          if (after !== null) this.putTombstone(after)
        } else if (kind === agentCredentialsKind) {
          if (before !== null) this.entries.delete(before.fields.kid as string)
          if (after !== null) this.putCredential(after)
        }
      }
    })
  }

  /** Null: unknown, expired, or its agent is gone. Runs before every decision: synchronous, and no search. */
  authenticateAgent(key: string): AgentCaller | null {
    if (key.length !== KEY_LENGTH || !key.startsWith(PREFIX)) return null
    const entry = this.entries.get(key.slice(PREFIX.length, PREFIX.length + KID_LENGTH))
    if (entry === undefined || !matchesKey(entry, key)) return null
    // Written so that an unreadable time counts as past.
    if (!(this.clock.now() < entry.expiresAtMs)) return null
    return this.callers.get(entry.agentId) ?? null
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

  /** A key that outlives its project, and with it everything that it could be used for. */
  private putTombstone({ id, project_id, fields }: StoredDocument): void {
    const { kid, key_hash, application_id, application_agent_id, until } = fields as Record<string, string>
    this.callers.set(id, {
      kind: 'agent',
      agentId: application_agent_id as string,
      applicationId: application_id as string,
      projectId: project_id,
      permissions: new Set(fields.api_permissions as readonly ApiPermission[]),
      user: null,
    })
    this.entries.set(kid as string, {
      hash: Buffer.from(key_hash as string, 'base64url'),
      verified: null,
      expiresAtMs: Date.parse(until as string),
      agentId: id,
    })
  }

  private putCredential(credential: StoredDocument): void {
    const { kid, key_hash, expire_time } = credential.fields as Record<string, string>
    this.entries.set(kid as string, {
      hash: Buffer.from(key_hash as string, 'base64url'),
      verified: null,
      expiresAtMs: Date.parse(expire_time as string),
      agentId: credential.parent_id,
    })
  }
}
