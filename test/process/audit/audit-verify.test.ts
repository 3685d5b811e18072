// `audit verify` as an auditor runs it: with the files of a log and public keys, and nothing of the service.
import { createHash, sign } from 'node:crypto'
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type BatchLine, chainHashOf } from '../../../src/audit/log/batch-chain.ts'
import { decodeEntries, encodeEntries } from '../../../src/audit/log/entry-bundle.ts'
import {
  exportBatchLine,
  exportEndLine,
  exportEntryLine,
  exportHeaderLine,
} from '../../../src/audit/log/export-lines.ts'
import { rootOf } from '../../../src/audit/log/merkle.ts'
import { prunedText } from '../../../src/audit/log/pruned-note.ts'
import { signNote } from '../../../src/audit/log/signed-note.ts'
import { auditEntry, newLogKey, WrittenLog } from '../../support/audit-log.ts'
import { type Finished, killAll, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ORIGIN = 'verdigraph/projects/abc/qwertyuiop'
const key = newLogKey(ORIGIN)
const rotated = newLogKey(ORIGIN)
const customer = newLogKey('customer.example/key')

let log: WrittenLog
let older: string
let work: string

beforeAll(async () => {
  work = temporaryFolder()
  log = new WrittenLog(join(work, 'log'), ORIGIN)
  await log.grow(300, [key.signer])
  older = join(work, 'older')
  writeFileSync(older, log.note)
  await log.grow(700, [key.signer, rotated.signer, customer.signer])
})
afterEach(killAll)

const verify = (target: string, ...args: string[]): Promise<Finished> =>
  runCommand(['audit', 'verify', target, ...args])

async function verdict(target: string, ...args: string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await verify(target, '--json', ...args)
  return { exitCode, ...(JSON.parse(stdout === '' ? JSON.stringify({ stderr }) : stdout) as object) }
}

/** Changes a copy of the log. */
function copyOf(change: (folder: string) => void): string {
  const folder = join(temporaryFolder(), 'copy')
  cpSync(log.folder, folder, { recursive: true })
  change(folder)
  return folder
}

function edited(path: string, edit: (bytes: Buffer) => Uint8Array): (folder: string) => void {
  return (folder) => writeFileSync(join(folder, path), edit(readFileSync(join(folder, path))))
}

function editedEntries(
  path: string,
  edit: (entries: readonly Uint8Array[]) => readonly Uint8Array[],
): (folder: string) => void {
  return edited(path, (bytes) => encodeEntries(edit(decodeEntries(bytes).entries)))
}

describe('audit verify', () => {
  it('verifies a folder with each of its keys, and against an older checkpoint', async () => {
    const { exitCode, stdout, stderr } = await verify(log.folder, '--key', key.vkey, '--against', older)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`sound: ${ORIGIN}, 1000 entries`)
    expect(stdout).toContain('continues the checkpoint of 300 entries')
    const json = await verdict(log.folder, '--key', key.vkey, '--key', rotated.vkey, '--key', customer.vkey)
    expect(json).toMatchObject({ exitCode: 0, sound: true, origin: ORIGIN, size: 1000, entries: 1000, faults: [] })
    expect(json.signedBy).toHaveLength(3)
  })

  it.each([
    ['a changed entry', editedEntries('tile/entries/002', (entries) => entries.with(7, auditEntry(1))), 'changed', 519],
    ['a removed entry', editedEntries('tile/entries/002', (entries) => entries.toSpliced(7, 1)), 'removed', 519],
    [
      'an inserted entry',
      editedEntries('tile/entries/002', (entries) => entries.toSpliced(7, 0, auditEntry(1))),
      'inserted',
      519,
    ],
    [
      'an entry at the end',
      editedEntries('tile/entries/003.p/232', (entries) => [...entries, auditEntry(1000)]),
      'inserted',
      1000,
    ],
    ['a removed bundle', (folder: string) => rmSync(join(folder, 'tile/entries/001')), 'removed', 256],
    ['a removed first bundle', (folder: string) => rmSync(join(folder, 'tile/entries/000')), 'removed', 0],
    ['a removed tile', (folder: string) => rmSync(join(folder, 'tile/0/001')), 'removed', 256],
    ['a changed tile', edited('tile/0/001', (bytes) => bytes.with(3 * 32, (bytes[96] as number) ^ 1)), 'changed', 259],
    ['a removed checkpoint', (folder: string) => rmSync(join(folder, 'checkpoint')), 'unsigned', null],
    [
      'another size in the checkpoint',
      edited('checkpoint', (bytes) => Buffer.from(bytes.toString().replace('1000', '1001'))),
      'unsigned',
      null,
    ],
  ] as const)('reports %s with its kind and index', async (_, change, kind, firstBadIndex) => {
    const found = await verdict(copyOf(change), '--key', key.vkey)
    expect(found).toMatchObject({ exitCode: 1, sound: false, kind, firstBadIndex })
  })

  it('reports a log that another key signed, one that was cut, and one that is forked', async () => {
    const stranger = newLogKey(ORIGIN)
    expect(await verdict(log.folder, '--key', stranger.vkey)).toMatchObject({ exitCode: 1, kind: 'unsigned' })
    const other = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await other.grow(200, [key.signer])
    expect(await verdict(other.folder, '--key', key.vkey)).toMatchObject({ exitCode: 0 })
    const cut = await verdict(other.folder, '--key', key.vkey, '--against', older)
    expect(cut).toMatchObject({ exitCode: 1, kind: 'removed', firstBadIndex: 200 })
    await other.append([auditEntry(777)], [key.signer])
    await other.append(
      Array.from({ length: 200 }, (_, at) => auditEntry(1000 + at)),
      [key.signer],
    )
    const forked = await verify(other.folder, '--key', key.vkey, '--against', older)
    expect([forked.exitCode, forked.stdout]).toEqual([
      1,
      expect.stringContaining('forked: the first 300 entries are not those'),
    ])
  })

  it('accepts entries that retention removed, and reports how many', async () => {
    const pruned = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await pruned.grow(1000, [key.signer])
    const entry = { type: 'svc.audit.log.pruned', data: { firstIndex: 512 } }
    await pruned.append([Buffer.from(JSON.stringify(entry))], [key.signer])
    await pruned.tiles.prune(512)
    const found = await verdict(pruned.folder, '--key', key.vkey)
    expect(found).toMatchObject({ exitCode: 0, firstEntry: 512, entries: 489, size: 1001 })
    rmSync(join(pruned.folder, 'tile/entries/002'))
    const more = await verdict(pruned.folder, '--key', key.vkey)
    expect(more).toMatchObject({ exitCode: 1, kind: 'removed', firstBadIndex: 512 })
  })

  it('accepts entries that were removed from a replaced log if a signed note says so', async () => {
    const replaced = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await replaced.grow(1000, [key.signer])
    await replaced.tiles.prune(512)
    const found = (...args: string[]) => verdict(replaced.folder, '--key', key.vkey, ...args)
    expect(await found()).toMatchObject({ exitCode: 1, kind: 'removed', firstBadIndex: 0 })
    const note = (firstIndex: number, by = key, origin = ORIGIN) =>
      signNote(prunedText({ origin, firstIndex }), [by.signer])
    await replaced.tiles.writePrunedNote(await note(512))
    expect(await found()).toMatchObject({ exitCode: 0, firstEntry: 512, entries: 488, size: 1000 })
    await replaced.tiles.writePrunedNote(await note(256))
    expect(await found()).toMatchObject({ exitCode: 1, kind: 'removed', firstBadIndex: 256 })
    await replaced.tiles.writePrunedNote((await note(256)).replace('256', '512'))
    expect(JSON.stringify(await found())).toContain('the file pruned: ')
    await replaced.tiles.writePrunedNote(await note(512, key, `${ORIGIN}2`))
    expect(JSON.stringify(await found())).toContain(`the file pruned is of the log ${ORIGIN}2`)
    // Another key of the operator: its public key is needed as well.
    await replaced.tiles.writePrunedNote(await note(512, rotated))
    expect(await found()).toMatchObject({ exitCode: 1 })
    expect(await found('--key', rotated.vkey)).toMatchObject({ exitCode: 0, firstEntry: 512 })
    // A checkpoint is no such note.
    await replaced.tiles.writePrunedNote(replaced.note)
    expect(await found()).toMatchObject({ exitCode: 1 })
  })

  it('compares a log that replaced another one after a restore with a checkpoint of that one', async () => {
    const origin = `${ORIGIN}2`
    const next = newLogKey(origin)
    const opened = async (size: number, root: Uint8Array, reason = 'restored'): Promise<string> => {
      const replacing = new WrittenLog(join(temporaryFolder(), 'log'), origin)
      const previous = { origin: ORIGIN, size, root: Buffer.from(root).toString('base64') }
      const entry = { type: 'svc.audit.log.opened', data: { reason, previous } }
      await replacing.append([Buffer.from(JSON.stringify(entry))], [next.signer])
      return replacing.folder
    }
    const old = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await old.grow(300, [key.signer])
    const root = rootOf(old.state)
    const keys = ['--key', key.vkey, '--key', next.vkey, '--against', older]
    expect(await verdict(await opened(300, root), ...keys)).toMatchObject({
      exitCode: 0,
      previous: { origin: ORIGIN, size: 300 },
    })
    expect(await verdict(await opened(300, root), ...keys, '--origin', origin)).toMatchObject({ exitCode: 0 })
    expect(await verdict(await opened(300, root), ...keys, '--origin', ORIGIN)).toMatchObject({
      exitCode: 1,
      kind: 'unsigned',
    })
    const lost = await verdict(await opened(280, root), ...keys)
    expect(lost).toMatchObject({ exitCode: 1, kind: 'removed', firstBadIndex: 280 })
    expect(await verdict(await opened(300, rootOf({ edge: [] })), ...keys)).toMatchObject({
      exitCode: 1,
      kind: 'forked',
    })
    const why = async (reason: string): Promise<string> =>
      (await verify(await opened(300, root, reason), ...keys)).stdout
    expect(await why('restored')).toContain(`replaced the log ${ORIGIN} at 300 entries, after a restore`)
    const damaged = `replaced the log ${ORIGIN} at 300 entries, because its files were changed or removed`
    expect(await why('damaged')).toContain(damaged)
    const longer = await verify(await opened(301, root), ...keys)
    expect([longer.exitCode, longer.stderr]).toEqual([
      2,
      expect.stringContaining('verify the folder of that log with it'),
    ])
  })

  it('verifies payloads outside of entries', async () => {
    const large = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    const hash = await large.tiles.writeBody(Buffer.alloc(200_000, 'x'))
    await large.append([Buffer.from(JSON.stringify({ dataref: `bodies/${hash}`, datasha256: hash }))], [key.signer])
    expect(await verdict(large.folder, '--key', key.vkey)).toMatchObject({ exitCode: 0, bodies: 1 })
    writeFileSync(join(large.folder, 'bodies', hash), 'other')
    expect(await verdict(large.folder, '--key', key.vkey)).toMatchObject({
      exitCode: 1,
      kind: 'changed',
      firstBadIndex: 0,
    })
    rmSync(join(large.folder, 'bodies', hash))
    expect(await verdict(large.folder, '--key', key.vkey)).toMatchObject({
      exitCode: 1,
      kind: 'removed',
      firstBadIndex: 0,
    })
  })

  it('verifies a checkpoint alone', async () => {
    expect(await verdict(older, '--key', key.vkey)).toMatchObject({ exitCode: 0, size: 300 })
    expect(await verdict(older, '--key', rotated.vkey)).toMatchObject({ exitCode: 1, kind: 'unsigned' })
    expect(await verdict(older, '--key', key.vkey, '--against', older)).toMatchObject({ exitCode: 0, against: 300 })
    const fork = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await fork.append(
      Array.from({ length: 300 }, () => auditEntry(1)),
      [key.signer],
    )
    const found = await verdict(join(fork.folder, 'checkpoint'), '--key', key.vkey, '--against', older)
    expect(found).toMatchObject({ exitCode: 1, kind: 'forked' })
    const newer = await verify(join(log.folder, 'checkpoint'), '--key', key.vkey, '--against', older)
    expect([newer.exitCode, newer.stderr]).toEqual([2, expect.stringContaining('verify the folder of the log')])
  })

  it('verifies a log behind a URL with a token, and reports a refusal as not read', async () => {
    const folder = copyOf(() => {})
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        if (request.headers.get('authorization') !== 'Bearer secret') return new Response('no token', { status: 401 })
        const file = Bun.file(join(folder, new URL(request.url).pathname.replace('/audit/log', '')))
        return (await file.exists()) ? new Response(file) : new Response('missing', { status: 404 })
      },
    })
    try {
      const url = `http://127.0.0.1:${server.port}/audit/log/`
      const token = join(work, 'token')
      writeFileSync(token, 'secret\n')
      const sound = await verdict(url, '--key', key.vkey, '--against', older, '--token-file', token)
      expect(sound).toMatchObject({ exitCode: 0, entries: 1000 })
      const refused = await verify(url, '--key', key.vkey)
      expect([refused.exitCode, refused.stderr]).toEqual([
        2,
        expect.stringContaining('the service answered 401: no token'),
      ])
      const byVariable = await runCommand(['audit', 'verify', url, '--key', key.vkey], { VERDIGRAPH_TOKEN: 'secret' })
      expect(byVariable.exitCode).toBe(0)
      renameSync(join(folder, 'tile/entries/001'), join(folder, 'tile/entries/009'))
      const removed = await verdict(url, '--key', key.vkey, '--token-file', token)
      expect(removed).toMatchObject({ exitCode: 1, kind: 'removed', firstBadIndex: 256 })
    } finally {
      await server.stop(true)
    }
  })

  it('asks again while the service is busy, and does not call the log unsound if it stays so', async () => {
    const asked = new Map<string, number>()
    let isAlwaysBusy = false
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { pathname } = new URL(request.url)
        const count = (asked.get(pathname) ?? 0) + 1
        asked.set(pathname, count)
        // Every third file is refused twice.
        const isBusy = isAlwaysBusy || (asked.size % 3 === 0 && count <= 2)
        if (isBusy) return new Response('busy', { status: count === 1 ? 503 : 429, headers: { 'retry-after': '0' } })
        const file = Bun.file(join(log.folder, pathname))
        return (await file.exists()) ? new Response(file) : new Response('missing', { status: 404 })
      },
    })
    try {
      const url = `http://127.0.0.1:${server.port}`
      expect(await verdict(url, '--key', key.vkey)).toMatchObject({ exitCode: 0, entries: 1000 })
      expect(Math.max(...asked.values())).toBeGreaterThan(1)
      isAlwaysBusy = true
      const failed = await verify(url, '--key', key.vkey)
      expect([failed.exitCode, failed.stderr]).toEqual([2, expect.stringContaining('the service answered 429: busy')])
    } finally {
      await server.stop(true)
    }
  })

  it.each([
    ['no key', () => [log.folder], '--key: expected a public key of the log'],
    ['a malformed key', () => [log.folder, '--key', 'abc'], 'expected a verifier key'],
    ['a missing log', () => [join(work, 'nothing'), '--key', key.vkey], 'does not exist'],
    [
      'a folder without a log',
      () => [work, '--key', key.vkey],
      'is not the folder of an audit log: it has no checkpoint and no tiles; there are logs below: log',
    ],
    ['a missing --against', () => [log.folder, '--key', key.vkey, '--against', join(work, 'nothing')], '--against'],
    [
      'an --against of other keys',
      () => [log.folder, '--key', rotated.vkey, '--against', older],
      'no signature is of a given key',
    ],
    ['no log', () => ['--key', key.vkey], 'missing required argument'],
    ['a URL that does not answer', () => ['http://127.0.0.1:9/log', '--key', key.vkey], 'cannot be reached'],
  ])('has exit code 2 for %s', async (_, args, message) => {
    const { exitCode, stderr } = await runCommand(['audit', 'verify', ...args()])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('audit verify of an export', () => {
  async function exported(indexes: readonly number[], filter: object | null, from = 0, to = 1000): Promise<string[]> {
    const lines = [exportHeaderLine({ checkpoint: log.note, from, to, filter })]
    for (const index of indexes) {
      const [entry] = await log.tiles.entries(index, index + 1)
      const proof = await log.tiles.inclusionProof(index, 1000)
      lines.push(exportEntryLine({ index, entry: entry as Uint8Array, proof, body: null }))
    }
    return [...lines, exportEndLine(indexes.length)]
  }
  const all = Array.from({ length: 1000 }, (_, index) => index)

  async function verdictOfLines(lines: readonly string[], ...args: string[]): Promise<Record<string, unknown>> {
    const file = join(temporaryFolder(), 'export.ndjson')
    writeFileSync(file, `${lines.join('\n')}\n`)
    return verdict(file, '--key', key.vkey, ...args)
  }

  it('verifies all entries, a range, and a selection', async () => {
    const complete = await verdictOfLines(await exported(all, null), '--against', older)
    expect(complete).toMatchObject({ exitCode: 0, entries: 1000, from: 0, to: 1000, isSelection: false, against: 300 })
    const range = await verdictOfLines(await exported(all.slice(250, 260), null, 250, 260))
    expect(range).toMatchObject({ exitCode: 0, entries: 10, from: 250, to: 260 })
    const selection = await verdictOfLines(await exported([3, 500, 999], { actor: 'a' }))
    expect(selection).toMatchObject({ exitCode: 0, entries: 3, isSelection: true })
  })

  it('reports changed, removed, inserted and unsigned entries', async () => {
    const lines = await exported(all.slice(0, 50), null, 0, 50)
    const changed = lines.with(8, (lines[8] as string).replace('request-7', 'request-8'))
    expect(await verdictOfLines(changed)).toMatchObject({ exitCode: 1, kind: 'changed', firstBadIndex: 7 })
    expect(await verdictOfLines(lines.toSpliced(8, 1))).toMatchObject({
      exitCode: 1,
      kind: 'removed',
      firstBadIndex: 7,
    })
    expect(await verdictOfLines(lines.slice(0, 20))).toMatchObject({ exitCode: 1, kind: 'removed', firstBadIndex: 19 })
    const twice = lines.toSpliced(8, 0, lines[8] as string)
    expect(await verdictOfLines(twice)).toMatchObject({ exitCode: 1, kind: 'inserted', firstBadIndex: 7 })
    const broken = lines.with(8, (lines[8] as string).slice(0, 30))
    expect(await verdictOfLines(broken)).toMatchObject({ exitCode: 1, kind: 'changed', firstBadIndex: 7 })
    const header = JSON.parse(lines[0] as string)
    header.log.checkpoint = header.log.checkpoint.replace('\n1000\n', '\n1001\n')
    expect(await verdictOfLines(lines.with(0, JSON.stringify(header)))).toMatchObject({ exitCode: 1, kind: 'unsigned' })
    const fork = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await fork.append(
      Array.from({ length: 300 }, () => auditEntry(1)),
      [key.signer],
    )
    const forked = await verdictOfLines(await exported(all, null), '--against', join(fork.folder, 'checkpoint'))
    expect(forked).toMatchObject({ exitCode: 1, kind: 'forked' })
  })

  it('verifies the batches of an export: their entries, their chain and their signatures', async () => {
    const entries = await log.tiles.entries(0, 500)
    const lines = await exported(all.slice(0, 500), null, 0, 500)
    let prev = ''
    const batches = [0, 256].map((from, at) => {
      const part = entries.slice(from, Math.min(500, from + 256))
      const hash = createHash('sha256')
        .update(Buffer.concat(part.flatMap((one, i) => (i === 0 ? [one] : [Buffer.from('\n'), one]))))
        .digest('hex')
      const members = { batch_id: `batch-${at}`, project_id: 'abc', sequence: at + 5, prev_hash: prev, hash }
      prev = chainHashOf(members)
      const signature = sign('sha256', Buffer.from(hash), key.privateKey).toString('base64')
      return { ...members, from, to: from + part.length, chain_hash: prev, signature }
    })
    const withBatches = (edit: (batch: BatchLine, at: number) => object): string[] => {
      const [first, second] = batches.map((batch, at) => exportBatchLine({ ...batch, ...edit(batch, at) })) as [
        string,
        string,
      ]
      return lines.toSpliced(501, 0, second).toSpliced(257, 0, first)
    }
    expect(await verdictOfLines(withBatches(() => ({})))).toMatchObject({ exitCode: 0, batches: 2, entries: 500 })
    const edits: readonly ((batch: BatchLine, at: number) => object)[] = [
      (batch) => ({ to: batch.to - 1 }),
      (batch) => ({ hash: batch.chain_hash }),
      (_, at) => (at === 1 ? { prev_hash: '' } : {}),
      (_, at) => (at === 1 ? { sequence: 7 } : {}),
      ({ hash }) => ({ signature: sign('sha256', Buffer.from(hash), rotated.privateKey).toString('base64') }),
      () => ({ signature: 'AA==' }),
      () => ({ batch_id: 5 }),
    ]
    for (const edit of edits) {
      const found = await verdictOfLines(withBatches(edit))
      expect(found, String(edit)).toMatchObject({ exitCode: 1, kind: 'changed' })
    }
  })

  it('has exit code 2 if the export cannot be compared, and for another file', async () => {
    const file = join(temporaryFolder(), 'export.ndjson')
    writeFileSync(file, `${(await exported([3], { actor: 'a' })).join('\n')}\n`)
    const compared = await verify(file, '--key', key.vkey, '--against', older)
    expect([compared.exitCode, compared.stderr]).toEqual([
      2,
      expect.stringContaining('cannot be compared with this file'),
    ])
    writeFileSync(file, '{"other": true}\n')
    expect((await verify(file, '--key', key.vkey)).exitCode).toBe(2)
  })
})
