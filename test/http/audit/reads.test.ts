// Reads of auditors over HTTP: lists with their signatures, records, proofs, files and exports; who may read, and what is refused.
import { createHash, createPublicKey, verify } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type App, createApp } from '../../../src/app.ts'
import { verifyExport } from '../../../src/audit/log/export-lines.ts'
import { isConsistent, isIncluded, leafHash } from '../../../src/audit/log/merkle.ts'
import { openNote, parseVerifierKey } from '../../../src/audit/log/signed-note.ts'
import { verifyLog } from '../../../src/audit/log/verify-log.ts'
import { backup } from '../../../src/backup/backup.ts'
import { restore } from '../../../src/backup/restore.ts'
import { rotateAuditKey } from '../../../src/cli/audit/rotate-audit-key.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

interface Item {
  readonly [member: string]: unknown
}
interface ItemsPage {
  readonly next_cursor: string | null
  readonly has_more: boolean
  readonly items: readonly Item[]
}
interface RecordItem extends Item {
  readonly index: number
  readonly generation: string
  readonly entry: { readonly type: string; readonly subject: string; readonly time: string; readonly id: string }
}

const withoutSync = { sync: false }
let service: TestService
let auditKey: string
let auditAgent: string

beforeAll(async () => {
  service = await startService({}, withoutSync)
  const agent = await service.addAgent('auditor', ['Audit'])
  auditKey = agent.key
  auditAgent = agent.agentId
  for (const part of [1, 2, 3]) {
    await capture(service, `car${part}`, `bike${part}`)
    await service.app.sealAudit()
  }
})
afterAll(() => service?.stop())

async function capture({ ask }: TestService, ...names: string[]): Promise<void> {
  const { status } = await ask('/capture/v1/nodes', {
    nodes: names.map((external_id) => ({ type: 'Car', external_id })),
  })
  expect(status).toBe(200)
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-audit-reads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'data')
}

/** Asks as the auditor, or with other credentials. */
function ask(
  path: string,
  query: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = { 'x-svc-clientkey': auditKey },
): Promise<TestResponse> {
  const all = new URLSearchParams({ project_id: service.projectId, ...query })
  return service.send(`/audit/${path}?${all}`, { headers })
}

/** The items of all pages. */
async function allItems<T extends Item = Item>(
  path: string,
  query: Readonly<Record<string, string>> = {},
  read: typeof ask = ask,
): Promise<readonly T[]> {
  const items: T[] = []
  let cursor: string | null = null
  for (let pages = 0; ; pages++) {
    expect(pages).toBeLessThan(1000)
    const { status, body, text } = await read(path, { ...query, ...(cursor !== null && { cursor }) })
    expect([status, text]).toEqual([200, text])
    const page = body as unknown as ItemsPage
    items.push(...(page.items as readonly T[]))
    expect(page.has_more).toBe(page.next_cursor !== null)
    if (page.next_cursor === null) return items
    cursor = page.next_cursor
  }
}

interface Jwk {
  readonly kid: string
  readonly alg: string
  readonly use: string
  readonly kty: 'EC'
  readonly crv: string
  readonly x: string
  readonly y: string
}

