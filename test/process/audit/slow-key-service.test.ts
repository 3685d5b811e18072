// A key service that does not answer, next to one that does, with the background process that signs.
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { type KeyConfiguration, startKeyServices } from '../../support/counterparts/key-services.ts'
import { createFleet } from '../../support/fleet.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterEach(killAll)

const SETTINGS = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1', VERDIGRAPH_AUDIT_SIGNATURE_INTERVAL: '1' }
/** More than are called at the same time. */
const HANGING = 10

it('delays the signatures of no other project, and not the end of the service', async () => {
  const keys = startKeyServices()
  const data = join(temporaryFolder(), 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await startServer(['--data', data], SETTINGS)
  const { projectId, configure } = await createFleet(server, token, organization_id)
  const other = await configure('POST', 'projects', { organization_id, name: 'other', region: 'local' })
  for (let i = 0; i < HANGING; i++)
    await configure('POST', 'audit-signings', {
      project_id: projectId,
      name: `hanging-${i}`,
      ...(keys.configurations.CLOUD1 as KeyConfiguration),
    })
  const body = { project_id: other.id, name: 'signing', ...(keys.configurations.CLOUD2 as KeyConfiguration) }
  const { id } = await configure('POST', 'audit-signings', body)
  keys.calls.length = 0
  const answers = Promise.withResolvers<null>()
  keys.behaviour.fault = (call) => (call === 'Sign' ? answers.promise : null)
  // Their change is to be signed.
  await configure('PUT', `projects/${projectId}`, { display_name: 'Fleet' })
  while (!keys.calls.includes('Sign')) await Bun.sleep(20)
  expect(await configure('POST', `audit-signings/${id}/sign`)).toMatchObject({ signed_size: expect.any(Number) })
  expect(await server.kill('SIGTERM')).toBe(0)
  expect(server.output()).not.toContain('the background process exited')
  // On a slow machine the time limit of a hanging signature is reached first.
  const errors = (await server.errors())
    .split('\n')
    .filter((line) => line !== '' && !line.includes('no complete response within'))
  expect(errors).toEqual([])
  answers.resolve(null)
  await keys.stop()
})
