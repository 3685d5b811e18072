// The clients of key services against fakes that check credentials as the vendors do: deadlines, repetitions, tokens, and what they
// refuse in answers.
import { createHash, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { crc32c } from '../../../src/audit/customer-keys/crc32c.ts'
import type { CustomerKey } from '../../../src/audit/customer-keys/customer-key.ts'
import { derSignature } from '../../../src/audit/customer-keys/der-signature.ts'
import { type CustomerProvider, keyServiceOf, testKey } from '../../../src/audit/customer-keys/key-services.ts'
import { parseAllowList } from '../../../src/upstream/allow-list.ts'
import { createUpstream } from '../../../src/upstream/client.ts'
import { type KeyConfiguration, type KeyServices, startKeyServices } from '../../support/counterparts/key-services.ts'

const providers = ['CLOUD1', 'CLOUD1_ROLE', 'CLOUD2', 'CLOUD3'] as const
const text = Buffer.from('verdigraph/projects/p/abc\n12\nroot\n')

let keys: KeyServices
beforeEach(() => {
  keys = startKeyServices()
})
afterEach(() => keys.stop())

function upstream(allowed = '127.0.0.1') {
  const list = parseAllowList(allowed)
  if (!list.ok) throw new Error(list.error)
  return createUpstream({ allowed: list.value })
}

function open(name: string, { deadlineMs, params = {} }: { deadlineMs?: number; params?: object } = {}): CustomerKey {
  const { provider, key_resource, auth_params } = keys.configurations[name] as KeyConfiguration
  const identity = { resource: key_resource, params: { ...auth_params, ...params }, projectId: 'gid:project' }
  const service = keyServiceOf(provider as CustomerProvider)
  expect(service.errors(identity, { upstream: upstream() })).toEqual([])
  return service.open(identity, { upstream: upstream(), ...(deadlineMs !== undefined && { deadlineMs }) })
}

describe.each(providers)('a key of %s', (name) => {
  test('signs in DER with the public key that it returns, and reuses its token', async () => {
    const key = open(name)
    const tested = await testKey(key)
    if (!tested.ok) throw new Error(JSON.stringify(tested.error))
    const signed = await key.sign(text)
    if (!signed.ok) throw new Error(JSON.stringify(signed.error))
    expect(verify('sha256', text, keys.behaviour.key.publicKey, signed.value)).toBe(true)
    for (const once of ['AssumeRole', 'challenge', 'token'])
      expect(keys.calls.filter((call) => call === once).length).toBeLessThanOrEqual(1)
  })

  test('is called again after errors that pass, at most three times', async () => {
    let failures = 2
    const busy = () => (failures-- > 0 ? Response.json({ error: { message: 'busy' } }, { status: 503 }) : null)
    keys.behaviour.fault = busy
    expect((await open(name).publicKey()).ok).toBe(true)
    keys.calls.length = 0
    failures = 100
    const failed = await open(name).publicKey()
    expect(failed).toMatchObject({ ok: false, error: { message: 'HTTP status 503: busy' } })
    expect(keys.calls).toHaveLength(3)
  })

  test('is not called again after a refusal', async () => {
    keys.behaviour.fault = () => Response.json({ error: { message: 'never' } }, { status: 403 })
    expect((await open(name).sign(text)).ok).toBe(false)
    expect(keys.calls).toHaveLength(1)
  })

  test('that does not answer fails at the deadline', async () => {
    const answer = Promise.withResolvers<null>()
    keys.behaviour.fault = () => answer.promise
    const failed = await open(name, { deadlineMs: 150 }).sign(text)
    expect(failed).toMatchObject({ ok: false, error: { message: expect.stringMatching(/within/) } })
    answer.resolve(null)
  })

  test('that refuses its token gets a new one with the next call', async () => {
    const key = open(name)
    expect((await key.publicKey()).ok).toBe(true)
    keys.behaviour.fault = (call) =>
      call === 'AssumeRole' || call === 'token' ? null : new Response('', { status: 401 })
    expect((await key.publicKey()).ok).toBe(false)
    keys.behaviour.fault = null
    expect((await key.publicKey()).ok).toBe(true)
  })

  test('is not called at an address that is not allowed', async () => {
    const { provider, key_resource, auth_params } = keys.configurations[name] as KeyConfiguration
    const identity = { resource: key_resource, params: auth_params, projectId: 'gid:project' }
    const service = keyServiceOf(provider as CustomerProvider)
    expect(service.errors(identity, { upstream: upstream('10.0.0.1') })).toContainEqual(
      expect.stringMatching(/^auth_params\.endpoint: /),
    )
    const key = service.open(identity, { upstream: upstream('10.0.0.1') })
    expect(await key.publicKey()).toMatchObject({
      ok: false,
      error: { message: 'the host may not be called (setting `upstream_allow`)' },
    })
    expect(keys.calls).toEqual([])
  })
})

describe('a key of CLOUD1', () => {
  test.each([
    ['arn:aws:kms:eu-west-1:111122223333:alias/audit', {}, []],
    ['alias/audit', {}, ['auth_params.region: required unless `key_resource` is an ARN']],
    ['alias/audit', { region: 'eu-west-1' }, []],
    ['alias/audit', { region: 'Europe' }, ['auth_params.region: expected a region, such as `eu-west-1`']],
    [
      'arn:aws:kms:eu-west-1:111122223333:alias/audit',
      { region: 'eu-west-2' },
      ['auth_params.region: differs from that of `key_resource`'],
    ],
    [
      'arn:aws:kms:eu-west-1:1:key/x',
      { region: 'eu-west-1' },
      ['key_resource: expected the ARN of a key or an alias, a key id, or `alias/` and a name'],
    ],
    ['alias/audit', { region: 'eu-west-1', role_arn: 'audit' }, ['auth_params.role_arn: expected the ARN of a role']],
    [
      'alias/audit',
      { region: 'eu-west-1', external_id: 'x' },
      ['auth_params.external_id: only together with `role_arn`'],
    ],
    [
      'alias/audit',
      { region: 'eu-west-1', endpoint: 'https://kms.example/path' },
      ['auth_params.endpoint: expected a URL without path, such as `https://kms.internal`'],
    ],
  ])('with the resource %s and the parameters %o has the errors %o', (resource, more, errors) => {
    const params = { access_key_id: 'a', secret_access_key: 'b', ...more }
    expect(
      keyServiceOf('CUSTOMER_CLOUD1_KMS').errors({ resource, params, projectId: '' }, { upstream: upstream('') }),
    ).toEqual(errors)
  })

  test('does not sign a text that the service would refuse', async () => {
    expect(await open('CLOUD1').sign(new Uint8Array(4097))).toMatchObject({ ok: false })
    expect(keys.calls).toEqual([])
  })
})

describe('a role of CLOUD1 that this service assumes', () => {
  const identity = (params: object = {}) => {
    const { key_resource, auth_params } = keys.serviceRole
    return { resource: key_resource, params: { ...auth_params, ...params }, projectId: 'gid:project' }
  }
  const service = keyServiceOf('CUSTOMER_CLOUD1_KMS')

  test.each(['accessKey', 'webIdentity'] as const)('signs with the identity %s of the service', async (kind) => {
    const deps = { upstream: upstream(), environment: keys.identities[kind] }
    expect(service.errors(identity(), deps)).toEqual([])
    keys.behaviour.trusted = 'gid:project'
    const key = service.open(identity(), deps)
    expect(await testKey(key)).toMatchObject({ ok: true })
    expect((await key.sign(text)).ok).toBe(true)
    const exchanged = kind === 'webIdentity' ? ['AssumeRoleWithWebIdentity'] : []
    expect(keys.calls).toEqual([...exchanged, 'AssumeRole', 'GetPublicKey', 'Sign', 'Sign'])
  })

  test.each([null, 'gid:other'])('that trusts %s is not assumed for the project', async (trusted) => {
    keys.behaviour.trusted = trusted
    const deps = { upstream: upstream(), environment: keys.identities.webIdentity }
    const failed = await service.open(identity(), deps).sign(text)
    expect(failed).toMatchObject({
      ok: false,
      error: { call: 'AssumeRole', message: expect.stringMatching(/HTTP status 403: AccessDenied/) },
    })
    for (const secret of keys.secrets) expect(JSON.stringify(failed)).not.toContain(secret)
  })

  test('is refused if the service has no identity, or the customer names the external id or the token service', () => {
    const deps = { upstream: upstream(), environment: keys.identities.accessKey }
    expect(service.errors(identity(), { upstream: upstream(), environment: {} })).toEqual([
      expect.stringMatching(
        /^auth_params\.role_arn: this service has no credentials to assume it: add `access_key_id`/,
      ),
    ])
    expect(service.errors(identity({ external_id: 'gid:other' }), deps)).toEqual([
      'auth_params.external_id: only together with `access_key_id`; without it, the id of the project is sent',
    ])
    expect(service.errors(identity({ sts_endpoint: keys.url }), deps)).toEqual([
      'auth_params.sts_endpoint: only together with `access_key_id`',
    ])
    expect(service.errors(identity({ role_arn: '' }), deps)).toEqual([
      expect.stringMatching(/^auth_params\.role_arn: required for this provider, unless/),
    ])
  })

  test('fails with the missing token file in the log of the operator only', async () => {
    const environment = { ...keys.identities.webIdentity, AWS_WEB_IDENTITY_TOKEN_FILE: '/nonexistent/token' }
    const failed = await service.open(identity(), { upstream: upstream(), environment }).sign(text)
    expect(failed).toMatchObject({
      ok: false,
      error: { message: 'the token of this service cannot be read', detail: expect.stringContaining('/nonexistent') },
    })
    expect(keys.calls).toEqual([])
  })
})

test.each([
  ['CLOUD1_ROLE', 'AssumeRole'],
  ['CLOUD3', 'token'],
] as const)('a key of %s replaces what %s returned before it expires', async (name, call) => {
  const key = open(name)
  const count = () => keys.calls.filter((each) => each === call).length
  await key.publicKey()
  await key.publicKey()
  expect(count()).toBe(1)
  keys.behaviour.lifetimeS = 200
  const shortLived = open(name)
  await shortLived.publicKey()
  await shortLived.publicKey()
  expect(count()).toBe(3)
})

describe('a key of CLOUD2', () => {
  test.each([
    ['a wrong checksum of the signature', { signatureCrc32c: '1' }, /signatureCrc32c/],
    ['a digest whose checksum was not verified', { verifiedDigestCrc32c: false }, /did not verify/],
    ['another key', { name: 'projects/x' }, /another key/],
    ['no signature', { signature: '' }, /no `signature`/],
  ])('refuses an answer with %s', async (_what, change, message) => {
    const signature = sign('sha256', text, keys.behaviour.key.privateKey)
    const right = {
      name: keys.configurations.CLOUD2?.key_resource,
      signature: signature.toString('base64'),
      signatureCrc32c: String(crc32c(signature)),
      verifiedDigestCrc32c: true,
    }
    keys.behaviour.fault = () => Response.json(right)
    expect((await open('CLOUD2').sign(text)).ok).toBe(true)
    keys.behaviour.fault = () => Response.json({ ...right, ...change })
    expect(await open('CLOUD2').sign(text)).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(message) },
    })
  })

  test('needs a version of the key and the key file of a service account', () => {
    const { errors } = keyServiceOf('CUSTOMER_CLOUD2_KMS')
    const resource = 'projects/p/locations/l/keyRings/r/cryptoKeys/k'
    const found = errors(
      { resource, params: { credentials_json: '{"private_key": "secret"}' }, projectId: '' },
      { upstream: upstream('') },
    )
    expect(found).toEqual([
      expect.stringMatching(/^key_resource: expected .* with a version of the key$/),
      expect.stringMatching(
        /^auth_params\.credentials_json: expected the key file of a service account; missing or invalid: /,
      ),
    ])
    expect(found.join()).not.toContain('secret')
  })
})

