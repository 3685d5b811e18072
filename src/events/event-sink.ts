// The configuration kind of event sinks: at most one per project, with brokers and queues (providers) and routes that
// select events for them (docs/explanation/events.md).
import { z } from 'zod'
import { defineKind, field, hidden } from '../config/define-kind.ts'
import { type DocumentFields, type StoredDocument, tagList } from '../config/kind.ts'
import { canonicalJson } from '../kernel/json/canonical-json.ts'
import { err, ok } from '../kernel/result.ts'
import { receivesChanges } from './change-capture.ts'
import { isChangeType } from './event-types.ts'
import { deadRouteErrors, isRoutable, type SinkRoute, typesOf } from './sink-routes.ts'

/** Kind name of event sinks. */
export const eventSinksKind = 'event-sinks'

/** A kind of provider. `secret` is encrypted and never returned. */
interface SinkProviderKind {
  readonly schema: z.ZodObject
  readonly secret: string
  readonly secretRequired: boolean
  /**
   * Members that determine where the secret is sent, or who can read it in transit. Empty if the secret contains its
   * destination.
   */
  readonly secretDestinations: readonly string[]
}

const secret = (max: number) => z.string().max(max).nullish().meta({ writeOnly: true })

/** Members of every kind of provider. Clients send back what they read, so `last_error` is accepted and ignored. */
const commonMembers = {
  display_name: z.string().max(254).nullish(),
  last_error: z
    .string()
    .nullish()
    .meta({ readOnly: true, description: 'ignored in a request: the last error of delivery, or empty' }),
}

const count = z.int().min(0)
const deliveryState = z.looseObject({
  backlog: z
    .looseObject({
      events: count.describe('stored events after the last delivered one, also those for other providers'),
      bytes: count,
      oldest_time: z.iso.datetime().optional().describe('absent: the backlog is empty'),
    })
    .meta({ id: 'DeliveryBacklog', description: 'what is not delivered yet' }),
  delivered: count.describe('events that the receiver has acknowledged'),
  delivered_per_second: z.number().min(0).describe('average of the last minute'),
  failed: count.describe('failed attempts to deliver'),
  dead_lettered: count.describe('events that the receiver refused for good'),
  dead_letters_dropped: count.describe(
    'dead letters that were dropped because those of the provider exceeded their bound',
  ),
  skipped: count.describe('events that were dropped because the backlog exceeded its bounds'),
  last_delivery_time: z.iso.datetime().optional(),
  last_error_time: z.iso.datetime().optional(),
})

/** The state of the delivery to one provider, as a read of a sink shows it. Counts begin when the provider is created. */
export type DeliveryState = z.infer<typeof deliveryState>

/** An update may omit secrets; `check` verifies that the required ones are present. */
const providerKinds = {
  streaming_broker: {
    schema: z
      .strictObject({
        ...commonMembers,
        brokers: z.array(z.string().min(1).max(1024)).min(1).max(100),
        topic: z
          .string()
          .min(1)
          .max(249)
          .regex(/^[A-Za-z0-9._-]+$/, { error: 'expected letters, digits and `. _ -`' }),
        username: z.string().max(1024).nullish(),
        password: secret(1024),
        disable_tls: z.boolean().nullish(),
        tls_skip_verify: z.boolean().nullish(),
      })
      .meta({ id: 'StreamingBroker' }),
    secret: 'password',
    secretRequired: false,
    secretDestinations: ['brokers', 'disable_tls', 'tls_skip_verify'],
  },
  event_topic: {
    schema: z
      .strictObject({
        ...commonMembers,
        topic_endpoint: z.string().min(1).max(1024),
        access_key: secret(1024),
      })
      .meta({ id: 'EventTopic' }),
    secret: 'access_key',
    secretRequired: true,
    secretDestinations: ['topic_endpoint'],
  },
  queue_service: {
    schema: z
      .strictObject({
        ...commonMembers,
        queueOrTopicName: z.string().min(1).max(1024).nullish(),
        queue_or_topic_name: z.string().min(1).max(1024).nullish().meta({ alias: 'queueOrTopicName' }),
        connectionString: secret(1024),
        connection_string: secret(1024).meta({ alias: 'connectionString' }),
      })
      .superRefine((queue, context) => {
        const refuse = (member: string, message: string): void =>
          context.addIssue({ code: 'custom', path: [member], message })
        if (queue.queueOrTopicName == null && queue.queue_or_topic_name == null) {
          refuse('queueOrTopicName', 'expected string, found nothing')
        }
        for (const [camel, snake] of queueSpellings) {
          if (queue[camel] != null && queue[snake] != null) refuse(snake, `cannot be combined with \`${camel}\``)
        }
      })
      .meta({ id: 'QueueService', required: ['queueOrTopicName'] }),
    secret: 'connectionString',
    secretRequired: true,
    secretDestinations: [],
  },
  pub_sub: {
    schema: z
      .strictObject({
        ...commonMembers,
        project_id: z.string().min(6).max(30),
        topic_name: z.string().min(3).max(255),
        credentials_json: secret(10_240),
      })
      .meta({ id: 'PubSub' }),
    secret: 'credentials_json',
    secretRequired: true,
    secretDestinations: [],
  },
} satisfies Record<string, SinkProviderKind>

