// Tokens of people, signed by a key that is pinned: what a token introspect says of them, and the tokens.
import { SignJWT } from 'jose'
import { makeKey } from './token-issuer.ts'

const ISSUER = 'https://people.example.org'
const AUDIENCE = 'verdigraph'

export interface People {
  /** The body of a token introspect, but for its project. */
  readonly introspect: object
  /** A token of the person, with claims of its own. */
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
