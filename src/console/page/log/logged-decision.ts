// A line of the decision log, and the question that it answers.
import { linkTo } from '../address.ts'

/** A subject, resource or user. Without `id`, a search looked for it. */
interface LineEntity {
  readonly type: string
  readonly id?: string
}

/** A line, as the decision log has it. */
export interface DecisionLine {
  readonly time: string
  readonly id?: string
  readonly request_id: string
  readonly kind: 'evaluation' | 'resource search' | 'subject search' | 'action search'
  readonly item?: number
  readonly application_id?: string
  readonly agent_id?: string
  readonly service_account_id?: string
  readonly user?: LineEntity
  readonly subject?: LineEntity
  readonly action?: string
  readonly resource?: LineEntity
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly policy_tags?: readonly string[]
  readonly decision?: boolean
  readonly granted_by?: string
  readonly forbidden_by?: string
  readonly policies?: readonly { readonly id: string; readonly name: string; readonly revision: number }[]
  readonly found?: number
  readonly error?: { readonly kind: string; readonly message?: string }
  readonly duration_ms: number
}

/** A line with its place in the page. */
export interface ReceivedLine {
  /** Unique in this page. */
  readonly key: string
  readonly line: DecisionLine
  /** In lower case, for the search. */
  readonly text: string
}

/** `Person:ann`; a type alone if a search looked for it. */
export function entityText(entity: LineEntity | undefined): string {
  if (entity === undefined) return ''
  return entity.id === undefined ? `any ${entity.type}` : `${entity.type}:${entity.id}`
}

/** How a call ended: a badge and its class. */
export function outcomeOf({ decision, error, found }: DecisionLine): {
  readonly title: string
  readonly class: string
} {
  if (error !== undefined) return { title: 'failed', class: 'is-faulted' }
  if (decision === undefined) return { title: `${found ?? 0} found`, class: '' }
  return decision ? { title: 'granted', class: 'is-granted' } : { title: 'denied', class: 'is-denied' }
}

/** The setting `parameter_mask` replaces values with this text. */
const MASKED = '***'
/** Members of entities, which the log has next to the parameters. */
const PROPERTIES = ['subject_properties', 'resource_properties', 'action_properties']

/** The address of the same question in the screen Ask; null for a search. Masked values are left for the user to fill in. */
export function questionLink({ kind, subject, action, resource, parameters }: DecisionLine): string | null {
  if (kind !== 'evaluation' || subject === undefined || resource === undefined || action === undefined) return null
  const given = Object.entries(parameters ?? {}).filter(([name]) => !PROPERTIES.includes(name))
  const query = new URLSearchParams({ subject: entityText(subject), action, resource: entityText(resource) })
  for (const [name, value] of given)
    query.set(`$${name}`, value === MASKED ? '' : typeof value === 'string' ? value : JSON.stringify(value))
  return `${linkTo('ask')}?${query}`
}

/** Whether a value of the parameters is hidden. */
export function isMasked({ parameters }: DecisionLine): boolean {
  return JSON.stringify(parameters ?? {}).includes(`"${MASKED}"`)
}
