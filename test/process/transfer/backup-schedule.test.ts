// Scheduled backups and drills of a service: to a folder and to an S3-compatible server, with one that is killed, one that fails, a missed
// one, and the number that is kept.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(killAll)

const LONG = { timeout: 120_000, interval: 100 }
const EVERY_SECOND = '* * * * * *'
/** Its last time is in the past for all of a year. */
const YEARLY = '0 0 1 1 *'

interface BackupFigures {
  readonly schedule: {
    readonly place: string
    readonly kept: number
    readonly newest: { readonly name: string; readonly verification: string } | null
    readonly proven: { readonly name: string } | null
    readonly jobs: readonly {
      readonly job: string
      readonly failed_runs: number
      readonly overdue_seconds: number
      readonly last_run: {
        readonly name: string
        readonly end_time: string | null
        readonly error: string | null
      } | null
    }[]
  }
}

async function served(data: string, environment: Record<string, string>) {
  const server = await startServer(['--data', data], environment)
  const { stdout } = await runCommand(['token', '--data', data, '--lifetime', '600', '--json'])
  const headers = { authorization: `Bearer ${JSON.parse(stdout).token}` }
  const read = async (path: string): Promise<Response> => fetch(`${server.url}${path}`, { headers })
  return {
    server,
    figures: async () => (await (await read('/operations/v1/backups')).json()) as BackupFigures,
    metrics: async () => (await read('/metrics')).text(),
  }
}

async function newFolder(): Promise<{ folder: string; data: string; place: string }> {
  const folder = temporaryFolder()
  const data = join(folder, 'data')
  expect(await runCommand(['init', '--data', data, '--json'])).toMatchObject({ exitCode: 0 })
  return { folder, data, place: join(folder, 'place') }
}

const scheduledIn = (place: string): string[] =>
  existsSync(place) ? readdirSync(place).filter((name) => /^scheduled-.*\.tar$/.test(name)) : []

async function stopped(server: Server): Promise<void> {
  expect(await server.kill('SIGTERM')).toBe(0)
}

test('a schedule makes, verifies and proves backups, and keeps as many as the setting allows', async () => {
  const { data, place } = await newFolder()
  mkdirSync(place)
  // Not made by the schedule: it is neither counted nor removed.
  await runCommand(['backup', '--data', data, '--to', place])
  const [manual] = readdirSync(place)
  const { server, figures, metrics } = await served(data, {
    VERDIGRAPH_BACKUP_TO: place,
    VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND,
    VERDIGRAPH_BACKUP_KEEP: '2',
    VERDIGRAPH_DRILL_SCHEDULE: EVERY_SECOND,
  })
  const seen = new Set<string>()
  await expect
    .poll(async () => {
      const { schedule } = await figures()
      if (schedule.newest !== null) seen.add(schedule.newest.name)
      expect(schedule.kept).toBeLessThanOrEqual(2)
      return seen.size >= 4 && schedule.proven !== null
    }, LONG)
    .toBe(true)
  const { schedule } = await figures()
  expect(schedule.newest?.verification).toBe('sound')
  expect(schedule.jobs.map(({ job, failed_runs }) => [job, failed_runs])).toEqual([
    ['backup', 0],
    ['drill', 0],
  ])
  const text = await metrics()
  expect(text).toContain('verdigraph_backup_failed_runs{job_kind="backup"} 0')
  expect(text).toMatch(/verdigraph_backup_newest_timestamp_seconds 1\d{9}/)
  expect(text).toMatch(/verdigraph_backup_proven_timestamp_seconds 1\d{9}/)
  await stopped(server)
  expect(readdirSync(place)).toContain(manual)
  // A run that the stop has interrupted may have stored one more.
  expect(scheduledIn(place).length).toBeLessThanOrEqual(3)
  expect(server.notices()).toContain('a scheduled backup succeeded')
  const drilled = await runCommand(['drill', '--data', data, '--from', place])
  expect(drilled).toMatchObject({ exitCode: 0 })
})

