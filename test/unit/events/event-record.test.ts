import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EventEnvelope, envelopesOf, gapEnvelope, ORDERING_KEY_MAX } from '../../../src/events/envelope.ts'
import { decodeRecord, type EventRecord, encodeRecord, type RecordedEvent } from '../../../src/events/event-record.ts'
import { type EventTypeName, eventTypeNames, payloadSchema } from '../../../src/events/event-types.ts'
import { anyText } from '../../generate/store-inputs.ts'
import { envelopeFaults } from '../../support/events.ts'

const stream = { projectId: 'gid:01J000000000000000000PROJ1', source: 'graph' } as const
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const record: EventRecord = {
  sinkId: 'gid:01J000000000000000000SINK1',
  revision: 3,
  providers: ['kafka', 'bus'],
  requestId: 'request-1',
  actor: { type: 'agent', id: 'gid:agent', applicationId: 'gid:app', user: { type: 'Person', externalId: 'ann' } },
  events: [
    {
      type: 'svc.audit.capture.upsert.node',
      providers: 3,
      element: ['n', 'gid:node', 'Car', 'c 1', 'eu', true],
    },
    {
      type: 'svc.audit.capture.delete.relationship.property',
      providers: 2,
      element: ['r', 'gid:rel', 'Person', 'ann', 'OWNS', 'Car', 'c 1', ['since', 'until']],
    },
    {
      type: 'svc.audit.cdc.node.delete',
      providers: 1,
      ready: {
        subject: 'nodes/Car/c%201',
        timeMs: 1_750_000_000_123,
        members: '"before":{"big":12345678901234567890},"after":null',
      },
    },
  ],
}

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const stored = { sequence: 41, timeMs: 1_750_000_000_000, origin: 'abcdefghjk' }

