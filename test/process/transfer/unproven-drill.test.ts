// A restore drill that can ask no question proves nothing about the answers of the backup, and says so.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '../../support/cli-process.ts'
import { startService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('a drill whose only policy needs a parameter is unproven', async () => {
  const service = await startService({ dataDir: join(temporaryFolder(), 'data') })
  const { dataDir } = service
  const out = join(temporaryFolder(), 'backup.tar')
  try {
    await service.addPolicy({
      name: 'tow',
      cypher: 'MATCH (subject:Person), (resource:Car) WHERE resource.load >= $load_kg',
    })
    const nodes = [
      { external_id: 'dara', type: 'Person' },
      { external_id: 'bramble', type: 'Car', properties: [{ type: 'load', value: 5 }] },
    ]
    expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  } finally {
    await service.stop()
  }
  expect(await runCommand(['backup', '--data', dataDir, '--out', out])).toMatchObject({ exitCode: 0 })
  const drilled = await runCommand(['drill', '--data', dataDir, '--in', out, '--json'])
  const report = JSON.parse(drilled.stdout)
  expect([drilled.exitCode, report.outcome]).toEqual([1, 'unproven'])
  expect(report.answers).toMatchObject({ asked: 0, left_out: 1 })
  expect(report.steps.at(-1)).toMatchObject({ step: 'questions', outcome: 'skipped' })
  expect(report.steps.at(-1).detail).toContain(
    'no question was asked: 1 left out because their policies need parameters',
  )
})

test('a drill of a backup that has policies, and no node of their types, is unproven', async () => {
  const service = await startService({ dataDir: join(temporaryFolder(), 'data') })
  const { dataDir } = service
  const out = join(temporaryFolder(), 'backup.tar')
  try {
    await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
  } finally {
    await service.stop()
  }
  expect(await runCommand(['backup', '--data', dataDir, '--out', out])).toMatchObject({ exitCode: 0 })
  const drilled = await runCommand(['drill', '--data', dataDir, '--in', out, '--json'])
  const report = JSON.parse(drilled.stdout)
  expect([drilled.exitCode, report.outcome]).toEqual([1, 'unproven'])
  expect(report.answers).toMatchObject({ asked: 0, left_out: 0, without_nodes: 1 })
  expect(report.steps.at(-1).detail).toContain('no question was asked: 1 policy without nodes to ask about')
})
