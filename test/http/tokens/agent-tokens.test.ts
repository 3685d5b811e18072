// Agents whose credential has a public key of the client: they send tokens that they sign, instead of an agent key.
import { createPublicKey, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rsaJwkOf } from '../../support/rsa-jwk.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

interface ClientKey {
  readonly alg: string
  readonly kid: string
  readonly jwk: JWK
  readonly pem: string
  readonly privateKey: CryptoKey
}

let service: TestService
let agentId: string
let client: ClientKey

beforeAll(async () => {
  service = await startService({}, { sync: false })
  agentId = (await service.addAgent('signer', ['Capture'])).agentId
  client = await newKey('ES256')
  expect((await register({ public_key_jwk: client.jwk })).status).toBe(201)
})

afterAll(() => service?.stop())

async function newKey(alg: string): Promise<ClientKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return { alg, kid: await calculateJwkThumbprint(jwk), jwk, pem: await exportSPKI(publicKey), privateKey }
}

const register = (more: object): Promise<TestResponse> =>
  service.configure('POST', 'application-agent-credentials', { application_agent_id: agentId, ...more })

const nowS = () => Math.floor(Date.now() / 1000)
const claimsOf = (agent = agentId) => ({ iss: agent, sub: agent, iat: nowS(), exp: nowS() + 600, jti: randomUUID() })

function sign(claims: object, { alg, kid, privateKey }: ClientKey = client, header: object = {}): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
}

const captureWith = (headers: Record<string, string>): Promise<TestResponse> =>
  service.send('/capture/v1/nodes', { headers, body: { nodes: [{ type: 'Car', external_id: 'c' }] } })
const statusOf = async (token: string) => (await captureWith({ 'x-svc-clientkey': token })).status

describe('a credential with a public key of the client', () => {
  it.each(['ES256', 'ES384', 'ES512', 'RS256', 'EdDSA'])(
    '%s: contains no secret, and its tokens are accepted',
    async (alg) => {
      const own = await newKey(alg)
      const created = await register({ public_key_pem: own.pem, display_name: 'mine' })
      expect(created.status).toBe(201)
      expect(created.body).toMatchObject({ kid: own.kid, display_name: 'mine' })
      expect(created.body).not.toHaveProperty('api_key')
      expect(created.body.application_agent_config).toEqual({
        appAgentId: agentId,
        applicationId: service.applicationId,
        projectId: service.projectId,
      })
      const token = await sign(claimsOf(), own)
      for (let round = 0; round < 2; round++) expect(await statusOf(token)).toBe(200)
      // Without a key header, `Authorization` holds the token.
      expect((await captureWith({ authorization: `Bearer ${token}` })).status).toBe(200)
    },
  )

  it('is read without the key', async () => {
    const { body } = await service.configure('GET', `application-agent-credentials?project_id=${service.projectId}`)
    const read = (body.data as { kid: string }[]).find(({ kid }) => kid === client.kid)
    expect(read).toMatchObject({ application_agent_id: agentId, application_id: service.applicationId })
    expect(JSON.stringify(body)).not.toContain(client.jwk.x)
  })

  it('has the permissions of its agent', async () => {
    const asked = { subject: { type: 'P', id: 'p' }, action: { name: 'see' }, resource: { type: 'R', id: 'r' } }
    const headers = { 'x-svc-clientkey': await sign(claimsOf()) }
    const refused = await service.send('/access/v1/evaluation', { headers, body: asked })
    expect([refused.status, refused.body.message]).toEqual([401, 'insufficient API access level for appAgent'])
  })

  it.each([
    [
      'both forms',
      () => ({ public_key_jwk: client.jwk, public_key_pem: client.pem }),
      'public_key_pem: cannot be combined with `public_key_jwk`',
    ],
    ['a text', () => ({ public_key_pem: 'none' }), 'public_key_pem: expected a public key'],
    [
      'a key for another algorithm',
      () => ({ public_key_jwk: { ...client.jwk, alg: 'RS256' } }),
      'public_key_jwk: alg: expected `ES256`, the algorithm that is accepted with this key',
    ],
    [
      'a key for encryption',
      () => ({ public_key_jwk: { ...client.jwk, use: 'enc' } }),
      'public_key_jwk: expected a key for signatures, as `use` and `key_ops` say',
    ],
    [
      'a key for other operations',
      () => ({ public_key_jwk: { ...client.jwk, key_ops: ['deriveKey'] } }),
      'public_key_jwk: expected a key for signatures, as `use` and `key_ops` say',
    ],
    [
      'an RSA key that is slow to verify with',
      () => ({ public_key_jwk: rsaJwkOf(8200) }),
      'public_key_jwk: expected an RSA key of at most 8192 bits',
    ],
    [
      'a longer one as PEM',
      () => {
        const key = createPublicKey({ key: rsaJwkOf(16_384), format: 'jwk' })
        return { public_key_pem: key.export({ format: 'pem', type: 'spki' }) }
      },
      'public_key_pem: expected an RSA key of at most 8192 bits',
    ],
    ['a shared secret', () => ({ public_key_jwk: { kty: 'oct', k: 'AAAA' } }), 'public_key_jwk: expected a public key'],
    [
      'a private key',
      () => ({ public_key_jwk: { ...client.jwk, d: 'AAAA' } }),
      'public_key_jwk: expected a public key: the private key must stay with its owner',
    ],
    ['a number', () => ({ public_key_jwk: 5 }), 'public_key_jwk: expected a JWK as an object or a string'],
  ])('refuses %s', async (_, bodyOf, message) => {
    const refused = await register(bodyOf())
    expect([refused.status, refused.body.errors]).toEqual([422, [message]])
  })

  it('accepts RSA keys of up to 8192 bits', async () => {
    const created = await register({ public_key_jwk: rsaJwkOf(8192) })
    expect(created.status).toBe(201)
    await service.configure('DELETE', `application-agent-credentials/${created.body.id}`)
  })

  it('refuses a key that another credential has', async () => {
    const refused = await register({ public_key_jwk: JSON.stringify(client.jwk) })
    expect([refused.status, refused.body.message]).toEqual([409, `another credential has the key \`${client.kid}\``])
  })
})

