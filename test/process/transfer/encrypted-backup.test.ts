// Backups in a folder or a bucket, encrypted for an age identity: what an operator does on the command line, and what goes wrong.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { generateX25519Identity } from 'age-encryption'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type SeaweedServer, startSeaweed } from '../../support/counterparts/seaweedfs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface NewestBackup {
  readonly name: string
  readonly state: string
  readonly verification: { readonly state: string } | null
}

let folder: string
let data: string
let identity: string
let recipient: string
let server: SeaweedServer | null = null

beforeAll(async () => {
  folder = temporaryFolder()
  data = join(folder, 'data')
  expect(await runCommand(['init', '--data', data, '--json'])).toMatchObject({ exitCode: 0 })
  identity = join(folder, 'key.txt')
  const made = await runCommand(['backups', 'identity', '--out', identity])
  expect(made).toMatchObject({ exitCode: 0 })
  recipient = made.stdout.trim()
  expect(statSync(identity).mode & 0o777).toBe(0o600)
  const again = await runCommand(['backups', 'identity', '--out', identity])
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('already exists') })
  try {
    server = await startSeaweed()
    await server.createBucket('backups')
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: the parts with a bucket: ${failure.message}`)
  }
})
afterAll(async () => {
  await killAll()
  await server?.stop()
})

/** Restores into a new folder. Returns the exit code, the error, and whether the folder exists. */
async function restored(...options: readonly string[]) {
  const target = join(temporaryFolder(), 'restored')
  const { exitCode, stderr, stdout } = await runCommand(['restore', '--data', target, ...options], server?.environment)
  return { exitCode, stderr, stdout, target, left: readdirSync(join(target, '..')) }
}

test('a backup goes to a bucket, encrypted, and comes back with its identity and its master key', async (context) => {
  if (server === null) return context.skip()
  const place = 's3://backups/authz'
  const made = await runCommand(
    ['backup', '--data', data, '--to', place, '--recipient', recipient, '--json'],
    server.environment,
  )
  expect(made.exitCode).toBe(0)
  const { name, bytes, to } = JSON.parse(made.stdout)
  expect({ to, name }).toEqual({ to: place, name: expect.stringMatching(/^verdigraph-.*Z\.tar\.age$/) })
  const listed = await runCommand(['backups', 'list', '--from', place, '--json'], server.environment)
  expect(JSON.parse(listed.stdout)).toMatchObject({ place, backups: [{ name, bytes, encrypted: true }] })

  const back = await restored('--from', place, '--identity', identity, '--master-key', join(data, 'master.key'))
  expect(back).toMatchObject({ exitCode: 0 })
  expect(back.stdout).not.toContain('copy the original master.key')
  const token = await runCommand(['token', '--data', back.target, '--json'])
  expect(token).toMatchObject({ exitCode: 0 })
  const sound = await runCommand(['verify', '--data', back.target])
  expect(sound.exitCode).toBe(0)
})

test('without its identity, or with another one, nothing of an encrypted backup is restored', async () => {
  const out = join(folder, 'encrypted.tar.age')
  expect(await runCommand(['backup', '--data', data, '--out', out, '--recipient', recipient])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(', encrypted'),
  })
  expect(readFileSync(out, 'latin1').slice(0, 21)).toBe('age-encryption.org/v1')
  const missing = await restored('--in', out)
  expect(missing).toMatchObject({ exitCode: 1, left: [] })
  expect(missing.stderr).toContain('is encrypted: name a file with the age identity (`--identity FILE`)')

  const other = join(folder, 'other.txt')
  writeFileSync(other, `${await generateX25519Identity()}\n`)
  const wrong = await restored('--in', out, '--identity', other)
  expect(wrong).toMatchObject({ exitCode: 1, left: [] })
  expect(wrong.stderr).toContain('the identity does not fit')

  writeFileSync(other, 'AGE-SECRET-KEY-1NOTAKEY\n')
  const malformed = await restored('--in', out, '--identity', other)
  expect(malformed).toMatchObject({ exitCode: 1, left: [] })
  expect(malformed.stderr).toContain('line 1 of the identity file')
  expect(malformed.stderr).not.toContain('NOTAKEY')

  const cut = join(folder, 'cut.tar.age')
  for (const length of [10, 150, 70_000]) {
    copyFileSync(out, cut)
    truncateSync(cut, length)
    const damaged = await restored('--in', cut, '--identity', identity)
    expect(damaged).toMatchObject({ exitCode: 1, left: [] })
    expect(damaged.stderr).toMatch(/damaged|truncated|not a complete backup|is encrypted/)
  }
})

test.skipIf(Bun.which('age') === null)('the program `age` reads our backups, and we read its files', async () => {
  const plain = join(folder, 'plain.tar')
  await runCommand(['backup', '--data', data, '--out', plain])
  const theirs = join(folder, 'theirs.tar.age')
  expect(Bun.spawnSync(['age', '-r', recipient, '-o', theirs, plain]).exitCode).toBe(0)
  expect(await restored('--in', theirs, '--identity', identity)).toMatchObject({ exitCode: 0 })

  const ours = join(folder, 'ours.tar.age')
  await runCommand(['backup', '--data', data, '--out', ours, '--recipient', recipient])
  const decrypted = join(folder, 'decrypted.tar')
  expect(Bun.spawnSync(['age', '-d', '-i', identity, '-o', decrypted, ours]).exitCode).toBe(0)
  expect(await restored('--in', decrypted)).toMatchObject({ exitCode: 0 })
})

test('the recipients of the settings encrypt every backup of the command', async () => {
  const place = join(folder, 'by-setting')
  const made = await runCommand(['backup', '--data', data, '--to', place, '--json'], {
    VERDIGRAPH_BACKUP_RECIPIENTS: recipient,
  })
  expect(JSON.parse(made.stdout)).toMatchObject({ encrypted: true })
  expect(readdirSync(place)).toEqual([expect.stringMatching(/\.tar\.age$/)])
})

test('a wrong recipient, two targets or none, and a folder with content are refused before anything is written', async () => {
  const place = join(folder, 'refused')
  const backup = (...options: string[]) => runCommand(['backup', '--data', data, ...options])
  const secret = readFileSync(identity, 'utf8').split('\n')[2] as string
  for (const [key, text] of [
    ['age1notakey', '`age1notakey` is not a recipient'],
    [secret, 'a private key is not a recipient'],
  ] as const) {
    const wrong = await backup('--to', place, '--recipient', key)
    expect(wrong).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(text) })
    expect(wrong.stderr).not.toContain(secret)
  }
  expect(existsSync(place) ? readdirSync(place) : []).toEqual([])
  expect((await backup('--to', place, '--out', join(place, 'x'))).exitCode).toBe(2)
  expect((await backup()).exitCode).toBe(2)
  expect((await backup('--to', 's3://Bucket/x')).stderr).toContain('is not a name of a bucket')
  expect((await backup('--to', 's3://backups/x')).stderr).toContain('AWS_SECRET_ACCESS_KEY')

  await backup('--to', place)
  const used = temporaryFolder()
  writeFileSync(join(used, 'kept.txt'), 'kept')
  const target = await runCommand(['restore', '--data', used, '--from', place])
  expect(target).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not empty') })
  expect(readdirSync(used)).toEqual(['kept.txt'])
})

test('a wrong master key restores nothing', async () => {
  const place = join(folder, 'keys')
  await runCommand(['backup', '--data', data, '--to', place])
  const wrong = join(folder, 'wrong.key')
  writeFileSync(wrong, `${'ab'.repeat(32)}\n`)
  const refused = await restored('--from', place, '--master-key', wrong)
  expect(refused).toMatchObject({ exitCode: 1, left: [] })
  expect(refused.stderr).toContain('the master key does not open the secrets of the backup')
  writeFileSync(wrong, 'short\n')
  expect((await restored('--from', place, '--master-key', wrong)).stderr).toContain('does not contain a master key')
})

test('only backups are listed, and hostile names are neither listed nor restored', async () => {
  const place = join(folder, 'hostile')
  await runCommand(['backup', '--data', data, '--to', place])
  const [name] = readdirSync(place) as [string]
  writeFileSync(join(folder, 'secret.tar'), 'outside')
  for (const other of [
    'notes.tar',
    'verdigraph-2026.tar',
    '.hidden.tar',
    `${name}.part`,
    'verdigraph-2026-01-01T00-00-00-000Z.tar\n.tar',
    'verdigraph-2026-99-99T00-00-00-000Z.tar',
  ])
    writeFileSync(join(place, other), 'x')
  mkdirSync(join(place, 'verdigraph-2026-01-01T00-00-00-000Z.tar'))
  const listed = await runCommand(['backups', 'list', '--from', place, '--json'])
  expect(JSON.parse(listed.stdout).backups.map((one: { name: string }) => one.name)).toEqual([name])
  for (const file of ['../secret.tar', '/etc/passwd', '.hidden.tar', 'a\u001b[2J.tar']) {
    const refused = await restored('--from', place, '--name', file)
    expect(refused).toMatchObject({ exitCode: 1, left: [], stderr: expect.stringContaining('contains no backup') })
    expect(refused.stderr).not.toContain('\u001b[2J')
  }
  expect((await restored('--from', place, '--name', 'notes.tar')).stderr).toContain('is not a complete backup')
  const nowhere = join(folder, 'nowhere')
  expect((await restored('--from', nowhere)).stderr).toContain(`the folder ${nowhere} does not exist`)
})

test('a drill proves a backup, reports what is wrong with one, and leaves nothing', async () => {
  const place = join(folder, 'drilled')
  const work = join(folder, 'work')
  await runCommand(['backup', '--data', data, '--to', place, '--recipient', recipient])
  const drill = (...options: string[]) =>
    runCommand(['drill', '--data', data, '--from', place, '--work', work, '--json', ...options])
  const proven = await drill('--identity', identity)
  expect(proven).toMatchObject({ exitCode: 0 })
  const report = JSON.parse(proven.stdout)
  expect(report).toMatchObject({ outcome: 'proven', answers: { kind: 'sampled', faults: [] } })
  expect(report.steps.map((step: { step: string; outcome: string }) => [step.step, step.outcome])).toEqual([
    ['restore', 'ok'],
    ['verify', 'ok'],
    ['master key', 'ok'],
    ['questions', 'ok'],
  ])

  const wrong = join(folder, 'drill.key')
  writeFileSync(wrong, `${'cd'.repeat(32)}\n`)
  const keyless = await drill('--identity', identity, '--master-key', wrong)
  expect(keyless.exitCode).toBe(1)
  expect(JSON.parse(keyless.stdout)).toMatchObject({ outcome: 'failed' })

  const [name] = readdirSync(place) as [string]
  truncateSync(join(place, name), 30_000)
  const damaged = await drill('--identity', identity)
  expect(damaged.exitCode).toBe(1)
  expect(JSON.parse(damaged.stdout).steps).toMatchObject([{ step: 'restore', outcome: 'failed' }])
  expect(readdirSync(work)).toEqual([])
})

test('a backup on request is encrypted for the recipients of the settings, and verified with the identity', async () => {
  const backups = join(folder, 'on-request')
  const { token } = JSON.parse((await runCommand(['token', '--data', data, '--json'])).stdout)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (const [identityFile, state] of [
    ['', 'failed'],
    [identity, 'sound'],
  ] as const) {
    const server = await startServer(['--data', data], {
      VERDIGRAPH_BACKUP_FOLDER: backups,
      VERDIGRAPH_BACKUP_RECIPIENTS: recipient,
      ...(identityFile !== '' && { VERDIGRAPH_BACKUP_IDENTITY: identityFile }),
    })
    const url = `${server.url}/operations/v1/backups`
    const newest = async () =>
      ((await (await fetch(url, { headers })).json()) as { backups: [NewestBackup] }).backups[0]
    const started = await fetch(url, { method: 'POST', headers, body: '{}' })
    expect(started.status).toBe(202)
    await expect.poll(async () => (await newest()).state, { timeout: 120_000, interval: 100 }).toBe('complete')
    const { name } = await newest()
    expect(await newest()).toMatchObject({ is_encrypted: true })
    const download = await fetch(`${url}/${name}`, { headers })
    expect(download.headers.get('content-disposition')).toBe(`attachment; filename="${name}.tar.age"`)
    expect((await download.text()).slice(0, 21)).toBe('age-encryption.org/v1')
    const verify = () => fetch(`${url}/${name}/verify`, { method: 'POST', headers })
    await expect.poll(async () => (await verify()).status, { timeout: 120_000, interval: 100 }).toBe(202)
    await expect.poll(async () => (await newest()).verification?.state, { timeout: 120_000, interval: 100 }).toBe(state)
    expect(await server.kill('SIGTERM')).toBe(0)
  }
})
