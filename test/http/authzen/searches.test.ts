// The conformance checklist of AuthZEN 1.0, points 43 to 81: searches, paging, metadata, and our extensions.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'
import {
  alice,
  bob,
  capture,
  decisionsOf,
  idsOf,
  node,
  Q,
  read,
  record,
  relationship,
  startCertification,
  write,
} from './checklist-fixture.ts'

let service: TestService
beforeAll(async () => {
  service = await startCertification({ pageTokenTimeS: 3600 })
})
afterAll(() => service?.stop())

type SearchKind = 'subject' | 'resource' | 'action'
const search = (kind: SearchKind, body: unknown, on = service) => on.ask(`/access/v1/search/${kind}`, body)
const user = { type: 'user' }
const records = { type: 'record' }
const record1 = record('record-1')

describe('AZ search', () => {
  it('AZ-43 AZ-44 AZ-45 finds subjects, with any id or context', async () => {
    const found = await search('subject', { ...Q, subject: user })
    expect(idsOf(found)).toEqual(['alice', 'bob'])
    expect(found.text).toMatch(/^\{"results":\[\{"type":"user","id":"/)
    expect((await search('subject', { ...Q, subject: bob })).text).toBe(found.text)
    expect((await search('subject', { ...Q, subject: user, context: { a: 1 } })).text).toBe(found.text)
  })

  it('AZ-46 AZ-51 AZ-56 refuses a request without a required member', async () => {
    const refused: [SearchKind, unknown][] = [
      ['subject', { ...Q, subject: {} }],
      ['subject', { ...Q, subject: undefined }],
      ['subject', { ...Q, action: undefined }],
      ['subject', { ...Q, action: {} }],
      ['subject', { ...Q, action: 'read' }],
      ['subject', { ...Q, resource: undefined }],
      ['subject', { ...Q, resource: { id: 'record-1' } }],
      ['subject', { ...Q, resource: records }],
      ['resource', { ...Q, subject: undefined }],
      ['resource', { ...Q, subject: user }],
      ['resource', { ...Q, resource: undefined }],
      ['resource', { ...Q, resource: {} }],
      ['resource', { ...Q, action: undefined }],
      ['resource', { ...Q, action: {} }],
      ['action', { resource: record1 }],
      ['action', { subject: alice }],
      ['action', { subject: user, resource: record1 }],
      ['action', { subject: { id: 'alice' }, resource: record1 }],
      ['action', { subject: alice, resource: records }],
      ['action', { subject: alice, resource: { id: 'record-1' } }],
      ['action', { subject: 'alice', resource: record1 }],
    ]
    for (const [kind, body] of refused)
      expect([kind, body, (await search(kind, body)).status]).toEqual([kind, body, 400])
  })

  it('AZ-47 AZ-52 AZ-57 finds nothing for unknown entities', async () => {
    const unnamed = 'no_policy: no policy names this action for these types of subject and resource'
    const noTypes = 'no_policy: no policy is for these types of subject and resource'
    for (const [kind, body, reason] of [
      ['subject', { ...Q, subject: { type: 'robot' } }, unnamed],
      ['subject', { ...Q, subject: user, resource: record('nothing') }, null],
      ['subject', { ...Q, subject: user, action: { name: 'fly' } }, unnamed],
      ['resource', { ...Q, subject: { type: 'user', id: 'nobody' }, resource: records }, null],
      ['resource', { ...Q, resource: { type: 'thing' } }, unnamed],
      ['action', { subject: { type: 'user', id: 'nobody' }, resource: record1 }, null],
      ['action', { subject: { type: 'robot', id: 'alice' }, resource: record1 }, noTypes],
      ['action', { subject: alice, resource: { type: 'thing', id: 'x' } }, noTypes],
    ] as [SearchKind, unknown, string | null][]) {
      // One policy has a parameter; without it the result might be incomplete.
      const { status, text } = await search(kind, { ...(body as object), context: { input_params: { max: 10 } } })
      const answer = reason === null ? { results: [] } : { context: { reason }, results: [] }
      expect([status, JSON.parse(text)]).toEqual([200, answer])
    }
  })

  it('AZ-49 AZ-50 AZ-53 uses the properties of the request, and ignores an id', async () => {
    const archived = { ...record('record-2'), properties: { status: 'archived' } }
    expect(idsOf(await search('subject', { subject: user, action: write, resource: archived }))).toEqual(['bob'])
    const readable = await search('resource', { ...Q, resource: records })
    expect(idsOf(readable)).toEqual(['record-1', 'record-2'])
    expect((await search('resource', { ...Q, resource: record1 })).text).toBe(readable.text)
    const admin = { ...bob, properties: { role: 'admin' } }
    expect(idsOf(await search('resource', { subject: admin, action: write, resource: records }))).toContain('record-2')
  })

  it('AZ-54 AZ-55 AZ-58 AZ-59 finds actions, each once, and only those that need no action properties', async () => {
    const found = await search('action', { subject: alice, resource: record1 })
    expect(found.body).toEqual({ results: [{ name: 'read' }, { name: 'write' }] })
    const stray = await search('action', { subject: alice, resource: record1, action: { name: 'delete' } })
    expect(stray.text).toBe(found.text)
    const admin = { ...bob, properties: { role: 'admin' } }
    const archived = { ...record('record-2'), properties: { status: 'archived' } }
    expect(idsOf(await search('action', { subject: admin, resource: archived }))).toContain('write')
  })

  it('AZ-48 AZ-60 AZ-61 AZ-62 agrees with evaluations, itself and batches for every pair, over several hops', async () => {
    const own = await startService({}, { sync: false, log: () => {} })
    try {
      const people = ['ann', 'bob', 'cyd', 'dan']
      const docs = ['d1', 'd2', 'd3', 'd4', 'd5']
      await capture(
        own,
        [
          ...people.map((id) => node('user', id)),
          ...docs.map((id) => node('record', id)),
          ...['staff', 'boss'].map((id) => node('group', id)),
        ],
        [
          relationship(['user', 'ann'], 'IN', ['group', 'boss']),
          relationship(['user', 'bob'], 'IN', ['group', 'staff']),
          relationship(['group', 'boss'], 'IN', ['group', 'staff']),
          relationship(['group', 'staff'], 'VIEWS', ['record', 'd1']),
          relationship(['group', 'boss'], 'VIEWS', ['record', 'd2']),
          relationship(['user', 'cyd'], 'OWNS', ['record', 'd3']),
          relationship(['user', 'bob'], 'OWNS', ['record', 'd1']),
        ],
      )
      const base = { subject: 'user', resource: 'record' }
      const member = 'MATCH (subject)-[:IN*1..]->(:group)-[:VIEWS]->(resource)'
      const owner = 'MATCH (subject)-[:OWNS]->(resource)'
      await own.addPolicy({ ...base, name: 'view', actions: ['view'], cypher: member })
      await own.addPolicy({ ...base, name: 'own', actions: ['view', 'edit', 'delete'], cypher: owner })
      const triples = new Set<string>()
      const bySubject = new Set<string>()
      const byResource = new Set<string>()
      const byAction = new Set<string>()
      const batched = new Set<string>()
      for (const action of ['view', 'edit', 'delete']) {
        for (const person of people) {
          const subject = { type: 'user', id: person }
          const found = await search('resource', { subject, action: { name: action }, resource: records }, own)
          for (const id of idsOf(found)) byResource.add(`${person} ${action} ${id}`)
          const batch = await own.ask('/access/v1/evaluations', {
            subject,
            action: { name: action },
            evaluations: docs.map((id) => ({ resource: record(id) })),
          })
          ;(decisionsOf(batch) as boolean[]).forEach((granted, i) => {
            if (granted) batched.add(`${person} ${action} ${docs[i]}`)
          })
          for (const doc of docs) {
            const body = { subject, action: { name: action }, resource: record(doc) }
            const { body: answer } = await own.ask('/access/v1/evaluation', body)
            if (answer.decision === true) triples.add(`${person} ${action} ${doc}`)
          }
        }
        for (const doc of docs) {
          const found = await search('subject', { subject: user, action: { name: action }, resource: record(doc) }, own)
          for (const id of idsOf(found)) bySubject.add(`${id} ${action} ${doc}`)
        }
      }
      for (const person of people) {
        for (const doc of docs) {
          const found = await search('action', { subject: { type: 'user', id: person }, resource: record(doc) }, own)
          for (const name of idsOf(found)) byAction.add(`${person} ${name} ${doc}`)
        }
      }
      expect(triples).toContain('ann view d1')
      expect(triples.size).toBe(8)
      for (const others of [bySubject, byResource, byAction, batched])
        expect([...others].sort()).toEqual([...triples].sort())
    } finally {
      await own.stop()
    }
  })
})

interface PageBody {
  readonly page: { readonly next_token: string; readonly count: number; readonly total: number }
  readonly results: readonly unknown[]
}

describe('AZ paging', () => {
  let paged: TestService
  const ids = Array.from({ length: 7 }, (_, i) => `r${i}`)
  const subject = { type: 'user', id: 'ann' }
  const bodies: Record<SearchKind, object> = {
    subject: { subject: user, action: { name: 'a1' }, resource: record('r0') },
    resource: { subject, action: { name: 'a1' }, resource: records },
    action: { subject, resource: record('r0') },
  }
  beforeAll(async () => {
    paged = await startService({ searchPageMax: 5, pageTokenTimeS: 3600 }, { sync: false, log: () => {} })
    await capture(
      paged,
      [node('user', 'ann'), ...ids.slice(1).map((id) => node('user', id)), ...ids.map((id) => node('record', id))],
      [],
    )
    const cypher = 'MATCH (subject:user), (resource:record)'
    const policy = (name: string, actions: string[]) =>
      paged.addPolicy({ name, subject: 'user', resource: 'record', actions, cypher })
    await policy('first', ['a1', 'a2', 'a3', 'a4'])
    await policy('second', ['a5', 'a6', 'a7'])
  })
  afterAll(() => paged?.stop())

  const ask = async (kind: SearchKind, page: unknown, more: object = {}) =>
    search(kind, { ...bodies[kind], ...more, ...(page === undefined ? {} : { page }) }, paged)

  it.each(['subject', 'resource', 'action'] as const)(
    'AZ-63 AZ-64 AZ-66 AZ-70 returns a set of %s in pages of one that together are the whole set',
    async (kind) => {
      const found: unknown[] = []
      let token: string | undefined
      for (let pages = 1; ; pages++) {
        // The limit of the first page applies to all.
        const { status, text, body } = await ask(kind, token === undefined ? { limit: 1 } : { token })
        const { page, results } = body as unknown as PageBody
        expect([status, results.length, page.count, page.total]).toEqual([200, 1, 1, 7])
        expect(text).toMatch(/^\{"page":/)
        found.push(...results)
        if (page.next_token === '') {
          expect(pages).toBe(7)
          break
        }
        token = page.next_token
      }
      expect(new Set(found.map((one) => JSON.stringify(one))).size).toBe(7)
    },
  )

  it('AZ-65 returns everything that fits in one page, and announces more otherwise', async () => {
    const few = await search('resource', { ...Q, resource: records, page: { limit: 10 } })
    expect(few.body).toMatchObject({ page: { next_token: '', count: 2, total: 2 } })
    expect((await search('resource', { ...Q, resource: records })).body.page).toBeUndefined()
    const more = (await ask('resource', undefined)).body as unknown as PageBody
    expect([more.page.count, more.page.total, more.page.next_token === '']).toEqual([5, 7, false])
    const rest = (await ask('resource', { token: more.page.next_token })).body as unknown as PageBody
    expect([rest.page.count, rest.page.next_token]).toEqual([2, ''])
    const wide = (await ask('resource', { limit: 100 })).body as unknown as PageBody
    expect(wide.page.count).toBe(5)
  })

  it('AZ-66 AZ-67 refuses a token for another query, another caller, another kind, or changed by a byte', async () => {
    const { body } = await ask('resource', { limit: 2 })
    const token = (body as unknown as PageBody).page.next_token
    const no = { page: { token } }
    expect((await ask('resource', { token, limit: 2 })).status).toBe(200)
    const unknown = { subject: { ...subject, more: 1 }, action: { name: 'a1', more: 1 }, more: 1 }
    const noisy = { ...unknown, page: { token, more: 1 } }
    expect((await ask('resource', undefined, noisy)).status).toBe(200)
    const refused = [
      await ask('resource', undefined, { ...no, subject: { ...subject, properties: { a: 1 } } }),
      await ask('resource', { token, limit: 3 }),
      await ask('resource', undefined, { ...no, action: { name: 'a2' } }),
      await ask('resource', undefined, { ...no, subject: { type: 'user', id: 'r1' } }),
      await ask('resource', undefined, { ...no, context: { input_params: { a: 1 } } }),
      await ask('subject', { token }),
      await ask('action', { token }),
      await ask('resource', { token: 'invented' }),
      await ask('resource', { token: '' }),
      await search('resource', { ...Q, resource: records, page: { token } }),
    ]
    for (let i = 0; i < token.length; i++) {
      const other = token[i] === 'A' ? 'B' : 'A'
      refused.push(await ask('resource', { token: token.slice(0, i) + other + token.slice(i + 1) }))
    }
    expect(refused.map(({ status }) => status).filter((status) => status !== 400)).toEqual([])
    const { key } = await paged.addAgent('another', ['Authorization'])
    const foreign = await paged.send('/access/v1/search/resource', {
      headers: { 'x-svc-clientkey': key },
      body: { ...bodies.resource, page: { token } },
    })
    expect([foreign.status, foreign.body.errors]).toEqual([
      400,
      ['page.token: not a token for this request, or expired'],
    ])
  })

  it('AZ-66 accepts the members of the query in any order', async () => {
    const { body } = await ask('resource', { limit: 2 }, { context: { input_params: { a: 1, b: 2 } } })
    const token = (body as unknown as PageBody).page.next_token
    const again = await ask('resource', { token }, { context: { input_params: { b: 2, a: 1 } } })
    expect(again.status).toBe(200)
  })

  it('AZ-68 refuses invalid limits; 0 returns only the counts', async () => {
    for (const page of [
      { limit: -1 },
      { limit: 1.5 },
      { limit: '2' },
      { limit: null },
      'x',
      [],
      null,
      { token: 1 },
      { properties: 1 },
    ]) {
      expect([page, (await ask('resource', page)).status]).toEqual([page, 400])
    }
    expect((await ask('resource', { limit: -1 })).body).toMatchObject({
      errors: ['page.limit: expected an integer of 0 or more, found `-1`'],
    })
    const { body } = await ask('resource', { limit: 0 })
    const counted = body as unknown as PageBody
    expect([counted.results, counted.page.count, counted.page.total]).toEqual([[], 0, 7])
    const first = (await ask('resource', { token: counted.page.next_token })).body as unknown as PageBody
    expect(first.page.count).toBe(5)
    // Repeating the limit does not change the request (AuthZEN 8.2): it applies again.
    const again = (await ask('resource', { token: counted.page.next_token, limit: 0 })).body as unknown as PageBody
    expect([again.results, again.page.count, again.page.total]).toEqual([[], 0, 7])
    expect((await ask('resource', { token: again.page.next_token })).body).toMatchObject({ page: { count: 5 } })
    expect((await ask('resource', { token: counted.page.next_token, limit: 1 })).status).toBe(400)
    expect((await ask('resource', { token: first.page.next_token, limit: 0 })).status).toBe(400)
  })

  it('AZ-69 continues over changing data without duplicates', async () => {
    const { body } = await ask('resource', { limit: 3 })
    const { page, results } = body as unknown as PageBody
    await capture(paged, [node('record', 'r00'), node('record', 'r55')], [])
    const rest = (await ask('resource', { token: page.next_token })).body as unknown as PageBody
    const first = new Set((results as { id: string }[]).map(({ id }) => id))
    expect((rest.results as { id: string }[]).some(({ id }) => first.has(id))).toBe(false)
  })
})

describe('AZ metadata', () => {
  it('AZ-71 AZ-72 AZ-74 AZ-75 names the decision point and its endpoints, without credentials', async () => {
    const own = await startService({ publicUrl: 'https://pdp.example.org' }, { sync: false, log: () => {} })
    try {
      const { status, headers, body } = await own.send('/.well-known/authzen-configuration')
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(headers.get('cache-control')).toBe('public, max-age=3600')
      expect(body).toEqual({
        policy_decision_point: 'https://pdp.example.org',
        access_evaluation_endpoint: 'https://pdp.example.org/access/v1/evaluation',
        access_evaluations_endpoint: 'https://pdp.example.org/access/v1/evaluations',
        search_subject_endpoint: 'https://pdp.example.org/access/v1/search/subject',
        search_resource_endpoint: 'https://pdp.example.org/access/v1/search/resource',
        search_action_endpoint: 'https://pdp.example.org/access/v1/search/action',
      })
      for (const [name, url] of Object.entries(body)) {
        if (name === 'policy_decision_point') continue
        // The endpoint exists: it requires credentials.
        const reached = await own.send(new URL(String(url)).pathname, { body: {} })
        expect(reached.status).toBe(401)
      }
      expect((await own.send('/.well-known/authzen-configuration', { body: {} })).status).toBe(405)
    } finally {
      await own.stop()
    }
  })

  it('AZ-73 is between the host and the path of the decision point', async () => {
    const own = await startService({ publicUrl: 'https://example.org/tenants/one' }, { sync: false, log: () => {} })
    try {
      const { status, body } = await own.send('/.well-known/authzen-configuration/tenants/one')
      expect([status, body.policy_decision_point]).toEqual([200, 'https://example.org/tenants/one'])
      expect(body.access_evaluation_endpoint).toBe('https://example.org/tenants/one/access/v1/evaluation')
    } finally {
      await own.stop()
    }
  })

  it('AZ-72 names the host of the request if no other is configured, and no other text', async () => {
    const { body } = await service.send('/.well-known/authzen-configuration')
    expect(body.policy_decision_point).toBe(service.url)
    const { hostname, port } = new URL(service.url)
    for (const host of ['evil.example/x?', 'a b', 'x@y', '<script>']) {
      const raw = await fetchRaw(hostname, Number(port), host)
      expect(raw).toMatch(/^HTTP\/1\.1 400/)
    }
  })
})

/** With a Host header that no client library would send. */
async function fetchRaw(hostname: string, port: number, host: string): Promise<string> {
  let text = ''
  const done = Promise.withResolvers<void>()
  const socket = await Bun.connect({
    hostname,
    port,
    socket: {
      data: (_, bytes) => {
        text += bytes.toString()
      },
      close: () => done.resolve(),
      error: () => done.resolve(),
    },
  })
  socket.write(`GET /.well-known/authzen-configuration HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  await done.promise
  return text
}

describe('AZ extensions', () => {
  it('AZ-76 uses input parameters, equally in every endpoint', async () => {
    const weigh = { ...Q, action: { name: 'weigh' } }
    for (const [max, granted] of [
      [10, true],
      [9, false],
    ] as const) {
      const context = { input_params: { max } }
      expect((await service.ask('/access/v1/evaluation', { ...weigh, context })).body).toEqual({ decision: granted })
      const batch = await service.ask('/access/v1/evaluations', { ...weigh, evaluations: [{ context }] })
      expect(decisionsOf(batch)).toEqual([granted])
      const found = [
        idsOf(await search('subject', { ...weigh, subject: user, context })).includes('alice'),
        idsOf(await search('resource', { ...weigh, resource: records, context })).includes('record-1'),
        idsOf(await search('action', { subject: alice, resource: record1, context })).includes('weigh'),
      ]
      expect(found).toEqual([granted, granted, granted])
    }
    // If nothing is found and a parameter was missing, the response is an error.
    expect((await search('resource', { ...weigh, resource: records })).status).toBe(422)
  })

  it('AZ-78 stops granting when the policy is deactivated', async () => {
    const base = { name: 'short-lived', subject: 'user', resource: 'record', actions: ['blink'] }
    const id = await service.addPolicy({ ...base, cypher: 'MATCH (subject), (resource)' })
    const blink = { ...Q, action: { name: 'blink' } }
    const decision = async () => (await service.ask('/access/v1/evaluation', blink)).body.decision
    expect(await decision()).toBe(true)
    const { body: stored } = await service.configure('GET', `authorization-policies/${id}`)
    const policy = stored.policy as string
    await service.configure('PUT', `authorization-policies/${id}`, { policy, status: 'INACTIVE' })
    expect(await decision()).toBe(false)
    await service.configure('PUT', `authorization-policies/${id}`, { policy, status: 'ACTIVE' })
    expect(await decision()).toBe(true)
    await service.configure('DELETE', `authorization-policies/${id}`)
    expect(await decision()).toBe(false)
  })

  it('AZ-79 sees a change of the graph at once', async () => {
    const owns = relationship(['user', 'bob'], 'OWNS', ['record', 'record-1'])
    const asked = { subject: bob, action: write, resource: record1 }
    const decision = async () => (await service.ask('/access/v1/evaluation', asked)).body.decision
    expect(await decision()).toBe(false)
    await capture(service, [], [owns])
    expect(await decision()).toBe(true)
    await service.ask('/capture/v1/relationships/delete', { relationships: [owns] })
    expect(await decision()).toBe(false)
  })

  it('AZ-80 isolates projects', async () => {
    const create = async (kind: string, body: object) => {
      const made = await service.configure('POST', kind, body)
      expect(made.status).toBe(201)
      return made.body as Record<string, string>
    }
    const { app } = service
    const other = await create('projects', { organization_id: app.organizationId, name: 'other', region: 'local' })
    const application = await create('applications', { project_id: other.id, name: 'other' })
    const agent = await create('application-agents', {
      application_id: application.id,
      name: 'other',
      api_permissions: ['Authorization', 'Capture'],
    })
    const { api_key: key } = await create('application-agent-credentials', { application_agent_id: agent.id })
    for (;;) {
      if ((await service.configure('GET', `projects/${other.id}`)).body.ikg_status === 'ACTIVE') break
    }
    const ask = (path: string, body: unknown) =>
      service.send(path, { headers: { 'x-svc-clientkey': String(key) }, body })
    await ask('/capture/v1/nodes', { nodes: [node('user', 'alice'), node('record', 'record-1')] })
    expect((await ask('/access/v1/evaluation', Q)).body).toEqual({
      decision: false,
      context: { reason: expect.stringMatching(/^no_policy: /) },
    })
    const document = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'user' },
      actions: ['read'],
      resource: { type: 'record' },
      condition: { cypher: 'MATCH (subject)-[:OWNS]->(resource)' },
    }
    await create('authorization-policies', {
      project_id: other.id,
      name: 'read-own',
      status: 'ACTIVE',
      policy: JSON.stringify(document),
    })
    expect((await ask('/access/v1/evaluation', Q)).body).toEqual({ decision: false })
    expect((await service.ask('/access/v1/evaluation', Q)).body).toEqual({ decision: true })
  })

  it('AZ-81 never permits because of a policy that fails', async () => {
    await service.addPolicy({
      name: 'faulty',
      subject: 'user',
      resource: 'record',
      actions: ['fault'],
      cypher: 'MATCH (subject), (resource) WHERE NOT (1 / (size(resource.status) - 6) > 5)',
    })
    const asked = { ...Q, action: { name: 'fault' } }
    // A policy that fails at run time does not grant.
    expect((await service.ask('/access/v1/evaluation', asked)).body).toEqual({
      decision: false,
      context: { reason: expect.stringMatching(/^policy_failed \(arithmetic\): /) },
    })
    const batch = await service.ask('/access/v1/evaluations', {
      ...asked,
      evaluations: [{}, { resource: record('record-2') }, { action: read }],
    })
    expect(decisionsOf(batch)).toEqual([false, true, true])
  })
})

describe('the active policies', () => {
  it('are listed by subject type, as documents with their tags, with the permission to read them', async () => {
    const { key } = await service.addAgent('reader', ['ReadAuthZConfigs'])
    const list = (query: string, asking = key) =>
      service.send(`/access/v1/policies${query}`, { headers: { 'x-svc-clientkey': asking } })
    await service.addPolicy({
      name: 'tagged',
      subject: 'robot',
      actions: ['beep'],
      resource: 'record',
      cypher: 'MATCH (subject), (resource)',
      tags: ['x', 'y'],
    })
    expect((await list('?subject_type=robot')).body).toEqual({
      results: [
        {
          policy: {
            meta: { policy_version: '3.0-kbac' },
            subject: { type: 'robot' },
            actions: ['beep'],
            resource: { type: 'record' },
            condition: { cypher: 'MATCH (subject), (resource)' },
          },
          tags: ['x', 'y'],
        },
      ],
    })
    expect((await list('?subject_type=nobody')).body).toEqual({ results: [] })
    for (const wrong of [
      '',
      '?subject_type=1x',
      `?subject_type=${'x'.repeat(65)}`,
      '?subject_type=a--b',
      '?other=user',
    ]) {
      expect([wrong, (await list(wrong)).status]).toEqual([wrong, 422])
    }
    expect((await list('?subject_type=robot', service.key)).status).toBe(401)
  })
})
