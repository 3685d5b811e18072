// The conformance checklist of AuthZEN 1.0, points 1 to 42: transport, single evaluations, batches.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestResponse, TestService } from '../../support/service.ts'
import { alice, bob, calls, decisionsOf, Q, read, record, startCertification, write } from './checklist-fixture.ts'

let service: TestService
beforeAll(async () => {
  service = await startCertification({ evaluationsMax: 20 })
})
afterAll(() => service?.stop())

const evaluate = (body: unknown) => service.ask('/access/v1/evaluation', body)
const evaluateAll = (body: unknown) => service.ask('/access/v1/evaluations', body)
const yes = { decision: true }
const no = { decision: false }

function send(path: string, raw: string, headers: Record<string, string> = {}, method = 'POST'): Promise<TestResponse> {
  return service.send(path, {
    method,
    ...(method === 'GET' ? {} : { raw }),
    headers: { 'x-svc-clientkey': service.key, 'content-type': 'application/json', ...headers },
  })
}

describe.each(calls)('AZ transport of %s', (path, body) => {
  const raw = JSON.stringify(body)

  it('AZ-01 AZ-02 returns JSON with 200, with any charset parameter of utf-8', async () => {
    const plain = await send(path, raw)
    expect([plain.status, plain.headers.get('content-type')]).toEqual([200, 'application/json'])
    const charset = await send(path, raw, { 'content-type': 'application/json; charset=utf-8' })
    expect([charset.status, charset.text]).toEqual([200, plain.text])
  })

  it('AZ-03 refuses another media type, and a missing one', async () => {
    expect((await send(path, raw, { 'content-type': 'text/plain' })).status).toBe(400)
    expect((await send(path, raw, { 'content-type': '' })).status).toBe(400)
  })

  it('AZ-04 accepts no other method', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const refused = await send(path, raw, {}, method)
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
      expect(refused.body.decision).toBeUndefined()
    }
  })

  it('AZ-05 refuses a body that is empty, truncated or not an object', async () => {
    for (const bad of ['', raw.slice(0, -2), `[${raw}]`, '"text"', 'null']) {
      const refused = await send(path, bad)
      expect([bad, refused.status, refused.body.decision]).toEqual([bad, 400, undefined])
    }
  })

  it('AZ-06 AZ-07 AZ-08 returns the request identifier, also on errors, and does not require one', async () => {
    const identified = { 'x-request-id': 'abc' }
    const refusals = [
      await send(path, '{}', identified),
      await service.send(path, { raw, headers: identified }),
      await send(path, raw, { ...identified, 'x-svc-clientkey': 'wrong' }),
    ]
    expect(refusals.map(({ status }) => status)).toEqual([400, 401, 401])
    for (const answered of [await send(path, raw, identified), ...refusals]) {
      expect(answered.headers.get('x-request-id')).toBe('abc')
    }
    expect((await send(path, raw)).status).toBe(200)
  })

  it('AZ-09 refuses without credentials, with wrong ones and without the permission', async () => {
    const none = await service.send(path, { raw })
    expect([none.status, none.headers.has('www-authenticate')]).toEqual([401, true])
    const wrong = await send(path, raw, { 'x-svc-clientkey': 'wrong' })
    expect([wrong.status, wrong.headers.has('www-authenticate')]).toEqual([401, true])
    const { key } = await service.addAgent(`capturer-${path.split('/').at(-1)}`, ['Capture'])
    // 401; the standard has 403 (docs/decisions/0006-authzen-status-codes-and-batches.md).
    const lacking = await send(path, raw, { 'x-svc-clientkey': key })
    expect([lacking.status, lacking.body.message]).toEqual([401, 'insufficient API access level for appAgent'])
  })

  it('AZ-10 AZ-11 AZ-12 has the same response with unknown members, in another order, and again', async () => {
    const { text } = await send(path, raw)
    const given = body as Record<string, Record<string, unknown>>
    const noisy = Object.entries({ context: {}, options: {}, ...given }).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((item) => ({ ...item, more: 1 })) : { ...value, more: { a: [] } },
    ])
    expect((await send(path, JSON.stringify({ ...Object.fromEntries(noisy), more: true }))).text).toBe(text)
    const reversed = Object.fromEntries(Object.entries(body).reverse())
    expect((await send(path, JSON.stringify(reversed))).text).toBe(text)
    for (let i = 0; i < 2; i++) expect((await send(path, raw)).text).toBe(text)
  })
})

