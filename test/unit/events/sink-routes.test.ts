import { describe, expect, test } from 'vitest'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { decodeRecord } from '../../../src/events/event-record.ts'
import { eventTypeNames } from '../../../src/events/event-types.ts'
import { routedRecords } from '../../../src/events/routed-records.ts'
import {
  AUDIT_BIT,
  type AuditedDecisions,
  type ContextValue,
  matchesType,
  noContext,
  SinkRoutes,
  typesOf,
} from '../../../src/events/sink-routes.ts'
import { Float } from '../../../src/kernel/float.ts'

interface Given {
  readonly type: string
  readonly to: string
  readonly when?: Readonly<Record<string, string>>
  readonly stop?: boolean
}

function sink(...given: Parameters<typeof documentOf>): SinkRoutes {
  return new SinkRoutes('p', documentOf(...given))
}

function documentOf(given: readonly Given[], fields: object = {}, providers?: object): StoredDocument {
  const names = [...new Set(given.map(({ to }) => to))]
  return {
    kind: 'event-sinks',
    id: 'sink',
    revision: 1,
    organization_id: 'o',
    project_id: 'p',
    parent_id: 'p',
    name: 'sink',
    create_time: '',
    created_by: '',
    update_time: '',
    updated_by: '',
    fields: {
      providers: providers ?? Object.fromEntries(names.map((name) => [name, {}])),
      routes: given.map(({ type, to, when = {}, stop }) => ({
        provider_id: to,
        event_type_key_values_filter: {
          event_type: type,
          context_key_value: Object.entries(when).map(([key, value]) => ({ key, value })),
        },
        stop_processing: stop,
      })),
      ...fields,
    },
  }
}

const NODE = 'svc.audit.capture.upsert.node'
const contextOf = (values: Readonly<Record<string, ContextValue>>) => (key: string) => values[key]

function receivers(routes: SinkRoutes, type: (typeof eventTypeNames)[number], values = {}): string[] {
  const bits = routes.ofType(type)?.match(contextOf(values)) ?? 0
  return routes.providers.filter((_, at) => ((bits >>> at) & 1) === 1)
}

describe('a filter of types', () => {
  test('is equal, or ends with a wildcard that matches everything below', () => {
    expect(matchesType(NODE, NODE)).toBe(true)
    expect(matchesType('svc.audit.capture.*', NODE)).toBe(true)
    expect(matchesType('*', NODE)).toBe(true)
    expect(matchesType('svc.audit.capture.upsert', NODE)).toBe(false)
    expect(matchesType('svc.audit.config.*', NODE)).toBe(false)
    expect(typesOf('svc.audit.config.*')).toEqual([
      'svc.audit.config.create',
      'svc.audit.config.read',
      'svc.audit.config.update',
      'svc.audit.config.delete',
      'svc.audit.config.permission.assign',
      'svc.audit.config.permission.revoke',
    ])
  })

  test('may have `batch` after `capture`, as some clients write it', () => {
    expect(matchesType('svc.audit.capture.batch.upsert.node', NODE)).toBe(true)
    expect(matchesType('svc.audit.capture.batch.*', NODE)).toBe(true)
    expect(matchesType('svc.audit.capture.batch.delete.*', NODE)).toBe(false)
  })
})