test('a run that was missed is made once after the start, and a new schedule makes up for nothing', async () => {
  const { data, place } = await newFolder()
  const environment = { VERDIGRAPH_BACKUP_TO: place, VERDIGRAPH_BACKUP_SCHEDULE: YEARLY }
  const record = join(data, 'backups.json')
  const first = await served(data, environment)
  await expect.poll(() => existsSync(record), LONG).toBe(true)
  expect((await first.figures()).schedule).toMatchObject({ kept: 0, newest: null })
  await stopped(first.server)
  expect(scheduledIn(place)).toEqual([])

  // The service did not run for years.
  const before = JSON.parse(readFileSync(record, 'utf8'))
  writeFileSync(
    record,
    JSON.stringify({ ...before, backup: { ...before.backup, due_time: '2020-01-01T00:00:00.000Z' } }),
  )
  const second = await served(data, environment)
  await expect
    .poll(async () => {
      const { newest, jobs } = (await second.figures()).schedule
      return { isMade: newest !== null, job: jobs[0] }
    }, LONG)
    .toMatchObject({ isMade: true, job: { overdue_seconds: 0, failed_runs: 0 } })
  await stopped(second.server)
  expect(scheduledIn(place).length).toBe(1)
  const third = await served(data, environment)
  expect((await third.figures()).schedule.jobs[0]?.overdue_seconds).toBe(0)
  await stopped(third.server)
  expect(scheduledIn(place).length).toBe(1)
})

test('a failure is in the log, the figures, the metrics and the report of doctor, and the service answers', async () => {
  const { folder, data } = await newFolder()
  const file = join(folder, 'a-file')
  writeFileSync(file, 'not a folder')
  const work = join(folder, 'work')
  mkdirSync(work)
  const environment = {
    VERDIGRAPH_BACKUP_TO: file,
    VERDIGRAPH_BACKUP_WORK_FOLDER: work,
    VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND,
  }
  const { server, figures, metrics } = await served(data, environment)
  await expect.poll(async () => (await figures()).schedule.jobs[0]?.failed_runs, LONG).toBe(1)
  const [job] = (await figures()).schedule.jobs
  expect(job?.last_run?.error).toContain('a-file')
  expect(await metrics()).toContain('verdigraph_backup_failed_runs{job_kind="backup"} 1')
  expect((await fetch(`${server.url}/ready`)).status).toBe(200)
  const doctor = await runCommand(['doctor', '--data', data, '--json'], environment)
  const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; status: string; found: string }[] }
  expect(findings.filter(({ check }) => check === 'backups')).toMatchObject([
    { status: 'failed', found: expect.stringContaining('the last scheduled backup failed') },
  ])
  await stopped(server)
  expect(server.notices()).toContain('a scheduled backup failed')
  // One line for one failure. After a minute it is repeated, which a busy machine may need for the above.
  const { failures } = JSON.parse(readFileSync(join(data, 'backups.json'), 'utf8')).backup
  expect(server.notices().match(/"level":"error"/g)).toHaveLength(failures)
  expect(server.notices()).not.toContain('see the log of its process')
  expect(readdirSync(work)).toEqual([])
})

