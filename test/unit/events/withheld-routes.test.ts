// A route for change data capture needs a provider that receives it.
import { expect, test } from 'vitest'
import { eventSinks } from '../../../src/events/event-sink.ts'
import { changeProvider } from '../../support/events.ts'

const quiet = { ...changeProvider, include_cdc_events: false }

function issuesOf(event_type: string, provider: object, sink: object = {}, body?: object): readonly string[] {
  const routes = [{ provider_id: 'main', event_type_key_values_filter: { event_type } }]
  const fields = { providers: { main: provider }, routes, ...sink }
  const checked = eventSinks.check!(fields, { current: body === undefined ? null : { fields } } as never)
  return checked.ok || checked.error.kind !== 'invalid' ? [] : checked.error.issues
}

const refusal = (type: string) =>
  `routes[0].event_type_key_values_filter.event_type: the provider \`main\` does not receive \`${type}\`; set \`include_cdc_events\` of the provider or of the sink`

test.each(['svc.audit.cdc.*', 'svc.audit.cdc.node.create'])('%s to a provider without it is refused', (type) => {
  expect(issuesOf(type, quiet)).toEqual([refusal(type)])
  expect(issuesOf(type, { ...quiet, include_cdc_events: null }, { include_cdc_events: false })).toEqual([refusal(type)])
})

test('a provider with it, or a filter that has other events, is accepted', () => {
  expect(issuesOf('svc.audit.cdc.*', changeProvider)).toEqual([])
  expect(issuesOf('svc.audit.cdc.*', { ...quiet, include_cdc_events: null }, { include_cdc_events: true })).toEqual([])
  expect(issuesOf('svc.*', quiet)).toEqual([])
})

test('an update of other members keeps a route that an earlier release accepted', () => {
  expect(issuesOf('svc.audit.cdc.*', quiet, {}, { description: 'new' })).toEqual([])
})
