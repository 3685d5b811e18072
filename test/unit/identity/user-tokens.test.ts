// User tokens of a project: the configuration, the verification of a token, and the requests to an issuer.
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DocumentFields } from '../../../src/config/kind.ts'
import { type IssuerClientDeps, Issuers } from '../../../src/identity/issuers.ts'
import { TokenRules } from '../../../src/identity/token-rules.ts'
import { UserTokenAuthenticator } from '../../../src/identity/user-tokens.ts'
import { UserInfoClient } from '../../../src/identity/userinfo-client.ts'
import { openStore } from '../../../src/store/graph/open-store.ts'
import { parseAllowList } from '../../../src/upstream/allow-list.ts'
import { createUpstream } from '../../../src/upstream/client.ts'
import {
  openProject,
  type ProjectFixture,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'
import { json, makeKey, startIssuer, type TestIssuer } from '../../support/token-issuer.ts'

const AUDIENCE = 'the-service'
const MINUTE_MS = 60_000

interface Desk extends ProjectFixture {
  readonly issuer: TestIssuer
  readonly tokens: UserTokenAuthenticator
  readonly lines: string[]
  readonly graph: ReturnType<typeof openStore>
  /** Creates the configuration; returns its id. */
  introspect(fields?: DocumentFields): Promise<string>
  /** A token of the issuer, valid for five minutes by default. */
  token(
    claims?: DocumentFields,
    ...how: [key?: Parameters<TestIssuer['sign']>[1], header?: DocumentFields]
  ): Promise<string>
  /** The user, or the error as one line. */
  ask(token: string, delegation?: string | null): Promise<unknown>
}

/** An issuer may be slow, except in a test of the timeout. */
async function openDesk(timeoutMs = 30_000): Promise<Desk> {
  const setup = await openProject()
  const issuer = await startIssuer()
  const { documents, clock, project } = setup
  const allowed = parseAllowList('127.0.0.1')
  if (!allowed.ok) throw new Error(allowed.error)
  const lines: string[] = []
  const outgoing: IssuerClientDeps = {
    upstream: createUpstream({ allowed: allowed.value }),
    clock,
    timeoutMs,
    maxBytes: 600_000,
    report: (line) => void lines.push(line),
  }
  const graph = openStore(join(setup.dir, 'graph'), { clock, sync: false })
  const tokens = new UserTokenAuthenticator({
    mayWrite: true,
    rules: new TokenRules(documents),
    issuers: new Issuers(outgoing),
    userInfo: new UserInfoClient(outgoing),
    clock,
    graphOf: () => graph,
  })
  const nowS = (): number => clock.now() / 1000
  let made = 0
  return {
    ...setup,
    issuer,
    tokens,
    lines,
    graph,
    introspect: async (fields = {}) =>
      (
        await setup.create('token-introspects', {
          project_id: project,
          name: `people-${made++}`,
          jwt_matcher: { issuer: issuer.url, audience: AUDIENCE },
          offline_validation: {},
          ikg_node_type: 'Person',
          claims_mapping: {},
          ...fields,
        })
      ).id,
    token: (claims = {}, key = undefined, header = {}) =>
      issuer.sign(
        { iss: issuer.url, aud: AUDIENCE, sub: 'ann', iat: nowS(), exp: nowS() + 300, ...claims },
        key,
        header as never,
      ),
    async ask(token, delegation = null) {
      const answer = await tokens.authenticateUser(project, token, delegation)
      if (answer.ok) return answer.value
      const { error } = answer
      if (error.kind === 'unauthenticated') return `401 ${error.message}: ${error.invalidToken}`
      return error.kind === 'unavailable' ? `503 ${error.message}, ${error.retryAfterS} s` : error
    },
    async close() {
      await issuer.stop()
      await graph.close()
      await setup.close()
    },
  }
}

let desk: Desk
beforeEach(async () => {
  desk = await openDesk()
})
afterEach(() => desk.close())
afterAll(removeTemporaryFolders)

const ann = { nodeType: 'Person', subjectId: 'ann', delegation: null }
const refused = (why: string): string => `401 Invalid token in Authorization header: ${why}`
const notNow = '503 Unable to verify the end-user token, retry the request, 10 s'
const noOpaque = refused('the project accepts no opaque tokens')
const foreign = refused('the project accepts no tokens of this issuer and audience')

describe('a token that its issuer signed', () => {
  it('identifies the node of its subject, with all its claims', async () => {
    await desk.introspect()
    const token = await desk.token({ act: { sub: 'helper' }, scope: 'read' })
    expect(await desk.ask(token)).toMatchObject({
      ...ann,
      claims: { sub: 'ann', act: { sub: 'helper' }, scope: 'read' },
    })
  })

  it('is accepted with every algorithm that has a public key', async () => {
    await desk.introspect()
    const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
    desk.issuer.keys = await Promise.all(algorithms.map((alg) => makeKey(alg, alg)))
    for (const key of desk.issuer.keys) expect(await desk.ask(await desk.token({}, key)), key.alg).toMatchObject(ann)
  })

  it('is accepted as an access token, with several audiences, and without a key id', async () => {
    await desk.introspect()
    expect(await desk.ask(await desk.token({}, undefined, { typ: 'at+jwt' }))).toMatchObject(ann)
    expect(await desk.ask(await desk.token({}, undefined, { typ: 'application/AT+JWT' }))).toMatchObject(ann)
    expect(await desk.ask(await desk.token({ aud: ['other', AUDIENCE] }))).toMatchObject(ann)
    desk.issuer.keys = [await makeKey('a'), await makeKey('b')]
    desk.clock.advance(11 * MINUTE_MS)
    for (const key of desk.issuer.keys) {
      expect(await desk.ask(await desk.token({}, key, { kid: undefined }))).toMatchObject(ann)
    }
  })

  it('takes its subject from another claim if configured', async () => {
    await desk.introspect({ sub_claim: { selector: 'employee' } })
    expect(await desk.ask(await desk.token({ employee: 'e-7' }))).toMatchObject({ ...ann, subjectId: 'e-7' })
    expect(await desk.ask(await desk.token({ employee: 7 }))).toMatchObject({ ...ann, subjectId: '7' })
    const nobody = refused('the subject claim is missing or not a string')
    for (const employee of [undefined, '', 1.5, true, ['e-7']])
      expect(await desk.ask(await desk.token({ employee }))).toBe(nobody)
  })

  it('has its claims under the mapped names and their own, types kept', async () => {
    await desk.introspect({
      claims_mapping: {
        mail: { selector: 'email' },
        groups: { selector: 'roles' },
        verified: { selector: 'email_verified' },
      },
    })
    const token = await desk.token({ email: 'ann@example.com', roles: ['a', 'b'], email_verified: true, level: 3 })
    expect(await desk.ask(token)).toMatchObject({
      claims: { mail: 'ann@example.com', email: 'ann@example.com', groups: ['a', 'b'], verified: true, level: 3 },
    })
    expect(await desk.ask(await desk.token({ email: 5 }))).toBe(refused('a standard claim has the wrong type'))
    expect(await desk.ask(await desk.token({ email_verified: 'true' }))).toBe(
      refused('a standard claim has the wrong type'),
    )
  })

  it('has no node type if the configuration has none', async () => {
    await desk.introspect({ ikg_node_type: null })
    expect(await desk.ask(await desk.token())).toMatchObject({ nodeType: '', subjectId: 'ann' })
  })
})

describe('a token is refused without a request', () => {
  const forms: readonly [string, (desk: Desk) => Promise<string> | string, string][] = [
    ['of another issuer', (d) => d.token({ iss: 'https://issuer.example' }), foreign],
    ['whose issuer differs by a slash', (d) => d.token({ iss: `${d.issuer.url}/` }), foreign],
    ['for another audience', (d) => d.token({ aud: 'another' }), foreign],
    ['for a part of the audience', (d) => d.token({ aud: [AUDIENCE.slice(1)] }), foreign],
    ['without an audience', (d) => d.token({ aud: undefined }), foreign],
    ['that is expired', (d) => d.token({ exp: d.clock.now() / 1000 }), refused('the token is expired')],
    ['that never expires', (d) => d.token({ exp: undefined }), refused('the token has no expiration time')],
    ['that expires at a text', (d) => d.token({ exp: 'never' as never }), refused('the token has no expiration time')],
    [
      'that is not valid yet',
      (d) => d.token({ nbf: d.clock.now() / 1000 + 60 }),
      refused('the token is not valid yet'),
    ],
    [
      'from the future',
      (d) => d.token({ iat: d.clock.now() / 1000 + 60 }),
      refused('the token was issued in the future'),
    ],
    [
      'with a critical extension',
      (d) => d.token({}, undefined, { crit: ['b64'], b64: true }),
      refused('the token has an unknown critical extension'),
    ],
    [
      'of a type for something else',
      (d) => d.token({}, undefined, { typ: 'logout+jwt' }),
      refused('the token type is not accepted'),
    ],
    [
      'that announces a logout',
      (d) => d.token({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }),
      refused('the token type is not accepted'),
    ],
    [
      'without a signature',
      (d) =>
        new UnsecuredJWT({ iss: d.issuer.url, aud: AUDIENCE, sub: 'ann', exp: d.clock.now() / 1000 + 300 }).encode(),
      refused('the algorithm is not accepted'),
    ],
    ['signed with the public key as a secret', signedWithPublicKey, refused('the algorithm is not accepted')],
    ['that is no JWT', () => 'opaque', noOpaque],
    ['with five parts', () => 'a.b.c.d.e', noOpaque],
    ['with parts that are no JSON', () => 'a.b.c', noOpaque],
    ['of nothing', () => '', refused('the token is malformed')],
    ['beyond 16 KiB', (d) => d.token({ padding: 'x'.repeat(16_384) }), refused('the token is malformed')],
    ['with a duplicate subject', saidTwice, noOpaque],
  ]
  for (const [name, make, answer] of forms) {
    it(name, async () => {
      await desk.introspect()
      expect(await desk.ask(await make(desk))).toBe(answer)
      expect(desk.issuer.calls).toEqual([])
    })
  }

  function part(value: unknown): string {
    return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  }

  function signedWithPublicKey({ issuer, clock }: Desk): string {
    const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'ann', exp: clock.now() / 1000 + 300 }
    const text = `${part({ alg: 'HS256', kid: 'first' })}.${part(claims)}`
    const secret = JSON.stringify(issuer.keys[0]?.jwk)
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }

  async function saidTwice(d: Desk): Promise<string> {
    const [header, claims, signature] = (await d.token()).split('.')
    const doubled = Buffer.from(claims ?? '', 'base64url')
      .toString()
      .replace('{', '{"sub":"eve",')
    return `${header}.${part(doubled)}.${signature}`
  }

  it('for a project without configurations', async () => {
    expect(await desk.ask(await desk.token())).toBe(foreign)
    expect(desk.issuer.calls).toEqual([])
  })
})