test('the upload of a killed job is never listed, and the next run removes it', async () => {
  const { data } = await newFolder()
  const objects = new Map<string, number>()
  const uploads = new Map<string, string>()
  let isStalled = true
  /** Only what this test needs of a server: the counterparts test the protocol. */
  const xml = (body: string) => new Response(`<?xml version="1.0"?>${body}`)
  const stalled = Promise.withResolvers<void>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    maxRequestBodySize: 64 * 1024 * 1024,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const key = pathname.split('/').slice(2).join('/')
      const id = searchParams.get('uploadId') ?? ''
      const body = await request.bytes()
      if (request.method === 'GET' && searchParams.has('uploads'))
        return xml(
          `<R><IsTruncated>false</IsTruncated>${[...uploads].map(([at, name]) => `<Upload><Key>${name}</Key><UploadId>${at}</UploadId><Initiated>${new Date().toISOString()}</Initiated></Upload>`).join('')}</R>`,
        )
      if (request.method === 'GET' && searchParams.has('list-type'))
        return xml(
          `<R><IsTruncated>false</IsTruncated>${[...objects].map(([name, size]) => `<Contents><Key>${name}</Key><Size>${size}</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`).join('')}</R>`,
        )
      if (request.method === 'POST' && searchParams.has('uploads')) {
        uploads.set(String(uploads.size + 1), key)
        return xml(`<R><UploadId>${uploads.size}</UploadId></R>`)
      }
      if (request.method === 'DELETE') {
        uploads.delete(id)
        return new Response(null, { status: 204 })
      }
      if (isStalled && !key.includes('/owner-')) {
        uploads.set('stalled', key)
        stalled.resolve()
        await new Promise(() => {})
      }
      objects.set(key, body.length)
      return new Response(null, { headers: { etag: '"x"' } })
    },
  })
  const { server: service, figures } = await served(data, {
    VERDIGRAPH_BACKUP_TO: 's3://bucket/authz',
    VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND,
    VERDIGRAPH_BACKUP_VERIFY: 'off',
    AWS_ACCESS_KEY_ID: 'AKIATEST',
    AWS_SECRET_ACCESS_KEY: 'the-secret-of-the-test-of-places',
    AWS_ENDPOINT_URL_S3: server.url.href,
  })
  await stalled.promise
  const [cut] = [...uploads.values()]
  expect(cut).toMatch(/^authz\/scheduled-.*\.tar$/)
  // The job is a child of the serving process.
  const job = childrenOf(service.pid).find(({ words }) => words.includes('backup-job'))?.pid
  // A low priority, which it gets after its start: the service is not slowed down.
  const niceness = () => Number(readFileSync(`/proc/${job}/stat`, 'utf8').split(') ')[1]?.split(' ')[16])
  await expect.poll(niceness).toBeGreaterThan(0)
  process.kill(Number(job), 'SIGKILL')
  await expect.poll(async () => (await figures()).schedule.jobs[0]?.failed_runs, LONG).toBe(1)
  const failed = await figures()
  expect(failed.schedule).toMatchObject({ kept: 0, newest: null })
  expect(failed.schedule.jobs[0]?.last_run?.error).toContain('SIGKILL')
  expect([...objects.keys()].filter((key) => !key.includes('/owner-'))).toEqual([])
  await stopped(service)
  // One line for one failure.
  expect(service.notices().match(/"level":"error"/g)).toHaveLength(1)

  isStalled = false
  const record = join(data, 'backups.json')
  const stored = JSON.parse(readFileSync(record, 'utf8'))
  // An hour has passed, so that the run is repeated at once.
  stored.backup.last_run.end_time = new Date(Date.now() - 3_600_000).toISOString()
  writeFileSync(record, JSON.stringify(stored))
  const again = await served(data, {
    VERDIGRAPH_BACKUP_TO: 's3://bucket/authz',
    VERDIGRAPH_BACKUP_SCHEDULE: YEARLY.replace('0 0 1 1', '* * * *'),
    VERDIGRAPH_BACKUP_VERIFY: 'off',
    AWS_ACCESS_KEY_ID: 'AKIATEST',
    AWS_SECRET_ACCESS_KEY: 'the-secret-of-the-test-of-places',
    AWS_ENDPOINT_URL_S3: server.url.href,
  })
  await expect.poll(async () => (await again.figures()).schedule.newest !== null, LONG).toBe(true)
  expect([...uploads.values()]).not.toContain(cut)
  // The result of the run is stored after the backup.
  await expect.poll(() => JSON.parse(readFileSync(record, 'utf8')).backup.failures, LONG).toBe(0)
  await stopped(again.server)

  // A planned stop while a backup is uploaded is not a failure.
  isStalled = true
  const yearAgo = JSON.parse(readFileSync(record, 'utf8'))
  yearAgo.backup.due_time = '2020-01-01T00:00:00.000Z'
  writeFileSync(record, JSON.stringify(yearAgo))
  const newest = yearAgo.newest.name
  const environment = {
    VERDIGRAPH_BACKUP_TO: 's3://bucket/authz',
    VERDIGRAPH_BACKUP_SCHEDULE: YEARLY,
    VERDIGRAPH_BACKUP_VERIFY: 'off',
    AWS_ACCESS_KEY_ID: 'AKIATEST',
    AWS_SECRET_ACCESS_KEY: 'the-secret-of-the-test-of-places',
    AWS_ENDPOINT_URL_S3: server.url.href,
  }
  uploads.delete('stalled')
  const interrupted = await served(data, environment)
  await expect.poll(() => uploads.has('stalled'), LONG).toBe(true)
  await stopped(interrupted.server)
  expect(interrupted.server.notices()).toContain('a scheduled backup was interrupted by a stop')
  expect(interrupted.server.notices()).not.toMatch(/SIGKILL|"level":"error"/)
  const after = JSON.parse(readFileSync(record, 'utf8'))
  expect(after.backup).toMatchObject({ failures: 0, due_time: '2020-01-01T00:00:00.000Z', last_run: { error: null } })
  const doctor = await runCommand(['doctor', '--data', data, '--json'], environment)
  expect(doctor.stdout).not.toContain('the last scheduled backup failed')
  // The next start makes it.
  isStalled = false
  const repeated = await served(data, environment)
  await expect.poll(async () => (await repeated.figures()).schedule.newest?.name, LONG).not.toBe(newest)
  await stopped(repeated.server)
  await server.stop(true)
})