describe('routes', () => {
  test('send to every provider that matches, once, until one stops', () => {
    const routes = sink([
      { type: NODE, to: 'a', when: { captureLabel: 'Car' } },
      { type: 'svc.*', to: 'b', when: { captureLabel: 'Car', wheels: '4' }, stop: true },
      { type: 'svc.*', to: 'a' },
      { type: '*', to: 'c' },
    ])
    expect(receivers(routes, NODE, { captureLabel: 'Car', wheels: 4 })).toEqual(['a', 'b'])
    expect(receivers(routes, NODE, { captureLabel: 'Car', wheels: 3 })).toEqual(['a', 'c'])
    expect(receivers(routes, 'svc.audit.config.read')).toEqual(['a', 'c'])
  })

  test('compare values as text', () => {
    const isSent = (value: ContextValue, expected: string): boolean =>
      receivers(sink([{ type: NODE, to: 'a', when: { key: expected } }]), NODE, { key: value }).length > 0
    expect(isSent('4', '4')).toBe(true)
    expect(isSent(4, '4')).toBe(true)
    expect(isSent(12345678901234567890n, '12345678901234567890')).toBe(true)
    expect(isSent(new Float(1.5), '1.5')).toBe(true)
    expect(isSent(true, 'true')).toBe(true)
    expect(isSent(['a', 'b'], 'b')).toBe(true)
    expect(isSent([], '')).toBe(false)
    expect(isSent(undefined, 'undefined')).toBe(false)
    expect(isSent(null, 'null')).toBe(false)
    expect(isSent('A', 'a')).toBe(false)
  })

  test('send change data capture only to providers that ask for it; the provider decides before the sink', () => {
    const given = ['on', 'off', 'default'].map((to) => ({ type: 'svc.audit.*', to }))
    const providers = { on: { include_cdc_events: true }, off: { include_cdc_events: false }, default: {} }
    const changes = 'svc.audit.cdc.node.create'
    expect(receivers(sink(given, {}, providers), changes)).toEqual(['on'])
    expect(receivers(sink(given, { include_cdc_events: true }, providers), changes)).toEqual(['on', 'default'])
    expect(sink([{ type: 'svc.audit.*', to: 'a' }]).ofType(changes)).toBeNull()
  })

  test('know without a context that no event of a type can match', () => {
    const routes = sink([{ type: 'svc.audit.capture.*', to: 'a', when: { captureLabel: 'Car' } }])
    expect(routes.ofType('svc.audit.config.read')).toBeNull()
    expect(routes.ofType(NODE)?.readsContext).toBe(true)
    expect(routes.ofType(NODE)?.match(noContext)).toBe(0)
    expect([routes.mayMatch(['svc.audit.config.read', NODE]), routes.mayMatch(['svc.audit.config.read'])]).toEqual([
      true,
      false,
    ])
  })

  test('of 32 providers all have a bit', () => {
    const given = Array.from({ length: 32 }, (_, at) => ({ type: '*', to: `p${at}` }))
    expect(receivers(sink(given), NODE)).toEqual(given.map(({ to }) => to))
  })
})

