// The background process seals as soon as it can, also if it could not when it started.
import { globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { untilCommitted } from '../../support/commits.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(async () => {
  await killAll()
  removeTemporaryFolders()
})

test('sealing begins without a restart when what prevented it is gone', async () => {
  const data = join(temporaryFolder(), 'data')
  expect((await runCommand(['init', '--data', data])).exitCode).toBe(0)
  // Like a full disk: the folder of the index cannot be created.
  writeFileSync(join(data, 'audit'), '')
  const server = await startServer(['--data', data])
  const failures = (): number => server.notices().match(/audit records cannot be sealed/g)?.length ?? 0
  for (const endMs = performance.now() + 60_000; failures() === 0 && performance.now() < endMs; ) await Bun.sleep(50)
  // Long enough for further attempts, which are not reported again.
  await Bun.sleep(1000)
  rmSync(join(data, 'audit'))
  const published = (): string[] => globSync('audit/logs/*/*/checkpoint', { cwd: data })
  await untilCommitted(data, 'a checkpoint is published', () => published().length > 0)
  expect(published()).toHaveLength(1)
  expect(await server.kill('SIGTERM')).toBe(0)
  expect(failures()).toBe(1)
})