describe('AZ evaluation', () => {
  it('AZ-13 permits and denies with 200', async () => {
    expect((await evaluate(Q)).text).toBe('{"decision":true}')
    const denied = await evaluate({ subject: bob, action: write, resource: record('record-1') })
    expect([denied.status, denied.text]).toEqual([200, '{"decision":false}'])
  })

  it('AZ-14 AZ-15 ignores a context and properties that no policy reads', async () => {
    for (const context of [{}, { time: '2026-01-01', nested: { a: [1] } }]) {
      expect((await evaluate({ ...Q, context })).body).toEqual(yes)
    }
    const more = { properties: { colour: 'red', list: [1, null], map: { a: 1 } } }
    const body = { subject: { ...alice, ...more }, action: { ...read, ...more }, resource: { ...Q.resource, ...more } }
    expect((await evaluate(body)).body).toEqual(yes)
  })

  it('AZ-16 AZ-17 refuses a request without a required member', async () => {
    const without = (path: string) => {
      const copy = structuredClone(Q) as Record<string, Record<string, unknown>>
      const [entity, member] = path.split('.') as [string, string?]
      if (member === undefined) delete copy[entity]
      else delete copy[entity]?.[member]
      return evaluate(copy)
    }
    for (const path of [
      'subject',
      'action',
      'resource',
      'subject.type',
      'subject.id',
      'action.name',
      'resource.type',
      'resource.id',
    ]) {
      const { status, body } = await without(path)
      expect([path, status, body.errors]).toEqual([path, 400, [expect.stringContaining(`${path}: expected`)]])
    }
  })

  it('AZ-18 refuses members of a wrong type', async () => {
    for (const wrong of [
      { subject: 'alice' },
      { action: { name: 1 } },
      { subject: { type: 'user', id: 1 } },
      { resource: { type: 'record', id: 1 } },
      { context: [] },
      { subject: { ...alice, properties: 'x' } },
      { action: { ...read, properties: [] } },
    ]) {
      expect((await evaluate({ ...Q, ...wrong })).status).toBe(400)
    }
  })

  it('AZ-19 AZ-20 AZ-21 denies unknown entities, case-sensitively', async () => {
    for (const unknown of [
      { subject: { type: 'user', id: 'nobody' } },
      { resource: record('nothing') },
      { subject: { type: 'user', id: 'Alice' } },
      { resource: record('RECORD-1') },
    ]) {
      const { status, body } = await evaluate({ ...Q, ...unknown })
      expect([status, body]).toEqual([200, no])
    }
    for (const unnamed of [
      { subject: { type: 'robot', id: 'alice' } },
      { resource: { type: 'thing', id: 'record-1' } },
      { action: { name: 'fly' } },
    ]) {
      const { status, body } = await evaluate({ ...Q, ...unnamed })
      expect([status, body]).toEqual([200, { ...no, context: { reason: expect.stringMatching(/^no_policy: /) } }])
    }
  })

  it('AZ-22 AZ-24 lets a policy read the properties of the request, and prefer them', async () => {
    const archived = (id: string) => ({ ...record(id), properties: { status: 'archived' } })
    expect((await evaluate({ ...Q, action: write, resource: archived('record-2') })).body).toEqual(no)
    const admin = { ...bob, properties: { role: 'admin' } }
    expect((await evaluate({ subject: admin, action: write, resource: archived('record-2') })).body).toEqual(yes)
    expect((await evaluate({ ...Q, action: write })).body).toEqual(yes)
    expect((await evaluate({ ...Q, action: write, resource: archived('record-1') })).body).toEqual(no)
  })

  it('AZ-23 lets a policy read the properties of the action, in any order of requests', async () => {
    const soft = (value: boolean) => ({ ...Q, action: { name: 'delete', properties: { soft: value } } })
    for (const order of [
      [true, false],
      [false, true],
    ]) {
      for (const value of order) expect((await evaluate(soft(value))).body).toEqual({ decision: value })
    }
    expect((await evaluate({ ...Q, action: { name: 'delete' } })).body).toEqual(no)
  })
})

