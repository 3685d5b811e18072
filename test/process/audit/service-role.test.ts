// A customer's role in CLOUD1 that the service assumes with an identity of its own: the only parameter is `role_arn`.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openNote, parseVerifierKey } from '../../../src/audit/log/signed-note.ts'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { type KeyServices, startKeyServices } from '../../support/counterparts/key-services.ts'
import { createFleet } from '../../support/fleet.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let keys: KeyServices
beforeEach(() => {
  keys = startKeyServices()
})
afterEach(async () => {
  await killAll()
  await keys.stop()
})

async function start(identity: Readonly<Record<string, string>>) {
  const data = join(temporaryFolder(), 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const environment = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1', ...identity }
  const server = await startServer(['--data', data], environment)
  const { projectId, configure } = await createFleet(server, token, organization_id)
  const body = { project_id: projectId, name: 'role', ...keys.serviceRole }
  return { server, configure, projectId, body }
}

it('signs for the project that its trust policy names', async () => {
  const { server, configure, projectId, body } = await start(keys.identities.webIdentity)
  await expect(configure('POST', 'audit-signings', body)).rejects.toThrow(/AssumeRole: HTTP status 403: AccessDenied/)
  keys.behaviour.trusted = projectId
  const { id } = await configure('POST', 'audit-signings', body)
  const { checkpoint } = await configure('POST', `audit-signings/${id}/sign`)
  const { verifier_key, auth_params } = await configure('GET', `audit-signings/${id}`)
  expect(auth_params).toEqual({ role_arn: '' })
  const verifier = parseVerifierKey(String(verifier_key))
  expect(openNote(String(checkpoint), verifier.ok ? [verifier.value] : []).ok).toBe(true)
  expect(await server.kill('SIGTERM')).toBe(0)
  const printed = server.output() + (await server.errors())
  for (const secret of keys.secrets) expect(printed).not.toContain(secret)
})

it('is refused by a service without an identity, which says how it gets one', async () => {
  const names = Object.values(keys.identities).flatMap((identity) => Object.keys(identity))
  const { configure, body } = await start(Object.fromEntries(names.map((name) => [name, ''])))
  await expect(configure('POST', 'audit-signings', body)).rejects.toThrow(
    /answered 422.*auth_params\.role_arn: this service has no credentials to assume it.*AWS_WEB_IDENTITY_TOKEN_FILE/,
  )
  expect(keys.calls).toEqual([])
})
