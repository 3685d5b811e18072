// User tokens for tests: makes tokens signed by a generated key, and the token introspection that pins this key.
import { SignJWT } from 'jose'
import { makeKey } from './token-issuer.ts'

const ISSUER = 'https://people.example.org'
const AUDIENCE = 'verdigraph'

export interface People {
  /** The body of a token introspect configuration, without its project. */
  readonly introspect: object
  /** A token of the person with additional claims. */
  tokenOf(subject: string, claims?: Readonly<Record<string, unknown>>): Promise<string>
}

export async function makePeople(nodeType: string): Promise<People> {
  const { kid, alg, jwk, privateKey } = await makeKey('people')
  return {
    introspect: {
      name: 'people',
      jwt_matcher: { issuer: ISSUER, audience: AUDIENCE },
      offline_validation: { public_jwks: [JSON.stringify(jwk)] },
      ikg_node_type: nodeType,
    },
    tokenOf: (subject, claims = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg, kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(subject)
        .setIssuedAt()
        .setExpirationTime('1 hour')
        .sign(privateKey),
  }
}