describe('the audit log', () => {
  const EVALUATION = 'svc.audit.authorization.evaluation'
  const SEARCH = 'svc.audit.authorization.searchresource'
  const audited = (decisions: AuditedDecisions, sampled: readonly boolean[] = []): SinkRoutes => {
    const drawn = [...sampled]
    return new SinkRoutes('p', null, { decisions, isSampled: () => drawn.shift() === true })
  }
  const decide = (routes: SinkRoutes, type: typeof EVALUATION | typeof SEARCH, isDenial: boolean): number | null =>
    routes.ofType(type)?.matchDecision(noContext, isDenial) ?? null

  test('receives every type but change data capture and events about delivery, and decisions by the setting', () => {
    const without = (decisions: AuditedDecisions): readonly string[] => {
      const routes = audited(decisions)
      return eventTypeNames.filter((type) => routes.ofType(type) === null)
    }
    const never = eventTypeNames.filter((type) => /^svc\.(?:audit\.cdc|events)\./.test(type))
    const ofDecisions = eventTypeNames.filter((type) => type.startsWith('svc.audit.authorization.'))
    expect(never.length).toBe(8)
    expect(without('all')).toEqual(never)
    expect(without('sampled')).toEqual(never)
    expect(new Set(without('none'))).toEqual(new Set([...never, ...ofDecisions]))
    const evaluations = [EVALUATION, 'svc.audit.authorization.evaluations']
    expect(new Set([...without('denials'), ...evaluations])).toEqual(new Set([...never, ...ofDecisions]))
    expect(audited('none').ofType(NODE)?.match(noContext)).toBe(AUDIT_BIT)
    expect(new SinkRoutes('p', null).ofType(NODE)).toBeNull()
  })

  test('receives denials, or what is sampled', () => {
    const denials = audited('denials')
    expect([decide(denials, EVALUATION, true), decide(denials, EVALUATION, false)]).toEqual([AUDIT_BIT, 0])
    const sampled = audited('sampled', [true, false, true])
    expect([
      decide(sampled, EVALUATION, false),
      decide(sampled, EVALUATION, true),
      decide(sampled, SEARCH, false),
      decide(sampled, SEARCH, false),
    ]).toEqual([AUDIT_BIT, 0, AUDIT_BIT, 0])
    expect(decide(audited('all'), SEARCH, false)).toBe(AUDIT_BIT)
  })

  test('is apart from 32 providers, whose routes do not change what it receives', () => {
    const names = Array.from({ length: 32 }, (_, at) => `provider-${at}`)
    const given = names.map((to) => ({ type: 'svc.audit.*', to, when: { captureLabel: 'Car' } }))
    const document = documentOf(given)
    const routes = new SinkRoutes('p', document, { decisions: 'none', isSampled: () => false })
    const type = routes.ofType(NODE)
    expect(type?.match((key) => (key === 'captureLabel' ? 'Car' : undefined))).toBe(2 ** 33 - 1)
    expect(type?.match(noContext)).toBe(AUDIT_BIT)
    const ready = { subject: 's', timeMs: 0, members: '' }
    const content = { requestId: '', actor: null }
    const both = { ...content, events: [{ type: NODE, providers: 2 ** 33 - 1, ready }] } as const
    const read = routedRecords(routes, both).map(({ isAudit, bytes, count }) => {
      const { sinkId, providers, events } = decodeRecord(bytes)
      return [isAudit, count, sinkId, providers.length, events[0]?.providers]
    })
    expect(read).toEqual([
      [false, 1, 'sink', 32, 2 ** 32 - 1],
      [true, 1, '', 0, 1],
    ])
    const one = { ...content, events: [{ type: NODE, providers: AUDIT_BIT, ready }] } as const
    expect(routedRecords(routes, one).map(({ isAudit }) => isAudit)).toEqual([true])
    const other = { ...content, events: [{ type: NODE, providers: 1, ready }] } as const
    expect(routedRecords(routes, other).map(({ isAudit }) => isAudit)).toEqual([false])
  })
})

describe('an explanation', () => {
  test('has the outcome of each route and its reason, equal to that of the match', () => {
    const routes = sink(
      [
        { type: 'svc.audit.config.*', to: 'a' },
        { type: NODE, to: 'a', when: { captureLabel: 'Car', wheels: '4' } },
        { type: NODE, to: 'a', when: { captureLabel: 'Car' } },
        { type: 'svc.*', to: 'a' },
        { type: '*', to: 'b', stop: true },
        { type: '*', to: 'a' },
      ],
      {},
    )
    const explained = routes.explain(NODE, contextOf({ captureLabel: 'Car', wheels: 3 }))
    expect(explained.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['type-differs', '`svc.audit.config.*` does not match `svc.audit.capture.upsert.node`'],
      ['context-differs', '`wheels`: expected `4`, found `3`'],
      ['sent', 'sent to `a`'],
      ['already-sent', 'an earlier route sends it to `a`'],
      ['sent', 'sent to `b`'],
      ['not-reached', 'routes[4] has `stop_processing`'],
    ])
    expect(routes.explain('svc.audit.cdc.node.create', noContext)[3]).toMatchObject({
      outcome: 'no-cdc-events',
      provider_id: 'a',
    })
    expect(routes.explain(NODE, noContext)[1]?.reason).toBe('`captureLabel`: expected `Car`, found nothing')
  })
})
