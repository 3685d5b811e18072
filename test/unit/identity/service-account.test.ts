import { generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, exportSPKI, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { agentCredentials } from '../../../src/identity/agent-credential.ts'
import { serviceAccountCredentials } from '../../../src/identity/service-account-kinds.ts'
import {
  bytesBelow,
  type ConfigurationFixture,
  errorIn,
  openConfiguration,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

let setup: ConfigurationFixture
beforeEach(async () => {
  setup = await openConfiguration()
})
afterEach(() => setup.close())
afterAll(removeTemporaryFolders)

const seconds = () => Math.floor(setup.clock.now() / 1000)
const credential = () => setup.documents.all('service-account-credentials')[0] as StoredDocument
const check = (token: string) => setup.accounts.authenticateServiceAccount(token)

/** The admin's own private key, as its holder has it. */
async function privateKey() {
  const place = `service-account-credentials/${credential().id}/private_jwk`
  const jwk = JSON.parse(setup.box.open(credential().fields.private_jwk as string, place)) as JWK
  return importJWK(jwk, 'ES256')
}

interface Forgery {
  readonly header?: Record<string, unknown>
  readonly claims?: Record<string, unknown>
  readonly key?: Parameters<SignJWT['sign']>[0]
}

/** A token that a client signs itself, with the given errors. */
async function signed({ header, claims, key }: Forgery = {}): Promise<string> {
  const id = setup.admin.serviceAccountId
  const payload = { iss: id, sub: id, iat: seconds(), exp: seconds() + 3600, jti: 'one', ...claims }
  const whole = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined))
  return new SignJWT(whole)
    .setProtectedHeader({ alg: 'ES256', kid: credential().fields.kid as string, ...header })
    .sign(key ?? (await privateKey()))
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a service-account token', () => {
  test('that was issued here identifies the account and its role', async () => {
    const token = await setup.accounts.issueToken(setup.admin.serviceAccountId, 3600)
    expect(await check(token)).toEqual({ ...setup.admin, keyId: credential().id })
  })

  test('that its account signed itself is accepted as well', async () => {
    expect(await check(await signed())).toEqual({ ...setup.admin, keyId: credential().id })
  })

  test('names its key by the thumbprint of RFC 7638', async () => {
    expect(credential().fields.kid).toBe(await calculateJwkThumbprint(credential().fields.public_jwk as JWK))
  })

  test('has the requested lifetime, and is unique', async () => {
    const account = setup.admin.serviceAccountId
    const token = await setup.accounts.issueToken(account, 120)
    expect(await setup.accounts.issueToken(account, 120)).not.toBe(token)
    setup.clock.advance(119_999)
    expect(await check(token)).not.toBeNull()
    setup.clock.advance(1)
    expect(await check(token)).toBeNull()
  })

  test('has a lifetime of 2 minutes to 24 hours, for accounts that have a key', async () => {
    const account = setup.admin.serviceAccountId
    await expect(setup.accounts.issueToken(account, 119)).rejects.toThrow('120 to 86400 seconds, not 119')
    await expect(setup.accounts.issueToken(account, 86_401)).rejects.toThrow('seconds, not 86401')
    await expect(setup.accounts.issueToken(account, Number.NaN)).rejects.toThrow('seconds, not NaN')
    await expect(setup.accounts.issueToken('gid:nobody', 300)).rejects.toThrow('is not stored here')
  })

  test('ends with its credential and with its account', async () => {
    const token = await signed()
    const { id } = credential()
    const kept = credential()
    await setup.documents.write((draft) => draft.remove('service-account-credentials', id))
    expect(await check(token)).toBeNull()
    await setup.documents.write((draft) => draft.put(kept))
    expect(await check(token)).not.toBeNull()
    await setup.documents.write((draft) => draft.remove('service-accounts', setup.admin.serviceAccountId))
    expect(await check(token)).toBeNull()
  })

  test('ends with the expire_time of its credential', async () => {
    const token = await signed()
    const fields = { ...credential().fields, expire_time: '2026-01-15T12:10:00Z' }
    await setup.documents.write((draft) => draft.put({ ...credential(), fields }))
    expect(await check(token)).not.toBeNull()
    setup.clock.advance(600_000)
    expect(await check(token)).toBeNull()
  })
})

