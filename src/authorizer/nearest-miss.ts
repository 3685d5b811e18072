// Describes why a request is granted or denied, in lines for a person: the outcome of each policy, and how far a denying one came.
import { assertNever } from '../kernel/assert.ts'
import { writeJson } from '../kernel/json/json.ts'
import type {
  ExplainedComparison,
  ExplainedElements,
  ExplainedKey,
  ExplainedOutcome,
  ExplanationOutput,
} from './authorizer.ts'

/** One or two lines for each policy, and one for the parameters. At least one line. */
export function describeExplanation({ policies, parameters, context }: ExplanationOutput): readonly string[] {
  if (policies.length === 0) return ['no policy has these types and this action']
  const given = Object.entries(parameters).map(([name, value]) => `$${name} = ${writeJson(value)}`)
  return [
    ...(context?.reason === undefined ? [] : [context.reason]),
    ...policies.flatMap(describeOutcome),
    ...(given.length === 0 ? [] : [`with ${given.join(', ')}`]),
  ]
}

function describeOutcome(policy: ExplainedOutcome): readonly string[] {
  const name = `policy ${policy.name}`
  switch (policy.outcome) {
    case 'granted':
      return [`${name} grants${policy.matched === undefined ? '' : `: ${describeElements(policy.matched)}`}`]
    case 'denied':
      return [`${name} does not grant`, ...describeMiss(policy)]
    case 'forbidden': {
      if (policy.because === 'parameters') return [`${name} forbids: ${skippedText(policy)}`]
      return [`${name} forbids${policy.matched === undefined ? '' : `: ${describeElements(policy.matched)}`}`]
    }
    case 'passed':
      return [`${name} does not forbid`]
    case 'faulted':
      return [`${name} failed${policy.effect === 'forbid' ? ', so it forbids' : ''}: ${policy.fault?.message ?? ''}`]
    case 'skipped':
      return [`${name} was skipped: ${skippedText(policy)}`]
    default:
      return assertNever(policy.outcome)
  }
}

function skippedText({ because, missing = [], filter }: ExplainedOutcome): string {
  switch (because) {
    case 'parameters':
      return `the caller must send ${missing.map((name) => `$${name}`).join(', ')}`
    case 'filter': {
      const failing = filter?.failing.map(({ attribute, operator }) => `${attribute} ${operator}`) ?? []
      return `its filter does not admit the request: ${failing.join(', ')}`
    }
    case 'tags':
      return 'it has none of the tags of the request'
    case 'token':
      return 'the token belongs to another subject'
    case 'time':
      return 'the explanation reached its time limit'
    case undefined:
      return 'for no reason'
    default:
      return assertNever(because)
  }
}

function describeMiss({ unknown = [], nearest_miss: miss, fault }: ExplainedOutcome): readonly string[] {
  if (unknown.length > 0) return [`  not in the graph: ${unknown.join(', ')}`]
  if (miss === undefined)
    return fault === undefined ? [] : [`  the explanation ended before it found out why: ${fault.message}`]
  const { reached, stopped } = miss
  const sample = reached === null ? '' : describeElements(reached.sample)
  return [
    ...(reached === null ? [] : [`  reached: ${reached.step}${sample === '' ? '' : `, for example ${sample}`}`]),
    `  stopped: ${stopped.says}${stopped.found === undefined ? '' : `: ${describeElements(stopped.found)}`}`,
    ...describeComparisons(stopped.comparisons ?? []),
  ]
}

/** The values of the predicates that are not true, each of them once. */
function describeComparisons(comparisons: readonly ExplainedComparison[]): readonly string[] {
  const texts = comparisons.flatMap(({ values }) =>
    values.map(({ of, value }) => (value === null ? `${of} is absent` : `${of} = ${writeJson(value)}`)),
  )
  return texts.length === 0 ? [] : [`  values: ${[...new Set(texts)].join(', ')}`]
}

function describeElements({ nodes, relationships }: ExplainedElements): string {
  const paths = relationships.map(({ source, type, target }) => `${keyText(source)}-[:${type}]->${keyText(target)}`)
  return (paths.length > 0 ? paths : nodes.map(keyText)).join(', ')
}

function keyText({ type, id }: ExplainedKey): string {
  return `(${type ?? ''}:${id ?? ''})`
}
