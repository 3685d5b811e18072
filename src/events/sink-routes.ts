// The routes of an event sink, compiled: which providers receive an event. Routes are tried in order; an event may match several
// and is sent to each provider once, until a matching route has `stop_processing`. The audit log receives events in addition to
// the providers, whatever the routes are.
import type { DocumentFields, StoredDocument } from '../config/kind.ts'
import { assertNever } from '../kernel/assert.ts'
import { Float } from '../kernel/float.ts'
import { receivesChanges } from './change-capture.ts'
import { type EventTypeName, eventTypeNames, eventTypeSpec, eventTypes, isChangeType } from './event-types.ts'

/** A value of the context of an event, which routes compare as text. One item of a list is enough. */
export type ContextValue = string | number | bigint | boolean | Float | object | null | undefined

/** Reads the context of an event by key. Undefined or null: the event has no such key. */
export type EventContext = (key: string) => ContextValue

/** In the receivers of an event: the audit log. Above the bits of the providers of a sink, of which there are up to 32. */
export const AUDIT_BIT = 2 ** 32

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

/** Which decisions and searches are in the audit log. */
export type AuditedDecisions = 'none' | 'denials' | 'sampled' | 'all'

/** The rules by which the audit log receives events. */
export interface AuditRules {
  readonly decisions: AuditedDecisions
  /** Returns whether a sampled decision or search is in the audit log. */
  isSampled(): boolean
}

/** Whether the audit log receives the events of a type; `denials`, `sampled`: the event decides. */
type AuditRule = 'always' | 'never' | 'denials' | 'sampled'

/** The routes that events of one type may match. */
export class TypeRoutes {
  /** True: the context decides; false: every event goes to the same providers. */
  readonly readsContext: boolean
  private readonly routes: readonly TypeRoute[]
  private readonly rule: AuditRule
  private readonly audit: AuditRules | null
  private readonly constant: number

  constructor(routes: readonly TypeRoute[], rule: AuditRule, audit: AuditRules | null) {
    this.routes = routes
    this.rule = rule
    this.audit = audit
    this.readsContext = routes.some(({ conditions }) => conditions.length > 0)
    this.constant = this.readsContext ? 0 : this.matchAll(noContext)
  }

  /**
   * The providers that receive an event with this context, as bits in the order of `SinkRoutes.providers`, and `AUDIT_BIT`. 0:
   * nothing receives it.
   */
  match(context: EventContext): number {
    return this.readsContext ? this.matchAll(context) : this.constant
  }

  /** As `match`, for a decision or a search. `isDenial`: it is denied, or failed. */
  matchDecision(context: EventContext, isDenial: boolean): number {
    const matched = this.match(context)
    switch (this.rule) {
      case 'denials':
        return isDenial ? matched + AUDIT_BIT : matched
      case 'sampled':
        return this.audit?.isSampled() === true ? matched + AUDIT_BIT : matched
      case 'always':
      case 'never':
        return matched
      default:
        return assertNever(this.rule)
    }
  }

  private matchAll(context: EventContext): number {
    let matched = 0
    for (const { bit, conditions, stops } of this.routes) {
      if (!conditions.every(({ key, value }) => isEqual(context(key), value))) continue
      matched |= bit
      if (stops) break
    }
    // As an unsigned number: there are up to 32 providers.
    return (matched >>> 0) + (this.rule === 'always' ? AUDIT_BIT : 0)
  }
}

/** Why a route sends an event or not. */
interface RouteExplanation {
  /** Index in the routes of the sink. */
  readonly route: number
  readonly display_name: string
  readonly provider_id: string
  /** `sent`: this route sends the event. `already-sent`: it matches, and an earlier route has the same provider. */
  readonly outcome: 'sent' | 'already-sent' | 'not-reached' | 'type-differs' | 'context-differs' | 'no-cdc-events'
  /** One sentence. */
  readonly reason: string
}

/** Where the events of a project or of the organization go: the compiled routes of one revision of its sink, and the audit log. */
export class SinkRoutes {
  /** Empty: there is no sink. */
  readonly sinkId: string
  /** Revision of the sink document; 0: there is no sink. */
  readonly revision: number
  /** The project, or the organization for what is in no project. Names the streams of configuration and activity. */
  readonly projectId: string
  /** Ids of the providers. */
  readonly providers: readonly string[]
  private readonly routes: readonly SinkRoute[]
  private readonly sendsChanges: readonly boolean[]
  private readonly audit: AuditRules | null
  private readonly byType = new Map<EventTypeName, TypeRoutes | null>()

  /** `sink`: null: there is no sink. `audit`: null: nothing is in the audit log. */
  constructor(projectId: string, sink: StoredDocument | null, audit: AuditRules | null = null) {
    const { id, revision, fields } = sink ?? { id: '', revision: 0, fields: { providers: {}, routes: [] } }
    const providers = Object.entries(fields.providers as Readonly<Record<string, DocumentFields>>)
    this.sinkId = id
    this.revision = revision
    this.projectId = projectId
    this.providers = providers.map(([name]) => name)
    this.routes = fields.routes as readonly SinkRoute[]
    this.sendsChanges = providers.map(([, provider]) => receivesChanges(fields, provider))
    this.audit = audit
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
    const rule = this.audit === null ? 'never' : auditRuleOf(type, this.audit.decisions)
    const compiled = routes.length === 0 && rule === 'never' ? null : new TypeRoutes(routes, rule, this.audit)
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

function auditRuleOf(type: EventTypeName, decisions: AuditedDecisions): AuditRule {
  const { group } = eventTypes[type]
  if (group === 'cdc' || group === 'delivery') return 'never'
  if (group !== 'authorization') return 'always'
  switch (decisions) {
    case 'all':
      return 'always'
    case 'sampled':
      return 'sampled'
    case 'denials':
      return decidedTypes.has(type) ? 'denials' : 'never'
    case 'none':
      return 'never'
    default:
      return assertNever(decisions)
  }
}

/** The types of events with a decision. Searches have no denials. */
const decidedTypes: ReadonlySet<EventTypeName> = new Set([
  'svc.audit.authorization.evaluation',
  'svc.audit.authorization.evaluations',
])

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
  const { group } = eventTypes[type]
  return group !== 'delivery' && group !== 'operations' && group !== 'log'
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
