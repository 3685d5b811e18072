// Finds the places by which the caller of a context query chooses its subject. Lint and the warnings of stored policies report them.
import { platformParameters } from '../engine/conditions.ts'
import { type ParameterPlace, parameterPlacesIn } from '../engine/parameter-places.ts'
import { joinsParameter } from '../engine/value-joins.ts'
import type { ContextPolicy } from './compile-context.ts'
import { filterExpression } from './filter-expression.ts'

/** A place of a context policy that lets the caller choose the subject. */
interface CallerChoice {
  /** A span of the text of the condition, or the steps from the policy to a member. */
  readonly at:
    | { readonly kind: 'cypher'; readonly span: ParameterPlace['span'] }
    | { readonly kind: 'member'; readonly member: readonly (string | number)[] }
  readonly message: string
}

/** The parameters of the platform that the service fills in context queries too. */
const filledInContexts: ReadonlySet<string> = new Set(['token', 'svc_token', '_appId'])

/**
 * The places that read a parameter which the service fills in decisions only. If no place reads one, and the subject is a person of
 * the graph: the type of the subject, unless each row joins it with a value of the verified token.
 */
export function callerChoices({ document, variables }: ContextPolicy): readonly CallerChoice[] {
  const { subject, condition } = document
  const inFilters = [
    ...parametersIn(condition.filter, ['condition', 'filter']),
    ...parametersIn(condition.token_filter, ['condition', 'token_filter']),
  ]
  const reads = [
    ...parameterPlacesIn(condition.cypher).map(({ name, span }) => ({ name, at: { kind: 'cypher', span } as const })),
    ...inFilters.map(({ name, member }) => ({ name, at: { kind: 'member', member } as const })),
  ]
  const chosen = reads.filter(({ name }) => platformParameters.has(name) && !filledInContexts.has(name))
  if (chosen.length > 0) {
    return chosen.map(({ name, at }) => ({
      at,
      message: `the service does not fill \`$${name}\` in context queries: the caller chooses its value`,
    }))
  }
  if (subject.type.startsWith('_')) return []
  const filters = (condition.filter ?? []).map((filter, i) => ({ filter, at: `filter[${i}]` }))
  const filter = filterExpression(filters, variables)
  if (joinsParameter(condition.cypher, filter.ok ? filter.value : null, 'subject', filledInContexts)) return []
  const message =
    'nothing ties the subject to the caller: compare it with `$token`, for example `subject.external_id = $token.sub`'
  return [{ at: { kind: 'member', member: ['subject', 'type'] }, message }]
}

/** The parameters that a filter reads on either side, also in lists, with the steps to the side. */
function parametersIn(
  value: unknown,
  member: readonly (string | number)[],
): { readonly name: string; readonly member: readonly (string | number)[] }[] {
  if (typeof value === 'string') return value.startsWith('$') ? [{ name: value.slice(1).split('.')[0]!, member }] : []
  if (value === null || typeof value !== 'object') return []
  const steps = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return steps.flatMap(([step, child]) => parametersIn(child, [...member, step]))
}
