// A damaged page ends no process: LMDB does not read a page that was not checked. Short forms of test/stress/damaged-pages.ts, and the
// processes of a service: workers, lanes, and the background process, which ships changes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/graph/open-store.ts'
import { OpenLock } from '../../../src/store/lmdb/open-lock.ts'
import { testSeed } from '../../generate/random.ts'
import { damagedPages, pagesByKind } from '../../stress/damaged-pages.ts'
import { killAll, type Server, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import {
  ask,
  capture,
  captured,
  HttpConnection,
  makeProject,
  mayPerson,
  policyBody,
  startWorkers,
  type WorkerProject,
} from '../../support/worker-fixture.ts'

const PAGE = 4096

/** The first four are those whose adjacency lists ended the process before pages were checked. */
const FILLS = [3, 7, 11, 15, 0, 255]

describe('a process that opens a copy with a damaged page', () => {
  it('answers as before or refuses, and never ends', async () => {
    const seed = testSeed()
    const outcome = await damagedPages(FILLS, 80, seed, 97)
    expect({ seed, ended: outcome.ended, wrong: outcome.wrong }).toEqual({ seed, ended: [], wrong: [] })
    expect(outcome.kinds).toContain('adjacency leaf')
    expect(outcome.refused).toBeGreaterThanOrEqual(FILLS.length * (outcome.kinds.length - 1))
  })
})

describe('the check of all pages', () => {
  it('counts for other processes until the last one that knows its result has closed the folder or was killed', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'data.mdb')
    await openStore(folder, { sync: false }).close()
    const isChecked = async (): Promise<boolean> => {
      const lock = OpenLock.of(file)
      try {
        return await lock.runExclusiveAsync(() => lock.isChecked())
      } finally {
        lock.close()
      }
    }
    expect(await isChecked()).toBe(false)
    const script = join(import.meta.dirname, 'reading-process.ts')
    const child = Bun.spawn([process.execPath, script, folder], { stdout: 'pipe' })
    await child.stdout.getReader().read()
    expect(await isChecked()).toBe(true)
    child.kill('SIGKILL')
    await child.exited
    expect(await isChecked()).toBe(false)
  })
})

describe('a service with damaged projects', () => {
  const KINDS = ['adjacency leaf', 'nodes leaf', 'nodes overflow', 'free list leaf', 'names leaf'] as const
  const PAGES_PER_CAPTURE = 250
  const unavailable = '{"message":"the knowledge graph of this project is unavailable"}'
  let folder: string
  let environment: Record<string, string>
  let sound: WorkerProject
  const damaged = new Map<string, WorkerProject>()
  const files = new Map<string, { readonly file: string; readonly page: number }>()

  const nodesOf = (prefix: string) => ({
    nodes: Array.from({ length: PAGES_PER_CAPTURE }, (_, i) => ({
      type: 'Page',
      external_id: `${prefix}-${i}`,
      properties: [{ type: 'text', value: i % 50 === 0 ? 'x'.repeat(6000) : 'short' }],
    })),
  })

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verdigraph-damaged-service-'))
    environment = { VERDIGRAPH_LANES: '1', VERDIGRAPH_SHIP_TO: join(folder, 'shipped') }
    const data = join(folder, 'data')
    const fixture = await startWorkers(data, 2, environment)
    const line = await HttpConnection.to(fixture.server.url)
    const make = async (name: string): Promise<WorkerProject> => {
      const project = await makeProject(fixture, line, name)
      const policy = policyBody(project, 'know', 'MATCH (subject:Person)-[:KNOWS]->(resource:Page)')
      expect((await line.request('POST', '/configs/v1/authorization-policies', fixture.admin, policy)).status).toBe(201)
      await captured(line, project, 'nodes', { nodes: [{ type: 'Person', external_id: 'ann' }] })
      for (const prefix of ['a', 'b']) {
        await captured(line, project, 'nodes', nodesOf(prefix))
        const relationships = nodesOf(prefix).nodes.map(({ type, external_id }) => ({
          source: { type: 'Person', external_id: 'ann' },
          type: 'KNOWS',
          target: { type, external_id },
        }))
        await captured(line, project, 'relationships', { relationships })
      }
      return project
    }
    sound = await make('sound')
    for (const kind of KINDS) damaged.set(kind, await make(kind.replaceAll(' ', '-')))
    await fixture.close()
    for (const [i, [kind, { id }]] of [...damaged].entries()) {
      const file = join(data, 'projects', id.slice('gid:'.length), 'default', 'data.mdb')
      const page = pagesByKind(file).get(kind)![0]!
      files.set(kind, { file, page })
      const bytes = readFileSync(file)
      bytes.fill(FILLS[i % FILLS.length]!, page * PAGE, (page + 1) * PAGE)
      writeFileSync(file, bytes)
    }
  })

  afterEach(async () => killAll())
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const start = (): Promise<Server> => startServer(['--data', join(folder, 'data'), '--workers', '2'], environment)

  it.each(['first', 'second'])(
    'answers 503 for them after the %s start, serves the others, and ends when it is told to',
    async () => {
      const server = await start()
      const line = await HttpConnection.to(server.url)
      for (const project of damaged.values()) {
        const search = { subject: { type: 'Person', id: 'ann' }, action: { name: 'know' }, resource: { type: 'Page' } }
        const replies = [
          await ask(line, project, 'ann', 'know', 'a-1'),
          await line.request('POST', '/access/v1/search/resource', { 'x-svc-clientkey': project.key }, search),
          await capture(line, project, 'nodes', nodesOf('c')),
        ]
        expect(replies.map(({ status, body }) => [status, body])).toEqual(replies.map(() => [503, unavailable]))
        expect(await mayPerson(line, sound, 'ann', 'know', 'a-1')).toBe(true)
        await captured(line, sound, 'nodes', nodesOf('c'))
      }
      expect(await server.kill('SIGTERM')).toBe(0)
      const log = server.output() + server.notices()
      for (const { file, page } of files.values()) {
        expect(log).toMatch(
          new RegExp(
            `${file} is damaged: (?:[a-z ]+: )?page ${page} [^;]+; check the data folder with .verdigraph verify.`,
          ),
        )
      }
      expect(log).not.toMatch(/Assertion|SIGABRT|ended unexpectedly/)
    },
  )
})