describe('a token of an agent', () => {
  it('is refused unless its agent signed it for itself', async () => {
    const stranger = await newKey('ES256')
    const other = (await service.addAgent('other', ['Capture'])).agentId
    const refused = {
      'a key that was not registered': await sign(claimsOf(), stranger),
      'the id of a registered key, but another key': await sign(claimsOf(), { ...stranger, kid: client.kid }),
      'another agent': await sign(claimsOf(other)),
      'another subject': await sign({ ...claimsOf(), sub: other }),
      'no subject': await sign({ ...claimsOf(), sub: undefined }),
      'no jti': await sign({ ...claimsOf(), jti: undefined }),
      'an expired token': await sign({ ...claimsOf(), iat: nowS() - 700, exp: nowS() - 1 }),
      'no expiration': await sign({ ...claimsOf(), exp: undefined }),
      'a lifetime below two minutes': await sign({ ...claimsOf(), exp: nowS() + 60 }),
      'a lifetime above a day': await sign({ ...claimsOf(), exp: nowS() + 86_500 }),
      'a time of issue in the future': await sign({ ...claimsOf(), iat: nowS() + 300, exp: nowS() + 900 }),
      'no signature': `${Buffer.from(JSON.stringify({ alg: 'none', kid: client.kid })).toString('base64url')}.${Buffer.from(JSON.stringify(claimsOf())).toString('base64url')}.`,
      'a changed signature': `${(await sign(claimsOf())).slice(0, -4)}AAAA`,
      'a long token': await sign({ ...claimsOf(), padding: 'x'.repeat(5000) }),
    }
    for (const [what, token] of Object.entries(refused)) expect([what, await statusOf(token)]).toEqual([what, 401])
    expect(await statusOf(await sign(claimsOf()))).toBe(200)
  })

  it('is no token of a service account, and no user token', async () => {
    const authorization = `Bearer ${await sign(claimsOf())}`
    const listed = await service.send(`/configs/v1/applications?project_id=${service.projectId}`, {
      headers: { authorization },
    })
    expect(listed.status).toBe(401)
    const { key } = await service.addAgent('asking', ['CIQ'])
    const who = await service.send('/contx-iq/v1/whoami', { headers: { 'x-svc-clientkey': key, authorization } })
    expect(who.status).toBe(401)
    // Nor does the token of a service account stand for an agent.
    expect(await statusOf(service.token)).toBe(401)
  })

  it('ends with its credential', async () => {
    const own = await newKey('ES256')
    const { body } = await register({ public_key_jwk: own.jwk })
    const token = await sign(claimsOf(), own)
    expect(await statusOf(token)).toBe(200)
    expect((await service.configure('DELETE', `application-agent-credentials/${body.id}`)).status).toBe(200)
    expect(await statusOf(token)).toBe(401)
    // The same key, registered again, verifies the same token.
    expect((await register({ public_key_jwk: own.jwk })).status).toBe(201)
    expect(await statusOf(token)).toBe(200)
  })

  it('of a deleted project says that the graph is gone', async () => {
    const other = await startService({}, { sync: false })
    try {
      const own = await newKey('ES256')
      const body = { application_agent_id: other.agentId, public_key_jwk: own.jwk }
      expect((await other.configure('POST', 'application-agent-credentials', body)).status).toBe(201)
      const headers = { 'x-svc-clientkey': await sign(claimsOf(other.agentId), own) }
      const capture = () =>
        other.send('/capture/v1/nodes', { headers, body: { nodes: [{ type: 'Car', external_id: 'c' }] } })
      expect((await capture()).status).toBe(200)
      expect((await other.configure('DELETE', `projects/${other.projectId}`)).status).toBe(200)
      expect([(await capture()).status, (await capture()).body.message]).toEqual([
        404,
        'knowledge graph not found for this project',
      ])
    } finally {
      await other.stop()
    }
  })
})
