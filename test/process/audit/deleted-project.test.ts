// The deletion of a project whose records cannot be sealed soon: its graphs stay until they are.
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { hasFlock, tryFlock, UNLOCK } from '../../../src/store/process/flock.ts'
import { projectFolderName } from '../../../src/store/tenancy/project-folders.ts'
import { readAuditLogs } from '../../support/audit-logs.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll } from '../../support/cli-process.ts'
import { untilCommitted } from '../../support/commits.ts'
import { HttpConnection } from '../../support/http-connection.ts'
import { captured, makeProject, startWorkers } from '../../support/worker-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-deleted-'))

afterAll(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

it('deletes the graphs of a project after their records are sealed, if the sealing is late', async () => {
  const data = join(folder, 'data')
  const fixture = await startWorkers(data, 1)
  const first = await HttpConnection.to(fixture.server.url)
  const project = await makeProject(fixture, first, 'deleted')
  const graphs = join(data, 'projects', projectFolderName(project.id))
  await captured(first, project, 'nodes', { nodes: [{ type: 'Page', external_id: 'first' }] })
  first.close()
  const until = (condition: () => boolean | Promise<boolean>): Promise<void> =>
    untilCommitted(data, 'the records are sealed', condition)
  const pages = async (): Promise<string[]> => {
    const log = (await readAuditLogs(data)).get(project.id)
    expect(log?.problems ?? []).toEqual([])
    return (log?.entries ?? []).filter(({ type }) => type.endsWith('upsert.node')).map(({ subject }) => subject)
  }
  await until(async () => (await pages()).length === 1)
  const [background] = childrenOf(fixture.server.pid).filter(({ words }) => words.includes('background'))
  const pid = background?.pid as number
  // The service closes connections that are idle for long.
  const [line, other] = [await HttpConnection.to(fixture.server.url), await HttpConnection.to(fixture.server.url)]
  // A process that is stopped within a transaction keeps the lock. It has none if changes of both are answered while it is stopped.
  let probes = 0
  for (let isFree = false; !isFree; ) {
    process.kill(pid, 'SIGSTOP')
    probes += 1
    const answered = Promise.all([
      captured(line, project, 'nodes', { nodes: [{ type: 'Page', external_id: `probe-${probes}` }] }),
      other
        .request('PUT', `/configs/v1/projects/${project.id}`, fixture.admin, { display_name: `probe ${probes}` })
        .then((reply) => expect(reply.status).toBe(200)),
    ])
    isFree = await Promise.race([answered.then(() => true), Bun.sleep(5000 * probes).then(() => false)])
    if (isFree) break
    process.kill(pid, 'SIGCONT')
    await answered
  }
  await captured(line, project, 'nodes', { nodes: [{ type: 'Page', external_id: 'last' }] })
  const deleted = await line.request('DELETE', `/configs/v1/projects/${project.id}`, fixture.admin)
  expect([deleted.status, fixture.server.notices()]).toEqual([200, expect.any(String)])
  expect((await line.request('GET', `/configs/v1/projects/${project.id}`, fixture.admin)).status).toBe(404)
  expect(existsSync(graphs)).toBe(true)
  process.kill(pid, 'SIGCONT')
  await until(() => !existsSync(graphs))
  const probed = Array.from({ length: probes }, (_, i) => `nodes/Page/probe-${i + 1}`)
  expect(await pages()).toEqual(['nodes/Page/first', ...probed, 'nodes/Page/last'])
  line.close()
  other.close()
  await fixture.close()
})

it('deletes a project while another process keeps its graphs locked; they are deleted later', async () => {
  const data = join(folder, 'locked')
  const fixture = await startWorkers(data, 1)
  const line = await HttpConnection.to(fixture.server.url)
  const project = await makeProject(fixture, line, 'locked')
  const graphs = join(data, 'projects', projectFolderName(project.id))
  await captured(line, project, 'nodes', { nodes: [{ type: 'Page', external_id: 'first' }] })
  await untilCommitted(data, 'the record is sealed', async () =>
    ((await readAuditLogs(data)).get(project.id)?.entries ?? []).some(({ type }) => type.endsWith('upsert.node')),
  )
  expect(hasFlock()).toBe(true)
  // As a process that is stopped while it opens them.
  const folders = readdirSync(graphs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => openSync(join(entry.parentPath, entry.name), 'r'))
  // The command waits for the lock of the open folder, which stays locked when the command has ended.
  for (const held of folders) execFileSync('flock', ['-x', '3'], { stdio: ['ignore', 'ignore', 'inherit', held] })
  const deleted = await line.request('DELETE', `/configs/v1/projects/${project.id}`, fixture.admin)
  expect([deleted.status, fixture.server.notices()]).toEqual([200, expect.any(String)])
  expect((await line.request('GET', `/configs/v1/projects/${project.id}`, fixture.admin)).status).toBe(404)
  for (const held of folders) {
    tryFlock(held, UNLOCK)
    closeSync(held)
  }
  await untilCommitted(data, 'the graphs are deleted', () => !existsSync(graphs))
  line.close()
  await fixture.close()
})
