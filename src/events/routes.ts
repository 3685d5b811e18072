// The routes of an event sink, compiled: which providers receive an event. Routes are tried in order; an event may match several
// and is sent to each provider once, until a matching route has `stop_processing`.
import type { DocumentFields, StoredDocument } from '../config/kind.ts'
import { Float } from '../kernel/float.ts'
import { receivesChanges } from './change-capture.ts'
import { type EventTypeName, eventTypeNames, eventTypeSpec, eventTypes, isChangeType } from './event-types.ts'

/** A value of the context of an event, which routes compare as text. One item of a list is enough. */
export type ContextValue = string | number | bigint | boolean | Float | object | null | undefined

/** Reads the context of an event by key. Undefined or null: the event has no such key. */
export type EventContext = (key: string) => ContextValue

/** The context of an event without keys. */
export const noContext: EventContext = () => undefined

/** A route as a sink document stores it. */
export interface SinkRoute {
  readonly provider_id: string
  readonly event_type_key_values_filter: {
    readonly event_type: string
    readonly context_key_value?: readonly ContextCondition[] | null
  }
  readonly stop_processing?: boolean | null
  readonly display_name?: string | null
}

interface ContextCondition {
  readonly key: string
  readonly value: string
}

interface TypeRoute {
  /** Bit of the provider. */
  readonly bit: number
  readonly conditions: readonly ContextCondition[]
  readonly stops: boolean
}

/** The routes that events of one type may match. */
export class TypeRoutes {
  /** True: the context decides; false: every event goes to the same providers. */
  readonly readsContext: boolean
  private readonly routes: readonly TypeRoute[]
  private readonly constant: number

  constructor(routes: readonly TypeRoute[]) {
    this.routes = routes
    this.readsContext = routes.some(({ conditions }) => conditions.length > 0)
    this.constant = this.readsContext ? 0 : this.matchAll(noContext)
  }

  /** The providers that receive an event with this context, as bits in the order of `SinkRoutes.providers`. 0: none. */
  match(context: EventContext): number {
    return this.readsContext ? this.matchAll(context) : this.constant
  }

  private matchAll(context: EventContext): number {
    let matched = 0
    for (const { bit, conditions, stops } of this.routes) {
      if (!conditions.every(({ key, value }) => isEqual(context(key), value))) continue
      matched |= bit
      if (stops) break
    }
    // As an unsigned number: there are up to 32 providers.
    return matched >>> 0
  }
}

/** Why a route sends an event or not. */
export interface RouteExplanation {
  /** Index in the routes of the sink. */
  readonly route: number
  readonly display_name: string
  readonly provider_id: string
  /** `sent`: this route sends the event. `already-sent`: it matches, and an earlier route has the same provider. */
  readonly outcome: 'sent' | 'already-sent' | 'not-reached' | 'type-differs' | 'context-differs' | 'no-cdc-events'
  /** One sentence. */
  readonly reason: string
}

/** The compiled routes of one revision of a sink. */
export class SinkRoutes {
  readonly sinkId: string
  /** Revision of the sink document. */
  readonly revision: number
  readonly projectId: string
  /** Ids of the providers. */
  readonly providers: readonly string[]
  private readonly routes: readonly SinkRoute[]
  private readonly sendsChanges: readonly boolean[]
  private readonly byType = new Map<EventTypeName, TypeRoutes | null>()

  constructor({ id, revision, project_id, fields }: StoredDocument) {
    const providers = Object.entries(fields.providers as Readonly<Record<string, DocumentFields>>)
    this.sinkId = id
    this.revision = revision
    this.projectId = project_id
    this.providers = providers.map(([name]) => name)
    this.routes = fields.routes as readonly SinkRoute[]
    this.sendsChanges = providers.map(([, provider]) => receivesChanges(fields, provider))
  }

  /** The routes of a type; null: no event of the type can match. */
  ofType(type: EventTypeName): TypeRoutes | null {
    const known = this.byType.get(type)
    if (known !== undefined) return known
    const routes = this.routes.flatMap((route): TypeRoute[] => {
      const at = this.providers.indexOf(route.provider_id)
      const { event_type, context_key_value } = route.event_type_key_values_filter
      if (at < 0 || !matchesType(event_type, type) || !this.mayReceive(at, type)) return []
      return [{ bit: 2 ** at, conditions: context_key_value ?? [], stops: route.stop_processing === true }]
    })
    const compiled = routes.length === 0 ? null : new TypeRoutes(routes)
    this.byType.set(type, compiled)
    return compiled
  }

  /** Whether an event of one of the types can match a route. */
  mayMatch(types: readonly EventTypeName[]): boolean {
    return types.some((type) => this.ofType(type) !== null)
  }

