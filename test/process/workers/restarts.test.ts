import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Random, testSeed } from '../../generate/random.ts'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import {
  captured,
  connectionsTo,
  type HttpConnection,
  makeProject,
  mayPerson,
  policyBody,
  startWorkers,
} from '../../support/worker-fixture.ts'

let folder: string
let data: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-lives-'))
  data = join(folder, 'data')
})

afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

/** The child processes of that one in the order in which they started: the numbers begin again at the highest one. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, 'latin1')
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const [state, parent] = fields
        // Field 22 of proc(5) stat: the time of the start.
        return state !== 'Z' && Number(parent) === pid ? [{ child: Number(entry), startedAt: Number(fields[19]) }] : []
      } catch {
        return []
      }
    })
    .sort((a, b) => a.startedAt - b.startedAt || a.child - b.child)
    .map(({ child }) => child)
}

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await Bun.sleep(10)
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ')
  } catch {
    return false
  }
}

// Parents of processes are read from /proc.
describe.skipIf(!existsSync('/proc/self/stat'))('a killed worker', () => {
  it('is replaced without losing an acknowledged write; the others continue, and provision, in the meantime', async () => {
    const fixture = await startWorkers(data, 2)
    const [[one], [other]] = (await connectionsTo(fixture.server.url, 2, 1)) as [[HttpConnection], [HttpConnection]]
    const project = await makeProject(fixture, one, 'alive')
    const policy = policyBody(project, 'know', 'MATCH (subject:Person), (resource:Page)')
    expect((await one.request('POST', '/configs/v1/authorization-policies', fixture.admin, policy)).status).toBe(201)
    await captured(one, project, 'nodes', { nodes: [{ type: 'Person', external_id: 'ann' }] })

    const acknowledged: string[] = []
    let served = 0
    let writing = true
    const write = async (line: HttpConnection, at: number): Promise<void> => {
      for (let number = 0; writing; number++) {
        const page = `page-${at}-${number}`
        await captured(line, project, 'nodes', { nodes: [{ type: 'Page', external_id: page }] })
        acknowledged.push(page)
        if (at === 2) served += 1
      }
    }
    const dying = write(one, 1).catch(() => 'lost')
    const living = write(other, 2)
    await until(() => acknowledged.length > 20)
    // The first one: it was elected for the tasks of a single process.
    const [first] = childrenOf(fixture.server.pid) as [number]
    process.kill(first, 'SIGKILL')
    expect(await dying).toBe('lost')
    const before = served
    await until(() => served > before + 10)
    writing = false
    await living

    // The other one provisions projects now.
    const second = await makeProject(fixture, other, 'heir')
    expect(second.id).not.toBe(project.id)
    const [[reborn]] = (await connectionsTo(fixture.server.url, 2, 1)) as [[HttpConnection], [HttpConnection]]
    for (const line of [other, reborn]) {
      for (const page of acknowledged) expect(await mayPerson(line, project, 'ann', 'know', page)).toBe(true)
    }
    await fixture.close()
  })
})

describe.skipIf(!existsSync('/proc/self/stat'))('workers whose parent is killed', () => {
  it('end by themselves, and the folder and the port are free then', async () => {
    const server = await startServer(['--data', data, '--workers', '2'])
    const workers = childrenOf(server.pid)
    expect(workers).toHaveLength(2)
    await server.kill('SIGKILL')
    const { port } = new URL(server.url)
    // Waits by itself for the remaining workers.
    const next = await startServer(['--data', data, '--workers', '2', '--port', port])
    expect(workers.filter(isAlive)).toEqual([])
    expect(new URL(next.url).port).toBe(port)
    expect(await next.kill('SIGTERM')).toBe(0)
  })
})

const seed = testSeed()
describe.skipIf(!existsSync('/proc/self/stat'))('workers whose parent is killed while they start', () => {
  it(`end before they serve, and leave the folder free (seed ${seed})`, async () => {
    const random = new Random(seed)
    await runCommand(['init', '--data', data])
    let orphans = 0
    for (let round = 0; round < 6; round++) {
      const parent = Bun.spawn(
        [process.execPath, 'src/main.ts', 'serve', '--workers', '2', '--port', '0', '--data', data],
        {
          cwd: join(import.meta.dirname, '..', '..', '..'),
          env: { PATH: process.env.PATH ?? '' },
          stdin: 'ignore',
          stdout: 'ignore',
          stderr: 'ignore',
        },
      )
      let workers: number[] = []
      await until(() => {
        workers = childrenOf(parent.pid)
        return workers.length > 0
      })
      // From before the worker's first line to after its opening of the store.
      await Bun.sleep(random.between(0, 500))
      workers = childrenOf(parent.pid)
      parent.kill('SIGKILL')
      await parent.exited
      orphans += workers.length
      await expect.poll(() => workers.filter(isAlive), { message: `round ${round}` }).toEqual([])
    }
    expect(orphans).toBeGreaterThanOrEqual(6)
    const next = await startServer(['--data', data, '--workers', '2'])
    expect(await next.kill('SIGTERM')).toBe(0)
  })
})

describe('starting workers', () => {
  it('is refused if the port is in use, also by a process that would share it', async () => {
    for (const reusePort of [false, true]) {
      const foreign = Bun.serve({ hostname: '127.0.0.1', port: 0, reusePort, fetch: () => new Response() })
      const { exitCode, stdout, stderr } = await runCommand([
        ...['serve', '--workers', '2', '--port', String(foreign.port)],
        ...['--data', data],
      ])
      expect([exitCode, stdout]).toEqual([1, ''])
      expect(stderr).toBe(
        `error: cannot listen on 127.0.0.1:${foreign.port}: the port is in use; choose another one with --port\n`,
      )
      await foreign.stop(true)
    }
  })

  it('is possible only for the supervisor', async () => {
    const { exitCode, stderr } = await runCommand(['worker'])
    expect([exitCode, stderr]).toEqual([2, 'error: worker is started by `verdigraph serve` only\n'])
  })

  it('loads the demo data once, every worker gives the printed answers, and no other process gets the folder', async () => {
    const server = await startServer(['--data', data, '--workers', '2', '--demo'])
    const output = await server.printed('"welcome"}]}\n')
    const key = /KEY=(vgk_\S+)/.exec(output)?.[1] as string
    const dara = { type: 'Person', id: 'dara' }
    const context = { input_params: { load_kg: 1800 } }
    const body = { subject: dara, action: { name: 'tow' }, resource: { type: 'Car', id: 'bramble' }, context }
    for (const [line] of (await connectionsTo(server.url, 2, 1)) as HttpConnection[][]) {
      const reply = await (line as HttpConnection).request(
        'POST',
        '/access/v1/evaluation',
        { 'x-svc-clientkey': key },
        body,
      )
      expect(reply.body).toBe('{"decision":true}')
    }
    const refused = await runCommand(['serve', '--workers', '2', '--port', '0', '--data', data])
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      `error: the folder ${data} is served by process ${server.pid}\n`,
    ])
    expect(await server.kill('SIGTERM')).toBe(0)
  })
})
