// Customer-managed signing keys over HTTP, with fakes of the three key services that hold real keys.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openNote, parseVerifierKey } from '../../../src/audit/log/signed-note.ts'
import type { Settings } from '../../../src/settings.ts'
import { readAuditLogs } from '../../support/audit-logs.ts'
import {
  type KeyConfiguration,
  type KeyServices,
  publicKeyOf,
  standInKey,
  startKeyServices,
} from '../../support/counterparts/key-services.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

const allowed = { upstreamAllow: '127.0.0.1', auditSignatureIntervalS: 60 } satisfies Partial<Settings>
const providers = ['CLOUD1', 'CLOUD1_ROLE', 'CLOUD2', 'CLOUD3'] as const

let keys: KeyServices
let service: TestService
let clock: ManualClock
let logged: string[]

beforeEach(async () => {
  keys = startKeyServices()
  clock = new ManualClock(Date.now())
  logged = []
  service = await startService(allowed, { sync: false, clock, log: (entry) => void logged.push(JSON.stringify(entry)) })
})
afterEach(async () => {
  await service.stop()
  await keys.stop()
})

const path = 'audit-signings'

function admin() {
  return { headers: { authorization: `Bearer ${service.token}` } }
}

function configurationOf(name: string): KeyConfiguration {
  return keys.configurations[name] as KeyConfiguration
}

function create(name: string, changes: object = {}, query = ''): Promise<TestResponse> {
  const body = { project_id: service.projectId, name: 'signing', ...configurationOf(name), ...changes }
  return service.configure('POST', `${path}${query}`, body)
}

async function created(name: string): Promise<string> {
  const { status, text, body } = await create(name)
  expect([status, text]).toEqual([201, text])
  return body.id as string
}

async function read(id: string): Promise<Record<string, unknown>> {
  const { status, body, text } = await service.configure('GET', `${path}/${id}`)
  expect([status, text]).toEqual([200, text])
  return body
}

async function capture(...names: readonly string[]): Promise<void> {
  const nodes = names.map((external_id) => ({ external_id, type: 'Car' }))
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
}

async function projectLog() {
  const log = (await readAuditLogs(service.dataDir)).get(service.projectId)
  if (log === undefined) throw new Error('the project has no log')
  expect(log.problems).toEqual([])
  return log
}

/** The checkpoints that a key has signed, by a verifier key as the configuration shows it. */
async function checkpointsSignedBy(vkey: unknown): Promise<readonly number[]> {
  const verifier = parseVerifierKey(String(vkey))
  if (!verifier.ok) throw new Error(verifier.error)
  const { checkpoints } = await projectLog()
  return checkpoints.filter(({ note }) => openNote(note, [verifier.value]).ok).map(({ number }) => number)
}