/** The name of a provider kind: the member of a provider that contains its configuration. */
export type SinkProviderName = keyof typeof providerKinds

/** All provider kinds. */
export const providerNames = Object.keys(providerKinds) as readonly SinkProviderName[]

/** The kind of a stored provider, its configuration, and the member of it that is secret. */
export function configurationOf(provider: DocumentFields): {
  readonly kind: SinkProviderName
  readonly config: DocumentFields
  readonly secret: string
} {
  const [kind] = providerKindsIn(provider) as [SinkProviderName]
  return { kind, config: provider[kind] as DocumentFields, secret: providerKinds[kind].secret }
}

/** Both spellings are accepted; responses contain the first. */
const queueSpellings = [
  ['queueOrTopicName', 'queue_or_topic_name'],
  ['connectionString', 'connection_string'],
] as const

/** Whether change data capture starts with a snapshot of the graph. */
const snapshotStart = z.enum(['initial', 'none']).meta({
  id: 'SnapshotStart',
  description:
    '`initial`: change data capture starts with one event for each existing element; requires `include_cdc_events`',
})

const provider = z
  .strictObject({
    display_name: commonMembers.display_name.meta({ alias: 'display_name inside the provider' }),
    include_cdc_events: z.boolean().nullish(),
    snapshot: snapshotStart.nullish(),
    delivery: deliveryState.nullish().meta({
      readOnly: true,
      description: 'ignored in a request: the present state; absent while the stored events cannot be read',
    }),
    ...Object.fromEntries(providerNames.map((name) => [name, providerKinds[name].schema.nullish()])),
  })
  .refine((given) => providerKindsIn(given).length === 1, {
    error: `expected exactly one of ${quotedList(providerNames)}`,
  })
  .superRefine((given, context) => {
    const [name] = providerKindsIn(given)
    if (name === undefined || given.display_name == null) return
    if (((given as DocumentFields)[name] as DocumentFields).display_name == null) return
    context.addIssue({
      code: 'custom',
      path: ['display_name'],
      message: `cannot be combined with \`${name}.display_name\``,
    })
  })
  .meta({ id: 'SinkProvider', description: `Has exactly one of ${quotedList(providerNames)}.` })

const providers = z
  .record(
    z
      .string()
      .min(1)
      .max(63)
      .regex(/^[A-Za-z0-9_-]+$/, { error: 'expected letters, digits, `_` and `-`' }),
    provider,
  )
  .refine((all) => Object.keys(all).length > 0, { error: 'expected at least 1 provider' })
  .refine((all) => Object.keys(all).length <= 32, { error: 'expected at most 32 providers' })
  .meta({ id: 'SinkProviders' })

const keyValue = z
  .strictObject({ key: z.string().min(1).max(256), value: z.string().max(1024) })
  .meta({ id: 'EventKeyValue' })
const contextPairs = z.array(keyValue).max(32).nullish()

/** The types that a route or a reader selects: one type, or a wildcard at the end for all below. */
export const eventTypeFilter = z
  .string()
  .min(1)
  .max(256)
  .regex(/^(?:[A-Za-z0-9_]+\.)*(?:[A-Za-z0-9_]+|\*)$/, {
    error: 'expected words of letters, digits and `_` joined by dots, the last of which may be `*`',
  })

