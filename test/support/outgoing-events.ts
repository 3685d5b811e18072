// Events for tests of the provider drivers, and the check of what a receiver got.
import type { OutgoingEvent, ProviderDeps } from '../../src/events/providers/provider.ts'
import { parseAllowList } from '../../src/upstream/allow-list.ts'
import { createUpstream } from '../../src/upstream/client.ts'
import { createDestinations } from '../../src/upstream/destinations.ts'

/** Id and ordering key of an event that arrived. */
export interface ReceivedEvent {
  readonly id: string
  readonly key: string
}

/** Event `sequence` of a project with `keys` elements. `padding`: bytes added to the data. */
export function outgoingEvent(sequence: number, keys = 13, padding = 200): OutgoingEvent {
  // Three neighbours have the same key, so that a part contains several events of one key.
  const key = `p/Person/${Math.floor(sequence / 3) % keys}`
  return {
    attributes: {
      specversion: '1.0',
      id: `graph-${sequence}`,
      source: '/projects/p/graph',
      type: 'svc.audit.capture.upsert.node',
      subject: `Person/é ${sequence}`,
      time: '2026-01-02T03:04:05.678Z',
      datacontenttype: 'application/json',
      projectid: 'p',
      sequence: String(sequence),
      partitionkey: key,
      // As if every second event had been caused by a traced request.
      ...(sequence % 2 === 1 && {
        traceparent: `00-4bf92f3577b34da6a3ce929d0e0e4736-${String(sequence).padStart(16, '0')}-01`,
        tracestate: 'vendor=opaque',
      }),
    },
    data: new TextEncoder().encode(JSON.stringify({ sequence, text: 'ü', padding: 'x'.repeat(padding) })),
    orderingKey: key,
  }
}

/** Events `from` to `from + count - 1`. */
export function outgoingEvents(from: number, count: number, keys?: number, padding?: number): OutgoingEvent[] {
  return Array.from({ length: count }, (_, at) => outgoingEvent(from + at, keys, padding))
}

/** Dependencies of a driver whose calls reach what `allowed` lists, with the test authority for TLS. */
export function providerDeps(allowed: string, authorities?: string): ProviderDeps {
  const list = parseAllowList(allowed)
  if (!list.ok) throw new Error(list.error)
  const more = authorities === undefined ? {} : { authorities }
  return {
    destinations: createDestinations(list.value),
    upstream: createUpstream({ allowed: list.value, ...more }),
    ...more,
  }
}

/**
 * Compares the received events, in their order, with the sent ones. Returns what is wrong, and how many arrived twice. The order of
 * a key is that of the first arrivals.
 */
export function compareReceived(
  sent: readonly OutgoingEvent[],
  received: readonly ReceivedEvent[],
): { readonly faults: readonly string[]; readonly duplicates: number } {
  const faults: string[] = []
  const positions = new Map(sent.map((event, at) => [event.attributes.id as string, at]))
  const seen = new Set<string>()
  const latest = new Map<string, number>()
  for (const { id, key } of received) {
    const at = positions.get(id)
    if (at === undefined) faults.push(`${id} was not sent`)
    else if (sent[at]?.orderingKey !== key) faults.push(`${id} has the key ${key}`)
    else if (!seen.has(id)) {
      seen.add(id)
      if ((latest.get(key) ?? -1) > at) faults.push(`${id} arrived after a later event of ${key}`)
      latest.set(key, at)
    }
  }
  const missing = sent.filter(({ attributes }) => !seen.has(attributes.id as string))
  if (missing.length > 0) faults.push(`${missing.length} events are missing, the first is ${missing[0]?.attributes.id}`)
  return { faults: faults.slice(0, 10), duplicates: received.length - seen.size }
}