describe('a signature', () => {
  it('by another key with the same name is refused', async () => {
    await desk.introspect()
    expect(await desk.ask(await desk.token({}, await makeKey('first')))).toBe(refused('the signature is not valid'))
  })

  it('over other claims is refused', async () => {
    await desk.introspect()
    const [header, , signature] = (await desk.token()).split('.')
    const [, claims] = (await desk.token({ sub: 'eve' })).split('.')
    expect(await desk.ask(`${header}.${claims}.${signature}`)).toBe(refused('the signature is not valid'))
  })

  it('by a key that the issuer has added since is accepted, after another fetch', async () => {
    await desk.introspect()
    await desk.ask(await desk.token())
    // Twice in immediate succession: two rotations at the same time.
    for (const [i, name] of ['next', 'one more'].entries()) {
      const next = await makeKey(name)
      desk.issuer.keys = [next]
      expect(await desk.ask(await desk.token({}, next))).toMatchObject(ann)
      expect(looks()).toBe(i + 2)
    }
  })

  const looks = (): number => desk.issuer.calls.filter((path) => path === '/jwks').length

  it('by unknown keys causes five fetches at most, and then one in five seconds', async () => {
    await desk.introspect()
    await desk.ask(await desk.token())
    const stranger = async (i: number) => desk.ask(await desk.token({}, await makeKey(`stranger-${i}`)))
    // Concurrent requests share one fetch.
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => stranger(i)))
    for (let i = 8; i < 12; i++) answers.push(await stranger(i))
    expect(new Set(answers)).toEqual(new Set([refused('the issuer has no such key')]))
    // The issuer is not asked: it may have such a key by now.
    for (let i = 12; i < 30; i++) expect(await stranger(i)).toBe(notNow)
    expect(looks()).toBe(1 + 5)
    desk.clock.advance(5000)
    for (let i = 30; i < 34; i++) await stranger(i)
    expect(looks()).toBe(1 + 6)
    desk.clock.advance(4999)
    await stranger(34)
    expect(looks()).toBe(1 + 6)
    desk.clock.advance(10 * MINUTE_MS - 20_000)
    for (let i = 35; i < 50; i++) await stranger(i)
    expect(looks()).toBe(1 + 6 + 5)
  })

  it('by the same unknown key, repeatedly, does not prevent a new key from being accepted', async () => {
    await desk.introspect()
    await desk.ask(await desk.token())
    const stale = await makeKey('stale')
    for (let i = 0; i < 12; i++) {
      expect(await desk.ask(await desk.token({ jti: i }, stale))).toBe(refused('the issuer has no such key'))
      desk.clock.advance(1000)
    }
    expect(looks()).toBe(1 + 2)
    const next = await makeKey('next')
    desk.issuer.keys = [next]
    expect(await desk.ask(await desk.token({}, next))).toMatchObject(ann)
  })

  it('is accepted if entries of the key set are not keys', async () => {
    await desk.introspect()
    const [key] = desk.issuer.keys
    desk.issuer.instead.set('/jwks', json({ keys: [null, 7, 'key', [], {}, { kty: 'RSA' }, key?.jwk] }))
    expect(await desk.ask(await desk.token())).toMatchObject(ann)
  })

  it('by a new key while the refreshes are used up is refused for now, and accepted afterwards', async () => {
    await desk.introspect()
    await desk.ask(await desk.token())
    for (let i = 0; i < 5; i++) await desk.ask(await desk.token({}, await makeKey(`stranger-${i}`)))
    const next = await makeKey('next')
    desk.issuer.keys = [next]
    const token = await desk.token({}, next)
    expect(await desk.ask(token)).toBe(notNow)
    desk.clock.advance(5000)
    expect(await desk.ask(token)).toMatchObject(ann)
  })

  it('by an unknown key causes one fetch if the keys were not known', async () => {
    await desk.introspect()
    expect(await desk.ask(await desk.token({}, await makeKey('stranger')))).toBe(refused('the issuer has no such key'))
    expect(looks()).toBe(1)
  })

  it.each([7, true, { id: 'ann' }, ['ann'], null])(
    'of the subject %j, which is not a string, is refused',
    async (sub) => {
      await desk.introspect({ sub_claim: 'email' })
      const token = await desk.token({ sub, email: 'ann' })
      expect(await desk.ask(token)).toBe(refused('the subject of the token is not a string'))
      expect(await desk.ask(await desk.token({ email: 'ann' }), token)).toContain(
        'the subject of the token is not a string',
      )
    },
  )

  it('with padding or other characters in a segment is refused, and sent to no endpoint', async () => {
    await desk.introspect()
    await desk.introspect({
      jwt_matcher: undefined,
      opaque_matcher: { hint: 'any' },
      offline_validation: undefined,
      online_validation: { userinfo_endpoint: `${desk.issuer.url}/userinfo` },
    })
    const parts = (await desk.token()).split('.')
    for (const at of [0, 1, 2]) {
      for (const change of ['=', '==', '\n', '+', '/']) {
        const changed = parts.map((part, i) => (i === at ? `${part}${change}` : part)).join('.')
        const lenient = at < 2 && (change === '+' || change === '/')
        // Such characters may make the JSON invalid: then it is neither a JWT nor a known opaque token.
        if (!lenient) expect(await desk.ask(changed)).toBe(refused('the token is malformed'))
        else expect(await desk.ask(changed)).toContain('401 ')
      }
    }
    expect(await desk.ask(parts.join('.'))).toMatchObject(ann)
  })

  it('by a key that the issuer removed is refused after ten minutes at most', async () => {
    await desk.introspect()
    const old = desk.issuer.keys[0]
    await desk.ask(await desk.token())
    desk.issuer.keys = [await makeKey('next')]
    desk.clock.advance(10 * MINUTE_MS)
    expect(await desk.ask(await desk.token({}, old))).toBe(refused('the issuer has no such key'))
  })

  it('is verified again, with new keys, after the clock was set back', async () => {
    await desk.introspect()
    const old = await desk.token({ iat: desk.clock.now() / 1000 - 3600 })
    expect(await desk.ask(old)).toMatchObject(ann)
    desk.issuer.keys = [await makeKey('next')]
    desk.clock.advance(-60_000)
    expect(await desk.ask(old)).toBe(refused('the issuer has no such key'))
  })

  it('is verified with configured keys without any request', async () => {
    const key = desk.issuer.keys[0]
    const other = await makeKey('other', 'RS256')
    await desk.introspect({ offline_validation: { public_jwks: [other, key].map((one) => JSON.stringify(one?.jwk)) } })
    expect(await desk.ask(await desk.token({}, key))).toMatchObject(ann)
    expect(await desk.ask(await desk.token({}, other))).toMatchObject(ann)
    expect(await desk.ask(await desk.token({}, await makeKey('third')))).toBe(refused('the issuer has no such key'))
    expect(desk.issuer.calls).toEqual([])
  })
})

