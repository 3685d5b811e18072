// `match` and the rerun interval as real processes: a folder that is served, one that is not, and a URL.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { killRounds } from '../../stress/kill-harness.ts'
import { MatchingKills } from '../../stress/matching-kills.ts'
import { bin, type Finished, killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { createFleet } from '../../support/fleet.ts'
import { nodesOf } from '../../support/matching-service.ts'
import { onTerminal } from '../../support/terminal.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-matching-'))
})
afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

const succeeded = ({ exitCode, stdout, stderr }: Finished): string => {
  // The progress of a slow machine is on the error stream.
  expect(exitCode, stderr).toBe(0)
  return stdout
}

/** Erases the screen of a terminal, and changes the direction of the text. */
const hostile = 'p20\u009b2J\u001b[31m\u202e'

it('runs pipelines and decides in the service of the folder, at a URL, and otherwise itself', async () => {
  const data = join(folder, 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  // Without an audit log the pipeline alone starts the background process.
  const start = (): Promise<Server> => startServer(['--data', data], { VERDIGRAPH_AUDIT: 'off' })
  const server = await start()
  const { projectId, key, configure } = await createFleet(server, token, organization_id)
  const captured = await fetch(`${server.url}/capture/v1/nodes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-clientkey': key },
    body: JSON.stringify({
      nodes: [...nodesOf('Person', 'p', 0, 40), ...nodesOf('Customer', 'c', 10, 50)].map((node) =>
        'external_id' in node && node.external_id === 'p20' ? { ...node, external_id: hostile } : node,
      ),
    }),
  })
  expect(captured.status).toBe(200)
  const { id } = await configure('POST', 'entity-matching-pipelines', {
    project_id: projectId,
    name: 'people',
    node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
    similarity_score_cutoff: 0.5,
  })
  const pipeline = id as string
  const port = new URL(server.url).port
  const command = (verb: string, ...more: string[]): Promise<Finished> =>
    runCommand(['match', verb, '--data', data, '--pipeline', pipeline, ...more])

  const labels = join(folder, 'labels.ndjson')
  writeFileSync(
    labels,
    [
      { source_external_id: 'p10', target_external_id: 'c10', same: true },
      { source_external_id: 'p11', target_external_id: 'c12', same: false },
    ]
      .map((pair) => JSON.stringify(pair))
      .join('\n'),
  )
  const served = succeeded(await command('run', '--port', port, '--labels', labels))
  expect(served).toBe(
    '30 pairs matched, 60 entities, 30 relationships written, 0 removed, 0 conflicts\nprecision 1.0000, recall 1.0000, F1 1.0000\n',
  )
  const status = succeeded(await command('status', '--url', server.url, '--port', port))
  expect(status).toContain('entity matching:    SUCCESS')
  const decided = await command(
    'decide',
    '--url',
    server.url,
    '--port',
    port,
    '--source',
    'p10',
    '--target',
    'c10',
    '--not-same',
  )
  expect(succeeded(decided)).toContain('NOT_SAME  p10  c10')
  expect(succeeded(await command('decisions', '--port', port))).toContain('NOT_SAME  p10  c10')
  const page = join(folder, 'report.html')
  succeeded(await command('report', '--port', port, '--format', 'html', '--out', page))
  expect(readFileSync(page, 'utf8')).toContain('<h1>Entity matching: Person and Customer</h1>')

  await server.kill('SIGTERM')
  const alone = JSON.parse(succeeded(await command('run', '--json')))
  expect(alone).toMatchObject({ matched_pairs: 29, relationships_written: 0, relationships_removed: 0 })
  const lines = succeeded(await command('report', '--format', 'ndjson'))
    .trimEnd()
    .split('\n')
  expect([lines.length, lines.at(-1)]).toEqual([30, '{"matched_pairs":29}'])
  for (const format of ['json', 'ndjson', 'html']) {
    const args = ['match', 'report', '--data', data, '--pipeline', pipeline, '--format', format]
    const terminal = onTerminal([bin, ...args], { PATH: process.env.PATH ?? '' })
    expect(await terminal.ended, terminal.output()).toBe(0)
    expect(terminal.output()).toContain('p20\\u009b2J')
    expect(terminal.output()).not.toMatch(/[\u0080-\u009f\u001b\u202e]/)
  }
  const [decision] = succeeded(await command('decisions', '--json')).split('\n')
  succeeded(await command('undecide', '--decision', JSON.parse(decision as string).id))
  expect(JSON.parse(succeeded(await command('run', '--json')))).toMatchObject({ relationships_written: 1 })
  const wrong = await command('decide', '--source', 'absent', '--target', 'c10', '--same')
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('source_external_id: the node `Person` `absent` does not exist'),
  ])
})

it('completes a run whose processes are killed, and no reader sees half a pair', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const outcome = await killRounds(new MatchingKills(200), { rounds: 3, seed })
  expect(outcome.faults).toEqual([])
  expect(outcome.seen).toBeGreaterThan(200)
})
