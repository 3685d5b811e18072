import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EventEnvelope, envelopesOf } from '../../../src/events/envelope.ts'
import { payloadSchema } from '../../../src/events/event-types.ts'
import { ChangeEventLog } from '../../../src/events/recorders/record-changes.ts'
import { SinkRoutes } from '../../../src/events/sink-routes.ts'
import type { EventSinks } from '../../../src/events/sinks.ts'
import { readSnapshotPart, type SnapshotPosition, snapshotStart } from '../../../src/events/snapshot-events.ts'
import { parseJson } from '../../../src/kernel/json/json.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { GRAPH_STREAM } from '../../../src/store/graph/write-batch.ts'
import { type BatchStep, step, take } from '../../generate/store-inputs.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const stream = { projectId: 'gid:01J000000000000000000PROJ1', source: 'graph' } as const
const all = { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

function sinkOf(context: readonly object[] = []): SinkRoutes {
  return new SinkRoutes(stream.projectId, {
    id: 'sink',
    revision: 1,
    project_id: stream.projectId,
    fields: {
      providers: { main: { include_cdc_events: true } },
      routes: [
        {
          provider_id: 'main',
          event_type_key_values_filter: { event_type: 'svc.audit.cdc.*', context_key_value: context },
        },
      ],
    },
  } as unknown as ConstructorParameters<typeof SinkRoutes>[1])
}

function open(routes: SinkRoutes): { graph: LmdbEnvironment; clock: ManualClock } {
  const clock = new ManualClock(1_750_000_000_000)
  const changes = new ChangeEventLog({ routesOf: () => routes } as unknown as EventSinks, clock)
  const graph = openEnvironment(temporaryFolder(), {
    clock,
    sync: false,
    // Lists of four, so that a part of a snapshot can end inside a list.
    entriesPerChunk: 4,
    onWritten: (batch) => changes.record(stream.projectId, false, batch),
  })
  return { graph, clock }
}

/** A copy of the graph, as a receiver of the events keeps it: what comes last wins. */
class Receiver {
  readonly elements = new Map<string, unknown>()

  apply({ type, attributes, data }: EventEnvelope): void {
    const parsed = parseJson(new TextDecoder().decode(data), 'exact')
    if (!parsed.ok) throw new Error('a payload is JSON')
    expect(payloadSchema(type).safeParse(JSON.parse(new TextDecoder().decode(data))).error?.message).toBeUndefined()
    const { after } = parsed.value as { after: unknown }
    if (after === null) this.elements.delete(attributes.subject!)
    else this.elements.set(attributes.subject!, after)
  }
}

function nextLsn(graph: LmdbEnvironment): number {
  return graph.outbox.status(GRAPH_STREAM)?.next ?? 1
}

function readPart(graph: LmdbEnvironment, position: SnapshotPosition, limit: number, routes: SinkRoutes) {
  const target = { stream, origin: 'origin', lsn: nextLsn(graph), routes, provider: 'main', isGlobal: false }
  const snapshot = graph.snapshot()
  try {
    return readSnapshotPart(snapshot, position, limit, target)
  } finally {
    snapshot.close()
  }
}

function wholeSnapshot(graph: LmdbEnvironment, routes: SinkRoutes, limit: number): Receiver {
  const receiver = new Receiver()
  for (let position: SnapshotPosition | null = snapshotStart; position !== null; ) {
    const part = readPart(graph, position, limit, routes)
    for (const event of part.events) receiver.apply(event)
    position = part.next
  }
  return receiver
}

const write = (graph: LmdbEnvironment, steps: readonly BatchStep[]): Promise<void> =>
  graph.write((batch) => {
    for (const one of steps) take(one, batch)
  })

describe('a snapshot and the stream after it', () => {
  // A receiver cannot identify elements without key, nor parallel relationships.
  const keyed = step.filter(({ do: what }) => !what.startsWith('create'))
  const batches = fc.array(fc.array(keyed, { minLength: 1, maxLength: 10 }), { maxLength: 8 })

  test('build the same graph, although it is written while the snapshot is read in parts', async () => {
    await fc.assert(
      fc.asyncProperty(batches, batches, fc.integer({ min: 1, max: 9 }), async (before, during, limit) => {
        const routes = sinkOf()
        const { graph, clock } = open(routes)
        for (const steps of before) {
          clock.advance(1000)
          await write(graph, steps)
        }
        const start = nextLsn(graph)
        const receiver = new Receiver()
        const waiting = [...during]
        for (let position: SnapshotPosition | null = snapshotStart; position !== null; ) {
          const part = readPart(graph, position, limit, routes)
          for (const event of part.events) receiver.apply(event)
          position = part.next
          clock.advance(1000)
          const steps = waiting.shift()
          if (steps !== undefined) await write(graph, steps)
        }
        for (const steps of waiting) await write(graph, steps)
        for (const record of graph.outbox.read(GRAPH_STREAM, start, all)) {
          for (const event of envelopesOf(record, stream, start)) receiver.apply(event)
        }
        expect(receiver.elements).toEqual(wholeSnapshot(graph, routes, 1000).elements)
        await graph.close()
      }),
      { numRuns: 60 },
    )
  })

  test('are marked, have ids of their own, and obey the routes', async () => {
    const routes = sinkOf([{ key: 'captureLabel', value: 'A' }])
    const { graph } = open(routes)
    await graph.write((batch) => {
      batch.upsertNode({ type: 'A', externalId: 'x' })
      batch.upsertNode({ type: 'B', externalId: 'x' })
    })
    const { events, next } = readPart(graph, snapshotStart, 100, routes)
    expect(events.map(({ attributes }) => [attributes.subject, attributes.id])).toEqual([
      ['nodes/A/x', 'origin-2-snapshot-n1'],
    ])
    expect(JSON.parse(new TextDecoder().decode(events[0]!.data))).toMatchObject({
      snapshot: true,
      lsn: 2,
      before: null,
    })
    expect(next).toMatchObject({ element: 'relationship' })
    expect(readPart(graph, next!, 100, routes)).toEqual({ events: [], next: null })
    await graph.close()
  })
})
