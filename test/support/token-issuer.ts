// A token issuer under the control of a test: a real HTTP server with real keys, which can lie, delay and fail.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly jwk: JWK
  readonly privateKey: PrivateKey
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => void

export interface TestIssuer {
  readonly url: string
  /** Paths in the order of the requests. */
  readonly calls: string[]
  /** The keys published at `/jwks`. */
  keys: SigningKey[]
  /** Overrides the response of a path. */
  readonly instead: Map<string, Respond>
  /** The user-info response by token. An unknown token gets 401. */
  readonly userinfo: Map<string, object>
  sign(
    claims: Readonly<Record<string, unknown>>,
    key?: SigningKey,
    header?: Partial<JWTHeaderParameters>,
  ): Promise<string>
  stop(): Promise<void>
  /** On the port that it had. */
  start(): Promise<void>
}

export async function makeKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export function json(body: unknown, status = 200): Respond {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
}

export async function startIssuer(): Promise<TestIssuer> {
  const first = await makeKey('first')
  const calls: string[] = []
  const instead = new Map<string, Respond>()
  const userinfo = new Map<string, object>()
  let url = ''
  let port = 0
  const issuer: { keys: SigningKey[] } = { keys: [first] }

  const answer: Respond = (request, response) => {
    const path = request.url ?? ''
    calls.push(path)
    const other = instead.get(path)
    if (other !== undefined) return other(request, response)
    if (path === '/.well-known/openid-configuration') {
      const document = { issuer: url, jwks_uri: `${url}/jwks`, userinfo_endpoint: `${url}/userinfo` }
      return json(document)(request, response)
    }
    if (path === '/jwks') return json({ keys: issuer.keys.map(({ jwk }) => jwk) })(request, response)
    const token = (request.headers.authorization ?? '').replace('Bearer ', '')
    const known = path === '/userinfo' ? userinfo.get(token) : undefined
    return json(known ?? { error: 'invalid_token' }, known === undefined ? 401 : 200)(request, response)
  }

  let server = createServer(answer)
  const start = (): Promise<void> =>
    new Promise((resolve) => {
      server = createServer(answer)
      const listen = (): void => void server.listen(port, '127.0.0.1')
      // Another outgoing connection may use the port at this moment.
      server.on('error', () => setTimeout(listen, 20))
      server.on('listening', () => {
        port = (server.address() as AddressInfo).port
        url = `http://127.0.0.1:${port}`
        resolve()
      })
      listen()
    })
  await start()

  return Object.assign(issuer, {
    url,
    calls,
    instead,
    userinfo,
    sign: (claims: Readonly<Record<string, unknown>>, key = issuer.keys[0] ?? first, header = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header })
        .sign(key.privateKey),
    start,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}