describe('a key of CLOUD3', () => {
  const challenge = (authorization: string, resource: string) => () => {
    const headers = { 'www-authenticate': `Bearer authorization="${authorization}", resource="${resource}"` }
    return new Response('', { status: 401, headers })
  }

  test.each([
    [
      'an unknown authority',
      'https://login.attacker.example/0f8fad5b-d9cb-469f-a165-70867728950e',
      'https://vault.azure.net',
      /authority `https:\/\/login.attacker.example` of the challenge is not allowed/,
    ],
    ['another tenant', 'URL/11111111-d9cb-469f-a165-70867728950e', 'https://vault.azure.net', /tenant `11111111-/],
    [
      'a token for another service',
      'URL/0f8fad5b-d9cb-469f-a165-70867728950e',
      'https://management.azure.com',
      /requests a token for `https:\/\/management.azure.com`/,
    ],
  ])('sends its secret to no one after a challenge with %s', async (_what, authorization, resource, message) => {
    keys.behaviour.fault = challenge(authorization.replace('URL', keys.url), resource)
    expect(await open('CLOUD3').sign(text)).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(message) },
    })
    expect(keys.calls).toEqual(['challenge'])
  })

  test('reads a challenge with a scope', async () => {
    const { tenant_id } = (keys.configurations.CLOUD3 as KeyConfiguration).auth_params
    const headers = {
      'www-authenticate': `Bearer authorization="${keys.url}/${tenant_id}", scope="https://vault.azure.net/.default"`,
    }
    keys.behaviour.fault = (call) => (call === 'challenge' ? new Response('', { status: 401, headers }) : null)
    expect((await open('CLOUD3').sign(text)).ok).toBe(true)
  })

  test('is called only in a domain of vaults, unless an endpoint is given', () => {
    const { errors } = keyServiceOf('CUSTOMER_CLOUD3_KEY_VAULT')
    const params = { tenant_id: 't', client_id: 'c', client_secret: 's' }
    const resource = 'https://vault.attacker.example/keys/audit/1'
    expect(errors({ resource, params, projectId: '' }, { upstream: upstream('') })).toEqual([
      expect.stringMatching(/^key_resource: `vault\.attacker\.example` is not in a domain of key vaults/),
    ])
    expect(
      errors(
        { resource, params: { ...params, endpoint: 'https://vault.attacker.example' }, projectId: '' },
        { upstream: upstream('') },
      ),
    ).toEqual([])
    expect(
      errors({ resource: 'https://a.vault.azure.net/keys/audit', params, projectId: '' }, { upstream: upstream('') }),
    ).toHaveLength(1)
  })
})

test('signatures of JOSE are converted to DER', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  for (let i = 0; i < 300; i++) {
    const message = randomBytes(40)
    const raw = sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const der = derSignature(raw) as Uint8Array
    expect([message.toString('hex'), verify('sha256', message, publicKey, der)]).toEqual([
      message.toString('hex'),
      true,
    ])
  }
  const small = Buffer.alloc(64)
  small[31] = 1
  small[63] = 0x80
  expect(Buffer.from(derSignature(small) as Uint8Array).toString('hex')).toBe('300702010102020080')
  expect(derSignature(new Uint8Array(63))).toBeNull()
})

test('CRC-32C agrees with the examples of RFC 3720, appendix B.4, and with a published check value', () => {
  expect(crc32c(new Uint8Array(32)).toString(16)).toBe('8a9136aa')
  expect(crc32c(new Uint8Array(32).fill(0xff)).toString(16)).toBe('62a8ab43')
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)).toString(16)).toBe('46dd794e')
  expect(crc32c(Buffer.from('123456789')).toString(16)).toBe('e3069283')
  expect(crc32c(createHash('sha256').update('').digest())).toBeGreaterThan(0)
})
