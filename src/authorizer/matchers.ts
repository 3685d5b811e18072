// Matchers of decisions for Vitest and Jest. A red test shows the outcome of each policy, and how far a denying one came. A name that
// the project or the graph does not have is an error, whatever the decision is.
import { writeJson } from '../kernel/json/json.ts'
import { isFaultReason } from '../pdp/denial-reasons.ts'
import type { Authorizer, CallOptions, DecisionOutput, EvaluationInput } from './authorizer.ts'
import { AuthorizerError } from './authorizer-error.ts'
import { entityOf, type QuestionArguments, type TestedEntity, type TestedParameters } from './declared-questions.ts'
import { hintFor, type Intention, isIntention, unintendedFault, unintendedIssues } from './intended-issues.ts'
import { describeExplanation } from './nearest-miss.ts'

export type { TestedEntity, TestedParameters } from './declared-questions.ts'

/** The options of `toDeny`. */
export interface DenialOptions extends CallOptions {
  /** The type, the node or the action is unknown on purpose, the request is refused, or a policy fails. */
  readonly because?: 'unknown-type' | 'unknown-node' | 'unknown-action' | 'refused' | 'failed' | undefined
}

/** The matchers of an authorizer, for the types of `expect`. */
export interface AuthorizerMatchers<R> {
  /**
   * The subject may perform the action on the resource. `options`: as for `Authorizer.evaluate`.
   *
   * @example
   * expect(authorizer).toAllow({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 4 })
   */
  toAllow(...question: [...QuestionArguments, options?: CallOptions]): R
  /**
   * The subject may not perform the action on the resource. A refused request, such as one without a parameter, is no denial, and
   * neither is one with a name that the project or the graph does not have, or one for which a policy fails, unless it is
   * expected (`options.because`).
   *
   * @example
   * expect(authorizer).toDeny({ Person: 'ghost' }, 'drive', { Car: 'c1' }, {}, { because: 'unknown-node' })
   */
  toDeny(...question: [...QuestionArguments, options?: DenialOptions]): R
}

interface MatcherResult {
  readonly pass: boolean
  message(): string
}

type DenialArguments = [
  subject: TestedEntity,
  action: string,
  resource: TestedEntity,
  params?: TestedParameters,
  options?: DenialOptions,
]

/** The matchers, for `expect.extend`. */
export const matchers = {
  toAllow: (authorizer: Authorizer, ...args: DenialArguments): MatcherResult => compare(authorizer, true, args),
  toDeny: (authorizer: Authorizer, ...args: DenialArguments): MatcherResult => compare(authorizer, false, args),
}

function compare(
  authorizer: Authorizer,
  isAllowed: boolean,
  [subject, action, resource, params = {}, { because: reason, ...options } = {}]: DenialArguments,
): MatcherResult {
  const because = reason ?? null
  if (because !== null && (isAllowed || !isIntention(because))) {
    throw new TypeError(isAllowed ? '`because` is an option of toDeny' : `unknown reason \`${because}\``)
  }
  const request: EvaluationInput = {
    subject: entityOf(subject),
    action: { name: action },
    resource: entityOf(resource),
    context: { input_params: params },
  }
  const pass = decisionOf(authorizer, request, options, because, isAllowed) === isAllowed
  return {
    pass,
    message() {
      // With `.not`, the message is of a comparison that passed.
      const expected = pass ? !isAllowed : isAllowed
      const title = `expected ${titleOf(request)} to be ${expected ? 'allowed' : (because ?? 'denied')}`
      return [title, '', ...explained(authorizer, request, options)].join('\n')
    },
  }
}

function explained(authorizer: Authorizer, request: EvaluationInput, options: CallOptions): readonly string[] {
  try {
    return describeExplanation(authorizer.explain(request, options))
  } catch (error) {
    if (error instanceof AuthorizerError) return [error.message]
    throw error
  }
}

/**
 * Throws AuthorizerError for a request that is refused, and Error for names and failures that the test does not mean, each with the request in
 * its message, with `.not` too: such a request proves nothing. A refusal that is meant is a denial.
 */
function decisionOf(
  authorizer: Authorizer,
  request: EvaluationInput,
  options: CallOptions,
  because: Intention | null,
  isAllowed: boolean,
): boolean {
  if (typeof authorizer?.evaluate !== 'function') throw new TypeError('expect: expected an authorizer')
  let decided: DecisionOutput = { decision: false }
  let refusal: AuthorizerError | null = null
  try {
    decided = authorizer.evaluate(request, options)
  } catch (error) {
    if (!(error instanceof AuthorizerError)) throw error
    refusal = error
  }
  // A body that cannot be read has no names.
  const issues = refusal?.kind === 'malformed' ? [] : authorizer.inspect(request, options)
  const { decision, context } = decided
  const fault = decision || refusal !== null ? null : unintendedFault(context?.reason, because)
  const hint = isFaultReason(fault ?? undefined) ? [hintFor('failed')] : []
  const ofFault = fault === null ? [] : [fault, ...explained(authorizer, request, options), ...hint]
  const [first, ...others] = [...unintendedIssues(issues, because, { isDecision: true, grants: isAllowed }), ...ofFault]
  if (first !== undefined) throw new Error([`${titleOf(request)} is not tested: ${first}`, ...others].join('\n  '))
  if (because === 'refused') {
    if (refusal === null) throw new Error(`${titleOf(request)} is ${decision ? 'allowed' : 'denied'}, and not refused`)
    return false
  }
  if (refusal !== null) {
    throw new AuthorizerError(refusal.kind, refusal.status, `${titleOf(request)} was refused`, refusal.issues)
  }
  return decision
}

function titleOf({ subject, action, resource, context }: EvaluationInput): string {
  const params = context?.input_params ?? {}
  const text = Object.keys(params).length === 0 ? '' : ` with ${writeJson(params)}`
  return `${subject.type}:${subject.id} ${action.name} ${resource.type}:${resource.id}${text}`
}