test('a place that has an owner refuses a second organization, and keeps the backups of the first', async () => {
  const [first, second] = [await newFolder(), await newFolder()]
  const environment = {
    VERDIGRAPH_BACKUP_TO: first.place,
    VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND,
    VERDIGRAPH_BACKUP_KEEP: '1',
    VERDIGRAPH_BACKUP_VERIFY: 'off',
  }
  const production = await served(first.data, environment)
  await expect.poll(async () => (await production.figures()).schedule.newest, LONG).not.toBeNull()
  await stopped(production.server)
  const before = scheduledIn(first.place)
  expect(before.length).toBeGreaterThan(0)
  const owners = readdirSync(first.place).filter((name) => name.startsWith('owner-'))
  expect(owners).toHaveLength(1)

  const staging = await served(second.data, environment)
  await expect.poll(async () => (await staging.figures()).schedule.jobs[0]?.failed_runs, LONG).toBe(1)
  const refusal = `another organization makes scheduled backups in the place, see ${owners[0]}`
  expect((await staging.figures()).schedule.jobs[0]?.last_run?.error).toContain(refusal)
  await stopped(staging.server)
  expect(staging.server.notices()).toContain(refusal)
  expect(scheduledIn(first.place)).toEqual(before)
  const doctor = await runCommand(['doctor', '--data', second.data, '--json'], environment)
  expect(JSON.parse(doctor.stdout).findings).toContainEqual({
    check: 'places',
    status: 'failed',
    found: `backup_to: ${first.place} has the scheduled backups of another organization, see ${owners[0]}`,
    mend: 'name a folder or a prefix of its own with `backup_to`',
  })
  const own = await runCommand(['doctor', '--data', first.data, '--json'], environment)
  expect(own.stdout).not.toContain('of another organization')
})

test('backups that another service of the organization has made are not removed, nor counted', async () => {
  const { folder, data, place } = await newFolder()
  const copy = join(folder, 'copy')
  const archive = join(folder, 'all.tar')
  expect(await runCommand(['backup', '--data', data, '--out', archive])).toMatchObject({ exitCode: 0 })
  expect(await runCommand(['restore', '--in', archive, '--data', copy])).toMatchObject({ exitCode: 0 })
  cpSync(join(data, 'master.key'), join(copy, 'master.key'))
  const environment = {
    VERDIGRAPH_BACKUP_TO: place,
    VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND,
    VERDIGRAPH_BACKUP_KEEP: '1',
    VERDIGRAPH_BACKUP_VERIFY: 'off',
  }
  const original = await served(data, environment)
  await expect.poll(async () => (await original.figures()).schedule.newest, LONG).not.toBeNull()
  await stopped(original.server)
  const before = scheduledIn(place)
  expect(before.length).toBeGreaterThan(0)

  const restored = await served(copy, environment)
  const seen = new Set<string>()
  await expect
    .poll(async () => {
      const { newest } = (await restored.figures()).schedule
      if (newest !== null) seen.add(newest.name)
      return seen.size >= 3
    }, LONG)
    .toBe(true)
  await expect.poll(async () => (await restored.figures()).schedule.kept, LONG).toBe(1)
  await stopped(restored.server)
  const left = scheduledIn(place)
  expect(left).toEqual(expect.arrayContaining(before))
  // It has removed its own.
  expect([...seen].filter((name) => left.includes(name)).length).toBeLessThan(seen.size)
})

test('a place with scheduled backups and without an owner is claimed by the service that has made them only', async () => {
  const { data, place } = await newFolder()
  mkdirSync(place)
  const name = 'scheduled-2026-01-01T00-00-00-000Z.tar'
  writeFileSync(join(place, name), 'of an earlier version')
  const environment = {
    VERDIGRAPH_BACKUP_TO: place,
    VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND,
    VERDIGRAPH_BACKUP_VERIFY: 'off',
  }
  const refused = await served(data, environment)
  await expect.poll(async () => (await refused.figures()).schedule.jobs[0]?.failed_runs, LONG).toBe(1)
  expect((await refused.figures()).schedule.jobs[0]?.last_run?.error).toMatch(/create the object `owner-.*` there/)
  await stopped(refused.server)
  expect(readdirSync(place)).toEqual([name])

  const known = [{ name, bytes: 21, isSound: true }]
  const early = { due_time: '2020-01-01T00:00:00.000Z', failures: 0, last_run: null }
  const record = { backup: early, drill: null, newest: null, proven: null, known, kept: 1 }
  writeFileSync(join(data, 'backups.json'), JSON.stringify(record))
  const claimed = await served(data, environment)
  await expect.poll(async () => (await claimed.figures()).schedule.newest, LONG).not.toBeNull()
  await stopped(claimed.server)
  expect(readdirSync(place).filter((one) => one.startsWith('owner-'))).toHaveLength(1)
})

