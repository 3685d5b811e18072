// Loads that an operator causes: backups, downloads, drills and shipping of the whole data folder, and scenario runs over HTTP.
import type { HostileLoad } from './hostile-load.ts'
import type { Hostile, Request, RequestOutcome } from './hostile-tenant.ts'

const BACKUPS = '/operations/v1/backups'
const EVERY_SECOND = '* * * * * *'
const POLL_MS = 100

interface LoadedBackup {
  readonly name: string
  readonly state: string
  readonly verification: { readonly state: string } | null
}

interface LoadedBackups {
  readonly backups: readonly LoadedBackup[]
  readonly schedule: { readonly kept: number; readonly proven: object | null } | null
  readonly shipping: { readonly objects: number } | null
}

const placeOf = (name: string): string => `{folder}/${name}`

const operator = ({ fixture }: Hostile): Record<string, string> => ({ authorization: `Bearer ${fixture.admin}` })

async function list(hostile: Hostile): Promise<LoadedBackups> {
  const answer = await fetch(`${hostile.fixture.url}${BACKUPS}`, { headers: operator(hostile) })
  return (await answer.json()) as LoadedBackups
}

/** Sends the request until it is accepted: the job before holds its lock for a moment. Waits until the job or the load ends. */
async function job(hostile: Hostile, what: string, path: string): Promise<void> {
  const headers = { ...operator(hostile), 'x-project-id': '' }
  while ((await hostile.send(what, { path, headers, body: '{}' })).status === 409 && !hostile.isOver)
    await Bun.sleep(POLL_MS)
  const isWorking = ({ state, verification }: LoadedBackup) => state === 'running' || verification?.state === 'running'
  while (!hostile.isOver && (await list(hostile)).backups.some(isWorking)) await Bun.sleep(POLL_MS)
}

async function newestOf(hostile: Hostile): Promise<string> {
  for (;;) {
    const found = (await list(hostile)).backups.find(({ state }) => state === 'complete')
    if (found !== undefined) return found.name
    await Bun.sleep(POLL_MS)
  }
}

/** Makes, verifies and deletes a backup of all tenants, again and again. */
function backupsOnRequest(): HostileLoad {
  return {
    bar: 50,
    environment: { VERDIGRAPH_BACKUP_FOLDER: placeOf('backups') },
    prepare: (hostile) => async () => {
      while (!hostile.isOver) {
        await job(hostile, 'backup', BACKUPS)
        if (hostile.isOver) break
        const path = `${BACKUPS}/${await newestOf(hostile)}`
        await job(hostile, 'verification', `${path}/verify`)
        await hostile.send('delete', { method: 'DELETE', path, headers: operator(hostile) })
      }
    },
  }
}

/** Downloads of a backup by four clients at full speed. */
function downloads(): HostileLoad {
  return {
    bar: 50,
    environment: { VERDIGRAPH_BACKUP_FOLDER: placeOf('downloads') },
    async prepare(hostile) {
      hostile.endMs = performance.now() + 600_000
      await job(hostile, 'backup', BACKUPS)
      const path = `${BACKUPS}/${await newestOf(hostile)}`
      let total = 0
      const download = async (): Promise<void> => {
        const startMs = performance.now()
        const answer = await fetch(`${hostile.fixture.url}${path}`, { headers: operator(hostile) })
        for await (const chunk of answer.body ?? []) {
          total += chunk.length
          if (hostile.isOver) break
        }
        const outcome: RequestOutcome = {
          what: 'download',
          status: answer.status,
          ms: performance.now() - startMs,
          limitMs: null,
          text: '',
        }
        hostile.outcomes.push(outcome)
      }
      return async () => {
        await Promise.all(
          Array.from({ length: 4 }, async () => {
            while (!hostile.isOver) await download()
          }),
        )
        hostile.notes.push(`${Math.round(total / 2 ** 20)} MiB downloaded`)
      }
    },
  }
}

/** A backup and a restore drill are always due. */
function scheduledJobs(): HostileLoad {
  return {
    bar: 50,
    environment: {
      VERDIGRAPH_BACKUP_TO: placeOf('schedule'),
      VERDIGRAPH_BACKUP_SCHEDULE: EVERY_SECOND,
      VERDIGRAPH_DRILL_SCHEDULE: EVERY_SECOND,
      VERDIGRAPH_BACKUP_KEEP: '1',
    },
    prepare: (hostile) => async () => {
      await hostile.untilOver()
      const { schedule } = await list(hostile)
      hostile.notes.push(`${schedule?.kept} kept, ${schedule?.proven === null ? 'none' : 'one'} proven`)
    },
  }
}

/** Changes are shipped each second while eight clients capture. */
function shipping(captures: HostileLoad): HostileLoad {
  return {
    bar: 50,
    environment: { VERDIGRAPH_SHIP_TO: placeOf('shipping'), VERDIGRAPH_SHIP_INTERVAL_MS: '1000' },
    async prepare(hostile) {
      const run = await captures.prepare(hostile)
      const shipped = async () => (await list(hostile)).shipping?.objects ?? 0
      while ((await shipped()) === 0) await Bun.sleep(POLL_MS)
      const before = await shipped()
      return async () => {
        await run()
        hostile.notes.push(`${(await shipped()) - before} objects shipped`)
      }
    },
  }
}

/** A file with a graph of its own and many questions, of four callers. */
const scenarioRuns: HostileLoad = {
  bar: 50,
  isShort: true,
  async prepare(hostile) {
    const { fixture } = hostile
    const people = Array.from({ length: 300 }, (_, at) => `  (p${at}:Person)-[:NEAR]->(p${(at * 7 + 1) % 300}:Person)`)
    const scenario = [
      'policies:',
      '  - subject: Person',
      '    action: reach',
      '    resource: Person',
      '    cypher: MATCH (subject)-[:NEAR*1..20]->(resource)',
      'graph: |',
      ...people,
      'decisions:',
      ...Array.from({ length: 300 }, (_, at) => `  - [Person:p${at}, reach, Person:p${(at * 13) % 300}, {}, no]`),
    ].join('\n')
    const request: Request = {
      path: '/access/v1/test',
      headers: { ...operator(hostile), 'x-project-id': fixture.hostile.project },
      body: JSON.stringify({ scenario }),
    }
    hostile.endMs = performance.now() + 200_000
    const { status, text } = await hostile.send('scenario run', request)
    if (status !== 200 && status !== 408) throw new Error(`a scenario run was answered ${status}: ${text}`)
    return () => hostile.loop('scenario run', 4, () => request)
  },
}

/** `captures`: the load whose changes are shipped. */
export function operatorLoads(captures: HostileLoad) {
  return {
    'backups on request': backupsOnRequest(),
    'downloads of a backup': downloads(),
    'scheduled backups, drills': scheduledJobs(),
    'shipping of captures': shipping(captures),
    'scenario runs': scenarioRuns,
  } as const
}