describe('an unreachable issuer', () => {
  it('is trusted with its last keys for a day, and not longer', async () => {
    await desk.introspect()
    await desk.ask(await desk.token())
    await desk.issuer.stop()
    desk.clock.advance(60 * MINUTE_MS)
    expect(await desk.ask(await desk.token())).toMatchObject(ann)
    expect(desk.lines).toHaveLength(1)
    desk.clock.advance(24 * 60 * MINUTE_MS)
    expect(await desk.ask(await desk.token())).toBe(notNow)
  })

  it('gives 503 as long as its keys were never fetched, and works when it is back', async () => {
    await desk.introspect()
    await desk.issuer.stop()
    expect(await desk.ask(await desk.token())).toBe(notNow)
    await desk.issuer.start()
    desk.clock.advance(11_000)
    expect(await desk.ask(await desk.token())).toMatchObject(ann)
  })

  it('leaves a new key undecided: neither accepted nor refused', async () => {
    await desk.introspect()
    await desk.ask(await desk.token())
    await desk.issuer.stop()
    desk.clock.advance(11_000)
    expect(await desk.ask(await desk.token({}, await makeKey('next')))).toBe(notNow)
  })

  const discovery = '/.well-known/openid-configuration'
  const lies: readonly [string, (issuer: TestIssuer) => void, string][] = [
    [
      'names another issuer',
      ({ instead, url }) => instead.set(discovery, json({ issuer: `${url}/`, jwks_uri: `${url}/jwks` })),
      'names another issuer',
    ],
    [
      'redirects',
      ({ instead, url }) =>
        instead.set(discovery, (_, response) => response.writeHead(302, { location: `${url}/jwks` }).end()),
      'answered 302',
    ],
    [
      'answers without end',
      ({ instead }) => instead.set(discovery, json({ padding: 'x'.repeat(700_000) })),
      'larger than 600000 bytes',
    ],
    ['never answers', ({ instead }) => instead.set(discovery, () => undefined), 'within 300 milliseconds'],
    ['answers a byte at a time', ({ instead }) => instead.set('/jwks', drip), 'within 300 milliseconds'],
    [
      'answers what is no JSON',
      ({ instead }) => instead.set(discovery, (_, response) => response.end('<html>')),
      'expected a JSON object',
    ],
    ['returns invalid keys', ({ instead }) => instead.set('/jwks', json({ keys: 'many' })), 'expected a set'],
    [
      'answers too many keys',
      ({ instead }) => instead.set('/jwks', json({ keys: Array.from({ length: 101 }, () => ({})) })),
      'expected a set',
    ],
    [
      'points into the inside',
      ({ instead, url }) => instead.set(discovery, json({ issuer: url, jwks_uri: 'http://169.254.169.254/keys' })),
      'is not public',
    ],
    ['fails', ({ instead }) => instead.set('/jwks', json({}, 500)), 'answered 500'],
  ]
  for (const [name, lie, line] of lies) {
    it(`that ${name} counts as unreachable, and the log says so`, async () => {
      if (line.endsWith('milliseconds')) {
        await desk.close()
        desk = await openDesk(300)
      }
      await desk.introspect()
      lie(desk.issuer)
      expect(await desk.ask(await desk.token())).toBe(notNow)
      expect(desk.lines).toEqual([expect.stringContaining(line)])
    })
  }

  it('is logged for each user-info endpoint, and not again at once', async () => {
    for (const name of ['one', 'two']) {
      await desk.introspect({
        jwt_matcher: { issuer: desk.issuer.url, audience: name },
        offline_validation: undefined,
        online_validation: { userinfo_endpoint: `${desk.issuer.url}/${name}` },
      })
    }
    const ask = async (): Promise<void> => {
      for (const aud of ['one', 'two']) expect(await desk.ask(await desk.token({ aud }))).toBe(notNow)
    }
    for (const name of ['one', 'two']) desk.issuer.instead.set(`/${name}`, json({}, 500))
    await ask()
    await ask()
    expect(desk.lines).toEqual([
      expect.stringContaining('/one returned no'),
      expect.stringContaining('/two returned no'),
    ])
    desk.clock.advance(10_000)
    await ask()
    expect(desk.lines).toHaveLength(4)
  })

  function drip(
    _: unknown,
    response: { write(text: string): unknown; on(event: 'close', then: () => void): unknown },
  ): void {
    response.write('{"keys":[')
    const timer = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(timer))
  }
})