describe('a record', () => {
  test('has the bytes of format 2', () => {
    const bytes = encodeRecord(record)
    expect(bytes[0]).toBe(2)
    expect(text(bytes.subarray(1))).toBe(
      '["gid:01J000000000000000000SINK1",3,["kafka","bus"],"request-1",' +
        '{"type":"agent","id":"gid:agent","applicationId":"gid:app","user":{"type":"Person","externalId":"ann"}},' +
        '["svc.audit.capture.upsert.node","svc.audit.capture.delete.relationship.property","svc.audit.cdc.node.delete"],' +
        '[[0,3,["n","gid:node","Car","c 1","eu",true]],' +
        '[1,2,["r","gid:rel","Person","ann","OWNS","Car","c 1",["since","until"]]],' +
        '[2,1,"nodes/Car/c%201",1750000000123,50]]]\n' +
        '"before":{"big":12345678901234567890},"after":null',
    )
  })

  test('of format 1 is read: events that an earlier release has not delivered', () => {
    const bytes = Buffer.from(encodeRecord(record))
    const end = bytes.indexOf('\n')
    const start = Buffer.alloc(5, 1)
    start.writeUInt32LE(end - 1, 1)
    const earlier = Buffer.concat([start, bytes.subarray(1, end), bytes.subarray(end + 1)])
    expect(decodeRecord(earlier)).toEqual(decodeRecord(bytes))
    expect(decodeRecord(earlier)).toEqual(record)
  })

  test('of another format is refused by name', () => {
    const bytes = encodeRecord(record)
    bytes[0] = 9
    expect(() => decodeRecord(bytes)).toThrow('a record of events has format 9; this program reads formats 1 and 2')
  })

  /** Types whose payload needs no further detail. */
  const fitting = { n: 'svc.audit.capture.delete.node', r: 'svc.audit.capture.upsert.relationship' } as const

  const names = fc.array(anyText, { maxLength: 3 })
  const detail = fc.option(fc.oneof(fc.boolean(), names, fc.tuple(anyText, names)), { nil: undefined })
  const captured = fc.oneof(
    fc
      .tuple(anyText, anyText, anyText, anyText, detail)
      .map(([id, type, externalId, location, more]) =>
        more === undefined
          ? (['n', id, type, externalId, location] as const)
          : (['n', id, type, externalId, location, more] as const),
      ),
    fc
      .tuple(anyText, anyText, anyText, anyText, anyText, anyText)
      .map(([id, a, b, type, c, d]) => ['r', id, a, b, type, c, d] as const),
  )
  const type = fc.constantFrom<EventTypeName>(...eventTypeNames)
  const providers = fc.integer({ min: 1, max: 2 ** 32 - 1 })
  const trace = fc.oneof(
    fc.tuple(fc.constant(traceparent)),
    fc.tuple(fc.constant(traceparent), fc.constant('vendor=a b,other=c')),
  )
  const members = fc.json().map((json) => `"x":${json}`)
  const ready = fc.record(
    { subject: anyText, timeMs: fc.integer(), members, valuesDigest: anyText, trace },
    { requiredKeys: ['subject', 'timeMs', 'members'] },
  )
  const event: fc.Arbitrary<RecordedEvent> = fc.oneof(
    fc.record({ type, providers, element: captured }),
    fc.record({ type, providers, ready }),
  )
  const anyRecord: fc.Arbitrary<EventRecord> = fc.record(
    {
      sinkId: anyText,
      revision: fc.nat(),
      providers: names,
      requestId: anyText,
      actor: fc.constantFrom(null, record.actor),
      events: fc.array(event, { maxLength: 8 }),
      address: anyText,
      shared: fc.array(fc.json()),
      trace,
    },
    { requiredKeys: ['sinkId', 'revision', 'providers', 'requestId', 'actor', 'events'] },
  )

  test('is decoded as it was encoded, and encoding it again gives the same bytes', () => {
    fc.assert(
      fc.property(anyRecord, (given) => {
        const bytes = encodeRecord(given)
        const decoded = decodeRecord(bytes)
        // UTF-8 has no lone surrogates; payloads are JSON, which escapes them, and subjects are percent-encoded.
        expect(decoded).toEqual(given)
        expect(encodeRecord(decoded)).toEqual(bytes)
      }),
      { numRuns: 300 },
    )
  })

  test('gives the same envelopes each time, all valid, with keys of a bounded length', () => {
    fc.assert(
      fc.property(anyRecord, (given) => {
        const events = given.events
          .filter(({ element }) => element !== undefined)
          .map((one) => ({ ...one, type: fitting[one.element![0] as 'n' | 'r'] }))
        const bytes = encodeRecord({ ...given, events })
        const once = envelopesOf({ ...stored, bytes }, stream)
        expect(envelopesOf({ ...stored, bytes: Uint8Array.from(bytes) }, stream)).toEqual(once)
        for (const { attributes, data, orderingKey } of once) {
          expect(envelopeFaults(attributes)).toEqual([])
          expect(orderingKey.length).toBeLessThanOrEqual(ORDERING_KEY_MAX)
          JSON.parse(text(data))
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('a record of decisions', () => {
  const decided: EventRecord = {
    ...record,
    requestId: '',
    actor: null,
    shared: [record.actor, [{ id: 'gid:policy', name: 'owners' }], []],
    events: [
      {
        type: 'svc.audit.authorization.evaluation',
        providers: 1,
        element: [
          'd',
          1_750_000_000_500,
          'request-2',
          0,
          0.125,
          1,
          true,
          ['Person', 'ann', 'drive', 'Car', '__proto__'],
        ],
      },
      {
        type: 'svc.audit.authorization.evaluations',
        providers: 1,
        element: [
          'd',
          1_750_000_000_501,
          'request-3',
          0,
          1,
          1,
          false,
          ['Person', 'ann', 'drive', 'Car', 'c1'],
          { reason: 'filter', item: 4, inputParams: '{"ratio":1.0,"big":12345678901234567890}', policyTags: ['fleet'] },
        ],
      },
      {
        type: 'svc.audit.authorization.searchaction',
        providers: 1,
        element: [
          'd',
          1_750_000_000_502,
          '',
          0,
          1,
          2,
          { kind: 'budget', message: 'too much' },
          ['Person', 'ann', null, 'Car', 'c1'],
        ],
      },
      {
        type: 'svc.audit.authorization.evaluations',
        providers: 1,
        element: ['d', 0, '', 0, 1, 2, { kind: 'malformed' }, null, { item: 0 }],
      },
    ],
  }

  test('is decoded as it was encoded, and builds the payloads of its types', () => {
    const bytes = encodeRecord(decided)
    expect(decodeRecord(bytes)).toEqual(decided)
    const envelopes = envelopesOf({ ...stored, bytes }, stream)
    expect(envelopes.map(({ attributes }) => [attributes.time, attributes.subject])).toEqual([
      ['2025-06-15T15:06:40.500Z', 'subjects/Person/ann'],
      ['2025-06-15T15:06:40.501Z', 'subjects/Person/ann'],
      ['2025-06-15T15:06:40.502Z', 'subjects/Person/ann'],
      ['1970-01-01T00:00:00.000Z', 'subjects'],
    ])
    const texts = envelopes.map(({ data }) => text(data))
    for (const [at, { type }] of envelopes.entries()) {
      const checked = payloadSchema(type).safeParse(JSON.parse(texts[at]!))
      expect(checked.error?.message).toBeUndefined()
    }
    expect(texts[0]).toBe(
      '{"eventType":"svc.audit.authorization.evaluation","version":1,"requestId":"request-2",' +
        '"actor":{"type":"agent","id":"gid:agent","applicationId":"gid:app","user":{"type":"Person","externalId":"ann"}},' +
        '"request":{"subject":{"type":"Person","externalId":"ann"},"resources":[{"type":"Car","externalId":"__proto__","actions":["drive"]}]},' +
        '"identity":{"type":"Person","externalId":"ann"},"policiesFound":[{"id":"gid:policy","name":"owners"}],' +
        '"evaluationTimeMs":0.125,"response":{"decisionTime":"2025-06-15T15:06:40.500Z",' +
        '"decisions":{"Car":{"__proto__":{"drive":{"allow":true}}}}}}',
    )
    expect(texts[1]).toContain('"policyTags":["fleet"],"inputParams":{"ratio":1.0,"big":12345678901234567890}}')
    expect(texts[1]).toContain('"denyReason":{"message":"filter"},"item":4}')
    expect(texts[2]).toContain('"actions":[]}]}')
    expect(texts[2]).toContain('"error":{"kind":"budget","message":"too much"}')
  })
})

describe('the envelopes of a record with a trace', () => {
  const ready = { subject: 's', timeMs: 0, members: '' }
  const type = 'svc.audit.config.read' as const
  const attributesWith = (trace: EventRecord['trace'], own: RecordedEvent['ready']) => {
    const events = [{ type, providers: 1, ready: own ?? ready }]
    const bytes = encodeRecord({ ...record, events, trace })
    return envelopesOf({ ...stored, bytes }, stream).map(({ attributes }) => attributes)
  }

  test('have the attributes of the tracing extension of CloudEvents after the others', () => {
    const [attributes = {}] = attributesWith([traceparent, 'vendor=opaque'], ready)
    expect(Object.keys(attributes).slice(-3)).toEqual(['partitionkey', 'traceparent', 'tracestate'])
    expect(attributes).toMatchObject({ traceparent, tracestate: 'vendor=opaque' })
  })

  test('have no tracestate without one, and the trace of an event comes before that of the record', () => {
    const other = traceparent.replace(/01$/, '00')
    const [attributes = {}] = attributesWith([traceparent, 'vendor=opaque'], { ...ready, trace: [other] })
    expect(attributes.traceparent).toBe(other)
    expect(attributes).not.toHaveProperty('tracestate')
  })

  test('have neither if nothing was traced', () => {
    expect(Object.keys(attributesWith(undefined, ready)[0] ?? {}).at(-1)).toBe('partitionkey')
  })
})

describe('envelopes', () => {
  const envelopes = envelopesOf({ ...stored, bytes: encodeRecord(record) }, stream)

  test('have the attributes of CloudEvents and the payload of their type', () => {
    expect(envelopes.map(({ attributes, data }) => ({ ...attributes, data: text(data) }))).toEqual([
      {
        specversion: '1.0',
        id: 'abcdefghjk-41',
        source: '/projects/gid:01J000000000000000000PROJ1/graph/abcdefghjk',
        type: 'svc.audit.capture.upsert.node',
        subject: 'nodes/Car/c%201',
        time: '2025-06-15T15:06:40.000Z',
        datacontenttype: 'application/json',
        projectid: 'gid:01J000000000000000000PROJ1',
        sequence: '0000000000000041',
        partitionkey: 'nodes/Car/c%201',
        data:
          '{"eventType":"svc.audit.capture.upsert.node","version":1,"requestId":"request-1",' +
          '"actor":{"type":"agent","id":"gid:agent","applicationId":"gid:app","user":{"type":"Person","externalId":"ann"}},' +
          '"nodes":[{"id":"gid:node","externalId":"c 1","type":"Car","location":"eu","isIdentity":true}]}',
      },
      expect.objectContaining({
        id: 'abcdefghjk-42',
        subject: 'relationships/Person/ann/OWNS/Car/c%201',
        data: expect.stringContaining('"relationshipProperties":[{"id":"gid:rel","type":"OWNS"'),
      }),
      expect.objectContaining({
        id: 'abcdefghjk-43',
        time: '2025-06-15T15:06:40.123Z',
        data: expect.stringContaining('"version":1,"lsn":43,"requestId"'),
      }),
    ])
    expect(Object.keys((envelopes[0] as EventEnvelope).attributes)).toEqual([
      'specversion',
      'id',
      'source',
      'type',
      'subject',
      'time',
      'datacontenttype',
      'projectid',
      'sequence',
      'partitionkey',
    ])
    expect(envelopes.map(({ providers }) => providers)).toEqual([['kafka', 'bus'], ['bus'], ['kafka']])
    expect(text(envelopes[2]!.data)).toContain('12345678901234567890')
  })

  test('start inside a record, at a cursor', () => {
    const rest = envelopesOf({ ...stored, bytes: encodeRecord(record) }, stream, 42)
    expect(rest).toEqual(envelopes.slice(1))
  })

  test('of long subjects have a shorter key with a hash', () => {
    const keyOf = (externalId: string): string => {
      const events = [
        { type: 'svc.audit.capture.delete.node', providers: 1, element: ['n', '', 'Car', externalId, ''] },
      ] as const
      return envelopesOf({ ...stored, bytes: encodeRecord({ ...record, events }) }, stream)[0]!.orderingKey
    }
    const long = 'x'.repeat(256)
    expect(keyOf(long)).toMatch(/^nodes\/Car\/x+~[0-9a-f]{16}$/)
    expect(keyOf(long)).toHaveLength(ORDERING_KEY_MAX)
    expect(keyOf(`${long}a`)).not.toBe(keyOf(`${long}b`))
    expect(keyOf(long)).toBe(keyOf(long))
  })

  test('report a gap under an id that no event has', () => {
    const gap = { from: 5, to: 9, events: 3, firstMs: 0, lastMs: 1000 }
    const { attributes, data, type, providers } = gapEnvelope(stream, 'abcdefghjk', 'kafka', gap)
    expect([attributes.id, attributes.subject, type, providers]).toEqual([
      'abcdefghjk-5-gap-9',
      'providers/kafka',
      'svc.events.gap',
      ['kafka'],
    ])
    expect(envelopeFaults(attributes)).toEqual([])
    expect(payloadSchema('svc.events.gap').parse(JSON.parse(text(data)))).toMatchObject({
      from: 5,
      to: 9,
      events: 3,
      firstTime: '1970-01-01T00:00:00.000Z',
      lastTime: '1970-01-01T00:00:01.000Z',
    })
  })
})
