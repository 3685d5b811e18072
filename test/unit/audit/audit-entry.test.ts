import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { auditEntriesOf, ENTRY_BYTES_MAX, valuesHash } from '../../../src/audit/audit-entry.ts'
import { EntryMemory } from '../../../src/audit/entry-memory.ts'
import { describeEntry, describeFacts } from '../../../src/audit/entry-terms.ts'
import { digestOfValues } from '../../../src/audit/values-digest.ts'
import { attributesOf, type EventStreamName } from '../../../src/events/envelope.ts'
import { encodeRecord, type ReadyEvent, type RecordedEvent } from '../../../src/events/event-record.ts'
import { parseJson } from '../../../src/kernel/json/json.ts'

const stream: EventStreamName = { projectId: 'gid:project', isAudit: true, source: 'activity' }
const key = Buffer.from('the key of a log')

function entriesOf(events: readonly RecordedEvent[], from = 0, shared?: readonly unknown[]) {
  const common =
    shared === undefined
      ? { requestId: 'r', actor: { type: 'service' } as const }
      : { requestId: '', actor: null, shared }
  const bytes = encodeRecord({ sinkId: '', revision: 0, providers: [], ...common, events })
  return auditEntriesOf({ sequence: 7, timeMs: 1_750_000_000_000, origin: 'abcdefghij', bytes }, stream, from, key)
}

const jsonOf = (bytes: Uint8Array): Record<string, unknown> => JSON.parse(Buffer.from(bytes).toString('utf8'))
const ready = (members: object): ReadyEvent => ({
  subject: 'policies/p',
  timeMs: 1_750_000_000_000,
  members: JSON.stringify(members).slice(1, -1),
})
const created = (members: object): RecordedEvent => ({
  type: 'svc.audit.config.create',
  providers: 1,
  ready: ready(members),
})

/** A decision with parameters, as the service records it. */
function decided(inputParams: string, values: Record<string, unknown>): RecordedEvent {
  const detail = { inputParams, valuesDigest: digestOfValues(values) }
  const question = ['Person', 'ann', 'drive', 'Car', 'c1'] as const
  const element = ['d', 1_750_000_000_000, 'r', 0, 1.5, 1, { kind: 'invalid', message: 'found `s3cret`' }] as const
  return { type: 'svc.audit.authorization.evaluation', providers: 1, element: [...element, question, detail] }
}
const shared = [{ type: 'agent', id: 'a', applicationId: 'b' }, []]

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

