// The configuration kind of token introspections: which tokens a project accepts, how they are verified, and how their
// claims are used (docs/decisions/0009-user-tokens.md).
import { createPublicKey } from 'node:crypto'
import { z } from 'zod'
import { defineKind, field } from '../config/define-kind.ts'
import { capturedType, propertyName } from '../config/element-schemas.ts'
import type { ConfigKind, ConfigReader, DocumentFields } from '../config/kind.ts'
import { protectedNames } from '../kernel/element-rules.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { err, ok } from '../kernel/result.ts'
import type { Upstream } from '../upstream/client.ts'
import { rsaLengthIssue } from './signing-key.ts'

/** Kind name of token introspections. */
export const tokenIntrospectsKind = 'token-introspects'

/** The stored fields. `check` has filled in the defaults. */
export interface TokenIntrospectFields {
  readonly jwt_matcher?: { readonly issuer: string; readonly audience: string }
  readonly opaque_matcher?: { readonly hint: string }
  readonly offline_validation?: { readonly public_jwks?: readonly string[] }
  readonly online_validation?: { readonly userinfo_endpoint?: string; readonly cache_ttl?: number }
  readonly ikg_node_type?: string
  /** Absent: the claim `sub`. */
  readonly sub_claim?: string
  readonly claims_mapping: Readonly<Record<string, { readonly selector: string }>>
  readonly perform_upsert: boolean
}

const CACHE_TTL_MAX_S = 3600

const selector = z.string().min(1).max(200)

const jwtMatcher = z
  .strictObject({ issuer: z.string().min(1).max(512), audience: z.string().min(1).max(150) })
  .meta({ id: 'JwtMatcher' })
const opaqueMatcher = z.strictObject({ hint: z.string().min(1).max(50) }).meta({ id: 'OpaqueMatcher' })
const offlineValidation = z
  .strictObject({ public_jwks: z.array(z.string().min(1).max(8192)).max(10).nullish() })
  .meta({ id: 'OfflineValidation' })
const onlineValidation = z
  .strictObject({
    userinfo_endpoint: z.string().min(1).max(2048).nullish(),
    cache_ttl: z.int().min(0).max(CACHE_TTL_MAX_S).nullish(),
  })
  .meta({ id: 'OnlineValidation' })

/** The claim that fills a property. */
const claimSelector = z.strictObject({ selector }).meta({ id: 'ClaimSelector' })

/** Registered claims (RFC 7519) keep their meaning under their own name. */
const registeredClaims = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'act'])

const claimsMapping = z
  .record(propertyName, claimSelector)
  .superRefine((mapping, context) => {
    for (const [name, { selector }] of Object.entries(mapping)) {
      if (protectedNames.has(name)) context.addIssue({ code: 'custom', path: [name], message: 'is a protected name' })
      else if (registeredClaims.has(name) && selector !== name) {
        context.addIssue({ code: 'custom', path: [name], message: 'is the name of a claim about the token itself' })
      }
    }
  })
  .meta({ id: 'ClaimsMapping' })

/** A string, or an object as clients of the reference service send it. Stored as the string. */
const subClaimAlias = z.strictObject({ selector }).meta({ alias: 'sub_claim' })
const subClaim = z.union([selector, subClaimAlias], {
  error: 'expected a claim name, or an object with `selector`',
})

/** A text that an empty string removes. */
const removable = z.string().max(200).describe('an empty string removes the value')

/** A document has one member of each pair: an update that sends one of them removes the other. */
const alternatives = [
  ['jwt_matcher', 'opaque_matcher'],
  ['offline_validation', 'online_validation'],
] as const

/** The kind `token-introspects`. `upstream` validates the URLs of issuers and endpoints. */
export function tokenIntrospects(upstream: Pick<Upstream, 'urlError'>): ConfigKind {
  return defineKind({
    path: tokenIntrospectsKind,
    label: 'token introspect configuration',
    fields: {
      jwt_matcher: field(jwtMatcher),
      opaque_matcher: field(opaqueMatcher),
      offline_validation: field(offlineValidation),
      online_validation: field(onlineValidation),
      ikg_node_type: field(capturedType).update(
        z
          .union([z.literal(''), capturedType])
          .meta({ documentedAs: removable })
          .nullish(),
      ),
      sub_claim: field(subClaim)
        .update(
          z
            .union([z.literal(''), selector, subClaimAlias])
            .meta({ documentedAs: removable })
            .nullish(),
        )
        .read(z.string().optional().describe('absent: the claim `sub`')),
      claims_mapping: field(claimsMapping).storedDefault({}),
      perform_upsert: field(z.boolean()).storedDefault(false),
    },
    normaliseBody: (body) => ({
      ...body,
      ...(isJsonObject(body.sub_claim) && { sub_claim: body.sub_claim.selector }),
    }),
    check(merged, { reader, current, parent, body }) {
      const removed =
        current === null
          ? []
          : alternatives.flatMap((pair) => {
              const sent = pair.filter((member) => Object.hasOwn(body, member))
              return sent.length === 1 ? pair.filter((member) => !sent.includes(member)) : []
            })
      const fields = withDefaults(
        Object.fromEntries(Object.entries(merged).filter(([name]) => !removed.includes(name as never))),
      )
      const issues = validationIssues(fields, upstream)
      if (issues.length > 0) return err({ kind: 'invalid', issues })
      const other = conflictMessage(fields, reader, parent.id, current?.id)
      return other === null ? ok({ fields: { ...fields } }) : err({ kind: 'conflict', message: other })
    },
  })
}