test('a drill that is due before the first backup waits for it, and has not failed', async () => {
  const { data, place } = await newFolder()
  const record = join(data, 'backups.json')
  const early = { due_time: '2020-01-01T00:00:00.000Z', failures: 0, last_run: null }
  writeFileSync(record, JSON.stringify({ backup: null, drill: early, newest: null, proven: null, known: [], kept: 0 }))
  const environment = { VERDIGRAPH_BACKUP_TO: place, VERDIGRAPH_DRILL_SCHEDULE: EVERY_SECOND }
  const waiting = await served(data, { ...environment, VERDIGRAPH_BACKUP_SCHEDULE: YEARLY })
  // The schedule has looked: it stores when the backup was due last.
  await expect.poll(async () => JSON.parse(readFileSync(record, 'utf8')).backup, LONG).not.toBeNull()
  const drill = async ({ figures }: typeof waiting) =>
    (await figures()).schedule.jobs.find(({ job }) => job === 'drill')
  expect(await drill(waiting)).toMatchObject({ failed_runs: 0, overdue_seconds: 0, last_run: null })
  expect(await waiting.metrics()).toContain('verdigraph_backup_failed_runs{job_kind="drill"} 0')
  await stopped(waiting.server)
  // The patterns of this test begin with seconds.
  const notices = waiting.server.notices().split('\n')
  expect(notices.filter((line) => line.includes('drill') && !line.includes('has six fields'))).toEqual([])
  // As soon as there is a backup, it is proven.
  const working = await served(data, { ...environment, VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND })
  await expect.poll(async () => (await working.figures()).schedule.proven !== null, LONG).toBe(true)
  expect(await drill(working)).toMatchObject({ failed_runs: 0 })
  await stopped(working.server)
})

test('a drill of a place to which nothing is backed up fails: nothing will ever be there', async () => {
  const { data, place } = await newFolder()
  const early = { due_time: '2020-01-01T00:00:00.000Z', failures: 0, last_run: null }
  const record = { backup: null, drill: early, newest: null, proven: null, known: [], kept: 0 }
  writeFileSync(join(data, 'backups.json'), JSON.stringify(record))
  const { server, figures } = await served(data, {
    VERDIGRAPH_BACKUP_TO: place,
    VERDIGRAPH_DRILL_SCHEDULE: EVERY_SECOND,
  })
  await expect.poll(async () => (await figures()).schedule.jobs[0]?.failed_runs, LONG).toBe(1)
  expect((await figures()).schedule.jobs[0]?.last_run?.error).toContain('contains no scheduled backup')
  await stopped(server)
  // Each line of the log is JSON, also those of the process that ran the drill.
  const lines = server
    .notices()
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('{'))
  expect(lines).toEqual([])
})

test('a wrong pattern, a place in the data folder and a schedule without a place are refused at the start', async () => {
  const { data } = await newFolder()
  const start = (environment: Record<string, string>) =>
    runCommand(['serve', '--data', data, '--port', '0'], environment)
  const place = { VERDIGRAPH_BACKUP_TO: join(data, '..', 'place') }
  const pattern = await start({ ...place, VERDIGRAPH_BACKUP_SCHEDULE: '99 99 * * *' })
  expect(pattern).toMatchObject({
    exitCode: 2,
    stderr: 'error: VERDIGRAPH_BACKUP_SCHEDULE: expected a cron pattern such as `30 2 * * *`, found `99 99 * * *`\n',
  })
  for (const wrong of ['61 * * * *', '0 0 30 2 *', '* * * *'])
    expect(await start({ ...place, VERDIGRAPH_BACKUP_SCHEDULE: wrong })).toMatchObject({ exitCode: 2 })
  const text = await start({ ...place, VERDIGRAPH_BACKUP_SCHEDULE: 'daily' })
  expect(text).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('expected a cron pattern') })
  const inside = await start({ VERDIGRAPH_BACKUP_TO: join(data, 'x'), VERDIGRAPH_BACKUP_SCHEDULE: YEARLY })
  expect(inside).toMatchObject({
    exitCode: 2,
    stderr: 'error: backup_to: names a folder in the data folder; choose another one\n',
  })
  const requested = await start({ VERDIGRAPH_BACKUP_FOLDER: data })
  expect(requested).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('backup_folder: names a folder in') })
  expect((await start({ VERDIGRAPH_BACKUP_SCHEDULE: YEARLY })).stderr).toContain('needs backup_to or backup_folder')
  const secret = await start({ VERDIGRAPH_BACKUP_TO: 's3://AKIA:not-to-be-shown@bucket/x' })
  expect(secret).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('without credentials') })
  expect(secret.stderr).not.toContain('not-to-be-shown')
})
