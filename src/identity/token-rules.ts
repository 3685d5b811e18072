// The token introspections of all projects, ready to be asked: which of them takes a token. In step with the
// configuration, so a change of it holds from the moment it is stored.
import type { JWK } from 'jose'
import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import { type TokenIntrospectFields, tokenIntrospectsKind } from './token-introspect.ts'

/** One configuration at one revision: another revision is another object, and what was kept under this one is gone. */
export interface TokenRule {
  readonly id: string
  readonly projectId: string
  /** Null: takes opaque tokens. */
  readonly jwt: { readonly issuer: string; readonly audience: string } | null
  readonly validation:
    | { readonly kind: 'offline'; readonly pinned: readonly JWK[] | null }
    /** `endpoint` null: as the issuer's discovery document says. */
    | { readonly kind: 'online'; readonly endpoint: string | null; readonly cacheMs: number }
  /** Empty: the subject of a token is no node. */
  readonly nodeType: string
  readonly subClaim: string
  /** Target name → claim. */
  readonly mapping: ReadonlyMap<string, string>
  readonly performUpsert: boolean
}

export class TokenRules {
  private readonly documents: ConfigSource
  /** By project, in the order in which they were made. */
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

  rulesOf(projectId: string): readonly TokenRule[] {
    return this.byProject.get(projectId) ?? []
  }

  /** False once the configuration was changed or removed. */
  isCurrent(rule: TokenRule): boolean {
    return this.rulesOf(rule.projectId).includes(rule)
  }

  private load(projectId: string): void {
    const present = new Map(this.rulesOf(projectId).map((rule) => [rule.id, rule]))
    const rules = this.documents.inScope(tokenIntrospectsKind, projectId).map((document) => {
      const rule = ruleOf(document)
      const known = present.get(rule.id)
      return known !== undefined && isSameRule(known, rule) ? known : rule
    })
    if (rules.length === 0) this.byProject.delete(projectId)
    else this.byProject.set(projectId, rules)
  }
}

/** A neighbour's change must not make this one forget what it knows. */
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
    subClaim: fields.sub_claim,
    mapping: new Map(Object.entries(fields.claims_mapping).map(([name, { selector }]) => [name, selector])),
    performUpsert: fields.perform_upsert,
  }
}
