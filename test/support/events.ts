// Event sinks of a test service, and the events in its outboxes. Every event is checked: payload against the schema of its type,
// envelope against CloudEvents.
import { type EventEnvelope, envelopesOf } from '../../src/events/envelope.ts'
import { payloadSchema } from '../../src/events/event-types.ts'
import type { EventStreams, OpenEventStream } from '../../src/events/streams/event-streams.ts'
import type { TestService } from './service.ts'

export interface RouteInput {
  readonly type: string
  readonly context?: Readonly<Record<string, string>>
  readonly provider?: string
  readonly stop?: boolean
}

/** A payload; tests compare it with literals. */
export type SeenData = Readonly<Record<string, unknown>>

export interface SeenEvent {
  readonly type: string
  readonly source: string
  readonly sequence: number
  readonly subject: string
  readonly data: SeenData
  readonly providers: readonly string[]
  readonly attributes: Readonly<Record<string, string>>
}

const queue = {
  queue_service: { queueOrTopicName: 'events', connectionString: 'Endpoint=sb://bus.example.org/;Key=k' },
}

export function sinkBody(projectId: string, routes: readonly RouteInput[], providers?: object): object {
  return {
    project_id: projectId,
    name: 'sink',
    providers: providers ?? Object.fromEntries((namesIn(routes) as string[]).map((name) => [name, queue])),
    routes: routes.map(({ type, context = {}, provider = 'main', stop = false }) => ({
      provider_id: provider,
      event_type_key_values_filter: {
        event_type: type,
        context_key_value: Object.entries(context).map(([key, value]) => ({ key, value })),
      },
      stop_processing: stop,
    })),
  }
}

/** A provider of a sink that also receives change data capture. */
export const changeProvider = { ...queue, include_cdc_events: true }

function namesIn(routes: readonly RouteInput[]): readonly string[] {
  return [...new Set(routes.map(({ provider = 'main' }) => provider))]
}

/** Creates a sink and returns its id. */
export async function addSink(
  service: TestService,
  routes: readonly RouteInput[],
  providers?: object,
  projectId = service.projectId,
): Promise<string> {
  const created = await service.configure('POST', 'event-sinks', sinkBody(projectId, routes, providers))
  if (created.status !== 201) throw new Error(`the sink was refused: ${created.text}`)
  return created.body.id as string
}

/** All stored events of a project, by source and then in sequence. */
export async function eventsOf(service: TestService, projectId = service.projectId): Promise<SeenEvent[]> {
  await service.app.settleEvents()
  return service.app.eventStreams.withStreams(projectId, storedEvents)
}

async function storedEvents(streams: readonly OpenEventStream[]): Promise<SeenEvent[]> {
  return streams.flatMap((stream) =>
    stream.outbox
      .read(stream.name, 0, { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY })
      .flatMap((record) => {
        const envelopes = envelopesOf(record, stream)
        if (envelopes.length !== record.count) throw new Error(`a record has ${envelopes.length} of ${record.count}`)
        return envelopes.map(seen)
      }),
  )
}

/** The stored events of the audit log of a project, or of the organization, by source and then in sequence. */
export async function auditedEvents(
  service: TestService,
  owner: Parameters<EventStreams['withAuditStreams']>[0] = service,
): Promise<SeenEvent[]> {
  await service.app.settleEvents()
  return service.app.eventStreams.withAuditStreams(owner, storedEvents)
}

/** As `eventsOf`, those of some types. */
export async function eventsLike(service: TestService, type: string): Promise<SeenEvent[]> {
  return (await eventsOf(service)).filter((event) => event.type.startsWith(type))
}

function seen({ attributes, data, type, sequence, providers, orderingKey }: EventEnvelope): SeenEvent {
  const text = new TextDecoder().decode(data)
  const parsed = JSON.parse(text) as SeenData
  const checked = payloadSchema(type).safeParse(parsed)
  if (!checked.success) throw new Error(`the payload of ${type} is off its schema: ${checked.error.message}\n${text}`)
  const faults = envelopeFaults(attributes)
  if (faults.length > 0) throw new Error(`${type}: ${faults.join('; ')}`)
  if (orderingKey.length > 128) throw new Error(`${type}: the ordering key is too long`)
  return {
    type,
    source: attributes.source?.split('/').slice(3, -1).join('/') ?? '',
    sequence,
    subject: attributes.subject ?? '',
    data: parsed,
    providers,
    attributes,
  }
}

/** Violations of CloudEvents 1.0, and values that are not ASCII. */
export function envelopeFaults(attributes: Readonly<Record<string, string>>): string[] {
  const faults: string[] = []
  for (const name of ['specversion', 'id', 'source', 'type']) if (!attributes[name]) faults.push(`no ${name}`)
  if (attributes.specversion !== '1.0') faults.push('wrong specversion')
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(attributes.time ?? '')) faults.push('wrong time')
  for (const [name, value] of Object.entries(attributes)) {
    if (!/^[a-z0-9]{1,20}$/.test(name)) faults.push(`the name ${name}`)
    if (!/^[\x20-\x7e]*$/.test(value)) faults.push(`${name} is not ASCII`)
  }
  return faults
}