/** Fills in defaults and drops null members. */
function withDefaults(given: DocumentFields): TokenIntrospectFields {
  const { sub_claim, offline_validation, online_validation, ...rest } = given
  return {
    ...rest,
    ...(offline_validation === undefined
      ? {}
      : { offline_validation: withoutNullMembers(offline_validation as DocumentFields) }),
    ...(online_validation === undefined
      ? {}
      : { online_validation: withoutNullMembers(online_validation as DocumentFields) }),
    ...(sub_claim === undefined ? {} : { sub_claim }),
    claims_mapping: given.claims_mapping ?? {},
    perform_upsert: given.perform_upsert ?? false,
  } as TokenIntrospectFields
}

function withoutNullMembers(fields: DocumentFields): DocumentFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))
}

function validationIssues(fields: TokenIntrospectFields, upstream: Pick<Upstream, 'urlError'>): string[] {
  const { jwt_matcher, opaque_matcher, offline_validation, online_validation } = fields
  const issues: string[] = []
  if ((jwt_matcher === undefined) === (opaque_matcher === undefined)) {
    issues.push('jwt_matcher: expected exactly one of `jwt_matcher` and `opaque_matcher`')
  }
  if ((offline_validation === undefined) === (online_validation === undefined)) {
    issues.push('offline_validation: expected exactly one of `offline_validation` and `online_validation`')
  }
  if (jwt_matcher === undefined && opaque_matcher !== undefined && offline_validation !== undefined) {
    issues.push('offline_validation: an opaque token can only be validated online')
  }
  const endpoint = online_validation?.userinfo_endpoint
  if (opaque_matcher !== undefined && online_validation !== undefined && endpoint === undefined) {
    issues.push('online_validation.userinfo_endpoint: required for opaque tokens')
  }
  const refusedEndpoint = endpoint === undefined ? null : upstream.urlError(endpoint)
  if (refusedEndpoint !== null) issues.push(`online_validation.userinfo_endpoint: ${refusedEndpoint}`)
  const jwks = offline_validation?.public_jwks ?? []
  jwks.forEach((text, i) => {
    const fault = jwkError(text)
    if (fault !== null) issues.push(`offline_validation.public_jwks[${i}]: ${fault}`)
  })
  // With pinned keys the issuer is never called, so its name need not be a URL.
  if (jwt_matcher !== undefined && jwks.length === 0) {
    const refusal = upstream.urlError(jwt_matcher.issuer)
    if (refusal !== null) issues.push(`jwt_matcher.issuer: ${refusal}`)
  }
  if (fields.perform_upsert && fields.ikg_node_type === undefined) {
    issues.push('ikg_node_type: required if `perform_upsert` is true')
  }
  return issues
}

/** Returns null if the text is a public key that can verify signatures. */
function jwkError(text: string): string | null {
  let jwk: Record<string, unknown>
  try {
    jwk = JSON.parse(text)
  } catch {
    return 'expected the JSON text of one JWK'
  }
  if (typeof jwk !== 'object' || jwk === null) return 'expected the JSON text of one JWK'
  if (jwk.kty === 'oct') return 'expected a public key, found a shared secret'
  if ('d' in jwk) return 'expected a public key, found a private one'
  if (jwk.use !== undefined && jwk.use !== 'sig') return 'expected a key for signatures'
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' })
    const curve = asymmetricKeyDetails?.namedCurve
    switch (asymmetricKeyType) {
      case 'rsa':
        return rsaLengthIssue(asymmetricKeyDetails?.modulusLength ?? 0)
      case 'ec':
        return ['prime256v1', 'secp384r1', 'secp521r1'].includes(curve ?? '') ? null : 'expected P-256, P-384 or P-521'
      case 'ed25519':
        return null
      default:
        return `a key of the kind \`${asymmetricKeyType}\` cannot verify signatures here`
    }
  } catch {
    return 'the key cannot be read'
  }
}

/** Each token must match exactly one configuration. Returns the conflict with another configuration, or null. */
function conflictMessage(
  fields: TokenIntrospectFields,
  reader: ConfigReader,
  projectId: string,
  ownId: string | undefined,
): string | null {
  for (const other of reader.inScope(tokenIntrospectsKind, projectId)) {
    if (other.id === ownId) continue
    const { jwt_matcher, opaque_matcher } = other.fields as unknown as TokenIntrospectFields
    if (opaque_matcher !== undefined && fields.opaque_matcher !== undefined) {
      return `the project has another configuration for opaque tokens: \`${other.name}\``
    }
    if (
      jwt_matcher !== undefined &&
      jwt_matcher.issuer === fields.jwt_matcher?.issuer &&
      jwt_matcher.audience === fields.jwt_matcher.audience
    ) {
      return `the project has another configuration for this issuer and audience: \`${other.name}\``
    }
  }
  return null
}
