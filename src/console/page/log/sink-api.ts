// Reads of event sinks, their dead letters, and their events.
import { call } from '../api.ts'

/** The state of the delivery to a provider. */
interface ProviderDelivery {
  readonly backlog: { readonly events: number; readonly bytes: number; readonly oldest_time?: string }
  readonly delivered: number
  readonly delivered_per_second: number
  readonly failed: number
  readonly dead_lettered: number
  readonly skipped: number
  readonly last_delivery_time?: string
  readonly last_error_time?: string
}

/** A receiver of events. */
export interface ShownProvider {
  readonly id: string
  readonly name: string
  /** Such as `streaming_broker`. */
  readonly kind: string
  /** Where events are sent; empty if it is part of a secret. */
  readonly place: string
  readonly lastError: string
  readonly delivery: ProviderDelivery | null
}

/** A rule that selects events for a provider. */
export interface ShownRoute {
  readonly provider_id: string
  readonly display_name?: string | null
  readonly stop_processing?: boolean | null
  readonly event_type_key_values_filter: {
    readonly event_type: string
    readonly context_key_value?: readonly { readonly key: string; readonly value: string }[] | null
  }
}

/** The sink of a project. */
interface ShownSink {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly providers: readonly ShownProvider[]
  readonly routes: readonly ShownRoute[]
}

/** An event that a provider refused for good. */
export interface ListedDeadLetter {
  readonly id: string
  readonly provider_id: string
  readonly event_type: string
  readonly subject: string
  readonly time: string
  readonly error: string
  readonly attempts: number
  readonly dead_letter_time: string
  readonly is_requested: boolean
}

/** An event of the outbox, and the providers that receive it. */
export interface OutboxEvent {
  readonly providers: readonly string[]
  readonly event: {
    readonly id: string
    readonly type: string
    readonly subject: string
    readonly source: string
    readonly time: string
    readonly data?: unknown
  }
}

interface GivenSink {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly providers: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly routes: readonly ShownRoute[]
}

/** Members of a provider that are not its kind. */
const COMMON = ['display_name', 'include_cdc_events', 'snapshot', 'delivery']

/** Reads the sink of a project; null: it has none. */
export async function readSink(projectId: string, signal: AbortSignal): Promise<ShownSink | null> {
  const { data } = await call<{ readonly data: readonly GivenSink[] }>(
    'GET',
    `/configs/v1/event-sinks?project_id=${encodeURIComponent(projectId)}`,
    { signal },
  )
  const [sink] = data
  if (sink === undefined) return null
  const { id, name, display_name, providers, routes } = sink
  const shown = Object.entries(providers).map(([key, provider]) => providerOf(key, provider))
  return { id, name, display_name, providers: shown, routes }
}

function providerOf(id: string, provider: Readonly<Record<string, unknown>>): ShownProvider {
  const kind = Object.keys(provider).find((name) => !COMMON.includes(name)) ?? ''
  const config = (provider[kind] ?? {}) as Readonly<Record<string, unknown>>
  const places = [config.brokers, config.topic, config.topic_endpoint, config.queueOrTopicName, config.topic_name]
  return {
    id,
    name: String(config.display_name || provider.display_name || id),
    kind,
    place: places
      .flat()
      .filter((one) => typeof one === 'string')
      .join(', '),
    lastError: String(config.last_error ?? ''),
    delivery: (provider.delivery ?? null) as ProviderDelivery | null,
  }
}

/** A page of dead letters. */
interface DeadLetterList {
  readonly dead_letters: readonly ListedDeadLetter[]
  readonly next_page_token: string
}

function lettersPath(sinkId: string): string {
  return `/configs/v1/event-sinks/${encodeURIComponent(sinkId)}/dead-letters`
}

/** Reads a page of dead letters. */
export function readDeadLetters(sinkId: string, pageToken: string, signal: AbortSignal): Promise<DeadLetterList> {
  const token = pageToken === '' ? '' : `&page_token=${encodeURIComponent(pageToken)}`
  return call('GET', `${lettersPath(sinkId)}?page_size=100${token}`, { signal })
}

/** Reads the event of a dead letter. */
export function readDeadLetter(sinkId: string, id: string, signal: AbortSignal): Promise<{ readonly event: unknown }> {
  return call('GET', `${lettersPath(sinkId)}/${encodeURIComponent(id)}`, { signal })
}

/** Has dead letters sent again. Resolves with the number, and why others cannot be sent. */
export function sendDeadLetters(
  sinkId: string,
  which: { readonly ids: readonly string[] } | { readonly provider_id: string },
): Promise<{ readonly requested: number; readonly refused: readonly { readonly reason: string }[] }> {
  return call('POST', lettersPath(sinkId), { body: which })
}

/** Deletes a dead letter. */
export async function deleteDeadLetter(sinkId: string, id: string): Promise<void> {
  await call('DELETE', `${lettersPath(sinkId)}/${encodeURIComponent(id)}`)
}

/** Events after a position. */
interface FollowedEvents {
  readonly events: readonly OutboxEvent[]
  readonly position: string
  readonly has_more: boolean
  readonly missed: number
}

/** Reads the events after `position`; null: the stored ones. */
export function followSink(sinkId: string, position: string | null, signal: AbortSignal): Promise<FollowedEvents> {
  const body = position === null ? { start: 'oldest' } : { position }
  return call('POST', `/configs/v1/event-sinks/${encodeURIComponent(sinkId)}/follow`, { body, signal })
}