describe('an entry', () => {
  test('is a CloudEvent on one line, the same each time, from the event that is asked for', () => {
    const events = [created({ id: 'one', text: 'a\nb' }), created({ id: 'two' })]
    const [first, second, ...others] = entriesOf(events)
    expect(others).toEqual([])
    expect(entriesOf(events, 8)).toEqual([second])
    expect(second?.sequence).toBe(8)
    expect(Buffer.from(first!.entry).includes('\n')).toBe(false)
    expect(jsonOf(first!.entry)).toEqual({
      specversion: '1.0',
      id: 'abcdefghij-7',
      source: '/projects/gid:project/audit/activity/abcdefghij',
      type: 'svc.audit.config.create',
      subject: 'policies/p',
      time: '2025-06-15T15:06:40.000Z',
      datacontenttype: 'application/json',
      projectid: 'gid:project',
      sequence: '0000000000000007',
      partitionkey: 'policies/p',
      data: {
        eventType: 'svc.audit.config.create',
        version: 1,
        requestId: 'r',
        actor: { type: 'service' },
        id: 'one',
        text: 'a\nb',
      },
    })
  })

  test('has names and a keyed hash of input parameters, and no value, whatever the mask leaves visible', () => {
    const values = { amount: 1250, name: 's3cret', subject_properties: { age: 33, tags: ['s3cret'] } }
    const masked = '{"amount":"***","name":"***","subject_properties":"***"}'
    for (const inputParams of [JSON.stringify(values), masked]) {
      const [{ entry, body }] = entriesOf([decided(inputParams, values)], 0, shared) as [
        ReturnType<typeof entriesOf>[0],
      ]
      expect(body).toBeNull()
      const text = Buffer.from(entry).toString('utf8')
      expect(text).not.toMatch(/s3cret|1250|33,/)
      const { data } = jsonOf(entry) as { data: { request: Record<string, unknown>; error: object } }
      expect(data.error).toEqual({ kind: 'invalid' })
      const plain = ['amount', 'name', 'subject_properties.age', 'subject_properties.tags']
      expect(data.request).toEqual({
        subject: { type: 'Person', externalId: 'ann' },
        resources: [{ type: 'Car', externalId: 'c1', actions: ['drive'] }],
        inputParamNames: inputParams === masked ? ['amount', 'name', 'subject_properties'] : plain,
        inputParamsHash: valuesHash(digestOfValues(values), key),
      })
    }
  })

  test('has a hash that anyone can repeat who has the key, in any order of the members', () => {
    // Independent of the code under test: the documented form.
    const canonical = '{"1":true,"a":[1,1.0,null,{"x":"ä","y":12345678901234567890}],"b":"\\u2028"}'
    const exact = JSON.stringify('\u2028')
    const expected = createHmac('sha256', key)
      .update(createHash('sha256').update(canonical.replace('"\\u2028"', exact)).digest())
      .digest('hex')
    const given = parseJson(`{"b":${exact},"a":[1,1.0,null,{"y":12345678901234567890,"x":"ä"}],"1":true}`)
    if (!given.ok) throw new Error('the text is JSON')
    expect(valuesHash(digestOfValues(given.value as Record<string, unknown>), key)).toBe(expected)
    expect(valuesHash(digestOfValues({ a: 2 }), key)).not.toBe(valuesHash(digestOfValues({ a: 1 }), key))
    expect(valuesHash(digestOfValues({ a: 1 }), Buffer.from('x'))).not.toBe(valuesHash(digestOfValues({ a: 1 }), key))
  })

  test('keeps its payload up to the limit of a tile, and refers to a body beyond it', () => {
    const length = entriesOf([created({ text: '' })])[0]!.entry.length
    const fits = entriesOf([created({ text: 'x'.repeat(ENTRY_BYTES_MAX - length) })])[0]!
    expect([fits.entry.length, fits.body]).toEqual([ENTRY_BYTES_MAX, null])
    const text = 'x'.repeat(ENTRY_BYTES_MAX - length + 1)
    const { entry, body } = entriesOf([created({ text })])[0]!
    const name = createHash('sha256').update(body!.bytes).digest('hex')
    expect(body!.name).toBe(name)
    expect(jsonOf(entry)).toMatchObject({ id: 'abcdefghij-7', dataref: `bodies/${name}`, datasha256: name })
    expect(jsonOf(entry).data).toBeUndefined()
    expect(jsonOf(body!.bytes).text).toBe(text)
  })

  test('is found by the same terms whether they were recorded or are read from its text', () => {
    const user = { type: 'Person', externalId: 'ann/ä' }
    const agent = { type: 'agent', id: 'a', applicationId: 'b', keyId: 'k', user } as const
    const capture: RecordedEvent = {
      type: 'svc.audit.capture.upsert.node',
      providers: 0,
      element: ['n', 'gid:n', 'Car', 'c/1', '', true],
    }
    const long = created({ text: 'x'.repeat(ENTRY_BYTES_MAX) })
    const entriesBy = (actor: typeof agent | null, events: readonly RecordedEvent[]) => {
      const record = { sinkId: '', revision: 0, providers: [], requestId: '', actor, events, shared: [agent, []] }
      const bytes = encodeRecord(record)
      return auditEntriesOf({ sequence: 7, timeMs: 1_750_000_000_000, origin: 'abcdefghij', bytes }, stream, 0, key)
    }
    const all = [capture, created({ id: 'one' }), long, decided('{}', {})]
    const entries = [...entriesBy(agent, all.slice(0, 3)), ...entriesBy(null, all)]
    for (const { entry, body, facts } of entries)
      if (facts !== null) expect(describeFacts(facts)).toEqual(describeEntry(entry, body?.bytes ?? null))
    const terms = entries.map(({ facts }) => facts && describeFacts(facts).terms.map(({ value }) => value))
    expect(terms).toEqual([
      ['svc.audit.capture.upsert.node', 'a', 'b', 'k', 'ann/ä', 'nodes/Car/c%2F1', 'c%2F1'],
      ['svc.audit.config.create', 'a', 'b', 'k', 'ann/ä', 'policies/p', 'p'],
      ['svc.audit.config.create', 'a', 'b', 'k', 'ann/ä', 'policies/p', 'p'],
      ['svc.audit.capture.upsert.node', 'nodes/Car/c%2F1', 'c%2F1'],
      null,
      null,
      ['svc.audit.authorization.evaluation', 'a', 'b', 'k', 'ann/ä', 'subjects/Person/ann', 'ann'],
    ])
  })

  test('begins with the attributes that sinks get, whatever the subject contains', () => {
    const subjects = ['a', 'nodes/Car/c%2F1', 'x'.repeat(300), 'quote " and \\', 'ä\ud800']
    const events = subjects.map((subject, at) => ({
      ...created({ id: 'one' }),
      ready: {
        ...ready({ id: 'one' }),
        subject,
        timeMs: 1_750_000_000_000 + at,
        ...(at % 2 === 1 && { trace: [traceparent, 'vendor=a"b'] as const }),
      },
    }))
    const names: readonly EventStreamName[] = [
      stream,
      { projectId: '', organizationId: 'gid:org', isAudit: true, source: 'configuration' },
    ]
    for (const name of names) {
      const bytes = encodeRecord({ sinkId: '', revision: 0, providers: [], requestId: '', actor: null, events })
      const entries = auditEntriesOf({ sequence: 7, timeMs: 0, origin: 'abcdefghij', bytes }, name, 0, key)
      const texts = entries.map(({ entry }) => Buffer.from(entry).toString('utf8'))
      const starts = events.map(({ type, ready: { subject, timeMs } }, at) =>
        Buffer.from(
          JSON.stringify({
            ...attributesOf(name, 'abcdefghij', type, 7 + at, subject, timeMs),
            ...(at % 2 === 1 && { traceparent, tracestate: 'vendor=a"b' }),
          }).slice(0, -1),
        ),
      )
      expect(texts.map((text, at) => text.startsWith(`${starts[at]},"data":{`))).toEqual(subjects.map(() => true))
    }
  })

  test('stays as it is until its memory is released, also if many others are encoded', () => {
    const memory = new EntryMemory()
    const texts = Array.from({ length: 300 }, (_, at) => `${at} ${'ä'.repeat((at * 397) % 20_000)}`)
    const encoded = texts.map((text) => memory.encode(text))
    expect(encoded.map((bytes) => Buffer.from(bytes).toString('utf8'))).toEqual(texts)
    memory.release()
    expect(Buffer.from(memory.encode('again')).toString('utf8')).toBe('again')
  })

  test('of the organization names it', () => {
    const bytes = encodeRecord({
      sinkId: '',
      revision: 0,
      providers: [],
      requestId: '',
      actor: null,
      events: [created({ id: 'one' })],
    })
    const record = { sequence: 1, timeMs: 0, origin: 'abcdefghij', bytes }
    const name = { projectId: '', organizationId: 'gid:org', isAudit: true, source: 'configuration' } as const
    const [{ entry }] = auditEntriesOf(record, name, 0, key) as [ReturnType<typeof entriesOf>[0]]
    expect(jsonOf(entry)).toMatchObject({
      source: '/organizations/gid:org/audit/configuration/abcdefghij',
      organizationid: 'gid:org',
    })
    expect(jsonOf(entry)).not.toHaveProperty('projectid')
  })
})
