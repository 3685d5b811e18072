// Backup and restore: the restored data, its point in time, and what is refused.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterAll, expect, test } from 'vitest'
import { backup } from '../../../src/backup/backup.ts'
import { restore } from '../../../src/backup/restore.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import { backupRounds } from '../../stress/backup.ts'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(killAll)

const madeBy = 'test'
const quiet = { progress: () => {} }

/** A data folder with two projects of one node each. */
async function dataFolder(): Promise<{ data: string; projects: [string, string] }> {
  const data = join(temporaryFolder(), 'data')
  const projects: [string, string] = [mintGid(systemClock.now()), mintGid(systemClock.now())]
  const documents = openCollections(join(data, 'config'), { sync: false })
  await documents.transact((changes) => {
    changes.put('configuration', 'organization', { kind: 'organizations', id: 'organization', project_id: '' })
    for (const id of projects) {
      changes.put('configuration', id, { kind: 'projects', id, project_id: '' })
      const policy = { kind: 'authorization-policies', id: `${id}-policy`, project_id: id }
      changes.put('configuration', policy.id, { ...policy, revision: 2 })
      changes.put('configuration-past', `${policy.id}.1`, { ...policy, revision: 1 })
    }
  })
  await documents.close()
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  for (const id of projects) {
    await catalog.create(id)
    await catalog.graph(id, 'default')!.write((batch) => batch.upsertNode({ type: 'Project', externalId: id }))
  }
  await catalog.close()
  return { data, projects }
}

function backupOf(data: string, out: string, projectId?: string) {
  const project = projectId === undefined ? {} : { projectId }
  return backup({ dataDir: data, out, madeBy, nowMs: systemClock.now(), progress: quiet.progress, ...project })
}

const restoreTo = (from: string, dataDir: string) => restore({ from, dataDir, progress: quiet.progress })

async function documentsIn(data: string, collection = 'configuration'): Promise<string[]> {
  const documents = openCollections(join(data, 'config'), { readOnly: true })
  const keys = documents.all(collection).map(([key]) => key)
  await documents.close()
  return keys
}

test('a backup under write load restores a consistent snapshot of all environments', async () => {
  const outcome = await backupRounds(3, 0)
  expect(outcome.faults).toEqual([])
  expect(outcome.to).toBeGreaterThan(outcome.from)
})

