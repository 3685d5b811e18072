// Why a policy did not grant, in sentences.
import { readProperty } from '../graph-api.ts'
import type { ShownComparison, ShownPolicy } from './explanation.ts'
import type { AskedQuestion } from './question.ts'

const MASKED = '***'

/** One or more sentences about the outcome of a policy. */
export function reasonsOf(policy: ShownPolicy, question: AskedQuestion): readonly string[] {
  const unknown = (policy.unknown ?? []).map((role) => {
    const { type, id } = role === 'subject' ? question.subject : question.resource
    return `The graph has no ${type} “${id}”.`
  })
  switch (policy.outcome) {
    case 'granted':
      return ['Its condition is met.']
    case 'forbidden':
      if (policy.because !== undefined) return ['It forbids.', skippedReason(policy)]
      return ['It forbids: its condition is met, or not known to be false.']
    case 'passed':
      return ['It does not forbid: its condition is not met.']
    case 'faulted': {
      const reason = policy.fault?.message ?? 'the reason is unknown'
      return [policy.effect === 'forbid' ? `It failed, so it forbids: ${reason}.` : `It failed: ${reason}.`]
    }
    case 'skipped':
      return [...unknown, skippedReason(policy)]
    case 'denied': {
      if (unknown.length > 0) return unknown
      if (policy.because !== undefined) return [skippedReason(policy)]
      const says = policy.nearest_miss?.stopped.says
      if (says !== undefined) return [`${says.charAt(0).toUpperCase()}${says.slice(1)}.`]
      // A cut explanation does not know what is not met.
      const { fault } = policy
      return [
        fault === undefined
          ? 'Its condition is not met.'
          : `It does not grant. The explanation ended before it found out why: ${fault.message}.`,
      ]
    }
  }
}

function skippedReason({ because, missing = [], filter }: ShownPolicy): string {
  switch (because) {
    case 'parameters':
      return `It needs ${missing.length === 1 ? 'the parameter' : 'the parameters'} ${missing.map((name) => `$${name}`).join(', ')}.`
    case 'filter':
      return `Its filter does not admit the request: ${(filter?.failing ?? []).map(({ attribute, operator }) => `${attribute} ${operator}`).join(', ')}.`
    case 'tags':
      return 'It has none of the tags of the request.'
    case 'token':
      return 'It needs a user token of the subject.'
    case 'time':
      return 'The explanation reached its time limit before this policy.'
    default:
      return 'It was not evaluated.'
  }
}

/** A comparison with the values of both sides. */
interface ReadComparison {
  readonly text: string
  readonly values: readonly { readonly of: string; readonly value: string }[]
}

/**
 * Fills in the values that the explanation masks: of parameters from the question, of properties from the graph, if the account may
 * read it.
 */
export async function readComparisons(
  projectId: string,
  policy: ShownPolicy,
  question: AskedQuestion,
  signal: AbortSignal,
): Promise<readonly ReadComparison[]> {
  const { stopped, reached } = policy.nearest_miss ?? {}
  const read = async (of: string, value: unknown): Promise<unknown> => {
    if (value !== MASKED) return value
    if (of.startsWith('$')) return memberAt(question.parameters, of.slice(1))
    const [variable = '', property = '', ...deeper] = of.split('.')
    const node = reached?.sample.nodes.find((one) => one.variable === variable)
    if (node === undefined || node.type === null || node.id === null || deeper.length > 0) return value
    const found = await readProperty(projectId, { type: node.type, id: node.id }, property.replaceAll('`', ''), signal)
    return found === undefined ? value : found
  }
  return Promise.all(
    (stopped?.comparisons ?? []).map(async ({ text, values }: ShownComparison) => ({
      text,
      values: await Promise.all(values.map(async ({ of, value }) => ({ of, value: shown(await read(of, value)) }))),
    })),
  )
}

function memberAt(parameters: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = parameters
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name]
  return value === undefined ? MASKED : value
}

function shown(value: unknown): string {
  if (value === MASKED) return 'hidden'
  return value === null ? 'no value' : JSON.stringify(value)
}