describe.each(providers)('a key of %s', (name) => {
  test('is tested when it is stored, and signs the newest checkpoint next to the platform key', async () => {
    const id = await created(name)
    const stored = await read(id)
    expect(stored).toMatchObject({
      public_key: publicKeyOf(keys),
      signed_size: 0,
      last_signed_time: '',
      last_error: '',
    })
    expect(stored.verifier_key).toMatch(new RegExp(`^${configurationOf(name).kid}\\+[0-9a-f]{8}\\+`))
    await capture('a')
    await service.app.sealAudit()
    const { checkpoints } = await projectLog()
    expect(await checkpointsSignedBy(stored.verifier_key)).toEqual([checkpoints.at(-1)?.number])
    expect(await read(id)).toMatchObject({
      signed_size: checkpoints.at(-1)?.size,
      last_signed_time: new Date(clock.now()).toISOString(),
      is_overdue: false,
      last_error: '',
    })
  })

  const broken: readonly (readonly [what: string, breaks: (services: KeyServices) => void, message: RegExp])[] = [
    ['an RSA key', ({ behaviour }) => (behaviour.key = standInKey('RSA')), /rsa|RSA/],
    ['a key on P-384', ({ behaviour }) => (behaviour.key = standInKey('P-384')), /P-384|P384|secp384r1/],
    ['a disabled key', ({ behaviour }) => (behaviour.isDisabled = true), /disabled|DISABLED/],
    ['a permission that lacks signing', ({ behaviour }) => (behaviour.isReadOnly = true), /authorized|denied/],
    ['a wrong signature', ({ behaviour }) => (behaviour.isForging = true), /signature is not valid/],
    [
      'a huge answer',
      ({ behaviour }) => (behaviour.fault = () => new Response(new Uint8Array(200_000))),
      /larger than 65536 bytes/,
    ],
    [
      'an answer that is not JSON',
      ({ behaviour }) => (behaviour.fault = () => new Response('<html>')),
      /JSON|status|credentials/,
    ],
    ['a redirect', ({ behaviour }) => (behaviour.fault = () => Response.redirect('http://127.0.0.1:1/', 302)), /302/],
  ]
  test.each(broken)('with %s is refused with 422, and nothing is stored', async (_what, breaks, message) => {
    breaks(keys)
    const { status, body, text } = await create(name)
    expect([status, body.message]).toEqual([422, 'Unprocessable Entity'])
    const [error] = body.errors as string[]
    expect(error).toMatch(/^key_resource: [A-Za-z ]+: /)
    expect(error).toMatch(message)
    for (const secret of keys.secrets) expect(text).not.toContain(secret)
    expect((await service.configure('GET', `${path}?project_id=${service.projectId}`)).body).toEqual({ data: [] })
  })

  test('with wrong credentials is refused without the credentials in the message', async () => {
    const { auth_params } = configurationOf(name)
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const replaced: Record<string, string> = {
      secret_access_key: 'wrong-secret-1',
      client_secret: 'wrong-secret-2',
      credentials_json: JSON.stringify({
        ...JSON.parse(auth_params.credentials_json ?? '{}'),
        private_key: other.export({ type: 'pkcs8', format: 'pem' }),
      }),
    }
    const wrong = Object.fromEntries(Object.entries(auth_params).map(([key, value]) => [key, replaced[key] ?? value]))
    const { status, body, text } = await create(name, { auth_params: wrong })
    expect(status).toBe(422)
    expect((body.errors as string[])[0]).toMatch(/HTTP status 40[13]/)
    for (const secret of [...keys.secrets, 'wrong-secret']) expect(text).not.toContain(secret)
  })

  test('is tested by a dry run, which stores nothing', async () => {
    const { status, body } = await create(name, {}, '?dry_run=true')
    expect([status, body]).toEqual([
      200,
      { kid: configurationOf(name).kid, public_key: publicKeyOf(keys), verifier_key: expect.stringContaining('+') },
    ])
    keys.behaviour.isDisabled = true
    expect((await create(name, {}, '?dry_run=true')).status).toBe(422)
    expect((await service.configure('GET', `${path}?project_id=${service.projectId}`)).body).toEqual({ data: [] })
    keys.behaviour.isDisabled = false
    const id = await created(name)
    keys.behaviour.isDisabled = true
    const { kid: _, ...key } = configurationOf(name)
    expect((await service.configure('PUT', `${path}/${id}?dry_run=true`, { ...key, kid: 'other' })).status).toBe(422)
    keys.behaviour.isDisabled = false
    const tried = await service.configure('PUT', `${path}/${id}?dry_run=true`, { ...key, kid: 'other' })
    expect([tried.status, tried.body.kid]).toEqual([200, 'other'])
    expect((await read(id)).kid).toBe(configurationOf(name).kid)
  })

  test('refuses unknown and missing parameters, and malformed resources, without a call', async () => {
    const { auth_params } = configurationOf(name)
    const extra = await create(name, { auth_params: { ...auth_params, role: 'x' } })
    expect([extra.status, extra.body.errors]).toEqual([422, [expect.stringMatching(/^auth_params\.role: unknown; /)]])
    const none = await create(name, { auth_params: {} })
    expect(none.body.errors).toContainEqual(expect.stringMatching(/^auth_params\.\w+: required for this provider/))
    const malformed = await create(name, { key_resource: 'no/such:form' })
    expect(malformed.body.errors).toContainEqual(expect.stringMatching(/^key_resource: expected /))
    const local = await create(name, { auth_params: { ...auth_params, endpoint: 'http://10.0.0.1' } })
    expect(local.body.errors).toContainEqual(expect.stringMatching(/^auth_params\.endpoint: /))
    expect(keys.calls).toEqual([])
  })
})

