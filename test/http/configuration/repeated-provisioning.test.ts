// A provisioning script, run twice: every document of a project by name; read, then created, or updated with If-Match.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contextPolicy, type SampleContext, samples } from '../../support/kind-samples.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({}, { sync: false })
})
afterAll(() => service.stop())

interface ProvisioningStep {
  readonly kind: string
  readonly name: string
  /** Further members of the create. */
  body(ids: CreatedIds): Record<string, unknown>
}
type CreatedIds = Readonly<Record<string, string>>

const fixed = [
  'project_id',
  'organization_id',
  'application_id',
  'name',
  'role',
  'region',
  'replica_region',
  'ikg_size',
]
const onCreateAlone: Readonly<Record<string, readonly string[]>> = {
  'trust-score-profiles': ['node_classification'],
  'entity-matching-pipelines': ['node_filter'],
}

const worldOf = (ids: CreatedIds): SampleContext => ({
  organization: service.app.organizationId,
  project: ids.projects as string,
  application: ids.applications as string,
  agent: ids['application-agents'] as string,
  account: ids['service-accounts'] as string,
  introspect: ids['token-introspects'] as string,
  policy: ids['authorization-policies'] as string,
})

const steps: readonly ProvisioningStep[] = [
  'projects',
  'service-accounts',
  'applications',
  'application-agents',
  'token-introspects',
  'models',
  'authorization-policies',
  'knowledge-queries',
  'external-data-resolvers',
  'trust-score-profiles',
  'event-sinks',
  'entity-matching-pipelines',
  'mcp-servers',
  'audit-signings',
].map((kind) => ({
  kind,
  name: `provisioned-${kind}`,
  body: (ids) => ({
    ...samples[kind]?.body(worldOf(ids)),
    description: 'Made by a script',
    ...(kind === 'authorization-policies' && { policy: contextPolicy }),
  }),
}))

interface ProvisioningOutcome {
  readonly ids: CreatedIds
  readonly etags: CreatedIds
  readonly calls: readonly string[]
}

async function provision(): Promise<ProvisioningOutcome> {
  const ids: Record<string, string> = {}
  const etags: Record<string, string> = {}
  const calls: string[] = []
  for (const { kind, name, body } of steps) {
    const inOrganization = kind === 'projects' || kind === 'service-accounts'
    const location = inOrganization ? service.app.organizationId : ids.projects
    const wanted = { name, ...body(ids) }
    const found = await service.configure('GET', `${kind}/${name}?location=${location}`)
    if (found.status === 404) {
      const created = await service.configure('POST', kind, wanted)
      expect([kind, created.status, created.body.errors]).toEqual([kind, 201, undefined])
      ids[kind] = created.body.id as string
      etags[kind] = created.headers.get('etag') as string
      calls.push(`POST ${kind}`)
      continue
    }
    expect([kind, found.status]).toEqual([kind, 200])
    const without = [...fixed, ...(onCreateAlone[kind] ?? [])]
    const change = Object.fromEntries(Object.entries(wanted).filter(([member]) => !without.includes(member)))
    const id = found.body.id as string
    const updated = await service.send(`/configs/v1/${kind}/${id}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${service.token}`, 'if-match': found.headers.get('etag') as string },
      body: change,
    })
    expect([kind, updated.status, updated.body.errors]).toEqual([kind, 200, undefined])
    ids[kind] = id
    etags[kind] = updated.headers.get('etag') as string
    calls.push(`PUT ${kind}`)
  }
  return { ids, etags, calls }
}

test('a script that provisions a project by name is idempotent', async () => {
  const first = await provision()
  expect(first.calls).toEqual(steps.map(({ kind }) => `POST ${kind}`))
  const second = await provision()
  expect(second.calls).toEqual(steps.map(({ kind }) => `PUT ${kind}`))
  expect(second.ids).toEqual(first.ids)
  expect(second.etags).toEqual(first.etags)
  for (const { kind } of steps) {
    expect((await service.configure('GET', `${kind}/${first.ids[kind]}?version=2`)).status).toBe(404)
  }

  // A deleted project leaves nothing behind: the same script creates all of it again.
  expect((await service.configure('DELETE', `projects/${first.ids.projects}`)).status).toBe(200)
  for (const { kind } of steps.slice(2)) {
    expect((await service.configure('GET', `${kind}/${first.ids[kind]}`)).status).toBe(404)
  }
  const third = await provision()
  expect(third.calls.filter((call) => call.startsWith('PUT'))).toEqual(['PUT service-accounts'])
})