async function isSigned(text: unknown, { kid, signature }: Item): Promise<boolean> {
  const { body } = await ask('.well-known/jwks.json', {}, {})
  const keys = body.keys as readonly Jwk[]
  const jwk = keys.find((key) => key.kid === kid)
  if (jwk === undefined) return false
  const { kty, crv, x, y } = jwk
  const key = createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' })
  return verify('sha256', Buffer.from(String(text)), key, Buffer.from(String(signature), 'base64'))
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

interface Tree {
  readonly generation: string
  readonly origin: string
  readonly url: string
  readonly size: number
  readonly verifier_keys: readonly string[]
}

async function treesOf(read: typeof ask = ask): Promise<readonly Tree[]> {
  const { body } = await read('v1/tlog')
  return body.generations as unknown as readonly Tree[]
}

function verifiersOf({ verifier_keys }: Tree) {
  return verifier_keys.map((key) => {
    const parsed = parseVerifierKey(key)
    if (!parsed.ok) throw new Error(parsed.error)
    return parsed.value
  })
}

describe('batches, manifests and checkpoints', () => {
  test('have the documented members, and are verified with nothing but the JWKS', async () => {
    const batches = await allItems('v1/logs')
    const manifests = await allItems('v1/manifests')
    const checkpoints = await allItems('v1/checkpoints')
    expect(batches.length).toBeGreaterThan(2)
    expect(manifests).toHaveLength(batches.length)
    let prev = ''
    for (const [at, batch] of batches.entries()) {
      const manifest = manifests[at] as Item
      expect(batch).toMatchObject({ project_id: service.projectId, sequence: at + 1, alg: 'ES256-DER' })
      expect(batch.hash).toBe(sha256((batch.data as readonly string[]).join('\n')))
      expect(await isSigned(batch.hash, batch)).toBe(true)
      expect(manifest).toMatchObject({ batch_id: batch.batch_id, prev_hash: prev, data_hash: batch.hash })
      expect(manifest.manifest_id).toBe(batch.manifest_id)
      const { project_id, sequence, batch_id } = batch
      expect(manifest.head_hash).toBe(sha256([project_id, sequence, prev, batch.hash, batch_id].join('|')))
      expect(batch.chain_hash).toBe(manifest.head_hash)
      expect(await isSigned(manifest.head_hash, manifest)).toBe(true)
      prev = String(manifest.head_hash)
    }
    const [newest] = checkpoints
    expect(newest?.head_hash).toBe(prev)
    const sequences = checkpoints.map(({ sequence }) => Number(sequence))
    expect(sequences).toEqual(sequences.toSorted((a, b) => b - a))
    for (const checkpoint of checkpoints) expect(await isSigned(checkpoint.head_hash, checkpoint)).toBe(true)
  })

  test('the URI of a batch reads exactly this batch', async () => {
    const manifests = await allItems('v1/manifests')
    for (const { batch_uri, batch_id } of manifests) {
      const { body } = await service.send(String(batch_uri), { headers: { 'x-svc-clientkey': auditKey } })
      expect((body.items as readonly Item[]).map((item) => item.batch_id)).toEqual([batch_id])
    }
  })

  test('pages of any size have all items once', async () => {
    for (const path of ['v1/logs', 'v1/manifests', 'v1/checkpoints', 'v1/records']) {
      const whole = await allItems(path)
      for (const pagesize of ['1', '2', '50']) expect(await allItems(path, { pagesize })).toEqual(whole)
    }
  })

  test.each([
    [{ pagesize: '0' }, 'pagesize: expected an integer from 1 to 50'],
    [{ pagesize: '51' }, 'pagesize: expected an integer from 1 to 50'],
    [{ pagesize: 'x' }, 'pagesize: expected an integer from 1 to 50'],
    [{ cursor: 'x' }, 'cursor: expected `next_cursor` of an answer of the same list'],
    [
      { cursor: Buffer.from('checkpoints 1').toString('base64url') },
      'cursor: expected `next_cursor` of an answer of the same list',
    ],
    [{ limit: '3' }, 'query: unknown parameter `limit`'],
  ])('refuses %j with 400', async (query, issue) => {
    for (const path of ['v1/logs', 'v1/manifests', 'v1/records']) {
      const { status, body } = await ask(path, query)
      expect([status, body]).toEqual([400, { message: 'Bad Request', errors: [issue] }])
    }
  })

  test('refuse a cursor of another log, and one that leads beyond the log', async () => {
    const { app, token } = service
    const headers = { authorization: `Bearer ${token}` }
    await app.sealAudit()
    const errors = ['cursor: expected `next_cursor` of an answer of the same list']
    for (const path of ['v1/logs', 'v1/manifests', 'v1/checkpoints', 'v1/records']) {
      const own = String((await ask(path, { pagesize: '1' })).body.next_cursor)
      expect((await ask(path, { cursor: own })).status).toBe(200)
      const other = await ask(path, { cursor: own, project_id: app.organizationId }, headers)
      expect([path, other.status, other.body.errors]).toEqual([path, 400, errors])
      const parts = Buffer.from(own, 'base64url').toString().split(' ')
      for (const number of ['9999999', '9007199254740993', '-1']) {
        const cursor = Buffer.from([...parts.slice(0, -1), number].join(' ')).toString('base64url')
        expect([path, number, (await ask(path, { cursor })).body.errors]).toEqual([path, number, errors])
      }
    }
    const [place = ''] = Buffer.from(String((await ask('v1/records', { pagesize: '1' })).body.next_cursor), 'base64url')
      .toString()
      .match(/^\S+ \S+/) as string[]
    const cursor = Buffer.from(`${place} 999 0`).toString('base64url')
    expect((await ask('v1/records', { cursor })).body.errors).toEqual(errors)
  })

  test('refuse a request without a project', async () => {
    for (const path of [
      'v1/logs',
      'v1/manifests',
      'v1/checkpoints',
      'v1/records',
      'v1/export',
      '.well-known/jwks.json',
    ]) {
      const { status, body } = await service.send(`/audit/${path}`, { headers: { 'x-svc-clientkey': auditKey } })
      expect([path, status, body.errors]).toEqual([path, 400, ['project_id is required']])
    }
  })
})

describe('who may read', () => {
  const paths = ['v1/logs', 'v1/manifests', 'v1/checkpoints', 'v1/records', 'v1/consistency', 'v1/export', 'v1/tlog']

  test('an agent without `Audit`, and a caller without credentials, are refused with 401', async () => {
    for (const path of [...paths, 'v1/records/0/proof']) {
      const refused = await ask(path, {}, { 'x-svc-clientkey': service.key })
      expect([path, refused.status, refused.body.message]).toEqual([
        path,
        401,
        'insufficient API access level for appAgent',
      ])
      expect((await ask(path, {}, {})).status).toBe(401)
      expect((await ask(path, {}, { 'x-svc-clientkey': 'unknown' })).status).toBe(401)
      expect((await ask(path, {}, { authorization: 'Bearer unknown' })).status).toBe(401)
    }
  })

  test('an agent with `Audit` reads the log of its project with its key in either header, and no other log', async () => {
    for (const path of [...paths, 'v1/records/0/proof']) {
      expect((await ask(path)).status).toBe(200)
      expect((await ask(path, {}, { authorization: `Bearer ${auditKey}` })).status).toBe(200)
      for (const project_id of ['gid:01J000000000000000000000000000', 'x', service.app.organizationId])
        expect([path, project_id, (await ask(path, { project_id })).status]).toEqual([path, project_id, 403])
    }
    const organization = service.app.organizationId.slice('gid:'.length)
    const { status } = await service.send(`/audit/v1/tlog/${organization}/newest/checkpoint`, {
      headers: { 'x-svc-clientkey': auditKey },
    })
    expect(status).toBe(403)
  })

  test('service accounts of both roles read the logs of the organization and its projects', async () => {
    const { configure, app } = service
    for (const role of ['all_viewer', 'all_editor']) {
      const name = role.replace('_', '-')
      const body = { organization_id: app.organizationId, name, role }
      const account = await configure('POST', 'service-accounts', body)
      const made = await configure('POST', 'service-account-credentials', { service_account_id: account.body.id })
      const { token } = made.body.service_account_config as { token: string }
      const headers = { authorization: `Bearer ${String(token)}` }
      for (const project_id of [service.projectId, app.organizationId]) {
        for (const path of paths) expect([path, (await ask(path, { project_id }, headers)).status]).toEqual([path, 200])
        const tile = `v1/tlog/${project_id.slice('gid:'.length)}/newest/checkpoint`
        expect((await service.send(`/audit/${tile}`, { headers })).status).toBe(200)
      }
      for (const project_id of ['gid:01J000000000000000000000000000', 'x'])
        expect((await ask('v1/logs', { project_id }, headers)).status).toBe(403)
    }
  })

  test('the keys are public, with the form of a JWKS', async () => {
    const { status, body } = await ask('.well-known/jwks.json', {}, {})
    expect(status).toBe(200)
    for (const key of body.keys as readonly Jwk[])
      expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
  })

  test('reads are recorded', async () => {
    const headers = { 'x-svc-clientkey': auditKey, 'x-request-id': 'read-of-the-log' }
    await ask('v1/manifests', {}, headers)
    await service.app.settleEvents()
    await service.app.sealAudit()
    const found = await allItems<RecordItem>('v1/records', { type: 'svc.audit.request.answered', actor: auditAgent })
    const data = found.map(({ entry }) => (entry as unknown as { data: Item }).data)
    expect(data).toContainEqual(
      expect.objectContaining({ operation: 'listAuditManifests', requestId: 'read-of-the-log', status: 200 }),
    )
  })
})

describe('records', () => {
  test('are found by type, actor, resource and time, in both orders, as a scan of all records finds them', async () => {
    const all = await allItems<RecordItem>('v1/records', { order: 'oldest' })
    expect(all.map(({ index }) => index)).toEqual(all.map((_, at) => at))
    const type = 'svc.audit.capture.upsert.node'
    const captures = all.filter(({ entry }) => entry.type === type)
    expect(captures).toHaveLength(6)
    const found = (query: Readonly<Record<string, string>>) => allItems<RecordItem>('v1/records', query)
    // Reads of this test add records at the end.
    const known = (items: readonly RecordItem[]) => items.filter(({ index }) => index < all.length)
    expect(await found({ type, order: 'oldest' })).toEqual(captures)
    expect(await found({ type })).toEqual(captures.toReversed())
    expect(await found({ type: 'svc.audit.capture.*', order: 'oldest' })).toEqual(captures)
    expect(await found({ resource: 'car2' })).toEqual(captures.filter(({ entry }) => entry.subject.endsWith('/car2')))
    expect(await found({ resource: 'nodes/Car/car2' })).toHaveLength(1)
    expect(await found({ actor: service.agentId, type, order: 'oldest', pagesize: '1' })).toEqual(captures)
    expect(await found({ actor: auditAgent, type })).toEqual([])
    expect(known(await found({ type: 'svc.audit.*', order: 'oldest' }))).toEqual(all)
    const times = all.map(({ entry }) => entry.time).sort()
    for (const from of [times[0], times[Math.floor(times.length / 2)], times.at(-1)] as string[]) {
      const expected = all.filter(({ entry }) => Date.parse(entry.time) >= Date.parse(from))
      expect(known(await found({ from, order: 'oldest' }))).toEqual(expected)
      const before = all.filter(({ entry }) => Date.parse(entry.time) < Date.parse(from))
      expect(known(await found({ to: from, order: 'oldest' }))).toEqual(before)
    }
  })

  test.each([
    [{ type: 'svc.audit.nothing.*' }, 'type: no event type matches `svc.audit.nothing.*`'],
    [{ type: 'a b' }, 'type: expected an event type, or its beginning and `*`'],
    [{ order: 'up' }, 'order: expected `oldest` or `newest`, found `up`'],
    [{ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'to: expected a time after `from`'],
    [{ order: 'oldest', cursor: Buffer.from('newest 1 1').toString('base64url') }, expect.stringContaining('cursor:')],
  ])('refuses %j with 400', async (query, issue) => {
    const { status, body } = await ask('v1/records', query)
    expect([status, body.errors]).toEqual([400, [issue]])
  })
})

describe('proofs', () => {
  test('of inclusion lead from each entry to each later checkpoint', async () => {
    const checkpoints = await allItems('v1/checkpoints')
    const [tree] = await treesOf()
    for (const { size, root_hash } of checkpoints.slice(-3)) {
      for (let index = 0; index < Number(size); index++) {
        const { body } = await ask(`v1/records/${index}/proof`, { size: String(size) })
        expect(body).toMatchObject({ index, tree_size: size, root_hash })
        const proof = (body.proof as readonly string[]).map((hash) => Buffer.from(hash, 'base64'))
        const leaf = leafHash(Buffer.from(String(body.entry)))
        expect(Buffer.from(leaf).toString('base64')).toBe(body.leaf_hash)
        expect(isIncluded(leaf, index, Number(size), proof, Buffer.from(String(root_hash), 'base64'))).toBe(true)
        expect(openNote(String(body.checkpoint), verifiersOf(tree as Tree)).ok).toBe(true)
      }
    }
  })

  test('of consistency lead from each checkpoint to each later one', async () => {
    const checkpoints = (await allItems('v1/checkpoints')).toReversed().slice(0, 4)
    for (const [at, earlier] of checkpoints.entries()) {
      for (const later of checkpoints.slice(at)) {
        const [from, to] = [Number(earlier.size), Number(later.size)]
        const { body } = await ask('v1/consistency', { from: String(from), to: String(to) })
        const proof = (body.proof as readonly string[]).map((hash) => Buffer.from(hash, 'base64'))
        const roots = [earlier, later].map(({ root_hash }) => Buffer.from(String(root_hash), 'base64'))
        expect(isConsistent(from, to, roots[0] as Buffer, roots[1] as Buffer, proof)).toBe(true)
      }
    }
  })

  test('of what does not exist are refused', async () => {
    expect((await ask('v1/records/999999/proof')).status).toBe(404)
    expect((await ask('v1/records/x/proof')).status).toBe(404)
    expect((await ask('v1/records/0/proof', { generation: 'unknown' })).status).toBe(404)
    expect((await ask('v1/records/0/proof', { size: '2' })).body.errors).toEqual([
      'size: expected the size of a checkpoint of the log, found `2`',
    ])
    expect((await ask('v1/consistency', { from: '999999' })).status).toBe(400)
    expect((await ask('v1/consistency', { to: 'x' })).status).toBe(400)
  })
})

/** Reads the files of a log over HTTP, as `audit verify URL` does. */
function served(url: string, key: string) {
  return {
    names: async () => [],
    read: async (path: string): Promise<Uint8Array | null> => {
      const response = await fetch(`${url}/${path}`, { headers: { 'x-svc-clientkey': key } })
      if (response.status === 404) return null
      if (!response.ok) throw new Error(`${path}: ${response.status}`)
      return new Uint8Array(await response.arrayBuffer())
    },
  }
}

describe('files and exports', () => {
  test('the tiles of a log verify', async () => {
    const [tree] = await treesOf()
    const { origin, url } = tree as Tree
    const options = { verifiers: verifiersOf(tree as Tree), origin, against: null }
    const verdict = await verifyLog(served(`${service.url}${url}`, auditKey), options)
    expect(verdict.faults).toEqual([])
    expect(verdict.entries).toBeGreaterThan(6)
  })

  test('tiles beyond the sealed size, and paths that are no files of a log, are not found', async () => {
    const [tree] = await treesOf()
    const get = (path: string) => service.send(`${tree?.url}/${path}`, { headers: { 'x-svc-clientkey': auditKey } })
    for (const path of ['tile/0/000', 'tile/entries/x001/000', 'tile/9/000', 'tile/0/0', 'bodies/00', 'tile/0/000.p'])
      expect([path, (await get(path)).status]).toEqual([path, 404])
    expect((await get('tile/0/..%2f..%2fcheckpoint')).status).toBe(400)
    const { status, headers } = await get('tile/entries/000.p/3')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
  })

  test('an export verifies, with and without a filter, and a changed one does not', async () => {
    const [tree] = await treesOf()
    const options = { verifiers: verifiersOf(tree as Tree), origin: (tree as Tree).origin, against: null }
    const verdictOf = (text: string) => {
      const lines = text.trimEnd().split('\n')
      return verifyExport(
        (async function* () {
          yield* lines
        })(),
        options,
      )
    }
    const whole = await ask('v1/export')
    expect(whole.headers.get('content-type')).toBe('application/x-ndjson')
    const verdict = await verdictOf(whole.text)
    expect(verdict).toMatchObject({ faults: [], isSelection: false, from: 0 })
    expect(verdict.batches).toBeGreaterThan(2)
    const filtered = await verdictOf((await ask('v1/export', { type: 'svc.audit.capture.*' })).text)
    expect(filtered).toMatchObject({ faults: [], isSelection: true, entries: 6 })
    const part = await verdictOf((await ask('v1/export', { from_index: '2', to_index: '5' })).text)
    expect(part).toMatchObject({ faults: [], entries: 3, from: 2, to: 5 })
    expect(await verdictOf(whole.text.replace('car2', 'car9'))).toMatchObject({ faults: [{ kind: 'changed' }] })
    const cut = whole.text.trimEnd().split('\n').slice(0, -1).join('\n')
    expect((await verdictOf(cut)).faults.map(({ kind }) => kind)).toContain('removed')
    expect((await ask('v1/export', { to_index: '999999' })).status).toBe(400)
    expect((await ask('v1/export', { from_index: '3', to_index: '2' })).status).toBe(400)
  })

  test('a HEAD request of an export has no body', async () => {
    const response = await fetch(`${service.url}/audit/v1/export?project_id=${encodeURIComponent(service.projectId)}`, {
      method: 'HEAD',
      headers: { 'x-svc-clientkey': auditKey },
    })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})

/** An application on a folder that was set up before. */
async function openFolder<T>(dataDir: string, work: (at: Opened) => Promise<T>): Promise<T> {
  const app = await createApp({ ...defaultSettings, port: 0, dataDir }, withoutSync)
  try {
    const { url } = await app.listen()
    return await work({ app, url })
  } finally {
    await app.close()
  }
}

interface Opened {
  readonly app: App
  readonly url: string
}

interface Auditor {
  readonly key: string
  readonly projectId: string
}

function readingAs({ key, projectId }: Auditor) {
  return async ({ url }: Opened, path: string, query: Readonly<Record<string, string>> = {}) => {
    const all = new URLSearchParams({ project_id: projectId, ...query })
    const response = await fetch(`${url}/audit/${path}?${all}`, { headers: { authorization: `Bearer ${key}` } })
    return { status: response.status, text: await response.text() }
  }
}

/** A folder with a project, whose log has a batch for each name. */
async function newFolderWith(names: readonly string[]): Promise<Auditor & { dataDir: string; captureKey: string }> {
  const dataDir = newFolder()
  const made = await startService({ dataDir }, withoutSync)
  try {
    const { key } = await made.addAgent('auditor', ['Audit'])
    for (const name of names) {
      await capture(made, name)
      await made.app.sealAudit()
    }
    return { dataDir, key, projectId: made.projectId, captureKey: made.key }
  } finally {
    await made.stop()
  }
}

async function captureAt({ app, url }: Opened, key: string, name: string): Promise<void> {
  const { status } = await fetch(`${url}/capture/v1/nodes`, {
    method: 'POST',
    headers: { 'x-svc-clientkey': key, 'content-type': 'application/json' },
    body: JSON.stringify({ nodes: [{ type: 'Car', external_id: name }] }),
  })
  expect(status).toBe(200)
  await app.sealAudit()
}

describe('over the life of a log', () => {
  test('pages continue over a restart and a rotation of the key', async () => {
    const folder = await newFolderWith(['a', 'b', 'c'])
    const read = readingAs(folder)
    const lists = ['v1/logs', 'v1/manifests', 'v1/records'] as const
    const orderOf = (path: string) => (path === 'v1/records' ? { order: 'oldest' } : {})
    const firsts = await openFolder(folder.dataDir, (at) =>
      Promise.all(lists.map((path) => readPage(read, at, path, { pagesize: '2', ...orderOf(path) }))),
    )
    const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    onTestFinished(() => printed.mockRestore())
    await rotateAuditKey({ ...defaultSettings, dataDir: folder.dataDir }, true)
    await openFolder(folder.dataDir, async (at) => {
      await captureAt(at, folder.captureKey, 'd')
      for (const [i, path] of lists.entries()) {
        const whole = await readPage(read, at, path, orderOf(path))
        const first = firsts[i] as ItemsPage
        const next = await readPage(read, at, path, { cursor: first.next_cursor ?? '', ...orderOf(path) })
        expect([path, first.items]).toEqual([path, whole.items.slice(0, 2)])
        expect([path, next.items]).toEqual([path, whole.items.slice(2)])
      }
      const checkpoints: Item[] = JSON.parse((await read(at, 'v1/checkpoints')).text).items
      expect(new Set(checkpoints.map(({ kid }) => kid)).size).toBe(2)
      const { keys } = JSON.parse((await read(at, '.well-known/jwks.json')).text) as { keys: Jwk[] }
      expect(keys).toHaveLength(2)
      for (const { kid } of checkpoints) expect(keys.map((key) => key.kid)).toContain(kid)
    })
  })

  test('files of a log that are missing or changed are reported, not left out', async () => {
    const folder = await newFolderWith(['kept'])
    const read = readingAs(folder)
    const written = vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
    onTestFinished(() => written.mockRestore())
    await openFolder(folder.dataDir, async (at) => {
      const { generations } = JSON.parse((await read(at, 'v1/tlog')).text) as { generations: readonly Tree[] }
      const { generation = '', size = 0 } = generations[0] ?? {}
      const log = join(folder.dataDir, 'audit/logs', folder.projectId.slice('gid:'.length), generation)
      const entries = `generation ${generation}, entries 0 to ${size - 1}`
      const of = (path: string, query = {}) => read(at, path, query)
      const answers = async () => [
        await of('v1/records'),
        await of('v1/export'),
        await of('v1/records', { type: 'svc.audit.capture.*' }),
        await of('v1/export', { resource: 'kept' }),
      ]
      // One entry has another byte.
      const bundle = join(log, 'tile/entries', `000.p/${size}`)
      const original = readFileSync(bundle)
      writeFileSync(bundle, Buffer.from(original.toString('latin1').replace('Car/kept', 'Car/keqt'), 'latin1'))
      const changed = await of('v1/records', { order: 'oldest' })
      expect([changed.status, JSON.parse(changed.text).message]).toEqual([
        503,
        expect.stringMatching(/^the audit log \(generation [a-z]+, entry \d+\) is damaged$/),
      ])
      expect((await of('v1/records', { to: '2020-01-01T00:00:00Z' })).status).toBe(200)
      writeFileSync(bundle, original)
      for (const { status, text } of await answers()) expect([status, text]).toEqual([200, text])
      // The folder of the generation is gone.
      renameSync(log, `${log}.away`)
      for (const { status, text } of await answers())
        expect([status, JSON.parse(text).message]).toEqual([503, `the audit log (${entries}) is damaged`])
      expect((await of('v1/records/0/proof')).status).toBe(503)
      const { items } = JSON.parse((await of('v1/logs')).text) as ItemsPage
      expect(items.length).toBeGreaterThan(0)
      for (const batch of items) expect(batch).toMatchObject({ data: [], is_missing: true, is_pruned: false })
      renameSync(`${log}.away`, log)
      for (const { status, text } of await answers()) expect([status, text]).toEqual([200, text])
    })
  })

  test('a restore begins a generation, and both are read and verified', async () => {
    const folder = await newFolderWith(['kept'])
    const out = join(newFolder(), '..', 'backup.tar.gz')
    const restored = newFolder()
    await backup({ dataDir: folder.dataDir, out, madeBy: 'test', nowMs: 0, progress: () => undefined })
    await openFolder(folder.dataDir, (at) => captureAt(at, folder.captureKey, 'lost'))
    await restore({ from: out, dataDir: restored, progress: () => undefined })
    cpSync(join(folder.dataDir, 'master.key'), join(restored, 'master.key'))
    const read = readingAs(folder)
    await openFolder(restored, async (at) => {
      await captureAt(at, folder.captureKey, 'later')
      const { generations } = JSON.parse((await read(at, 'v1/tlog')).text) as { generations: readonly Tree[] }
      expect(generations).toHaveLength(2)
      for (const tree of generations) {
        const { generation, origin, url, size } = tree
        const verifiers = verifiersOf(tree)
        const verdict = await verifyLog(served(`${at.url}${url}`, folder.key), { verifiers, origin, against: null })
        expect([verdict.faults, verdict.entries]).toEqual([[], size])
        const exported = (await read(at, 'v1/export', { generation })).text
        const lines = exported.trimEnd().split('\n')
        const ofExport = await verifyExport(
          (async function* () {
            yield* lines
          })(),
          { verifiers, origin, against: null },
        )
        expect([ofExport.faults, ofExport.entries]).toEqual([[], size])
        const proof = JSON.parse((await read(at, 'v1/records/0/proof', { generation })).text) as Item
        expect(proof.origin).toBe(origin)
      }
      const all: RecordItem[] = JSON.parse((await read(at, 'v1/records', { order: 'oldest' })).text).items
      const captured = all.filter(({ entry }) => entry.type === 'svc.audit.capture.upsert.node')
      expect(captured.map(({ entry }) => entry.subject)).toEqual(['nodes/Car/kept', 'nodes/Car/later'])
      const newest: RecordItem[] = JSON.parse((await read(at, 'v1/records')).text).items
      expect(newest.toReversed()).toEqual(all)
      for (const pagesize of ['1', '3']) {
        const paged: Item[] = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const page: ItemsPage = await readPage(read, at, 'v1/records', { pagesize, ...(cursor !== '' && { cursor }) })
          paged.push(...page.items)
          cursor = page.next_cursor
        }
        expect(paged).toEqual(newest)
      }
      const batches: Item[] = JSON.parse((await read(at, 'v1/logs')).text).items
      expect(new Set(batches.map((batch) => batch.generation))).toEqual(
        new Set(generations.map((one) => one.generation)),
      )
    })
  })

  test('the log of a deleted project stays readable for service accounts, and its agents are refused', async () => {
    const dataDir = newFolder()
    const made = await startService({ dataDir }, withoutSync)
    try {
      const { key } = await made.addAgent('auditor', ['Audit'])
      await capture(made, 'kept')
      await made.app.sealAudit()
      const deleted = await made.configure('DELETE', `projects/${made.projectId}`)
      expect([deleted.status, deleted.text]).toEqual([200, deleted.text])
      await made.app.sealAudit()
      const query = new URLSearchParams({ project_id: made.projectId, type: 'svc.audit.capture.*' })
      const asAccount = { headers: { authorization: `Bearer ${made.token}` } }
      const { status, body } = await made.send(`/audit/v1/records?${query}`, asAccount)
      expect([status, (body as unknown as ItemsPage).items]).toEqual([
        200,
        [expect.objectContaining({ index: expect.any(Number) })],
      ])
      const refused = await made.send(`/audit/v1/records?${query}`, { headers: { 'x-svc-clientkey': key } })
      expect([refused.status, refused.body.message]).toEqual([404, 'the project was deleted'])
    } finally {
      await made.stop()
    }
  })
})

async function readPage(
  read: ReturnType<typeof readingAs>,
  at: Opened,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<ItemsPage> {
  const { status, text } = await read(at, path, query)
  expect([status, text]).toEqual([200, text])
  return JSON.parse(text) as ItemsPage
}