  private mayReceive(provider: number, type: EventTypeName): boolean {
    return !isChangeType(type) || this.sendsChanges[provider] === true
  }

  /** Explains for each route, in order, why it sends an event with this context or not. */
  explain(type: EventTypeName, context: EventContext): readonly RouteExplanation[] {
    const sent = new Set<string>()
    let stopped: number | null = null
    return this.routes.map((route, index) => {
      const { provider_id } = route
      const explained = (outcome: RouteExplanation['outcome'], reason: string): RouteExplanation => ({
        route: index,
        display_name: route.display_name ?? '',
        provider_id,
        outcome,
        reason,
      })
      if (stopped !== null) return explained('not-reached', `routes[${stopped}] has \`stop_processing\``)
      const { event_type, context_key_value } = route.event_type_key_values_filter
      if (!matchesType(event_type, type))
        return explained('type-differs', `\`${event_type}\` does not match \`${type}\``)
      if (!this.mayReceive(this.providers.indexOf(provider_id), type))
        return explained('no-cdc-events', `the provider \`${provider_id}\` does not have \`include_cdc_events\``)
      const differing = (context_key_value ?? []).find(({ key, value }) => !isEqual(context(key), value))
      if (differing !== undefined) {
        const found = context(differing.key)
        const what = found === undefined || found === null ? 'nothing' : `\`${textOf(found)}\``
        return explained('context-differs', `\`${differing.key}\`: expected \`${differing.value}\`, found ${what}`)
      }
      if (route.stop_processing === true) stopped = index
      if (sent.has(provider_id)) return explained('already-sent', `an earlier route sends it to \`${provider_id}\``)
      sent.add(provider_id)
      return explained('sent', `sent to \`${provider_id}\``)
    })
  }
}

/** Some clients write `batch` after `capture`. */
const BATCH_SEGMENT = /^svc\.audit\.capture\.batch\./

/** Whether a filter names the type: equal, or with a wildcard at the end that matches everything below. */
export function matchesType(filter: string, type: string): boolean {
  const plain = filter.replace(BATCH_SEGMENT, 'svc.audit.capture.')
  return plain.endsWith('*') ? type.startsWith(plain.slice(0, -1)) : plain === type
}

/** The types that a filter matches. */
export function typesOf(filter: string): readonly EventTypeName[] {
  return eventTypeNames.filter((type) => matchesType(filter, type))
}

/** Whether routes can select events of the type. */
export function isRoutable(type: EventTypeName): boolean {
  return eventTypes[type].group !== 'delivery'
}

/** Whether events of the type have the context key. */
export function hasContextKey(type: EventTypeName, key: string): boolean {
  const { contextKeys } = eventTypeSpec(type)
  return contextKeys.includes(key) || contextKeys.includes('{property name}')
}

/** The context keys of events of the types, as an error names them. */
export function contextKeysText(types: readonly EventTypeName[]): string {
  const keys = new Set(types.flatMap((type) => eventTypeSpec(type).contextKeys))
  return keys.size === 0
    ? 'has no context keys'
    : `has the context keys ${[...keys].map((key) => `\`${key}\``).join(', ')}`
}

/** The errors of routes that no event can match: such a route is a mistake that nothing else would show. */
export function deadRouteErrors(routes: readonly SinkRoute[]): string[] {
  return routes.flatMap(({ event_type_key_values_filter: { event_type, context_key_value } }, at) => {
    const path = `routes[${at}].event_type_key_values_filter`
    const types = typesOf(event_type).filter(isRoutable)
    if (types.length === 0) return [`${path}.event_type: no event type matches \`${event_type}\``]
    const keys = (context_key_value ?? []).map(({ key }) => key)
    if (types.some((type) => keys.every((key) => hasContextKey(type, key)))) return []
    const unknown = keys.flatMap((key, index) =>
      types.some((type) => hasContextKey(type, key)) ? [] : [`${path}.context_key_value[${index}].key: `],
    )
    if (unknown.length === 0) return [`${path}.context_key_value: no event type has all of these keys`]
    return unknown.map((place) => `${place}\`${event_type}\` ${contextKeysText(types)}`)
  })
}

function isEqual(found: ContextValue, expected: string): boolean {
  if (typeof found === 'string') return found === expected
  if (found === undefined || found === null) return false
  if (Array.isArray(found)) return found.some((item: ContextValue) => isEqual(item, expected))
  return textOf(found) === expected
}

/** The text of a value: `12`, `1.5`, `true`; the text of a temporal value is ISO 8601. */
function textOf(value: Exclude<ContextValue, null | undefined>): string {
  return String(value instanceof Float ? value.value : value)
}
