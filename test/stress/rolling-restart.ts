// Replaces the workers of a service again and again while clients ask on kept connections, pipelined, on new connections, after pauses and
// by streams, and write: no request fails, and every acknowledged write is there.
// Run alone: bun test/stress/rolling-restart.ts [--rounds 5] [--workers 2]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../support/cli-process.ts'
import { loadDuring, type RestartLoad, type RestartOutcome } from '../support/restart-load.ts'
import {
  captured,
  connectionsTo,
  HttpConnection,
  makeProject,
  mayPerson,
  policyBody,
  startWorkers,
} from '../support/worker-fixture.ts'
import { numberAfter } from './flags.ts'

export interface RollingRestartOutcome {
  readonly workers: number
  /** Workers that were replaced. */
  replaced: number
  readonly clients: Record<string, RestartOutcome>
  /** Acknowledged writes, and those that the service does not have afterwards. */
  readonly writes: number
  readonly lost: string[]
}

/** Runs the program. */
export async function restartUnderLoad(task: {
  readonly workers: number
  readonly rounds: number
}): Promise<RollingRestartOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-rolling-'))
  const data = join(folder, 'data')
  // One worker has a supervisor only by this setting.
  const fixture = await startWorkers(data, task.workers, {
    VERDIGRAPH_SUPERVISOR: 'on',
    // A busy machine answers late.
    VERDIGRAPH_DRAIN_MS: '60000',
  })
  try {
    const [[line]] = (await connectionsTo(fixture.server.url, 1, 1)) as [[HttpConnection]]
    const project = await makeProject(fixture, line, 'rolling')
    const policy = policyBody(project, 'read', 'MATCH (subject:Person), (resource:Page)')
    const created = await line.request('POST', '/configs/v1/authorization-policies', fixture.admin, policy)
    if (created.status !== 201) throw new Error(created.body)
    await captured(line, project, 'nodes', {
      nodes: [
        { type: 'Person', external_id: 'ann' },
        { type: 'Page', external_id: 'page-0' },
      ],
    })
    line.close()
    const headers = { 'x-svc-clientkey': project.key }
    const written: string[] = []
    const load: RestartLoad = {
      url: fixture.server.url,
      decision: {
        method: 'POST',
        path: '/access/v1/evaluation',
        headers,
        body: {
          subject: { type: 'Person', id: 'ann' },
          action: { name: 'read' },
          resource: { type: 'Page', id: 'page-0' },
        },
        isRight: (status, body) => status === 200 && body === '{"decision":true}',
      },
      write: (number) => ({
        method: 'POST',
        path: '/capture/v1/nodes',
        headers,
        body: { nodes: [{ type: 'Page', external_id: `written-${number}` }] },
        isRight(status) {
          if (status === 200) written.push(`written-${number}`)
          return status === 200
        },
      }),
      stream: { method: 'GET', path: '/access/v1/watch', headers, body: null },
    }
    let replaced = 0
    const restarts = async (): Promise<void> => {
      for (let round = 0; round < task.rounds; round++) {
        const { exitCode, stdout, stderr } = await runCommand(['restart', '--data', data, '--json'])
        if (exitCode !== 0) throw new Error(`restart: ${stderr}`)
        replaced += (JSON.parse(stdout) as { replaced: object[] }).replaced.length
      }
    }
    const clients = await loadDuring(load, restarts())
    const reader = await HttpConnection.to(fixture.server.url)
    const lost: string[] = []
    for (const page of written) if (!(await mayPerson(reader, project, 'ann', 'read', page))) lost.push(page)
    reader.close()
    return { workers: task.workers, replaced, clients, writes: written.length, lost }
  } finally {
    await fixture.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether no client saw an error, each kind was answered, and nothing was lost. */
export function isFlawless({ clients, lost }: RollingRestartOutcome): boolean {
  return lost.length === 0 && Object.values(clients).every(({ answers, errors }) => answers > 0 && errors.length === 0)
}

if (import.meta.main) {
  const task = { workers: numberAfter('--workers', 2), rounds: numberAfter('--rounds', 5) }
  const outcome = await restartUnderLoad(task)
  console.log(JSON.stringify(outcome, null, 2))
  process.exitCode = isFlawless(outcome) ? 0 : 1
}