describe('online validation', () => {
  const online = { offline_validation: null, online_validation: { cache_ttl: 60 } }
  const asked = (): number => desk.issuer.calls.filter((path) => path === '/userinfo').length

  it('asks the issuer whether a token is valid, and adds its claims', async () => {
    await desk.introspect(online)
    const token = await desk.token({ scope: 'signed' })
    desk.issuer.userinfo.set(token, { sub: 'ann', email: 'ann@example.com', scope: 'unsigned' })
    expect(await desk.ask(token)).toMatchObject({ ...ann, claims: { email: 'ann@example.com', scope: 'signed' } })
  })

  it('caches the response as long as configured', async () => {
    await desk.introspect(online)
    const token = await desk.token()
    desk.issuer.userinfo.set(token, { sub: 'ann' })
    await Promise.all([desk.ask(token), desk.ask(token)])
    desk.clock.advance(59_000)
    desk.issuer.userinfo.delete(token)
    expect(await desk.ask(token)).toMatchObject(ann)
    expect(asked()).toBe(1)
    desk.clock.advance(1000)
    expect(await desk.ask(token)).toBe(refused('the issuer rejected the token'))
  })

  it('caches the response no longer than the token is valid', async () => {
    await desk.introspect({ ...online, online_validation: { cache_ttl: 3600 } })
    const token = await desk.token({ exp: desk.clock.now() / 1000 + 20 })
    desk.issuer.userinfo.set(token, { sub: 'ann' })
    expect(await desk.ask(token)).toMatchObject(ann)
    desk.clock.advance(20_000)
    expect(await desk.ask(token)).toBe(refused('the token is expired'))
    expect(asked()).toBe(1)
  })

  it('sends a request each time without a cache_ttl', async () => {
    await desk.introspect({ ...online, online_validation: {} })
    const token = await desk.token()
    desk.issuer.userinfo.set(token, { sub: 'ann' })
    await desk.ask(token)
    await desk.ask(token)
    expect(asked()).toBe(2)
  })

  it('does not repeat requests for a refused token', async () => {
    await desk.introspect({ ...online, online_validation: {} })
    const token = await desk.token()
    for (let i = 0; i < 3; i++) expect(await desk.ask(token)).toBe(refused('the issuer rejected the token'))
    expect(asked()).toBe(1)
    desk.issuer.userinfo.set(token, { sub: 'ann' })
    desk.clock.advance(10_000)
    expect(await desk.ask(token)).toMatchObject(ann)
  })

  it('is never used for a token that another issuer signed', async () => {
    await desk.introspect(online)
    expect(await desk.ask(await desk.token({}, await makeKey('first')))).toBe(refused('the signature is not valid'))
    expect(asked()).toBe(0)
  })

  it('the response for another token is refused', async () => {
    await desk.introspect(online)
    const token = await desk.token()
    desk.issuer.userinfo.set(token, { sub: 'eve' })
    expect(await desk.ask(token)).toBe(refused('the issuer returned another subject for the token'))
  })

  it('an issuer that fails leaves the token undecided', async () => {
    await desk.introspect(online)
    const token = await desk.token()
    for (const answer of [json({}, 500), json({}, 429), json({ email: 'a@b' }), json([]), json({}, 302)]) {
      desk.issuer.instead.set('/userinfo', answer)
      expect(await desk.ask(token)).toBe(notNow)
    }
    desk.issuer.instead.delete('/userinfo')
    desk.issuer.userinfo.set(token, { sub: 'ann' })
    expect(await desk.ask(token)).toMatchObject(ann)
  })

  it('an opaque token is identified by the endpoint', async () => {
    await desk.introspect({
      jwt_matcher: null,
      opaque_matcher: { hint: 'people' },
      offline_validation: null,
      online_validation: { userinfo_endpoint: `${desk.issuer.url}/userinfo`, cache_ttl: 10 },
      claims_mapping: { mail: { selector: 'email' } },
    })
    desk.issuer.userinfo.set('opaque', { sub: 'ann', email: 'ann@example.com' })
    expect(await desk.ask('opaque')).toMatchObject({ ...ann, claims: { mail: 'ann@example.com' } })
    expect(await desk.ask('another')).toBe(refused('the issuer rejected the token'))
    const calls = desk.issuer.calls.length
    // The endpoint does not know the issuer of a JWT.
    expect(await desk.ask(await desk.token())).toBe(foreign)
    expect(desk.issuer.calls).toHaveLength(calls)
  })

  it('an opaque token ends when the endpoint says so, however long its responses are cached', async () => {
    await desk.introspect({
      jwt_matcher: null,
      opaque_matcher: { hint: 'people' },
      offline_validation: null,
      online_validation: { userinfo_endpoint: `${desk.issuer.url}/userinfo`, cache_ttl: 3600 },
    })
    const nowS = desk.clock.now() / 1000
    desk.issuer.userinfo.set('short', { sub: 'ann', exp: nowS + 5 })
    expect(await desk.ask('short')).toMatchObject(ann)
    desk.clock.advance(5000)
    expect(await desk.ask('short')).toBe(refused('the token is expired'))
    desk.issuer.userinfo.set('odd', { sub: 'ann', exp: 'soon' })
    expect(await desk.ask('odd')).toBe(refused('the token is expired'))
    desk.issuer.userinfo.set('revoked', { sub: 'ann', active: false })
    expect(await desk.ask('revoked')).toBe(refused('the issuer rejected the token'))
  })
})

