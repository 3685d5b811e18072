// What `import` does with lines that the model of their project does not allow.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { startService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const TYPES = `(:User {email STRING NOT NULL, born DATE}),
(:User&Admin {email STRING NOT NULL}),
(:Doc {level INTEGER}),
(:User&Admin)-[:OWNS {since INTEGER NOT NULL}]->(:Doc)

DEFINE (u:User)-[:sees]->(d:Doc) AS { MATCH (u)-[:OWNS]->(d) }`

afterAll(killAll)

/** A data folder whose project has the model, and nodes that were captured before it. */
async function folderWith(model: string): Promise<{ data: string; project: string }> {
  const service = await startService({ dataDir: join(temporaryFolder(), 'data') })
  const captured = await service.ask('/capture/v1/nodes', {
    nodes: [{ type: 'Doc', external_id: 'old', properties: [{ type: 'level', value: 'high' }] }],
  })
  const stored = await service.configure('POST', 'models', { project_id: service.projectId, name: 'model', model })
  expect([captured.status, stored.status], stored.text).toEqual([200, 201])
  await service.stop()
  return { data: service.dataDir, project: service.projectId }
}

function file(...lines: object[]): string {
  const path = join(temporaryFolder(), 'lines')
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'))
  return path
}

const node = (type: string, external_id: string, properties: object = {}, labels: readonly string[] = []) => ({
  node: {
    type,
    external_id,
    ...(labels.length > 0 && { labels }),
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  },
})
const owns = (source: string, target: string, properties: object = {}) => ({
  relationship: {
    source: { type: 'User', external_id: source },
    type: 'OWNS',
    target: { type: 'Doc', external_id: target },
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  },
})

const lines = [
  node('User', 'ann', { email: 'a', born: '2000-01-31' }),
  node('User', 'bob', { email: 'b' }, ['Admin']),
  node('Doc', 'd1', { level: 3 }),
  owns('bob', 'd1', { since: 2020 }),
]
const unfit = [
  node('User', 'cid', { emial: 'c' }),
  node('Doc', 'd2', { level: 'low' }),
  node('User', 'dan', { emial: 'd' }),
  owns('ann', 'd1', { since: 2020 }),
  owns('bob', 'd2'),
]

test('closed types refuse the first line that does not fit, with its number, also in a dry run', async () => {
  const { data, project } = await folderWith(`CLOSED ${TYPES}`)
  const importing = (path: string, ...more: string[]) =>
    runCommand(['import', '--data', data, '--project', project, '--in', path, ...more])
  const fitting = await importing(file(...lines))
  expect([fitting.exitCode, fitting.stderr]).toEqual([0, expect.stringContaining('3 nodes, 1 relationships')])
  const refused = await importing(file(...unfit))
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining(
      'line 1: node: `(:User)` has no property `emial`; did you mean `email`?; `email`: expected a value',
    ),
  ])
  // Nothing of a refused file is stored, and the file can be corrected.
  const dryRun = await importing(file(...unfit), '--dry-run')
  expect(dryRun.exitCode, dryRun.stderr).toBe(1)
  expect(dryRun.stderr).toContain('5 lines are not valid')
  expect(dryRun.stderr.split('\n').filter((line) => / line \d/.test(line))).toEqual([
    expect.stringContaining('line 1: node: `(:User)` has no property `emial`'),
    'error:   line 2: node: `level`: expected `INTEGER`, found `STRING`',
    expect.stringContaining('line 3: node: `(:User)` has no property `emial`'),
    expect.stringMatching(/line 4: relationship: `OWNS` cannot connect `\(:User\)` to `\(:Doc\)`/),
    expect.stringContaining('line 5: relationship: `since`: expected a value'),
  ])
  const defined = { ...owns('bob', 'd1').relationship, type: 'sees' }
  const derived = await importing(file({ relationship: defined }))
  expect([derived.exitCode, derived.stderr]).toEqual([
    1,
    expect.stringContaining(
      'line 1: relationship.type: `sees` is a definition of the model of the project, and cannot be stored',
    ),
  ])
})

test('open types warn, count the lines with examples, and import them', async () => {
  const { data, project } = await folderWith(TYPES)
  const run = (...lines: object[]) =>
    runCommand(['import', '--data', data, '--project', project, '--in', file(...lines), '--json'])
  const fitting = await run(...lines)
  expect([fitting.exitCode, JSON.parse(fitting.stdout).unfit, fitting.stderr]).toEqual([
    0,
    0,
    expect.not.stringContaining('warning'),
  ])
  const { exitCode, stdout, stderr } = await run(...unfit)
  expect([exitCode, JSON.parse(stdout).unfit]).toEqual([0, 5])
  expect(stderr.split('\n').filter((line) => line.startsWith('warning'))).toEqual([
    'warning: 2 lines do not fit the model: `(:User)` has no property `emial`; did you mean `email`?; such as line 1, 3',
    'warning: 2 lines do not fit the model: `email`: expected a value, because the model says NOT NULL; such as line 1, 3',
    'warning: 1 line does not fit the model: `level`: expected `INTEGER`, found `STRING`; such as line 2',
    expect.stringMatching(/^warning: 1 line does not fit the model: `OWNS` cannot connect `\(:User\)` to `\(:Doc\)`/),
    'warning: 1 line does not fit the model: `since`: expected a value, because the model says NOT NULL; such as line 5',
  ])
  // A text of a temporal type has become that value.
  const out = join(temporaryFolder(), 'lines')
  await exportFolder({ dataDir: data, out, progress: () => {} })
  expect(readFileSync(out, 'utf8')).toContain('"born","value":{"date":"2000-01-31"}')
})

test('an export is restored as it was, and its misfits are warnings', async () => {
  const { data } = await folderWith(`CLOSED ${TYPES}`)
  const out = join(temporaryFolder(), 'lines')
  await exportFolder({ dataDir: data, out, progress: () => {} })
  const restored = await runCommand(['import', '--data', join(temporaryFolder(), 'data'), '--in', out])
  expect([restored.exitCode, restored.stderr]).toEqual([
    0,
    expect.stringContaining(
      'model: 1 stored element does not fit: `level`: expected `INTEGER`, found `STRING`; such as Doc:old',
    ),
  ])
})