describe('a forged token is refused:', () => {
  test('no signature, with the algorithm none', async () => {
    const [, payload] = (await signed()).split('.')
    for (const alg of ['none', 'None', 'NONE']) {
      const header = part({ alg, kid: credential().fields.kid })
      expect(await check(`${header}.${payload}.`)).toBeNull()
      expect(await check(`${header}.${payload}`)).toBeNull()
    }
  })

  test('HS256 with the public key as the secret', async () => {
    const publicJwk = credential().fields.public_jwk as JWK
    const secrets = [JSON.stringify(publicJwk), publicJwk.x as string, credential().fields.kid as string]
    for (const secret of secrets) {
      expect(await check(await signed({ header: { alg: 'HS256' }, key: new TextEncoder().encode(secret) }))).toBeNull()
    }
  })

  test('another key under the right kid, or under its own', async () => {
    const { publicKey, privateKey: key } = await generateKeyPair('ES256')
    expect(await check(await signed({ key }))).toBeNull()
    const jwk = await exportJWK(publicKey)
    const kid = await calculateJwkThumbprint(jwk)
    expect(await check(await signed({ key, header: { kid } }))).toBeNull()
    expect(await check(await signed({ key, header: { kid, jwk } }))).toBeNull()
  })

  test('the right key under a wrong kid, or without a kid', async () => {
    expect(await check(await signed({ header: { kid: 'other' } }))).toBeNull()
    expect(await check(await signed({ header: { kid: undefined } }))).toBeNull()
    expect(await check(await signed({ header: { kid: '__proto__' } }))).toBeNull()
  })

  test.each([
    ['a foreign account', { iss: 'gid:other', sub: 'gid:other' }],
    ['a foreign issuer', { iss: 'gid:other' }],
    ['a foreign subject', { sub: 'gid:other' }],
    ['no subject', { sub: undefined }],
    ['no issuer', { iss: undefined }],
    ['no jti', { jti: undefined }],
  ])('%s', async (_, claims) => {
    expect(await check(await signed({ claims }))).toBeNull()
  })

  test('times out of bounds', async () => {
    const now = seconds()
    const good = { iat: now - 100, exp: now + 3600 }
    expect(await check(await signed({ claims: good }))).not.toBeNull()
    for (const claims of [
      { iat: now - 7200, exp: now - 1 },
      { iat: now - 7200, exp: now },
      { iat: now + 31, exp: now + 3600 },
      { iat: now, exp: now + 119 },
      { iat: now, exp: now + 86_401 },
      { iat: undefined, exp: now + 3600 },
      { iat: now, exp: undefined },
      { iat: String(now), exp: now + 3600 },
      { iat: now, exp: '9999999999' },
      { iat: now, exp: now + 3600, nbf: now + 60 },
    ]) {
      expect(await check(await signed({ claims }))).toBeNull()
    }
  })

  test('changed after it was signed', async () => {
    const [header, , signature] = (await signed()).split('.')
    const id = setup.admin.serviceAccountId
    const payload = part({ iss: id, sub: id, iat: seconds(), exp: seconds() + 80_000, jti: 'one' })
    expect(await check(`${header}.${payload}.${signature}`)).toBeNull()
  })

  test('no token at all', async () => {
    for (const text of ['', '.', '..', 'a.b.c', 'Bearer x', '\u0000', 'x'.repeat(100_000)]) {
      expect(await check(text)).toBeNull()
    }
  })
})