describe('a cached verification', () => {
  it('is kept for a minute, and returned without a promise', async () => {
    await desk.introspect()
    const token = await desk.token()
    await desk.ask(token)
    expect(desk.tokens.authenticateUser(desk.project, token, null)).toMatchObject({ ok: true, value: ann })
    desk.clock.advance(MINUTE_MS)
    expect(desk.tokens.authenticateUser(desk.project, token, null)).toBeInstanceOf(Promise)
  })

  it('is kept no longer than the token is valid', async () => {
    await desk.introspect()
    const token = await desk.token({ exp: desk.clock.now() / 1000 + 5 })
    await desk.ask(token)
    desk.clock.advance(5000)
    expect(await desk.ask(token)).toBe(refused('the token is expired'))
  })

  it('is invalidated when the configuration changes, but not with that of another project', async () => {
    const id = await desk.introspect()
    const token = await desk.token({ mail: 'ann@example.com' })
    await desk.ask(token)
    await desk.introspect({ jwt_matcher: { issuer: desk.issuer.url, audience: 'another' } })
    expect(desk.tokens.authenticateUser(desk.project, token, null)).not.toBeInstanceOf(Promise)

    const change = {
      jwt_matcher: { issuer: desk.issuer.url, audience: AUDIENCE },
      offline_validation: {},
      ikg_node_type: 'Employee',
    }
    valueIn(await desk.service.update(desk.admin, desk.kind('token-introspects'), id, change, null))
    expect(await desk.ask(token)).toMatchObject({ nodeType: 'Employee' })
    valueIn(await desk.service.remove(desk.admin, desk.kind('token-introspects'), id, null))
    expect(await desk.ask(token)).toBe(foreign)
  })

  it('does not survive a change that comes during a request to an issuer', async () => {
    const id = await desk.introspect()
    const token = await desk.token()
    let release = (): void => undefined
    desk.issuer.instead.set('/jwks', (request, response) => {
      release = () => json({ keys: desk.issuer.keys.map(({ jwk }) => jwk) })(request, response)
    })
    const asked = desk.ask(token)
    while (!desk.issuer.calls.includes('/jwks')) await Bun.sleep(1)
    valueIn(await desk.service.remove(desk.admin, desk.kind('token-introspects'), id, null))
    release()
    expect(await asked).toBe(foreign)
  })

  it('is evicted by newer ones, the oldest first', async () => {
    await desk.introspect({ offline_validation: null, online_validation: { cache_ttl: 60 } })
    const padding = 'x'.repeat(500_000)
    const tokens = await Promise.all(Array.from({ length: 40 }, (_, jti) => desk.token({ jti: String(jti) })))
    for (const token of tokens) {
      desk.issuer.userinfo.set(token, { sub: 'ann', padding })
      expect(await desk.ask(token)).toMatchObject(ann)
    }
    const isKept = (token = ''): boolean =>
      !(desk.tokens.authenticateUser(desk.project, token, null) instanceof Promise)
    expect([isKept(tokens.at(-1)), isKept(tokens[20]), isKept(tokens[0])]).toEqual([true, true, false])
  })

  it('belongs to one project', async () => {
    await desk.introspect()
    const token = await desk.token()
    await desk.ask(token)
    const other = await desk.create('projects', {
      organization_id: desk.admin.organizationId,
      name: 'other',
      region: 'eu-west',
    })
    await desk.provisioning.whenIdle()
    expect(await desk.tokens.authenticateUser(other.id, token, null)).toMatchObject({ ok: false })
  })
})

