// The token introspect configuration: what is stored, what is refused, and how it reads back.
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DocumentFields } from '../../../src/config/kind.ts'
import {
  errorIn,
  openProject,
  type ProjectFixture,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'
import { rsaJwkOf } from '../../support/rsa-jwk.ts'

let setup: ProjectFixture
beforeAll(async () => {
  setup = await openProject()
})
afterAll(async () => {
  await setup.close()
  removeTemporaryFolders()
})

let made = 0
function body(more: DocumentFields = {}): DocumentFields {
  made += 1
  const jwt_matcher = { issuer: 'https://issuer.example', audience: `audience-${made}` }
  const whole = { project_id: setup.project, name: `people-${made}`, jwt_matcher, offline_validation: {}, ...more }
  return { ikg_node_type: 'Person', claims_mapping: { email: { selector: 'mail' } }, ...whole }
}

const store = async (more: DocumentFields = {}): Promise<DocumentFields> => {
  const { id } = await setup.create('token-introspects', body(more))
  return setup.read('token-introspects', id)
}

const refusal = async (more: DocumentFields): Promise<unknown> => {
  const error = errorIn(await setup.service.create(setup.admin, setup.kind('token-introspects'), body(more)))
  return error.kind === 'invalid' ? error.issues : error.kind === 'conflict' ? error.message : error
}

const update = (id: string, fields: DocumentFields) =>
  setup.service.update(setup.admin, setup.kind('token-introspects'), id, fields, null)

const online = (more: DocumentFields = {}): DocumentFields => ({
  offline_validation: null,
  online_validation: { userinfo_endpoint: 'https://issuer.example/me', ...more },
})
const opaque = (more: DocumentFields = {}): DocumentFields => ({
  jwt_matcher: null,
  opaque_matcher: { hint: 'people' },
  ...online(),
  ...more,
})

function jwk(kind: 'rsa' | 'ec' | 'ed25519', options: object = {}): string {
  const make = generateKeyPairSync as unknown as (
    kind: string,
    options: object,
  ) => { publicKey: { export(how: object): object } }
  return JSON.stringify(make(kind, options).publicKey.export({ format: 'jwk' }))
}

describe('a token introspect configuration', () => {
  it('reads back as sent, the subject claim as a string', async () => {
    expect(await store({ sub_claim: { selector: 'employee' }, perform_upsert: true })).toMatchObject({
      jwt_matcher: { issuer: 'https://issuer.example' },
      offline_validation: {},
      ikg_node_type: 'Person',
      sub_claim: 'employee',
      claims_mapping: { email: { selector: 'mail' } },
      perform_upsert: true,
    })
    expect(await store({ sub_claim: 'uid' })).toMatchObject({ sub_claim: 'uid' })
    expect(await store(online({ cache_ttl: 3600 }))).toMatchObject({
      online_validation: { userinfo_endpoint: 'https://issuer.example/me', cache_ttl: 3600 },
    })
  })

  it('reads back the defaults of absent fields', async () => {
    const read = await store({ ikg_node_type: null, claims_mapping: null })
    expect(read).toMatchObject({ claims_mapping: {}, perform_upsert: false })
    expect(read).not.toHaveProperty('ikg_node_type')
    expect(read).not.toHaveProperty('sub_claim')
    expect(await store({ sub_claim: 'sub' })).toMatchObject({ sub_claim: 'sub' })
  })

  it('contains public keys of the supported kinds', async () => {
    const keys = [
      jwk('rsa', { modulusLength: 2048 }),
      jwk('ec', { namedCurve: 'P-256' }),
      jwk('ec', { namedCurve: 'P-521' }),
      jwk('ed25519'),
    ]
    // With configured keys the issuer is only a name and is never called.
    const issuer = { issuer: 'our-issuer', audience: 'a' }
    expect(await store({ jwt_matcher: issuer, offline_validation: { public_jwks: keys } })).toMatchObject({
      offline_validation: { public_jwks: keys },
    })
  })
})

describe('refused with the path of the error is', () => {
  const https = 'expected https'
  const cases: readonly [string, DocumentFields, readonly unknown[]][] = [
    ['no matcher', { jwt_matcher: null }, ['jwt_matcher: expected exactly one of `jwt_matcher` and `opaque_matcher`']],
    [
      'both matchers',
      { opaque_matcher: { hint: 'h' } },
      ['jwt_matcher: expected exactly one of `jwt_matcher` and `opaque_matcher`'],
    ],
    [
      'no validation',
      { offline_validation: null },
      ['offline_validation: expected exactly one of `offline_validation` and `online_validation`'],
    ],
    [
      'both validations',
      { online_validation: {} },
      ['offline_validation: expected exactly one of `offline_validation` and `online_validation`'],
    ],
    [
      'an opaque token to be checked offline',
      { jwt_matcher: null, opaque_matcher: { hint: 'h' } },
      ['offline_validation: an opaque token can only be validated online'],
    ],
    [
      'an opaque token without an endpoint',
      opaque({ online_validation: {} }),
      ['online_validation.userinfo_endpoint: required for opaque tokens'],
    ],
    [
      'an issuer over http',
      { jwt_matcher: { issuer: 'http://issuer.example', audience: 'a' } },
      [`jwt_matcher.issuer: ${https}`],
    ],
    [
      'an issuer inside',
      { jwt_matcher: { issuer: 'https://10.0.0.1', audience: 'a' } },
      ['jwt_matcher.issuer: the address `10.0.0.1` is not public'],
    ],
    [
      'an issuer that is no URL',
      { jwt_matcher: { issuer: 'us', audience: 'a' } },
      ['jwt_matcher.issuer: expected an absolute http or https URL without credentials'],
    ],
    [
      'an endpoint over http',
      online({ userinfo_endpoint: 'http://issuer.example/me' }),
      [`online_validation.userinfo_endpoint: ${https}`],
    ],
    [
      'an endpoint with credentials',
      online({ userinfo_endpoint: 'https://a:b@issuer.example' }),
      ['online_validation.userinfo_endpoint: expected an absolute http or https URL without credentials'],
    ],
    [
      'a long audience',
      { jwt_matcher: { issuer: 'https://i.example', audience: 'a'.repeat(151) } },
      ['jwt_matcher.audience: expected at most 150 characters'],
    ],
    [
      'a long hint',
      opaque({ opaque_matcher: { hint: 'h'.repeat(51) } }),
      ['opaque_matcher.hint: expected at most 50 characters'],
    ],
    [
      'a time to live beyond an hour',
      online({ cache_ttl: 3601 }),
      ['online_validation.cache_ttl: expected at most 3600'],
    ],
    [
      'an eleventh key',
      { offline_validation: { public_jwks: Array.from({ length: 11 }, () => '{}') } },
      ['offline_validation.public_jwks: expected at most 10 items'],
    ],
    [
      'a selector beyond 200',
      { claims_mapping: { a: { selector: 's'.repeat(201) } } },
      ['claims_mapping.a.selector: expected at most 200 characters'],
    ],
    [
      'an own field as a target',
      { claims_mapping: { external_id: { selector: 'sub' } } },
      ['claims_mapping.external_id: is a protected name'],
    ],
    [
      'another claim instead of the subject',
      { claims_mapping: { sub: { selector: 'mail' } } },
      ['claims_mapping.sub: is the name of a claim about the token itself'],
    ],
    [
      'an upsert of no type',
      { ikg_node_type: null, perform_upsert: true },
      ['ikg_node_type: required if `perform_upsert` is true'],
    ],
    [
      'a type of the service',
      { ikg_node_type: '_Application' },
      ['ikg_node_type: `_Application` is reserved for the service'],
    ],
    [
      'a type with a blank',
      { ikg_node_type: 'a person' },
      [expect.stringContaining('ikg_node_type: expected a label')],
    ],
    [
      'an unknown member',
      { jwt_matcher: { issuer: 'https://i.example', audience: 'a', azp: 'b' } },
      ['jwt_matcher: unknown member `azp`'],
    ],
    ['an invalid subject claim', { sub_claim: 5 }, ['sub_claim: expected a claim name, or an object with `selector`']],
  ]
  for (const [name, more, issues] of cases) {
    it(name, async () => {
      expect(await refusal(more)).toEqual(issues)
    })
  }

  const keys: readonly [string, string, string][] = [
    ['no JSON', 'key', 'expected the JSON text of one JWK'],
    ['a set of keys', '{"keys":[]}', 'the key cannot be read'],
    ['a shared secret', '{"kty":"oct","k":"c2VjcmV0"}', 'expected a public key, found a shared secret'],
    [
      'a private key',
      '{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"c"}',
      'expected a public key, found a private one',
    ],
    ['a key to encrypt with', '{"kty":"RSA","n":"a","e":"AQAB","use":"enc"}', 'expected a key for signatures'],
    ['a short key', jwk('rsa', { modulusLength: 1024 }), 'expected an RSA key of at least 2048 bits'],
    ['a long key', JSON.stringify(rsaJwkOf(8200)), 'expected an RSA key of at most 8192 bits'],
    ['a point on no curve', '{"kty":"EC","crv":"P-256","x":"aa","y":"bb"}', 'the key cannot be read'],
  ]
  for (const [name, key, fault] of keys) {
    it(`${name} as a public key`, async () => {
      const good = jwk('ec', { namedCurve: 'P-256' })
      expect(await refusal({ offline_validation: { public_jwks: [good, key] } })).toEqual([
        `offline_validation.public_jwks[1]: ${fault}`,
      ])
    })
  }
})

describe('a token belongs to one configuration, so', () => {
  it('the same issuer and audience twice in a project is a conflict, but not in two projects', async () => {
    const jwt_matcher = { issuer: 'https://twice.example', audience: 'a' }
    const first = await store({ jwt_matcher })
    expect(await refusal({ jwt_matcher })).toBe(
      `the project has another configuration for this issuer and audience: \`${first.name}\``,
    )
    const second = await store({ jwt_matcher: { ...jwt_matcher, audience: 'b' } })
    const change = { jwt_matcher, offline_validation: {} }
    expect(errorIn(await update(second.id as string, change)).kind).toBe('conflict')
    expect(valueIn(await update(first.id as string, change)).body.id).toBe(first.id)

    const more = { organization_id: setup.admin.organizationId, name: 'another', region: 'eu-west' }
    const elsewhere = await setup.create('projects', more)
    await store({ project_id: elsewhere.id, jwt_matcher })
  })

  it('a second one for opaque tokens is a conflict', async () => {
    const first = await store(opaque())
    expect(await refusal(opaque({ opaque_matcher: { hint: 'other' } }))).toBe(
      `the project has another configuration for opaque tokens: \`${first.name}\``,
    )
  })
})

describe('an update', () => {
  it('replaces one of two alternatives by the other, and keeps both members that it does not send', async () => {
    const { id, jwt_matcher } = await store()
    valueIn(await update(id as string, online()))
    const read = setup.read('token-introspects', id as string)
    expect(read).not.toHaveProperty('offline_validation')
    expect(read).toMatchObject({ jwt_matcher, online_validation: { userinfo_endpoint: 'https://issuer.example/me' } })
    valueIn(await update(id as string, { ikg_node_type: 'Employee' }))
    expect(setup.read('token-introspects', id as string)).toEqual({ ...read, ikg_node_type: 'Employee' })
    expect(errorIn(await update(id as string, { jwt_matcher, opaque_matcher: { hint: 'x' } }))).toEqual({
      kind: 'invalid',
      issues: ['jwt_matcher: expected exactly one of `jwt_matcher` and `opaque_matcher`'],
    })
  })

  it('keeps the other fields, and an empty string removes a field', async () => {
    const { id, jwt_matcher } = await store({ sub_claim: 'uid', perform_upsert: true })
    const same = { jwt_matcher, offline_validation: {} }
    valueIn(await update(id as string, { ...same, claims_mapping: {} }))
    const kept = setup.read('token-introspects', id as string)
    expect(kept).toMatchObject({ sub_claim: 'uid', perform_upsert: true, ikg_node_type: 'Person', claims_mapping: {} })
    valueIn(await update(id as string, { ...same, sub_claim: '', perform_upsert: false, ikg_node_type: '' }))
    const emptied = setup.read('token-introspects', id as string)
    expect(emptied).toMatchObject({ perform_upsert: false })
    expect(emptied).not.toHaveProperty('ikg_node_type')
    expect(emptied).not.toHaveProperty('sub_claim')
  })
})