describe('AZ evaluations', () => {
  it('AZ-25 AZ-26 answers in order, without a top-level decision', async () => {
    const { body } = await evaluateAll({
      evaluations: [
        { subject: bob, action: write, resource: record('record-1') },
        Q,
        { subject: bob, action: write, resource: record('record-2') },
      ],
    })
    expect(body).toEqual({ evaluations: [no, yes, yes] })
  })

  it('AZ-27 AZ-28 lets items override and inherit whole members', async () => {
    const overridden = await evaluateAll({
      subject: bob,
      action: write,
      resource: record('record-1'),
      evaluations: [{ action: read }, {}],
    })
    expect(decisionsOf(overridden)).toEqual([true, false])
    expect(decisionsOf(await evaluateAll({ ...Q, evaluations: [{}, {}] }))).toEqual([true, true])
  })

  it('AZ-29 merges no fields: properties and types of a default do not leak', async () => {
    const archived = { ...record('record-1'), properties: { status: 'archived' } }
    const leaking = { ...Q, action: write, resource: archived, evaluations: [{ resource: record('record-1') }, {}] }
    expect(decisionsOf(await evaluateAll(leaking))).toEqual([true, false])
    const half = { ...Q, resource: { type: 'record' }, evaluations: [{ resource: { id: 'record-1' } }] }
    expect((await evaluateAll(half)).body.evaluations).toEqual([
      { decision: false, context: { reason: 'invalid_argument: resource.type: expected string, found nothing' } },
    ])
  })

  it('AZ-30 is not affected by an unused invalid default', async () => {
    const items = [{ resource: record('record-1') }, { resource: record('record-2') }]
    const body = { subject: alice, action: read, resource: {}, context: {}, evaluations: items }
    expect(decisionsOf(await evaluateAll(body))).toEqual([true, true])
  })

  it('AZ-31 replaces the default context by that of an item', async () => {
    const weigh = { ...Q, action: { name: 'weigh' } }
    const context = (max: number) => ({ context: { input_params: { max } } })
    const { body } = await evaluateAll({ ...weigh, ...context(10), evaluations: [{}, context(9), { context: {} }] })
    expect(body.evaluations).toEqual([
      yes,
      no,
      { decision: false, context: { reason: "invalid_argument: missing or wrong input params, 'max'" } },
    ])
  })

  it('AZ-32 AZ-33 reports the error of an item in the item', async () => {
    const { status, body } = await evaluateAll({
      subject: alice,
      action: read,
      evaluations: [{ resource: record('record-1') }, {}, { resource: null }, { resource: record('record-2') }],
    })
    expect([status, (body.evaluations as unknown[]).length]).toEqual([200, 4])
    expect(body.evaluations).toEqual([
      yes,
      { decision: false, context: { reason: 'invalid_argument: resource: expected object, found nothing' } },
      { decision: false, context: { reason: 'invalid_argument: resource: expected object, found null' } },
      yes,
    ])
    const lone = await evaluateAll({ action: read, resource: record('record-1'), evaluations: [{}] })
    expect(decisionsOf(lone)).toEqual([false])
  })

  it('AZ-34 is a single evaluation without items', async () => {
    expect((await evaluateAll(Q)).text).toBe('{"decision":true}')
    expect((await evaluateAll({ ...Q, evaluations: [] })).text).toBe('{"decision":true}')
    expect((await evaluateAll({ subject: alice, action: read })).status).toBe(400)
    expect((await evaluateAll({ ...Q, action: { name: 'weigh' } })).status).toBe(422)
  })

  it('AZ-35 refuses a batch of a wrong shape as a whole', async () => {
    for (const wrong of [{ evaluations: {} }, { evaluations: [Q, 'x'] }, { evaluations: null }]) {
      expect((await evaluateAll({ ...Q, ...wrong })).status).toBe(400)
    }
    expect((await evaluateAll({ subject: 'alice', evaluations: [Q] })).body.errors).toEqual([
      'subject: expected object, found string',
    ])
  })

  const reads = (...subjects: string[]) => ({
    action: write,
    resource: record('record-1'),
    evaluations: subjects.map((id) => ({ subject: { type: 'user', id } })),
  })
  const withSemantic = (semantic: unknown, ...subjects: string[]) =>
    evaluateAll({ ...reads(...subjects), options: { evaluations_semantic: semantic } })

  it('AZ-36 answers all items by default', async () => {
    const all = [true, false, true]
    expect(decisionsOf(await evaluateAll(reads('alice', 'bob', 'alice')))).toEqual(all)
    expect(decisionsOf(await evaluateAll({ ...reads('alice', 'bob', 'alice'), options: {} }))).toEqual(all)
    expect(decisionsOf(await withSemantic('execute_all', 'alice', 'bob', 'alice'))).toEqual(all)
  })

  it('AZ-37 AZ-38 stops after the first denial, or the first permit', async () => {
    const deny = 'deny_on_first_deny'
    expect(decisionsOf(await withSemantic(deny, 'alice', 'bob', 'alice'))).toEqual([true, false])
    expect(decisionsOf(await withSemantic(deny, 'alice', 'alice'))).toEqual([true, true])
    const permit = 'permit_on_first_permit'
    expect(decisionsOf(await withSemantic(permit, 'bob', 'alice', 'bob'))).toEqual([false, true])
    expect(decisionsOf(await withSemantic(permit, 'bob', 'bob'))).toEqual([false, false])
  })

  it('AZ-39 counts an invalid item as a denial', async () => {
    const broken = (semantic: string, ...items: unknown[]) =>
      evaluateAll({ ...Q, options: { evaluations_semantic: semantic }, evaluations: items })
    expect(decisionsOf(await broken('deny_on_first_deny', {}, { subject: {} }, {}))).toEqual([true, false])
    expect(decisionsOf(await broken('permit_on_first_permit', { subject: {} }, {}, {}))).toEqual([false, true])
  })

  it('AZ-40 refuses an unknown semantic, and ignores an unknown option', async () => {
    for (const semantic of ['first', 1, null, 'EXECUTE_ALL']) {
      expect((await withSemantic(semantic, 'alice')).status).toBe(400)
    }
    expect(decisionsOf(await evaluateAll({ ...reads('alice'), options: { another: 'x' } }))).toEqual([true])
    expect((await evaluateAll({ ...reads('alice'), options: 'x' })).status).toBe(400)
  })

  it('AZ-41 gives plain denials no context', async () => {
    expect((await evaluateAll(reads('alice', 'bob'))).text).toBe(
      '{"evaluations":[{"decision":true},{"decision":false}]}',
    )
  })

  it('AZ-42 refuses more items than the maximum', async () => {
    const { status, body } = await evaluateAll({ ...Q, evaluations: Array.from({ length: 21 }, () => ({})) })
    expect([status, body.errors]).toEqual([400, ['evaluations: expected at most 20 items, found 21']])
    expect(body.evaluations).toBeUndefined()
  })
})