describe('a delegation token', () => {
  it('of the same subject names the actor', async () => {
    await desk.introspect()
    const delegation = await desk.token({ act: { sub: 'agent', act: { sub: 'gateway' } } })
    const token = await desk.token()
    const user = { ...ann, delegation: { sub: 'ann', act: { sub: 'agent', act: { sub: 'gateway' } } } }
    expect(await desk.ask(token, delegation)).toMatchObject(user)
    expect(desk.tokens.authenticateUser(desk.project, token, delegation)).toMatchObject({ ok: true, value: user })
    expect(await desk.ask(token)).toMatchObject(ann)
  })

  it('is verified like the user token', async () => {
    await desk.introspect()
    const token = await desk.token()
    const invalid = '401 Invalid token in X-SVC-Token header: '
    expect(await desk.ask(token, 'nonsense')).toContain(invalid)
    expect(await desk.ask(token, '')).toContain(invalid)
    expect(await desk.ask(token, await desk.token({ exp: 1 }))).toBe(`${invalid}the token is expired`)
    expect(await desk.ask(token, await desk.token({}, await makeKey('first')))).toContain(invalid)
  })

  it('of another subject, or without one, is refused with that message', async () => {
    await desk.introspect()
    const token = await desk.token()
    expect(await desk.ask(token, await desk.token({ sub: 'eve' }))).toContain(
      '401 token in X-SVC-Token header carries a different sub than the subject token',
    )
    expect(await desk.ask(token, await desk.token({ sub: undefined }))).toContain(
      '401 token in X-SVC-Token header is missing the sub claim',
    )
  })

  it('of another issuer is refused, also with the same subject; of another audience of the same issuer it is not', async () => {
    const other = await startIssuer()
    try {
      await desk.introspect()
      await desk.introspect({ jwt_matcher: { issuer: desk.issuer.url, audience: 'exchange' } })
      await desk.introspect({ jwt_matcher: { issuer: other.url, audience: AUDIENCE } })
      const token = await desk.token()
      const nowS = desk.clock.now() / 1000
      const foreignToken = await other.sign({ iss: other.url, aud: AUDIENCE, sub: 'ann', iat: nowS, exp: nowS + 300 })
      const why = 'token in X-SVC-Token header is of another issuer than the subject token'
      expect(await desk.ask(foreignToken)).toMatchObject(ann)
      for (let times = 0; times < 2; times++) expect(await desk.ask(token, foreignToken)).toContain(why)
      expect(await desk.ask(foreignToken, token)).toContain(why)
      expect(await desk.ask(token, await desk.token({ aud: 'exchange' }))).toMatchObject({ subjectId: 'ann' })
    } finally {
      await other.stop()
    }
  })

  it('is named as the refused token, and the user token is not', async () => {
    await desk.introspect()
    const refused = async (token: string, delegation: string | null) => {
      const read = await desk.tokens.authenticateUser(desk.project, token, delegation)
      return read.ok || read.error.kind !== 'unauthenticated' ? null : (read.error.isDelegation ?? false)
    }
    const token = await desk.token()
    for (const other of ['nonsense', await desk.token({ sub: 'eve' }), await desk.token({ sub: undefined })]) {
      expect(await refused(token, other)).toBe(true)
    }
    expect([await refused('nonsense', null), await refused('nonsense', token)]).toEqual([false, false])
  })

  it('does not repair a refused user token', async () => {
    await desk.introspect()
    expect(await desk.ask('nonsense', await desk.token())).toBe(noOpaque)
  })
})
