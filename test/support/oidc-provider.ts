// A certified OpenID provider (oidc-provider) in this process, with a grant that issues tokens for any user without a
// browser.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import { Provider } from 'oidc-provider'

export interface OpenIdProvider {
  readonly issuer: string
  /** A JWT for that audience, with what the provider knows about the user. */
  accessTokenFor(sub: string, audience: string): Promise<string>
  /** Opaque; its user-info endpoint accepts it. */
  opaqueToken(sub: string): Promise<string>
  revoke(token: string): Promise<void>
  readonly userinfoEndpoint: string
  stop(): Promise<void>
}

const GRANT = 'urn:test:anybody'
const client = { client_id: 'app', client_secret: 'secret-of-the-app' }
const authorization = `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`

export async function startProvider(): Promise<OpenIdProvider> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const resourceOf = (audience: string) => ({
    scope: 'api',
    audience,
    accessTokenTTL: 600,
    accessTokenFormat: 'jwt' as const,
    jwt: { sign: { alg: 'RS256' as const } },
  })
  const { warn, info } = console
  // It logs warnings about its defaults, and nothing else.
  console.warn = console.info = () => undefined
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'provider', use: 'sig', alg: 'RS256' } as never] },
    clients: [{ ...client, grant_types: [GRANT], redirect_uris: [], response_types: [] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    ttl: { AccessToken: 600, Grant: 600 },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: { enabled: true, getResourceServerInfo: (_, audience) => resourceOf(audience) },
    },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: `${sub}@example.com`, email_verified: true }),
    }),
    extraTokenClaims: (_, token) => ('accountId' in token ? { email: `${token.accountId}@example.com` } : {}),
  })
  provider.registerGrantType(
    GRANT,
    async (context) => {
      const { sub, resource } = context.oidc.params as unknown as { sub: string; resource?: string }
      const holder = context.oidc.client
      if (holder === undefined) throw new Error('no client')
      const scope = resource === undefined ? 'openid email' : 'api'
      const grant = new provider.Grant({ accountId: sub, clientId: holder.clientId })
      if (resource === undefined) grant.addOIDCScope(scope)
      else grant.addResourceScope(resource, scope)
      const grantId = await grant.save()
      const token = new provider.AccessToken({ accountId: sub, client: holder, grantId, gty: GRANT, scope } as never)
      if (resource !== undefined) {
        token.resourceServer = new (provider.ResourceServer as never as new (id: string, how: object) => never)(
          resource,
          resourceOf(resource),
        )
      }
      context.body = { access_token: await token.save(), token_type: 'Bearer' }
    },
    ['sub', 'resource'],
  )
  server.on('request', provider.callback())
  Object.assign(console, { warn, info })

  const post = async (path: string, members: Record<string, string>): Promise<string> => {
    const body = new URLSearchParams(members)
    const response = await fetch(`${issuer}${path}`, { method: 'POST', headers: { authorization }, body })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return text
  }
  const tokenOf = async (members: Record<string, string>): Promise<string> =>
    JSON.parse(await post('/token', { grant_type: GRANT, ...members })).access_token

  return {
    issuer,
    userinfoEndpoint: `${issuer}/me`,
    accessTokenFor: (sub, audience) => tokenOf({ sub, resource: audience }),
    opaqueToken: (sub) => tokenOf({ sub }),
    revoke: async (token) => void (await post('/token/revocation', { token })),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