test('a served folder is backed up while it is served, and the restored one has the same responses', async () => {
  const folder = temporaryFolder()
  const data = join(folder, 'data')
  const server = await startServer(['--data', data, '--demo'])
  const output = await server.printed('claude mcp add')
  const key = /KEY=(\S+)/.exec(output)?.[1] as string
  const ask = async (url: string): Promise<string> => {
    const body = {
      subject: { type: 'Person', id: 'dara' },
      action: { name: 'tow' },
      resource: { type: 'Car', id: 'bramble' },
      context: { input_params: { load_kg: 1800 } },
    }
    const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
    const response = await fetch(`${url}/access/v1/evaluation`, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.text()
  }
  expect(await ask(server.url)).toBe('{"decision":true}')

  const out = join(folder, 'demo.backup')
  const made = await runCommand(['backup', '--data', data, '--out', out])
  expect(made.stderr).toBe('')
  expect(made.stdout).toContain('1 project, ')
  expect(made.stdout).toContain('does not contain the master key')
  await server.kill('SIGTERM')

  const restored = join(folder, 'restored')
  const back = await runCommand(['restore', '--data', restored, '--in', out])
  expect(back.stderr).toBe('')
  expect(back.stdout).toContain('copy the original master.key into the folder')
  const keyless = await runCommand(['serve', '--data', restored, '--port', '0'])
  expect(keyless.stderr).toContain('master.key')
  expect(keyless.exitCode).toBe(1)
  copyFileSync(join(data, 'master.key'), join(restored, 'master.key'))
  const again = await startServer(['--data', restored])
  expect(await ask(again.url)).toBe('{"decision":true}')
  expect(await again.kill('SIGTERM')).toBe(0)
})

test('one project is backed up with its configuration, and no other', async () => {
  const { data, projects } = await dataFolder()
  const out = join(data, '..', 'one.backup')
  const { manifest } = await backupOf(data, out, projects[1])
  expect(manifest.projects).toEqual([projects[1]])
  const restored = join(data, '..', 'restored')
  await restoreTo(out, restored)
  expect(await documentsIn(restored)).toEqual([projects[1], `${projects[1]}-policy`, 'organization'].sort())
  expect(await documentsIn(restored, 'configuration-past')).toEqual([`${projects[1]}-policy.1`])
  expect(await documentsIn(data)).toHaveLength(5)
  expect(readdirSync(join(restored, 'projects'))).toHaveLength(1)
  await expect(backupOf(data, join(data, '..', 'x'), mintGid(systemClock.now()))).rejects.toThrow('has no project')
  await expect(backupOf(data, join(data, '..', 'x'), '../config')).rejects.toThrow('has no project ../config')
})

test('a backup never overwrites a file, and leaves nothing behind when it fails', async () => {
  const { data } = await dataFolder()
  const parent = join(data, '..')
  writeFileSync(join(parent, 'there'), 'mine')
  await expect(backupOf(data, join(parent, 'there'))).rejects.toThrow('already exists')
  expect(readFileSync(join(parent, 'there'), 'utf8')).toBe('mine')
  await expect(backupOf(join(parent, 'nowhere'), join(parent, 'x'))).rejects.toThrow('has no organization')
  writeFileSync(join(data, 'config', 'data.mdb'), 'not a database')
  await expect(backupOf(data, join(parent, 'x'))).rejects.toThrow('damaged')
  expect(readdirSync(parent).sort()).toEqual(['data', 'there'])
})

test('the rest of a killed backup is removed by the next one, and that of a running one is kept', async () => {
  const { data } = await dataFolder()
  const parent = join(data, '..')
  const out = join(parent, 'b')
  const script = join(import.meta.dirname, 'staging-process.ts')
  const child = Bun.spawn([process.execPath, script, parent, '.b-'], { stdout: 'pipe', stderr: 'inherit' })
  await child.stdout.getReader().read()
  const [left] = readdirSync(parent).filter((name) => name.startsWith('.b-'))
  await backupOf(data, out)
  expect(readdirSync(parent)).toContain(left)
  rmSync(out)
  child.kill('SIGKILL')
  await child.exited
  await backupOf(data, out)
  expect(readdirSync(parent).sort()).toEqual(['b', 'data'])
})

test('a restored graph takes a large batch as its first write', async () => {
  const { data, projects } = await dataFolder()
  const [project] = projects
  const folder = join(data, '..')
  const line = (i: number, text: string): string =>
    JSON.stringify({
      node: { type: 'Page', external_id: `p${i}`, properties: [{ type: 'text', value: text.repeat(1500) }] },
    })
  const lines = (text: string): string => Array.from({ length: 4000 }, (_, i) => line(i, text)).join('\n')
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  await catalog.graph(project, 'default')!.write((batch) => {
    for (let i = 0; i < 4000; i++) {
      const properties = [{ name: 'text', value: 'a'.repeat(1500) }]
      batch.upsertNode({ type: 'Page', externalId: `p${i}`, properties })
    }
  })
  await catalog.close()
  const out = join(folder, 'b')
  await backupOf(data, out)
  const restored = join(folder, 'restored')
  await restoreTo(out, restored)
  const from = join(folder, 'lines')
  writeFileSync(from, lines('b'))
  // In a separate process: LMDB would crash it.
  const imported = await runCommand(['import', '--data', restored, '--in', from, '--project', project])
  expect(imported.exitCode, imported.stderr).toBe(0)
})

/** Makes the last page one that is neither used nor free: both meta pages count one more, which the file has. */
function leakPage(folder: string): void {
  const file = join(folder, 'data.mdb')
  const bytes = readFileSync(file)
  const pageBytes = bytes.readUInt32LE(48)
  const last = Math.max(...[0, pageBytes].map((meta) => Number(bytes.readBigUInt64LE(meta + 144))))
  for (const meta of [0, pageBytes]) bytes.writeBigUInt64LE(BigInt(last + 1), meta + 144)
  writeFileSync(file, Buffer.concat([bytes.subarray(0, (last + 1) * pageBytes), Buffer.alloc(pageBytes)]))
}

test('a folder with pages that are neither used nor free is backed up, and restored with everything', async () => {
  const { data, projects } = await dataFolder()
  const graphs = projects.map((id) => join(data, 'projects', id.replace('gid:', ''), 'default'))
  for (const folder of [join(data, 'config'), ...graphs]) leakPage(folder)
  const out = join(data, '..', 'leaked.tar')
  await backupOf(data, out)
  const restored = join(data, '..', 'restored')
  await restoreTo(out, restored)
  expect(await documentsIn(restored)).toEqual(await documentsIn(data))
  expect((await runCommand(['verify', '--data', restored])).exitCode).toBe(0)
  const catalog = openCatalog(restored, { clock: systemClock })
  for (const id of projects) {
    const graph = catalog.graph(id, 'default')!
    await graph.write((batch) => batch.upsertNode({ type: 'Project', externalId: 'after' }))
    const snapshot = graph.snapshot()
    expect(snapshot.nodeCount(null)).toBe(2)
    snapshot.close()
  }
  await catalog.close()
  // The free pages of such a file could contain the configuration of the other project.
  await expect(backupOf(data, join(data, '..', 'one.tar'), projects[0])).rejects.toThrow(
    'cannot be compacted, because it has pages that are neither used nor free',
  )
})

test('a folder with content cannot be restored into; an empty one can', async () => {
  const { data } = await dataFolder()
  const out = join(data, '..', 'b')
  await backupOf(data, out)
  const used = join(data, '..', 'used')
  mkdirSync(used)
  writeFileSync(join(used, 'master.key'), 'key')
  await expect(restoreTo(out, used)).rejects.toThrow('is not empty')
  expect(readdirSync(used)).toEqual(['master.key'])
  const empty = join(data, '..', 'empty')
  mkdirSync(empty)
  await restoreTo(out, empty)
  expect(readdirSync(empty).sort()).toEqual(['config', 'projects'])
  const [other, link] = [join(data, '..', 'other'), join(data, '..', 'link')]
  mkdirSync(other)
  symlinkSync(other, link)
  await restoreTo(out, link)
  expect(readdirSync(other).sort()).toEqual(['config', 'projects'])
})

test.each([
  ['that has left the old one aside', '.before', true],
  ['that was writing the new one', '.migrated', true],
  ['that was cut off between the two', '.before', false],
])(
  'a folder with a migration %s is neither backed up nor exported nor reported as valid',
  async (_, ending, isThere) => {
    for (const part of ['config', 'default']) {
      const { data, projects } = await dataFolder()
      const name = part === 'config' ? part : `projects/${projects[0].slice(4)}/${part}`
      cpSync(join(data, name), join(data, `${name}${ending}`), { recursive: true })
      if (!isThere) rmSync(join(data, name), { recursive: true })
      const out = join(data, '..', 'out')
      const refusal = `the migration of ${join(data, name)} was interrupted; run \`verdigraph migrate\` to finish it`
      await expect(backupOf(data, out)).rejects.toThrow(refusal)
      await expect(exportFolder({ dataDir: data, out, progress: quiet.progress })).rejects.toThrow(refusal)
      expect(readdirSync(dirname(out))).toEqual(['data'])
      if (part !== 'config') continue
      const { exitCode, stdout } = await runCommand(['verify', '--data', data])
      expect([exitCode, stdout]).toEqual([
        2,
        expect.stringContaining(`not read ${name}${ending}: the migration of ${name} was`),
      ])
    }
  },
)

test('a backup that was truncated or changed anywhere is refused, and nothing is left of it', async () => {
  const { data } = await dataFolder()
  const parent = join(data, '..')
  const whole = join(parent, 'whole')
  await backupOf(data, whole)
  const bytes = readFileSync(whole)
  const broken = join(parent, 'broken')
  const target = join(parent, 'target')
  for (const length of [0, 1, 511, 512, 700, bytes.length >> 1, bytes.length - 1025, bytes.length - 3000]) {
    writeFileSync(broken, bytes.subarray(0, length))
    await expect(restoreTo(broken, target), `of length ${length}`).rejects.toThrow('is not a complete backup')
  }
  // One flipped bit each at places spread over the whole file; only flips in unused padding may go unnoticed.
  let refused = 0
  for (let at = 0; at < bytes.length; at += Math.ceil(bytes.length / 30)) {
    const flipped = Buffer.from(bytes)
    flipped[at] = flipped[at]! ^ 0x10
    writeFileSync(broken, flipped)
    const outcome = await restoreTo(broken, `${target}-${at}`).then(
      () => 'restored',
      (fault: Error) => fault.message,
    )
    if (outcome !== 'restored') {
      refused += 1
      expect(outcome, `at ${at}`).toContain('is not a complete backup')
      expect(existsSync(`${target}-${at}`)).toBe(false)
    }
  }
  expect(refused).toBeGreaterThan(25)
  expect(existsSync(target)).toBe(false)
  expect(readdirSync(parent).filter((name) => name.startsWith('.'))).toEqual([])
})

const sha256 = (content: string): string => new Bun.CryptoHasher('sha256').update(content).digest('hex')

async function archive(
  entries: readonly { name: string; content?: string; type?: 'symlink' | 'directory' }[],
  manifest: object,
): Promise<Buffer> {
  const tar = pack()
  for (const { name, content = '', type } of entries)
    tar.entry(type === undefined ? { name } : { name, type, linkname: '/etc/passwd' }, content)
  tar.entry({ name: 'manifest.json' }, JSON.stringify(manifest))
  tar.finalize()
  const chunks: Uint8Array[] = []
  for await (const chunk of tar as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function manifestOf(members: readonly object[], more: object = {}): object {
  return { format: 'verdigraph-backup', version: 1, made_by: 'x', made_at: 'x', projects: [], members, ...more }
}

test('a foreign archive writes nothing outside, and is refused with a reason', async () => {
  const parent = temporaryFolder()
  const from = join(parent, 'strange')
  const good = { name: 'config/data.mdb', content: 'x' }
  const named = (name: string) => ({ name, bytes: 1, sha256: sha256('x'), kind: 'documents', layout: 1 })
  const cases: [string, Buffer | string][] = [
    [
      'is not a name of a backup member',
      await archive([{ name: '../escaped/data.mdb', content: 'x' }], manifestOf([])),
    ],
    [
      'is not a name of a backup member',
      await archive([{ name: '/tmp/escaped/data.mdb', content: 'x' }], manifestOf([])),
    ],
    ['is not a name of a backup member', await archive([{ name: 'a/../../b/data.mdb', content: 'x' }], manifestOf([]))],
    ['is not a name of a backup member', await archive([{ name: 'master.key', content: 'x' }], manifestOf([]))],
    ['is not a regular file', await archive([{ name: 'config/data.mdb', type: 'symlink' }], manifestOf([]))],
    ['is not a regular file', await archive([{ name: 'config', type: 'directory' }], manifestOf([]))],
    ['is contained twice', await archive([good, good], manifestOf([]))],
    ['is not in its manifest', await archive([good], manifestOf([]))],
    ['is missing', await archive([], manifestOf([named(good.name)]))],
    ['its manifest is wrong at `members.0.name`', await archive([], manifestOf([named('../data.mdb')]))],
    ['lists a member twice', await archive([good], manifestOf([named(good.name), named(good.name)]))],
    ['differs from the manifest', await archive([good], manifestOf([{ ...named(good.name), bytes: 2 }]))],
    ['it contains no configuration', await archive([], manifestOf([]))],
    ['is not a database', await archive([good], manifestOf([named(good.name)]))],
    ['is a backup of version 2; this program reads', await archive([], manifestOf([], { version: 2 }))],
    ['layout version 99; this program reads', await archive([good], manifestOf([{ ...named(good.name), layout: 99 }]))],
    ['is not a complete backup', 'hello\n'.repeat(500)],
  ]
  for (const [message, bytes] of cases) {
    writeFileSync(from, bytes)
    await expect(restoreTo(from, join(parent, 'target'))).rejects.toThrow(message)
    expect(readdirSync(parent)).toEqual(['strange'])
  }
  await expect(restoreTo(join(parent, 'nothing'), join(parent, 'target'))).rejects.toThrow('does not exist')
  await expect(restoreTo(parent, join(parent, 'target'))).rejects.toThrow('is a folder')
})

test('any tar program can read a backup', async () => {
  const { data } = await dataFolder()
  const out = join(data, '..', 'b')
  const { manifest } = await backupOf(data, out)
  const child = Bun.spawn(['tar', '-xOf', out, 'manifest.json'])
  expect(JSON.parse(await text(Readable.fromWeb(child.stdout as never)))).toEqual(manifest)
})

test('on a full disk a backup and an export report that, call nothing corrupted and leave nothing', async () => {
  const disk = join(temporaryFolder(), 'disk')
  mkdirSync(disk)
  if (Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).exitCode !== 0) {
    console.log('skipped: this user may not mount a file system')
    return
  }
  try {
    const { data } = await dataFolder()
    for (const freeKb of [0, 24, 60, 110, 150]) {
      writeFileSync(join(disk, 'ballast'), Buffer.alloc((1024 - freeKb) << 10))
      const full = /no space left|not enough disk space/i
      await expect(backupOf(data, join(disk, 'out'))).rejects.toThrow(full)
      await expect(exportFolder({ dataDir: data, out: join(disk, 'out'), progress: quiet.progress })).rejects.toThrow(
        full,
      )
      expect(readdirSync(disk)).toEqual(['ballast'])
    }
  } finally {
    Bun.spawnSync(['umount', disk])
  }
})
