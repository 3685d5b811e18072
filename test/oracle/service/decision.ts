// The decision that the oracle expects: the outcome, the refusal, the advice, and the outcome of each policy.
import { type EndTypes, NaiveConditionError } from './decision-condition.ts'
import { adviceOf, type DecisionParameters, filterTruth, WrongParameterError } from './decision-filter.ts'
import { LOCATIONS, type NaiveGraphs } from './decision-graph.ts'
import { conditionHolds, type DecisionPolicy, locationParameters, neededParameters } from './decision-policy.ts'

export interface EntityPair {
  readonly types: EndTypes
  readonly subject: string
  readonly action: string
  readonly resource: string
}

/** The contents of all requests of one round. */
export interface RequestContents {
  readonly input: Readonly<Record<string, unknown>>
  readonly tags: readonly string[] | null
  /** Properties of the two entities and of the action. */
  readonly subject: object | null
  readonly resource: object | null
  readonly action: object | null
  /** Of a person's token. */
  readonly claims: Readonly<Record<string, unknown>> | null
}

export interface DecisionSetup {
  readonly graphs: NaiveGraphs
  readonly policies: readonly DecisionPolicy[]
}

export type NaivePolicyOutcome = 'granted' | 'denied' | 'filter' | 'parameters' | 'faulted'

export type NaiveDecision =
  | {
      readonly status: 200
      readonly decision: boolean
      /** Null if no filter refused. */
      readonly advice: readonly object[] | null
      /** The kind of the reason without advice; null: there is no context. */
      readonly reason: 'no_policy' | 'policy_failed' | null
      readonly outcomes: ReadonlyMap<string, NaivePolicyOutcome>
    }
  /** `parameters`: the reported one is one of each policy's. */
  | { readonly status: 422; readonly isLocation: boolean; readonly errors: readonly (readonly string[])[] }
  | { readonly status: 403 }

export const ISSUER_CLAIMS = { iss: 'https://people.example.org', aud: 'verdigraph' }

/** Throws `UnmodelledError` if the result depends on the order of rows. */
export function naiveDecision(
  scene: DecisionSetup,
  { types, subject, action, resource }: EntityPair,
  sent: RequestContents,
): NaiveDecision {
  const named = scene.policies.filter(
    (policy) => policy.status === 'ACTIVE' && policy.types === types && policy.actions.includes(action),
  )
  const policies = named.filter(({ tags }) => sent.tags === null || tags.some((tag) => sent.tags?.includes(tag)))
  const reason = named.length === 0 ? 'no_policy' : null
  const denied = { status: 200, decision: false, advice: null, reason, outcomes: new Map() } as const
  if (policies.length === 0) return denied
  const { claims } = sent
  if (claims !== null && !(types[0] === 'User' && claims.sub === subject)) {
    return policies.some(({ version }) => version === '3.0-kbac') ? { status: 403 } : denied
  }
  const parameters: DecisionParameters = new Map<string, unknown>([
    ...Object.entries(sent.input),
    ['subject_properties', sent.subject ?? {}],
    ['resource_properties', sent.resource ?? {}],
    ['action_properties', sent.action ?? {}],
    ['subject_type', types[0]],
    ['resource_type', types[1]],
    ['subject_external_id', subject],
    ['resource_external_id', resource],
    ['token', claims === null ? {} : { ...claims, ...ISSUER_CLAIMS }],
    ...(claims === null ? [] : [['subject_id', claims.sub] as const]),
  ])
  const wrong = wrongLocation(policies, parameters)
  if (wrong !== null) return { status: 422, isLocation: true, errors: [[wrong]] }

  const outcomes = new Map<string, NaivePolicyOutcome>()
  const errors: string[][] = []
  const advice: object[] = []
  for (const policy of policies) {
    const lacking = neededParameters(policy).filter((name) => !parameters.has(name))
    const outcome = lacking.length > 0 ? lacking : outcomeOf(policy, scene.graphs, parameters, subject, resource)
    outcomes.set(policy.name, Array.isArray(outcome) ? 'parameters' : outcome)
    if (Array.isArray(outcome)) errors.push(outcome.map((name) => `missing or wrong input params, '${name}'`))
    else if (outcome === 'filter' && policy.filter !== null) advice.push(...adviceOf(policy.filter, parameters))
  }
  const told = [...outcomes.values()]
  if (told.includes('granted')) return { status: 200, decision: true, advice: null, reason: null, outcomes }
  if (errors.length > 0) return { status: 422, isLocation: false, errors }
  const isFailed = told.includes('faulted')
  return {
    status: 200,
    decision: false,
    advice: told.includes('filter') ? advice : null,
    reason: isFailed ? 'policy_failed' : null,
    outcomes,
  }
}

function wrongLocation(policies: readonly DecisionPolicy[], parameters: DecisionParameters): string | null {
  for (const name of policies.flatMap(locationParameters)) {
    if (!parameters.has(name)) continue
    const given = parameters.get(name)
    if (typeof given !== 'string' || given === '') {
      return `missing or wrong input params, '${name}': location parameter $${name} must be a string of 1 to 256 characters`
    }
    if (!LOCATIONS.some((location) => location === given)) return `unknown location ${given} for parameter $${name}`
  }
  return null
}

/** A list: the parameter that is wrong. */
function outcomeOf(
  policy: DecisionPolicy,
  graphs: NaiveGraphs,
  parameters: DecisionParameters,
  subject: string,
  resource: string,
): NaivePolicyOutcome | string[] {
  try {
    if (policy.filter !== null && filterTruth(policy.filter, parameters) !== true) return 'filter'
    return conditionHolds(policy, graphs, parameters, subject, resource) ? 'granted' : 'denied'
  } catch (fault) {
    if (fault instanceof WrongParameterError) return [fault.parameter]
    if (fault instanceof NaiveConditionError) return 'faulted'
    throw fault
  }
}
