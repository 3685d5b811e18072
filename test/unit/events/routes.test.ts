import { describe, expect, test } from 'vitest'
import type { eventTypeNames } from '../../../src/events/event-types.ts'
import { type ContextValue, matchesType, noContext, SinkRoutes, typesOf } from '../../../src/events/routes.ts'
import { Float } from '../../../src/kernel/float.ts'

interface Given {
  readonly type: string
  readonly to: string
  readonly when?: Readonly<Record<string, string>>
  readonly stop?: boolean
}

function sink(given: readonly Given[], fields: object = {}, providers?: object): SinkRoutes {
  const names = [...new Set(given.map(({ to }) => to))]
  return new SinkRoutes({
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
  })
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
