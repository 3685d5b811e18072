// `trust run` and the schedule as real processes: a folder that is served, and one that is not.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { killRounds } from '../../stress/kill-harness.ts'
import { TrustKills } from '../../stress/trust-kills.ts'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { createFleet } from '../../support/fleet.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-trust-'))
})
afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

/** A served folder with a car and a profile that scores cars. Without an audit log the profile alone starts the background process. */
async function servedCar(
  data: string,
  settings: Record<string, string> = { VERDIGRAPH_AUDIT: 'off' },
): Promise<ServedCar> {
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await startServer(['--data', data], settings)
  const { projectId, key, configure } = await createFleet(server, token, organization_id)
  const captured = await fetch(`${server.url}/capture/v1/nodes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-clientkey': key },
    body: JSON.stringify({
      nodes: [{ type: 'Car', external_id: 'c1', properties: [{ type: 'plate', value: 'B-1' }] }],
    }),
  })
  expect(captured.status).toBe(200)
  const { id } = await configure('POST', 'trust-score-profiles', {
    project_id: projectId,
    name: 'cars',
    node_classification: 'Car',
    schedule: 'DAILY',
    // Unlike the freshness, it does not change at midnight.
    dimensions: [{ name: 'COMPLETENESS', weight: 1 }],
    required_properties: ['plate'],
  })
  return {
    server,
    profile: id as string,
    configure,
    async recordsOf(scope, type) {
      const project_id = scope === 'project' ? projectId : organization_id
      const query = new URLSearchParams({ type, project_id })
      const answered = await fetch(`${server.url}/audit/v1/records?${query}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      if (!answered.ok) throw new Error(await answered.text())
      const { items } = (await answered.json()) as { items: { entry: { data: Record<string, unknown> } }[] }
      return items.map(({ entry }) => entry.data)
    },
  }
}

interface ServedCar {
  readonly server: Server
  readonly profile: string
  /** The sealed audit records of a type. */
  recordsOf(scope: 'project' | 'organization', type: string): Promise<Record<string, unknown>[]>
  configure(method: string, path: string, body?: object): Promise<Record<string, unknown>>
}

it('runs a pass in the service that serves the folder, and otherwise itself', async () => {
  const data = join(folder, 'data')
  const { server, profile, configure } = await servedCar(data)
  const run = (id: string) => runCommand(['trust', 'run', '--data', data, '--profile', id, '--json'])
  // Two operators at once: both get the result of a pass.
  const served = await Promise.all([run(profile), run(profile)])
  expect(served.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  const results = served.map(({ stdout }) => JSON.parse(stdout))
  expect(results.map(({ nodesScored }) => nodesScored)).toEqual([1, 1])
  expect(Math.max(...results.map(({ scoresWritten }) => scoresWritten))).toBe(1)
  const read = await configure('GET', `trust-score-profiles/${profile}`)
  expect(results.map(({ runId }) => runId)).toContain(read.last_run_id)

  await server.kill('SIGTERM')
  const alone = await run(profile)
  expect([alone.exitCode, alone.stderr]).toEqual([0, ''])
  expect(JSON.parse(alone.stdout)).toMatchObject({ nodesScored: 1, scoresWritten: 0 })
  expect(JSON.parse(alone.stdout).runId).not.toBe(read.last_run_id)

  const unknown = await run('gid:00000000000000000000000000')
  expect([unknown.exitCode, unknown.stdout]).toEqual([1, ''])
  expect(unknown.stderr).toContain('has no trust score profile `gid:00000000000000000000000000`')
})

it('records the operation and the pass in the audit log of the service that serves the folder', async () => {
  const data = join(folder, 'data')
  const { profile, recordsOf } = await servedCar(data, {})
  const { exitCode, stdout } = await runCommand(['trust', 'run', '--data', data, '--profile', profile, '--json'])
  expect(exitCode).toBe(0)
  const { runId } = JSON.parse(stdout)
  const { username } = userInfo()
  const sealed = async (scope: 'project' | 'organization', type: string): Promise<Record<string, unknown>[]> => {
    for (;;) {
      const records = await recordsOf(scope, type)
      if (records.length > 0) return records
      await Bun.sleep(50)
    }
  }
  expect(await sealed('organization', 'svc.audit.operations.trust.run')).toMatchObject([
    { profile, runId, outcome: 'ok', actor: { type: 'operating-system-user', name: username } },
  ])
  expect(await sealed('project', 'svc.audit.trust.run.ended')).toMatchObject([{ runId, outcome: 'ok', nodesScored: 1 }])
  expect(await sealed('project', 'svc.audit.trust.run.started')).toMatchObject([
    { runId, profileId: profile, nodeType: 'Car', requestedBy: username },
  ])
})

it('has its scores in exports and backups: a pass over the copy writes nothing', async () => {
  const data = join(folder, 'data')
  const { server, profile } = await servedCar(data)
  await server.kill('SIGTERM')
  const command = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await runCommand(args)
    expect([args, exitCode, stderr]).toEqual([args, 0, expect.anything()])
    return stdout
  }
  const run = async (copy: string): Promise<unknown> =>
    JSON.parse(await command('trust', 'run', '--data', join(folder, copy), '--profile', profile, '--json'))
  expect(await run('data')).toMatchObject({ nodesScored: 1, scoresWritten: 1 })
  const file = (name: string): string => join(folder, name)
  await command('export', '--data', data, '--out', file('lines'))
  await command('import', '--data', file('imported'), '--in', file('lines'))
  await command('backup', '--data', data, '--out', file('backup'))
  await command('restore', '--data', file('restored'), '--in', file('backup'))
  for (const copy of ['imported', 'restored']) {
    copyFileSync(join(data, 'master.key'), join(file(copy), 'master.key'))
    await command('verify', '--data', file(copy))
    expect([copy, await run(copy)]).toMatchObject([copy, { nodesScored: 1, scoresWritten: 0, scoresRemoved: 0 }])
  }
})

it('completes a pass whose processes are killed, and no reader sees half a score', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const outcome = await killRounds(new TrustKills(3000), { rounds: 2, seed })
  expect(outcome.faults).toEqual([])
  expect(outcome.seen).toBeGreaterThan(3000)
})