describe('a credential of a service account', () => {
  const addAccount = async (name: string, role: string) =>
    (await setup.create('service-accounts', { organization_id: setup.admin.organizationId, name, role })).id
  const add = (account: string, more: object = {}) =>
    setup.create('service-account-credentials', { service_account_id: account, ...more })

  test('is a document with a key to sign with and a first token, and neither is stored', async () => {
    const viewer = await addAccount('reader', 'all_viewer')
    const made = await add(viewer, { display_name: 'Laptop' })
    expect(Object.keys(made)).toEqual([
      'id',
      'kid',
      'service_account_id',
      'display_name',
      'create_time',
      'created_by',
      'expire_time',
      'service_account_config',
    ])
    const config = made.service_account_config as { privateKeyJWK: JWK; token: string; organizationId: string }
    const { organizationId } = config
    const caller = { kind: 'service-account', serviceAccountId: viewer, organizationId, keyId: made.id }
    expect(await check(config.token)).toEqual({ ...caller, role: 'all_viewer' })
    expect(made.kid).toBe(await calculateJwkThumbprint(config.privateKeyJWK))
    const own = await new SignJWT({ iss: viewer, sub: viewer, iat: seconds(), exp: seconds() + 120, jti: 'own' })
      .setProtectedHeader({ alg: 'ES256', kid: made.kid as string })
      .sign(await importJWK(config.privateKeyJWK, 'ES256'))
    expect(await check(own)).toEqual({ ...caller, role: 'all_viewer' })
    const bytes = bytesBelow(setup.dir)
    expect(bytes).not.toContain(config.privateKeyJWK.d)
    expect(bytes).not.toContain(config.token)
    const read = JSON.stringify(setup.read('service-account-credentials', made.id))
    expect(read).not.toContain(config.privateKeyJWK.x)
    await expect(setup.accounts.issueToken(viewer, 300)).rejects.toThrow('its owner signs its tokens')

    valueIn(await setup.service.remove(setup.admin, setup.kind('service-account-credentials'), made.id, null))
    expect(await check(config.token)).toBeNull()
    expect(await check(own)).toBeNull()
  })

  test('expires at its expire_time, and its first token not later', async () => {
    const account = await addAccount('brief', 'all_editor')
    const made = await add(account, { expire_time: '2026-01-15T12:30:00Z' })
    const { token } = made.service_account_config as { token: string }
    const claims = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString())
    expect(claims.exp - claims.iat).toBe(1800)
    setup.clock.advance(1_799_999)
    expect(await check(token)).not.toBeNull()
    setup.clock.advance(1)
    expect(await check(token)).toBeNull()
  })

  test.each(['ES256', 'ES384', 'ES512', 'EdDSA', 'RS256'])('can be a public key of the account: %s', async (alg) => {
    const account = await addAccount('own-key', 'all_editor')
    const { publicKey, privateKey: key } = await generateKeyPair(alg, { extractable: true })
    const jwk = await exportJWK(publicKey)
    const made = await add(account, { public_key_jwk: alg === 'ES256' ? jwk : JSON.stringify(jwk) })
    expect(made.service_account_config).toEqual({
      serviceAccountId: account,
      organizationId: setup.admin.organizationId,
    })
    expect(made.kid).toBe(await calculateJwkThumbprint(jwk))
    const claims = { iss: account, sub: account, iat: seconds(), exp: seconds() + 3600, jti: 'one' }
    const token = await new SignJWT(claims).setProtectedHeader({ alg, kid: made.kid as string }).sign(key)
    expect((await check(token))?.serviceAccountId).toBe(account)
    // The same key under another account would identify the caller in two ways.
    const other = await addAccount('other', 'all_viewer')
    const body = { service_account_id: other, public_key_pem: await exportSPKI(publicKey) }
    const kind = setup.kind('service-account-credentials')
    expect(errorIn(await setup.service.create(setup.admin, kind, body))).toEqual({
      kind: 'conflict',
      message: `another credential has the key \`${made.kid}\``,
    })
  })

  test('that is private, or too weak, is refused', async () => {
    const account = await addAccount('own-key', 'all_editor')
    const kind = setup.kind('service-account-credentials')
    const { privateKey: key } = await generateKeyPair('ES256', { extractable: true })
    const refused = async (public_key_jwk: unknown) =>
      errorIn(await setup.service.create(setup.admin, kind, { service_account_id: account, public_key_jwk }))
    expect(await refused(await exportJWK(key))).toMatchObject({
      issues: ['public_key_jwk: expected a public key: the private key must stay with its owner'],
    })
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
    expect(await refused(weak)).toMatchObject({ issues: ['public_key_jwk: expected an RSA key of at least 2048 bits'] })
  })

  test('cannot be deleted if it is the last access of an editor, nor can its account', async () => {
    const gone = async (kind: string, id: string) => setup.service.remove(setup.admin, setup.kind(kind), id, null)
    const message = 'the organization would have no service account with a valid credential that can change it'
    const first = credential().id
    expect(errorIn(await gone('service-account-credentials', first))).toEqual({ kind: 'conflict', message })
    expect(errorIn(await gone('service-accounts', setup.admin.serviceAccountId))).toEqual({ kind: 'conflict', message })
    const viewer = await addAccount('reader', 'all_viewer')
    await add(viewer)
    const second = await addAccount('second', 'all_editor')
    expect(errorIn(await gone('service-accounts', setup.admin.serviceAccountId)).kind).toBe('conflict')
    const made = await add(second, { expire_time: '2026-01-15T13:00:00Z' })
    setup.clock.advance(3_600_000)
    expect(errorIn(await gone('service-account-credentials', first)).kind).toBe('conflict')
    await add(second)
    valueIn(await gone('service-account-credentials', made.id))
    valueIn(await gone('service-accounts', setup.admin.serviceAccountId))
    expect(setup.documents.children('service-account-credentials', setup.admin.serviceAccountId)).toEqual([])
    await setup.close()
    setup = await openConfiguration({ dir: setup.dir, clock: setup.clock })
    expect(setup.admin.serviceAccountId).toBe(second)
  })
})

test('a private key is in the files only encrypted', async () => {
  const place = `service-account-credentials/${credential().id}/private_jwk`
  const jwk = JSON.parse(setup.box.open(credential().fields.private_jwk as string, place)) as JWK
  const bytes = bytesBelow(setup.dir)
  expect(bytes).toContain((credential().fields.public_jwk as JWK).x)
  expect(bytes).not.toContain(jwk.d)
})

test('a folder is initialised once', async () => {
  expect(setup.documents.all('organizations')).toHaveLength(1)
  await setup.close()
  const again = await openConfiguration({ dir: setup.dir })
  expect(again.admin).toEqual(setup.admin)
  expect(again.documents.all('service-accounts')).toHaveLength(1)
  setup = again
})

test('a credentials document contains the address of the service if it is configured', async () => {
  const url = 'https://graph.example'
  for (const kind of [agentCredentials(setup.clock, url), serviceAccountCredentials(setup.clock, url)]) {
    const document = { ...credential(), kind: kind.path }
    const config = Object.entries(kind.createResponse?.of(document, {}) ?? {}).find(([name]) =>
      name.endsWith('_config'),
    )?.[1]
    expect(config).toMatchObject({ baseUrl: url, endpoint: url })
  }
})
