// A document of any kind can be sent back as it was read, and an absent member keeps its value. Random documents, random subsets of
// their members. `SEED=… npm test -- test/http/configuration/send-back` repeats a run.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConfigKind, DocumentFields } from '../../../src/config/kind.ts'
import { contextPolicy, type Sample, type SampleContext, samples } from '../../support/kind-samples.ts'
import { startService, type TestService } from '../../support/service.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

// Test titles need the kinds before the service of the tests starts.
const forNames = await startService({}, { sync: false })
const kinds = forNames.app.config.kinds.filter(({ operations }) => operations.update)
await forNames.stop()

let service: TestService
let context: SampleContext

beforeAll(async () => {
  service = await startService({}, { sync: false })
  context = {
    organization: service.app.organizationId,
    account: '',
    project: service.projectId,
    application: service.applicationId,
    agent: service.agentId,
    introspect: await made('token-introspects', {
      project_id: service.projectId,
      name: 'issuer',
      jwt_matcher: { issuer: 'https://issuer.example', audience: 'verdigraph' },
      offline_validation: {},
    }),
    policy: await made('authorization-policies', {
      project_id: service.projectId,
      name: 'for-queries',
      policy: contextPolicy,
      status: 'ACTIVE',
    }),
  }
})
afterAll(() => service.stop())

async function made(path: string, body: DocumentFields): Promise<string> {
  const created = await service.configure('POST', path, body)
  expect([created.status, created.text]).toEqual([201, expect.any(String)])
  return created.body.id as string
}

let names = 0

/** The members of a sample, with random texts, and without some of those that are optional. */
function documents(kind: ConfigKind, sample: Sample): fc.Arbitrary<DocumentFields> {
  const optional = Object.keys(kind.createSchema.shape).filter(
    (member) => (kind.createSchema.shape[member] as { isOptional(): boolean }).isOptional() && !isEither(member),
  )
  const text = fc.string({ minLength: 2, maxLength: 20, unit: 'binary' }).filter((one) => !one.includes('\0'))
  return fc
    .record({ omitted: fc.subarray(optional), display_name: text, description: text })
    .map(({ omitted, ...texts }) =>
      Object.fromEntries(
        Object.entries({ ...texts, ...sample.body(context) }).filter(([member]) => !omitted.includes(member)),
      ),
    )
}

/** Members of which a document must have one. */
const isEither = (member: string): boolean => /_matcher$|_validation$/.test(member)

describe.each(kinds.map((kind): [string, ConfigKind] => [kind.path, kind]))('a document of %s', (path, kind) => {
  const sample = samples[path] as Sample
  // Only the interface demands a member in each update, `provider` of audit signings.
  const demanded = path === 'audit-signings' ? ['provider'] : []

  test(`can be sent back, whole and in part (seed ${seed})`, async () => {
    const inputs = fc.tuple(documents(kind, sample), fc.infiniteStream(fc.boolean()))
    await fc.assert(
      fc.asyncProperty(inputs, async ([body, coins]) => {
        const id = await made(path, { name: `sent-${++names}`, ...body })
        const at = `${path}/${id}`
        try {
          if (path === 'projects') await service.provisioned(id)
          const before = await service.configure('GET', at)
          const read = before.body as DocumentFields
          const fixed = Object.keys(kind.createSchema.shape).filter(
            (member) => !(member in (kind.updateSchema?.shape ?? {})),
          )
          const part = Object.fromEntries(
            Object.entries(read).filter(([member]) => demanded.includes(member) || coins.next().value),
          )
          for (const sent of [read, part]) {
            const put = await service.configure('PUT', at, sent)
            expect([put.status, put.headers.get('etag'), put.text]).toEqual([
              200,
              before.headers.get('etag'),
              expect.any(String),
            ])
            expect((await service.configure('GET', at)).body).toEqual(read)
          }
          for (const member of fixed.filter((one) => one in read)) {
            const refused = await service.configure('PUT', at, { ...part, [member]: 'another' })
            expect([refused.status, refused.body.errors]).toEqual([
              422,
              [`${member}: cannot be changed after creation`],
            ])
          }
          const stored = storedFields(path, id)
          const changed = await service.configure('PUT', at, { ...part, description: 'another description' })
          expect([changed.status, changed.text]).toEqual([200, expect.any(String)])
          // Secrets included, which a read does not show.
          expect(storedFields(path, id)).toEqual({ ...stored, description: 'another description' })
        } finally {
          await service.configure('DELETE', at)
        }
      }),
      { seed, numRuns: 12 },
    )
  })

  function storedFields(kindPath: string, id: string): DocumentFields {
    return service.app.config['documents'].get(kindPath, id)?.fields as DocumentFields
  }
})

describe('a document whose check fails by now', () => {
  /** It can be sent back, and its description can be changed. */
  async function isSentBack(at: string): Promise<void> {
    const read = await service.configure('GET', at)
    for (const [sent, after] of [
      [read.body, read.body],
      [{ description: 'of before' }, { ...(read.body as DocumentFields), description: 'of before' }],
    ]) {
      const put = await service.configure('PUT', at, sent)
      expect([put.status, put.text]).toEqual([200, expect.any(String)])
      const { update_time: _time, updated_by: _by, ...members } = after as DocumentFields
      expect((await service.configure('GET', at)).body).toMatchObject(members)
    }
  }

  test('a knowledge query, after a change of its policy', async () => {
    const project_id = service.projectId
    const policy_id = await made('authorization-policies', {
      project_id,
      name: 'allows-less',
      policy: contextPolicy,
      status: 'ACTIVE',
    })
    const query = {
      project_id,
      name: 'of-before',
      policy_id,
      query: '{"nodes":["car.property.plate"]}',
      status: 'ACTIVE',
    }
    const at = `knowledge-queries/${await made('knowledge-queries', query)}`
    const less = contextPolicy.replace('"car.property.plate",', '')
    const changed = await service.configure('PUT', `authorization-policies/${policy_id}`, { policy: less })
    expect([changed.status, changed.text]).toEqual([200, expect.any(String)])
    await isSentBack(at)
    const refused = await service.configure('PUT', at, { query: '{"nodes":["car.property.plate","car.external_id"]}' })
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      ['query.nodes[0]: the policy does not allow reading it'],
    ])
    await service.configure('DELETE', `authorization-policies/${policy_id}`)
    await isSentBack(at)
  })

  test('a policy, after its location was removed from the project', async () => {
    const connection = { url: 'lmdb:', composite_db_name: 'whole' }
    const project_id = await made('projects', {
      organization_id: service.app.organizationId,
      name: 'locations',
      region: 'local',
      db_connection: { ...connection, alias_mapping: 'eu=db-eu&us=db-us' },
    })
    await service.provisioned(project_id)
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher: "USE graph.byName('eu') MATCH (subject:Person)-[:OWNS]->(resource:Car)" },
    })
    const body = { project_id, name: 'in-eu', policy, status: 'ACTIVE' }
    const at = `authorization-policies/${await made('authorization-policies', body)}`
    const changed = await service.configure('PUT', `projects/${project_id}`, {
      db_connection: { ...connection, alias_mapping: 'us=db-us' },
    })
    expect([changed.status, changed.text]).toEqual([200, expect.any(String)])
    await isSentBack(at)
  })
})
