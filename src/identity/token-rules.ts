// The token introspections of all projects, prepared for lookups. Follows the configuration: a change takes effect with
// its commit.
import type { JWK } from 'jose'
import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import { type TokenIntrospectFields, tokenIntrospectsKind } from './token-introspect.ts'

/**
 * One configuration at one revision. Another revision is another object, and cache entries under this one become
 * invalid.
 */
export interface TokenRule {
  readonly id: string
  readonly projectId: string
  /** Null: accepts opaque tokens. */
  readonly jwt: { readonly issuer: string; readonly audience: string } | null
  readonly validation:
    | { readonly kind: 'offline'; readonly pinned: readonly JWK[] | null }
    /** `endpoint` null: from the issuer's discovery document. */
    | { readonly kind: 'online'; readonly endpoint: string | null; readonly cacheMs: number }
  /** Empty: the subject of a token has no node. */
  readonly nodeType: string
  readonly subClaim: string
  /** Target name → claim. */
  readonly mapping: ReadonlyMap<string, string>
  readonly performUpsert: boolean
}

/** All token rules, by project. */
export class TokenRules {
  private readonly documents: ConfigSource
  /** By project, in order of creation. */
  private readonly byProject = new Map<string, readonly TokenRule[]>()

  constructor(documents: ConfigSource) {
    this.documents = documents
    for (const { project_id } of documents.all(tokenIntrospectsKind)) this.load(project_id)
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const document = after ?? before
        if (document?.kind === tokenIntrospectsKind) this.load(document.project_id)
      }
    })
  }

  /** The rules of a project. */
  rulesOf(projectId: string): readonly TokenRule[] {
    return this.byProject.get(projectId) ?? []
  }

  /** Whether the rule is unchanged in the configuration. */
  isCurrent(rule: TokenRule): boolean {
    return this.rulesOf(rule.projectId).includes(rule)
  }

  private load(projectId: string): void {
    const existingRules = new Map(this.rulesOf(projectId).map((rule) => [rule.id, rule]))
    const rules = this.documents.inScope(tokenIntrospectsKind, projectId).map((document) => {
      const rule = ruleOf(document)
      const existing = existingRules.get(rule.id)
      return existing !== undefined && isSameRule(existing, rule) ? existing : rule
    })
    if (rules.length === 0) this.byProject.delete(projectId)
    else this.byProject.set(projectId, rules)
  }
}

/** A change of another configuration must not invalidate the cache entries of this one. */
function isSameRule(a: TokenRule, b: TokenRule): boolean {
  return JSON.stringify([a, [...a.mapping]]) === JSON.stringify([b, [...b.mapping]])
}

function ruleOf(document: StoredDocument): TokenRule {
  const fields = document.fields as unknown as TokenIntrospectFields
  const jwks = fields.offline_validation?.public_jwks ?? []
  const online = fields.online_validation
  return {
    id: document.id,
    projectId: document.project_id,
    jwt: fields.jwt_matcher ?? null,
    validation:
      online === undefined
        ? { kind: 'offline', pinned: jwks.length === 0 ? null : jwks.map((text) => JSON.parse(text) as JWK) }
        : { kind: 'online', endpoint: online.userinfo_endpoint ?? null, cacheMs: (online.cache_ttl ?? 0) * 1000 },
    nodeType: fields.ikg_node_type ?? '',
    subClaim: fields.sub_claim ?? 'sub',
    mapping: new Map(Object.entries(fields.claims_mapping).map(([name, { selector }]) => [name, selector])),
    performUpsert: fields.perform_upsert,
  }
}
