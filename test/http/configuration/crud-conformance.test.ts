// Every operation of every kind over HTTP: the same tests for all, generated from the kinds' own records and one sample
// each. A kind without a sample fails here, so that a new kind cannot be untested.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConfigKind, DocumentFields } from '../../../src/config/kind.ts'
import type { Route } from '../../../src/http/route.ts'
import { isGid } from '../../../src/kernel/ids.ts'
import { contextPolicy, type Sample, type SampleContext, samples } from '../../support/kind-samples.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

// Test titles need the kinds before the service of the tests starts: a separate service provides them.
const forNames = await startService({}, { sync: false })
const kinds = forNames.app.config.kinds
await forNames.stop()

let service: TestService
let context: SampleContext
let viewerToken: string

beforeAll(async () => {
  service = await startService({}, { sync: false })
  const organization = service.app.organizationId
  const account = await made('service-accounts', { organization_id: organization, name: 'viewer', role: 'all_viewer' })
  const credential = await call('POST', 'service-account-credentials', { service_account_id: account })
  viewerToken = (credential.body.service_account_config as { token: string }).token
  context = {
    organization,
    account,
    project: service.projectId,
    application: service.applicationId,
    agent: service.agentId,
    introspect: await made('token-introspects', {
      project_id: service.projectId,
      name: 'issuer',
      jwt_matcher: { issuer: 'https://issuer.example', audience: 'verdigraph' },
      ikg_node_type: 'Person',
      claims_mapping: {},
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

/** With the token of the administrator; every response is checked against the description of its route. */
async function call(
  method: string,
  path: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<TestResponse> {
  const [resource = '', query = ''] = path.split('?')
  const headers = { authorization: `Bearer ${service.token}`, ...more }
  const sent = body === undefined ? { method, headers } : { method, headers, body }
  const answered = await service.send(`/configs/v1/${resource}${query === '' ? '' : `?${query}`}`, sent)
  const route = routeOf(method, resource)
  const schema = route.responses[answered.status]
  if (answered.status !== 401) expect(Object.keys(route.responses)).toContain(String(answered.status))
  if (schema === null) expect(answered.text).toBe('')
  else if (schema !== undefined) schema.parse(answered.body)
  return answered
}

function routeOf(method: string, resource: string): Route {
  const [kind, id] = resource.split('/')
  const rest = id === undefined ? '' : id === 'current' ? '/current' : '/{id}'
  const path = `/configs/v1/${kind}${rest}`
  const route = service.app.routes.find((one) => one.method === method && one.path === path)
  if (route === undefined) throw new Error(`no route ${method} ${path}`)
  return route
}

async function made(path: string, body: DocumentFields): Promise<string> {
  const created = await call('POST', path, body)
  if (created.status !== 201) throw new Error(`creating ${path} answered ${created.status}: ${created.text}`)
  return created.body.id as string
}

let names = 0
const freshName = () => `sample-${++names}`
const isNamed = (kind: ConfigKind) => Object.hasOwn(kind.createSchema.shape, 'name')
const scopeOf = (kind: ConfigKind) =>
  kind.inOrganization === true ? `organization_id=${context.organization}` : `project_id=${context.project}`

interface CreatedDocument {
  readonly id: string
  readonly name: string
  readonly created: TestResponse
  readonly path: string
}

/** One document of the kind, deleted after the test. */
async function withOne(kind: ConfigKind, sample: Sample, use: (one: CreatedDocument) => Promise<void>): Promise<void> {
  const name = freshName()
  const body = { ...(isNamed(kind) && { name }), ...sample.body(context) }
  const created = await call('POST', kind.path, body)
  expect([created.status, created.text]).toEqual([201, expect.any(String)])
  const id = created.body.id as string
  try {
    if (kind.path === 'projects') await service.provisioned(id)
    await use({ id, name, created, path: `${kind.path}/${id}` })
  } finally {
    await service.configure('DELETE', `${kind.path}/${id}`)
  }
}

/** Undefined members are removed before serialisation. */
function patched(kind: ConfigKind, sample: Sample, patch: DocumentFields): DocumentFields {
  return { ...(isNamed(kind) && { name: freshName() }), ...sample.body(context), ...patch }
}

test('every kind has a sample', () => {
  expect(Object.keys(samples).sort()).toEqual(kinds.map(({ path }) => path).sort())
})

test('organizations: the current one can be read, and no other operation exists', async () => {
  const read = await call('GET', 'organizations/current')
  expect([read.status, read.headers.get('etag')]).toEqual([200, null])
  expect(read.body).toMatchObject({ id: context.organization, name: 'organization', display_name: 'organization' })
  expect((await service.configure('PUT', 'organizations/current', {})).status).toBe(405)
  expect((await service.configure('GET', 'organizations')).status).toBe(404)
})

describe.each(kinds.filter(({ path }) => path in samples).map((kind) => [kind.path, kind] as const))(
  '%s',
  (_, kind) => {
    const sample = samples[kind.path] as Sample
    const { operations } = kind
    const always = () => sample.always?.(context) ?? {}

    test('create: 201, authorship and ETag', async () => {
      await withOne(kind, sample, async ({ id, created }) => {
        expect(isGid(id)).toBe(true)
        if (kind.createResponse === undefined) {
          expect(Object.keys(created.body)).toEqual(['id', 'create_time', 'created_by', 'update_time', 'updated_by'])
        }
        expect(created.body.created_by).toBe(service.app.serviceAccountId)
        expect(created.headers.get('etag')).toMatch(/^"[\w-]+"$/)
      })
    })

    test('read by id: as it was sent, without secrets', async () => {
      await withOne(kind, sample, async ({ id, name, path, created }) => {
        const read = await call('GET', path)
        expect(read.status).toBe(200)
        expect(read.headers.get('etag')).toBe(created.headers.get('etag'))
        expect(read.body).toMatchObject({
          id,
          ...sample.reads(context),
          ...(isNamed(kind) && { name, display_name: name }),
        })
        for (const secret of sample.secrets ?? []) expect(read.text).not.toContain(secret)
      })
    })

    test('read of a missing document: 404', async () => {
      const nobody = `gid:${'0'.repeat(26)}`
      expect((await call('GET', `${kind.path}/${nobody}`)).body).toEqual({ message: `no ${kind.label} \`${nobody}\`` })
      const byName = await call('GET', `${kind.path}/nobody-here?${scopeOf(kind)}`)
      expect(byName.status).toBe(404)
    })

    test('list: of its scope, with search and full_fetch', async () => {
      await withOne(kind, sample, async ({ id, name, path }) => {
        const listed = async (query: string) => {
          const answered = await call('GET', `${kind.path}?${scopeOf(kind)}${query}`)
          expect(answered.status).toBe(200)
          for (const secret of sample.secrets ?? []) expect(answered.text).not.toContain(secret)
          return (answered.body.data as DocumentFields[]).find((one) => one.id === id)
        }
        const { body } = await call('GET', path)
        const empty = Object.fromEntries((sample.heavy ?? []).map((member) => [member, '']))
        expect(await listed('')).toEqual({ ...body, ...empty })
        expect(await listed('&full_fetch=true')).toEqual(body)
        expect(await listed('&full_fetch=false')).toEqual({ ...body, ...empty })
        expect(await listed('&search=no-such-words')).toBeUndefined()
        if (isNamed(kind)) expect(await listed(`&search=${name.toUpperCase()}`)).toBeDefined()
        for (const [query, found] of sample.filters ?? []) expect((await listed(`&${query}`)) !== undefined).toBe(found)
      })
    })

    test('list: refuses unknown parameters', async () => {
      const refused = async (query: string) => (await call('GET', `${kind.path}?${scopeOf(kind)}${query}`)).body.errors
      expect(await refused('&page=2')).toEqual(['query: unknown parameter `page`'])
      expect(await refused('&full_fetch=yes')).toEqual([expect.stringContaining('full_fetch: expected')])
      expect(await refused('&search=a&search=b')).toEqual(['search: given more than once'])
    })

    if (kind.trial === undefined)
      test('create and update: refuse `dry_run`, which would be no dry run, and store nothing', async () => {
        const refused = { message: 'Unprocessable Entity', errors: ['query: unknown parameter `dry_run`'] }
        const list = async (): Promise<readonly unknown[]> => {
          const { body } = await call('GET', `${kind.path}?${scopeOf(kind)}`)
          return (body as { data?: readonly unknown[] }).data ?? []
        }
        const before = await list()
        const body = { ...(isNamed(kind) && { name: freshName() }), ...sample.body(context) }
        const created = await call('POST', `${kind.path}?dry_run=true`, body)
        expect([created.status, created.body]).toEqual([422, refused])
        expect(await list()).toEqual(before)
        if (!operations.update) return
        await withOne(kind, sample, async ({ path, created: made }) => {
          const change = { ...always(), ...sample.change?.body, display_name: 'changed' }
          const updated = await call('PUT', `${path}?dry_run=true`, change)
          expect([updated.status, updated.body]).toEqual([422, refused])
          expect((await call('GET', path)).headers.get('etag')).toBe(made.headers.get('etag'))
        })
      })

    test('create: refuses each wrong member with its path', async () => {
      for (const [patch, issues] of sample.refused) {
        const refused = await call('POST', kind.path, patched(kind, sample, patch))
        expect([refused.status, refused.body]).toEqual([422, { message: 'Unprocessable Entity', errors: issues }])
      }
      const stranger = await call('POST', kind.path, patched(kind, sample, { colour: 'red' }))
      expect([stranger.status, stranger.body.errors]).toEqual([422, ['body: unknown member `colour`']])
      const short = await call('POST', kind.path, patched(kind, sample, { display_name: 'x' }))
      expect([short.status, short.body.errors]).toEqual([422, ['display_name: expected at least 2 characters']])
      const long = await call('POST', kind.path, patched(kind, sample, { display_name: 'x'.repeat(255) }))
      expect([long.status, long.body.errors]).toEqual([422, ['display_name: expected at most 254 characters']])
      expect((await call('POST', kind.path, [])).body.errors).toEqual(['body: expected object, found array'])
      const listed = await call('GET', `${kind.path}?${scopeOf(kind)}&search=sample-`)
      expect(listed.body.data).toEqual([])
    })

    test('a viewer can read, but change nothing: 403', async () => {
      await withOne(kind, sample, async ({ path }) => {
        const viewer = { authorization: `Bearer ${viewerToken}` }
        expect((await call('GET', path, undefined, viewer)).status).toBe(200)
        expect((await call('GET', `${kind.path}?${scopeOf(kind)}`, undefined, viewer)).status).toBe(200)
        expect((await call('POST', kind.path, {}, viewer)).status).toBe(403)
        expect((await call('DELETE', path, undefined, viewer)).status).toBe(403)
        if (operations.update) expect((await call('PUT', path, {}, viewer)).status).toBe(403)
        expect((await service.send(`/configs/v1/${path}`)).status).toBe(401)
      })
    })

    test('delete: refuses a stale ETag; afterwards the document is gone for every call', async () => {
      await withOne(kind, sample, async ({ id, path, created }) => {
        const etag = created.headers.get('etag')
        if (etag !== null) {
          expect((await call('DELETE', `${path}?etag=stale`)).status).toBe(412)
          expect((await call('DELETE', path, undefined, { 'if-match': '"stale"' })).status).toBe(412)
          expect((await call('GET', path)).status).toBe(200)
        }
        const gone = await call('DELETE', etag === null ? path : `${path}?etag=${encodeURIComponent(etag)}`)
        const silent = ['mcp-servers', 'audit-signings'].includes(kind.path)
        expect([gone.status, gone.text]).toEqual(silent ? [204, ''] : [200, JSON.stringify({ id })])
        expect(gone.headers.get('content-type')).toBe(silent ? null : 'application/json')
        expect((await call('GET', path)).status).toBe(404)
        expect((await call('DELETE', path)).status).toBe(404)
        if (operations.update) expect((await call('PUT', path, { ...always() })).status).toBe(404)
        const listed = (await call('GET', `${kind.path}?${scopeOf(kind)}`)).body.data as DocumentFields[]
        expect(listed.some((one) => one.id === id)).toBe(false)
        // Its name is available again.
        await withOne(kind, sample, async () => undefined)
      })
    })

    if (!operations.update)
      test('update: 405', async () => {
        await withOne(kind, sample, async ({ path }) => {
          const refused = await service.configure('PUT', path, {})
          expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD, OPTIONS'])
        })
      })

    if (!operations.byName)
      test('read by name: 404', async () => {
        await withOne(kind, sample, async ({ path }) => {
          const { body } = await call('GET', path)
          expect((await call('GET', `${kind.path}/${body.display_name || 'unnamed'}?${scopeOf(kind)}`)).status).toBe(
            404,
          )
        })
      })

    if (operations.byName)
      test('read by name: with project_id or location', async () => {
        await withOne(kind, sample, async ({ name, path }) => {
          const read = await call('GET', path)
          const scope = scopeOf(kind).split('=')[1]
          for (const query of [scopeOf(kind), `location=${scope}`]) {
            const byName = await call('GET', `${kind.path}/${name}?${query}`)
            expect([byName.status, byName.body]).toEqual([200, read.body])
            expect(byName.headers.get('etag')).toBe(read.headers.get('etag'))
          }
        })
      })

    if (isNamed(kind))
      test('create: refuses a name that is used, and an invalid one', async () => {
        await withOne(kind, sample, async ({ name }) => {
          const twin = await call('POST', kind.path, { ...sample.body(context), name })
          expect([twin.status, twin.body]).toEqual([409, { message: expect.stringContaining(`\`${name}\``) }])
          for (const bad of ['Upper', '1st', 'a_b', 'end-', 'x'.repeat(64)]) {
            const refused = await call('POST', kind.path, { ...sample.body(context), name: bad })
            expect([refused.status, refused.body.errors]).toEqual([422, [expect.stringMatching(/^name: expected /)]])
          }
        })
      })

    if (kind.onePerProject === true)
      test('create: refuses a second one in the project', async () => {
        await withOne(kind, sample, async ({ name }) => {
          const second = await call('POST', kind.path, { ...sample.body(context), name: freshName() })
          const message = expect.stringMatching(
            new RegExp(`^the project has an? ${kind.label} already, named \`${name}\`$`),
          )
          expect([second.status, second.body]).toEqual([409, { message }])
        })
      })

    if (operations.update)
      describe('update', () => {
        test('keeps null and absent fields, and removes empty ones', async () => {
          await withOne(kind, sample, async ({ path, name }) => {
            const texts = { display_name: 'A name to show', description: 'What it is for' }
            const updated = await call('PUT', path, { ...always(), ...texts })
            expect([updated.status, Object.keys(updated.body)]).toEqual([
              200,
              ['id', 'create_time', 'created_by', 'update_time', 'updated_by'],
            ])
            await call('PUT', path, { ...always(), display_name: null })
            expect((await call('GET', path)).body).toMatchObject({ ...sample.reads(context), ...texts })
            await call('PUT', path, { ...always(), display_name: '', description: '' })
            expect((await call('GET', path)).body).toMatchObject({ display_name: name, description: '' })
          })
        })

        if (sample.change !== undefined)
          test('changes the given fields, and keeps absent secrets', async () => {
            const { body, reads } = sample.change as NonNullable<Sample['change']>
            await withOne(kind, sample, async ({ path, created }) => {
              const updated = await call('PUT', path, { ...always(), ...body })
              expect([updated.status, updated.body.errors]).toEqual([200, undefined])
              expect(updated.headers.get('etag')).not.toBe(created.headers.get('etag'))
              const read = await call('GET', path)
              expect(read.body).toMatchObject(reads)
              expect(read.headers.get('etag')).toBe(updated.headers.get('etag'))
              for (const secret of sample.secrets ?? []) expect(read.text).not.toContain(secret)
            })
          })

        test('with a stale ETag: 412, and nothing changes', async () => {
          await withOne(kind, sample, async ({ path, created }) => {
            const first = created.headers.get('etag') as string
            const change = (description: string, etag: string) =>
              call('PUT', path, { ...always(), description }, { 'if-match': etag })
            const second = (await change('the first change', first)).headers.get('etag') as string
            const stale = await change('the second change', first)
            expect([stale.status, stale.body]).toEqual([412, { message: 'Precondition Failed' }])
            expect((await call('GET', path)).body.description).toBe('the first change')
            expect((await change('the third change', second)).status).toBe(200)
          })
        })

        test('without a change keeps ETag and times', async () => {
          await withOne(kind, sample, async ({ path }) => {
            const before = await call('GET', path)
            const members = Object.keys(kind.updateSchema?.shape ?? {})
            const same = Object.entries(sample.body(context)).filter(([member]) => members.includes(member))
            const again = await call('PUT', path, Object.fromEntries(same))
            expect([again.status, again.headers.get('etag')]).toEqual([200, before.headers.get('etag')])
            expect((await call('GET', path)).body).toEqual(before.body)
          })
        })

        test('refuses other values of immutable fields, and unknown fields', async () => {
          await withOne(kind, sample, async ({ path }) => {
            const members = Object.keys(kind.updateSchema?.shape ?? {})
            const fixed = Object.keys(kind.createSchema.shape).filter((member) => !members.includes(member))
            expect(fixed).toContain('name')
            for (const member of fixed) {
              const refused = await call('PUT', path, { ...always(), [member]: 'other' })
              expect([refused.status, refused.body.errors]).toEqual([
                422,
                [`${member}: cannot be changed after creation`],
              ])
            }
            const stranger = await call('PUT', path, { ...always(), colour: 'red' })
            expect([stranger.status, stranger.body.errors]).toEqual([422, ['body: unknown member `colour`']])
          })
        })

        test('keeps the older revision readable', async () => {
          await withOne(kind, sample, async ({ path }) => {
            const first = await call('GET', path)
            const second = await call('PUT', path, { ...always(), description: 'The second revision' })
            expect([first, second].map(({ headers }) => headers.get('x-revision'))).toEqual(['1', '2'])
            const past = await call('GET', `${path}?version=1`)
            expect([past.status, past.headers.get('etag')]).toEqual([200, first.headers.get('etag')])
            expect(past.headers.get('x-revision')).toBe('1')
            expect(past.body).toEqual(first.body)
            for (const secret of sample.secrets ?? []) expect(past.text).not.toContain(secret)
            expect((await call('GET', `${path}?version=2`)).body.description).toBe('The second revision')
            expect((await call('GET', `${path}?version=3`)).status).toBe(404)
            expect((await call('GET', `${path}?version=first`)).status).toBe(422)
          })
        })
      })
  },
)
