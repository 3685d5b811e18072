// The audit logs in an export: verifiable by their keys alone, as of the same moment; an import leaves them where they are.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { projectFolderName } from '../../../src/store/tenancy/project-folders.ts'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { startService } from '../../support/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-exported-logs-'))
const data = join(folder, 'data')

afterAll(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

/** The folders of the logs, and the key of each. */
function logsIn(out: string): readonly { readonly log: string; readonly keys: readonly string[] }[] {
  const keys = readFileSync(join(out, 'keys'), 'utf8').trimEnd().split('\n')
  return readdirSync(out)
    .filter((name) => name !== 'keys')
    .flatMap((id) =>
      readdirSync(join(out, id)).map((generation) => ({
        log: join(out, id, generation),
        keys: keys.filter((key) => key.includes(`/${generation}+`)),
      })),
    )
}

async function verified(out: string): Promise<readonly string[]> {
  const texts: string[] = []
  for (const { log, keys } of logsIn(out)) {
    const { exitCode, stdout, stderr } = await runCommand(['audit', 'verify', log, '--key', keys[0] as string])
    expect([exitCode, stderr]).toEqual([0, ''])
    texts.push(stdout)
  }
  return texts
}

test('an export carries the audit logs, which verify with their keys, and an import names them', async () => {
  const service = await startService({ dataDir: data }, { sync: false, log: () => undefined })
  const nodes = Array.from({ length: 300 }, (_, i) => ({ type: 'Car', external_id: `car${i}` }))
  expect((await service.ask('/capture/v1/nodes', { nodes: nodes.slice(0, 150) })).status).toBe(200)
  expect((await service.ask('/capture/v1/nodes', { nodes: nodes.slice(150) })).status).toBe(200)
  await service.app.sealAudit()
  const { projectId } = service
  await service.app.close()

  const out = join(folder, 'all.ndjson')
  const exported = await runCommand(['export', '--data', data, '--out', out])
  expect([exported.exitCode, exported.stderr]).toEqual([
    0,
    expect.stringMatching(/2 audit logs with \d{3} entries in .*all\.ndjson\.audit/),
  ])
  expect(await verified(`${out}.audit`)).toHaveLength(2)
  const text = readdirSync(`${out}.audit`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('tile/entries') && !name.endsWith('.p'))
    .map((name) => join(`${out}.audit`, name))
    .filter((path) => !path.endsWith('entries'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('')
  for (const { external_id } of nodes) expect(text).toContain(`nodes/Car/${external_id}"`)

  const imported = await runCommand(['import', '--data', join(folder, 'imported'), '--in', out])
  expect([imported.exitCode, imported.stderr]).toEqual([0, expect.stringContaining('all.ndjson.audit is not imported')])
  const again = await runCommand([
    'export',
    '--data',
    data,
    '--out',
    join(folder, 'b.ndjson'),
    '--audit-logs',
    `${out}.audit`,
  ])
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('all.ndjson.audit already exists')])
  expect(existsSync(join(folder, 'b.ndjson'))).toBe(false)

  const one = join(folder, 'one.ndjson')
  const logs = join(folder, 'logs')
  const named = (project: string): string[] => ['--project', project, '--audit-logs', logs]
  const unknown = await runCommand(['export', '--data', data, '--out', one, ...named('alhpa')])
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('has no project `alhpa`')])
  expect((await runCommand(['export', '--data', data, '--out', one, ...named('test')])).exitCode).toBe(0)
  expect(readdirSync(logs).sort()).toEqual([projectFolderName(projectId), 'keys'].sort())
  expect(await verified(logs)).toHaveLength(1)

  const without = await runCommand(['export', '--data', data, '--out', join(folder, 'c.ndjson'), '--no-audit-logs'])
  expect([without.exitCode, existsSync(join(folder, 'c.ndjson.audit'))]).toEqual([0, false])
  expect((await runCommand(['export', '--data', data, '--out', '-'])).stderr).not.toContain('audit logs')
  const leftovers = readdirSync(folder).filter((name) => name.startsWith('.'))
  expect(leftovers).toEqual([])
})