describe('a change of a configuration', () => {
  test('of its names does not call the key service, also while it is away', async () => {
    const id = await created('CLOUD1')
    keys.calls.length = 0
    keys.behaviour.isDisabled = true
    const { provider } = configurationOf('CLOUD1')
    const named = await service.configure('PUT', `${path}/${id}`, {
      provider,
      display_name: 'Our key',
      description: 'x1',
    })
    expect(named.status).toBe(200)
    const whole = { ...configurationOf('CLOUD1'), auth_params: undefined, description: 'x2' }
    expect((await service.configure('PUT', `${path}/${id}`, whole)).status).toBe(200)
    expect(keys.calls).toEqual([])
    expect(await read(id)).toMatchObject({ display_name: 'Our key', description: 'x2', public_key: publicKeyOf(keys) })
  })

  test('to a key that does not work is refused and keeps the key', async () => {
    const id = await created('CLOUD2')
    const before = await read(id)
    keys.behaviour.isReadOnly = true
    const { status, body } = await service.configure('PUT', `${path}/${id}`, {
      provider: 'CUSTOMER_CLOUD2_KMS',
      kid: 'customer.example/next',
    })
    expect([status, body.errors]).toEqual([
      422,
      [expect.stringMatching(/^key_resource: asymmetricSign: HTTP status 403/)],
    ])
    expect(await read(id)).toEqual(before)
  })

  test('to another vault requires the secrets again', async () => {
    const id = await created('CLOUD3')
    const key_resource = configurationOf('CLOUD3').key_resource.replace('customer-1', 'attacker')
    const { status, body } = await service.configure('PUT', `${path}/${id}`, {
      provider: 'CUSTOMER_CLOUD3_KEY_VAULT',
      key_resource,
    })
    expect(status).toBe(422)
    expect(body.errors).toContain('auth_params.client_secret: required again with another vault in `key_resource`')
  })

  test('to another key has one checkpoint signed by both keys', async () => {
    const id = await created('CLOUD1')
    await capture('a')
    await service.app.sealAudit()
    const { verifier_key: before } = await read(id)
    const old = keys.behaviour.key
    const next = startKeyServices()
    try {
      const rotated = next.configurations.CLOUD1 as KeyConfiguration
      const body = { ...rotated, kid: 'customer.example/next' }
      expect((await service.configure('PUT', `${path}/${id}`, body)).status).toBe(200)
      const { verifier_key: after } = await read(id)
      await capture('b')
      await service.app.sealAudit()
      const [signedBefore, signedAfter] = [await checkpointsSignedBy(before), await checkpointsSignedBy(after)]
      expect(signedAfter).toEqual([signedBefore.at(-1)])
      expect(signedBefore).toHaveLength(2)
      expect(keys.behaviour.key).toBe(old)
      clock.advance(61_000)
      await capture('c')
      await service.app.sealAudit()
      expect(await checkpointsSignedBy(before)).toEqual(signedBefore)
      expect(await checkpointsSignedBy(after)).toHaveLength(2)
      // An auditor gets both keys with the log.
      const trees = await service.send(`/audit/v1/tlog?project_id=${service.projectId}`, admin())
      expect([trees.status, trees.body.customer_keys]).toEqual([200, [before, after]])
    } finally {
      await next.stop()
    }
  })

  test('to the platform key removes the key, and nothing signs', async () => {
    const id = await created('CLOUD1')
    expect((await service.configure('PUT', `${path}/${id}`, { provider: 'PLATFORM_MANAGED' })).status).toBe(200)
    keys.calls.length = 0
    await capture('a')
    await service.app.sealAudit()
    expect(keys.calls).toEqual([])
    expect(await read(id)).toMatchObject({ public_key: '', verifier_key: '', kid: '', auth_params: {} })
  })
})

