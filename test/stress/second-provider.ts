// User tokens of a second, independent provider: glewlwyd, a C program whose access tokens are JWTs (RFC 9068) that its
// user-info endpoint accepts.
// `bun test/stress/second-provider.ts [folder]`: the folder of its unpacked Debian packages; without it, the installed
// one. It is configured through its own API, in a temporary folder.

import { Database } from 'bun:sqlite'
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { startService } from '../support/service.ts'

const root = process.argv[2] ?? '/'
const program = join(root, 'usr/bin/glewlwyd')
if (!existsSync(program)) {
  console.log(`skipped: there is no ${program} (Debian packages glewlwyd and glewlwyd-common)`)
  process.exit(0)
}

function packed(name: string): string {
  return gunzipSync(readFileSync(join(root, 'usr/share/doc/glewlwyd', name))).toString()
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-provider-'))
mkdirSync(join(folder, 'web'))
const database = new Database(join(folder, 'provider.db'), { create: true })
database.exec(packed('database/init.sqlite3.sql.gz'))
database.close()
const port = await freePort()
const url = `http://localhost:${port}/api`
const configuration = packed('glewlwyd.conf.sample.gz')
  .replaceAll('"/usr/lib/glewlwyd', `"${join(root, 'usr/lib/glewlwyd')}`)
  .replace(/^static_files_path=.*$/m, `static_files_path="${folder}/web/"`)
  .replace('/var/cache/glewlwyd/glewlwyd.db', join(folder, 'provider.db'))
  .replace(/^port=.*$/m, `port=${port}`)
  .replace(/^external_url=.*$/m, `external_url="http://localhost:${port}"`)
  .replace('cookie_secure=1', 'cookie_secure=0')
writeFileSync(join(folder, 'provider.conf'), configuration)
const provider = spawn(program, [`--config-file=${join(folder, 'provider.conf')}`], {
  env: { ...process.env, LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu') },
  stdio: 'ignore',
})

let cookie = ''
async function tell(path: string, body: object | URLSearchParams, more: Record<string, string> = {}): Promise<string> {
  const form = body instanceof URLSearchParams
  const headers = { cookie, ...(form ? {} : { 'content-type': 'application/json' }), ...more }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: form ? body : JSON.stringify(body) })
  cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? cookie
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`)
  return text
}

const failures: string[] = []
function expect(what: string, found: unknown, wanted: unknown): void {
  const same = JSON.stringify(found) === JSON.stringify(wanted)
  console.log(`${same ? 'ok  ' : 'FAIL'} ${what}`)
  if (!same) failures.push(`${what}: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`)
}

try {
  for (let tries = 0; tries < 100; tries++) {
    const up = await fetch(`${url}/`).then(
      () => true,
      () => false,
    )
    if (up) break
    await Bun.sleep(100)
  }
  const issuer = `${url}/oidc`
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await tell('/auth/', { username: 'admin', password: 'password' })
  await tell('/mod/plugin/', {
    module: 'oidc',
    name: 'oidc',
    display_name: 'oidc',
    order_rank: 0,
    parameters: {
      iss: issuer,
      'jwt-type': 'rsa',
      'jwt-key-size': '256',
      key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: pair.publicKey.export({ type: 'spki', format: 'pem' }),
      'access-token-duration': 600,
      'refresh-token-duration': 3600,
      'code-duration': 600,
      'refresh-token-rolling': true,
      'auth-type-password-enabled': true,
      'allow-non-oidc': true,
      'jwks-show': true,
      'subject-type': 'public',
      'email-claim': 'mandatory',
      scope: [],
      'additional-parameters': [],
      'introspection-revocation-allowed': true,
      'introspection-revocation-allow-target-client': true,
    },
  })
  await tell('/user/?source=database', {
    username: 'ann',
    password: 'password of ann',
    name: 'Ann',
    email: 'ann@example.com',
    enabled: true,
    scope: ['openid'],
  })
  await tell('/client/?source=database', {
    client_id: 'app',
    name: 'app',
    password: 'password of app',
    confidential: true,
    enabled: true,
    redirect_uri: ['http://localhost/'],
    authorization_type: ['password'],
    scope: ['openid'],
    token_endpoint_auth_method: ['client_secret_basic'],
  })
  const authorization = `Basic ${btoa('app:password of app')}`
  const form = { grant_type: 'password', username: 'ann', password: 'password of ann', scope: 'openid' }
  const given = JSON.parse(await tell('/oidc/token', new URLSearchParams(form), { authorization }))
  const claimsOf = (token: string): { sub: string; aud: string } =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const { sub, aud } = claimsOf(given.access_token)

  const service = await startService({ upstreamAllow: 'localhost' })
  const { key } = await service.addAgent('ciq', ['CIQ'])
  let made = 0
  const introspect = async (audience: string, validation: object): Promise<string> => {
    const body = {
      project_id: service.projectId,
      name: `provider-${made++}`,
      ikg_node_type: 'Person',
      claims_mapping: {},
    }
    const jwt_matcher = { issuer, audience }
    const created = await service.configure('POST', 'token-introspects', { ...body, jwt_matcher, ...validation })
    if (created.status !== 201) throw new Error(created.text)
    return created.body.id as string
  }
  const whoami = async (token: string): Promise<unknown> => {
    const headers = { 'x-svc-clientkey': key, authorization: `Bearer ${token}` }
    const { status, body } = await service.send('/contx-iq/v1/whoami', { headers })
    return [status, body]
  }
  const ann = [200, { type: 'Person', id: sub }]
  const refused = [401, { message: 'Invalid token in Authorization header' }]

  const offline = await introspect(aud, { offline_validation: {} })
  expect('an access token holds offline', await whoami(given.access_token), ann)
  expect('a changed one does not', await whoami(`${given.access_token.slice(0, -8)}AAAAAAAA`), refused)
  expect('an ID token for another audience does not', await whoami(given.id_token), refused)
  await introspect('app', { offline_validation: {} })
  expect('an ID token holds offline for its audience', await whoami(given.id_token), ann)
  await service.configure('DELETE', `token-introspects/${offline}`)
  expect('without its configuration the access token does not', await whoami(given.access_token), refused)
  await introspect(aud, { online_validation: {} })
  expect('the issuer accepts the access token', await whoami(given.access_token), ann)
  await tell('/oidc/revoke', new URLSearchParams({ token: given.access_token }), { authorization })
  expect('and no more once it is revoked', await whoami(given.access_token), refused)
  await service.stop()
} finally {
  provider.kill()
  rmSync(folder, { recursive: true, force: true })
}
if (failures.length > 0) throw new Error(failures.join('\n'))