const eventFilter = z
  .strictObject({
    event_type: eventTypeFilter,
    context_key_value: contextPairs,
    key_value_pairs: contextPairs.meta({ alias: 'context_key_value' }),
  })
  .refine((filter) => filter.context_key_value == null || filter.key_value_pairs == null, {
    path: ['key_value_pairs'],
    error: 'cannot be combined with `context_key_value`',
  })
  .meta({ id: 'EventRouteFilter' })

const route = z
  .strictObject({
    provider_id: z.string().min(1).max(63),
    event_type_key_values_filter: eventFilter,
    stop_processing: z.boolean().nullish(),
    display_name: z.string().max(254).nullish(),
  })
  .meta({ id: 'EventRoute' })

const routes = z.array(route).min(1).max(100)

/** The stored field with the revisions of the sink at which its providers were added, but for those of the first revision. */
const addedAtField = 'providers_added_at'

/** The providers, with the secret of each kind. */
const providersField = providerNames.reduce(
  (declared, name) =>
    declared.secret({
      at: `*.${name}.${providerKinds[name].secret}`,
      sentTo: providerKinds[name].secretDestinations.map((member) => `providers.*.${name}.${member}`),
    }),
  field(providers).required(),
)

/** The kind `event-sinks`. */
export const eventSinks = defineKind({
  path: eventSinksKind,
  label: 'event sink',
  onePerProject: true,
  fields: {
    include_cdc_events: field(z.boolean()).default(false),
    snapshot: field(snapshotStart),
    providers: providersField,
    routes: field(routes).required().read(routes),
    tags: field(tagList).default([]),
    [addedAtField]: hidden(),
  },
  normaliseBody: normaliseSpelling,
  check(fields, { current }) {
    const all = fields.providers as Providers
    const isStored = (member: string): boolean =>
      current !== null && canonicalJson(fields[member] ?? null) === canonicalJson(current.fields[member] ?? null)
    const issues = [
      ...missingSecretErrors(all),
      ...unknownProviderErrors(fields.routes as readonly { provider_id: string }[], all),
      ...snapshotErrors(fields, all),
      // An update of other members keeps routes that an earlier release accepted.
      ...(isStored('routes') ? [] : deadRouteErrors(fields.routes as readonly SinkRoute[])),
      // A change of one of these can begin to withhold the events; another one keeps what an earlier release accepted.
      ...(['include_cdc_events', 'providers', 'routes'].every(isStored) ? [] : withheldRouteErrors(fields, all)),
    ]
    return issues.length === 0 ? ok({ fields: withAddedAt(fields, current) }) : err({ kind: 'invalid', issues })
  },
  computedFields: ({ fields }) => ({
    providers: mapProviders(fields.providers as Providers, (one) => withLastError(normaliseProvider(one), '')),
  }),
})

/** The providers of a response with the state of their delivery; those without state are unchanged. */
export function withDeliveryStates(
  providers: DocumentFields,
  states: ReadonlyMap<string, { readonly lastError: string; readonly delivery: DeliveryState }>,
): DocumentFields {
  return Object.fromEntries(
    Object.entries(providers as Providers).map(([id, provider]) => {
      const state = states.get(id)
      return [
        id,
        state === undefined ? provider : { ...withLastError(provider, state.lastError), delivery: state.delivery },
      ]
    }),
  )
}

type Providers = Readonly<Record<string, DocumentFields>>

/**
 * The revision of the sink at which a provider was added; 0: with the sink. Events that were recorded before, and positions, are
 * of a removed provider with the same id.
 */
export function addedAt(sink: DocumentFields, provider: string): number {
  return (sink[addedAtField] as Readonly<Record<string, number>> | undefined)?.[provider] ?? 0
}

function withAddedAt(fields: DocumentFields, current: StoredDocument | null): DocumentFields {
  const { [addedAtField]: _, ...others } = fields
  if (current === null) return others
  const revisions = Object.keys(fields.providers as Providers).flatMap((id): [string, number][] => {
    const isKnown = Object.hasOwn(current.fields.providers as Providers, id)
    const revision = isKnown ? addedAt(current.fields, id) : current.revision + 1
    return revision === 0 ? [] : [[id, revision]]
  })
  return revisions.length === 0 ? others : { ...others, [addedAtField]: Object.fromEntries(revisions) }
}