describe('signatures', () => {
  test('are made once in an interval while the log grows, and not for an idle log', async () => {
    const id = await created('CLOUD3')
    await service.app.sealAudit()
    const signs = () => keys.calls.filter((call) => call === 'sign').length
    const first = signs()
    await capture('a')
    await service.app.sealAudit()
    expect(signs()).toBe(first)
    clock.advance(60_000)
    await service.app.sealAudit()
    expect(signs()).toBe(first + 1)
    clock.advance(60_000)
    await service.app.sealAudit()
    expect(signs()).toBe(first + 1)
    expect((await read(id)).last_error).toBe('')
  })

  test('are made before the interval is over if the log has grown by 10,000 entries', async () => {
    await created('CLOUD1')
    await service.app.sealAudit()
    const signs = () => keys.calls.filter((call) => call === 'Sign').length
    const first = signs()
    for (let at = 0; at < 10_000; at += 250) {
      expect(signs()).toBe(first)
      await capture(...Array.from({ length: 250 }, (_, i) => `car-${at + i}`))
    }
    await service.app.sealAudit()
    expect(signs()).toBe(first + 1)
  })

  test('are requested by a route, which returns the checkpoint with both signature lines', async () => {
    const id = await created('CLOUD1_ROLE')
    await service.app.sealAudit()
    await capture('a')
    const { status, body, text } = await service.configure('POST', `${path}/${id}/sign`)
    expect([status, text]).toEqual([200, text])
    const { verifier_key } = await read(id)
    const verifier = parseVerifierKey(String(verifier_key))
    expect(openNote(String(body.checkpoint), verifier.ok ? [verifier.value] : []).ok).toBe(true)
    expect(String(body.checkpoint).match(/^— /gm)).toHaveLength(2)
    const { checkpoints } = await projectLog()
    expect(body.signed_size).toBe(checkpoints.at(-1)?.size)
    keys.behaviour.isDisabled = true
    await capture('b')
    const failed = await service.configure('POST', `${path}/${id}/sign`)
    expect([failed.status, failed.text]).toEqual([
      503,
      expect.stringMatching(/Sign: HTTP status 400: DisabledException/),
    ])
  })

  test('that are requested at the same time are all answered', async () => {
    const id = await created('CLOUD2')
    await capture('a')
    const answers = await Promise.all(Array.from({ length: 5 }, () => service.configure('POST', `${path}/${id}/sign`)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const { verifier_key } = await read(id)
    expect((await checkpointsSignedBy(verifier_key)).length).toBeGreaterThan(0)
  })

  test('of one project do not stop because the log of another one cannot be written', async () => {
    const { organization_id } = (await service.configure('GET', `projects/${service.projectId}`)).body
    const other = (await service.configure('POST', 'projects', { organization_id, name: 'other', region: 'local' }))
      .body
    const body = { project_id: other.id, name: 'signing', ...configurationOf('CLOUD2') }
    // The configuration of the log that fails comes first, and then last.
    const [first, second, third] = [
      await created('CLOUD1'),
      String((await service.configure('POST', path, body)).body.id),
      String((await create('CLOUD3', { name: 'last' })).body.id),
    ]
    await capture('a')
    await service.app.sealAudit()
    await capture('b')
    await service.configure('GET', `projects/${String(other.id)}`)
    await service.app.sealAudit()
    const before = await read(second)
    const folder = join(service.dataDir, 'audit/logs', service.projectId.replace('gid:', ''))
    const [generation] = readdirSync(folder)
    rmSync(join(folder, String(generation)), { recursive: true })
    writeFileSync(join(folder, String(generation)), '')
    clock.advance(60_000)
    await service.app.sealAudit()
    expect(Number((await read(second)).signed_size)).toBeGreaterThan(Number(before.signed_size))
    expect(logged.filter((line) => line.includes('cannot be written'))).not.toEqual([])
    // The signatures of the failing log are in the index, and are not requested again.
    keys.calls.length = 0
    await service.app.sealAudit()
    expect(keys.calls).toEqual([])
    for (const id of [first, third]) expect((await read(id)).last_signed_time).toBe(new Date(clock.now()).toISOString())
  })

  test('are requested only for a customer-managed key, by an editor of the organization', async () => {
    const body = { project_id: service.projectId, name: 'platform', provider: 'PLATFORM_MANAGED' }
    const { id } = (await service.configure('POST', path, body)).body
    expect((await service.configure('POST', `${path}/${String(id)}/sign`)).status).toBe(422)
    expect((await service.configure('POST', `${path}/gid:none/sign`)).status).toBe(404)
    expect((await service.send(`/configs/v1/${path}/${String(id)}/sign`, { method: 'POST' })).status).toBe(401)
  })

  test('that fail are shown, counted and recorded once, and the next one covers the gap', async () => {
    const id = await created('CLOUD1')
    await capture('a')
    await service.app.sealAudit()
    const { verifier_key, signed_size } = await read(id)
    keys.behaviour.fault = () => Response.json({ __type: 'KMSInternalException' }, { status: 500 })
    clock.advance(60_000)
    await capture('b')
    await service.app.sealAudit()
    expect(await read(id)).toMatchObject({
      is_overdue: true,
      last_error: 'Sign: HTTP status 500: KMSInternalException',
      signed_size,
    })
    for (let i = 0; i < 4; i++) {
      clock.advance(60_000)
      await service.app.sealAudit()
    }
    const typesOf = async (type: string) => (await projectLog()).entries.filter((entry) => entry.type === type)
    const overdue = await typesOf('svc.audit.log.signature.overdue')
    expect(overdue.map(({ data }) => data)).toMatchObject([
      { kid: 'customer.example/cloud1', size: signed_size, error: 'Sign: HTTP status 500: KMSInternalException' },
    ])
    const metrics = (await service.send('/metrics', admin())).text
    expect(metrics).toMatch(/verdigraph_audit_customer_signature_failures_total [1-9]/)
    expect(metrics).toMatch(/verdigraph_audit_customer_signature_overdue_seconds \d/)
    keys.behaviour.fault = null
    clock.advance(60_000)
    await service.app.sealAudit()
    const { checkpoints } = await projectLog()
    expect(await typesOf('svc.audit.log.signature.recovered')).toHaveLength(1)
    expect(await typesOf('svc.audit.log.signature.overdue')).toHaveLength(1)
    const signed = await checkpointsSignedBy(verifier_key)
    const last = checkpoints.find(({ number }) => number === signed.at(-1))
    expect(last?.size).toBeGreaterThan(Number(signed_size))
    expect(await read(id)).toMatchObject({ is_overdue: false, last_error: '' })
    expect((await service.send('/metrics', admin())).text).toMatch(
      /verdigraph_audit_customer_signature_overdue_seconds 0\n/,
    )
    for (const secret of keys.secrets) expect(logged.join('\n')).not.toContain(secret)
  })

  test('of another key than the pinned one are never stored, until the configuration is updated', async () => {
    const id = await created('CLOUD2')
    await service.app.sealAudit()
    const before = await read(id)
    const signed = await checkpointsSignedBy(before.verifier_key)
    keys.behaviour.key = standInKey()
    clock.advance(60_000)
    await capture('a')
    await service.app.sealAudit()
    expect((await read(id)).last_error).toMatch(/^verification: the key service has another public key than/)
    expect(await checkpointsSignedBy(before.verifier_key)).toEqual(signed)
    const { provider, key_resource } = configurationOf('CLOUD2')
    const repinned = await service.configure('PUT', `${path}/${id}`, { provider, key_resource })
    expect(repinned.status).toBe(200)
    const after = await read(id)
    expect(after.public_key).toBe(publicKeyOf(keys))
    await service.app.sealAudit()
    expect((await checkpointsSignedBy(after.verifier_key)).length).toBeGreaterThan(0)
    expect((await read(id)).last_error).toBe('')
  })

  test('stop when the configuration is deleted', async () => {
    const id = await created('CLOUD1')
    await service.app.sealAudit()
    expect((await service.configure('DELETE', `${path}/${id}`)).status).toBe(204)
    keys.calls.length = 0
    clock.advance(60_000)
    await service.app.sealAudit()
    expect(keys.calls).toEqual([])
  })
})

test('the pinned public key is a P-256 key that other programs read', async () => {
  const id = await created('CLOUD3')
  const { public_key } = await read(id)
  const key = createPublicKey({ key: Buffer.from(String(public_key), 'base64'), format: 'der', type: 'spki' })
  expect(key.asymmetricKeyDetails?.namedCurve).toBe('prime256v1')
})