function providerKindsIn(provider: DocumentFields): SinkProviderName[] {
  return providerNames.filter((name) => provider[name] != null)
}

function mapProviders(providers: Providers, map: (provider: DocumentFields) => DocumentFields): Providers {
  return Object.fromEntries(Object.entries(providers).map(([id, one]) => [id, map(one)]))
}

function normaliseSpelling(body: DocumentFields): DocumentFields {
  const { providers, routes } = body
  return {
    ...body,
    ...(providers === undefined ? {} : { providers: mapProviders(providers as Providers, normaliseProvider) }),
    ...(routes === undefined ? {} : { routes: (routes as readonly DocumentFields[]).map(normaliseRoute) }),
  }
}

/** Moves `display_name` into the provider, removes `last_error`, and converts the spellings of queues. */
function normaliseProvider(given: DocumentFields): DocumentFields {
  const [name] = providerKindsIn(given)
  if (name === undefined) return given
  const { display_name: outer, delivery: _delivery, ...wrapper } = given
  const { display_name: inner, last_error: _, ...members } = wrapper[name] as Record<string, unknown>
  if (name === 'queue_service') {
    for (const [camel, snake] of queueSpellings) {
      if (members[snake] !== undefined) members[camel] = members[snake]
      delete members[snake]
    }
  }
  // An empty name removes it, as for documents.
  const displayName = inner ?? outer ?? ''
  return { ...wrapper, [name]: { ...members, ...(displayName !== '' && { display_name: displayName }) } }
}

function withLastError(provider: DocumentFields, error: string): DocumentFields {
  const [name] = providerKindsIn(provider)
  if (name === undefined) return provider
  return { ...provider, [name]: { ...(provider[name] as DocumentFields), last_error: error } }
}

function normaliseRoute(given: DocumentFields): DocumentFields {
  const { key_value_pairs, ...filter } = given.event_type_key_values_filter as DocumentFields
  if (key_value_pairs === undefined) return given
  return { ...given, event_type_key_values_filter: { ...filter, context_key_value: key_value_pairs } }
}

function missingSecretErrors(providers: Providers): string[] {
  return Object.entries(providers).flatMap(([id, one]) =>
    providerKindsIn(one)
      .filter((name) => providerKinds[name].secretRequired)
      .filter((name) => (one[name] as DocumentFields)[providerKinds[name].secret] === undefined)
      .map((name) => `providers.${id}.${name}.${providerKinds[name].secret}: expected string, found nothing`),
  )
}

function snapshotErrors(sink: DocumentFields, providers: Providers): string[] {
  const refused = Object.entries(providers)
    .filter(([, one]) => one.snapshot === 'initial' && !receivesChanges(sink, one))
    .map(([id]) => `providers.${id}.snapshot: requires \`include_cdc_events\``)
  const isUsed = Object.values(providers).some((one) => receivesChanges(sink, one))
  if (sink.snapshot === 'initial' && !isUsed) refused.push('snapshot: requires `include_cdc_events`')
  return refused
}

/** The errors of routes for change data capture alone whose provider does not receive it: they would never send an event. */
function withheldRouteErrors(sink: DocumentFields, providers: Providers): string[] {
  return (sink.routes as readonly SinkRoute[]).flatMap(({ provider_id, event_type_key_values_filter: filter }, at) => {
    const provider = Object.hasOwn(providers, provider_id) ? providers[provider_id] : undefined
    const types = typesOf(filter.event_type).filter(isRoutable)
    if (provider === undefined || types.length === 0 || !types.every(isChangeType)) return []
    if (receivesChanges(sink, provider)) return []
    return [
      `routes[${at}].event_type_key_values_filter.event_type: the provider \`${provider_id}\` does not receive \`${filter.event_type}\`; set \`include_cdc_events\` of the provider or of the sink`,
    ]
  })
}

function unknownProviderErrors(routes: readonly { readonly provider_id: string }[], providers: Providers): string[] {
  return routes.flatMap(({ provider_id }, at) =>
    Object.hasOwn(providers, provider_id) ? [] : [`routes[${at}].provider_id: no provider \`${provider_id}\``],
  )
}

function quotedList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}
