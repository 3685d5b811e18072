// Matchers of decisions for Vitest and Jest. A red test shows the outcome of each policy, and how far a denying one came.
import { writeJson } from '../kernel/json.ts'
import type { Authorizer, CallOptions, EvaluationInput, RequestEntity } from './authorizer.ts'
import { AuthorizerError } from './authorizer-error.ts'
import { describeExplanation } from './nearest-miss.ts'

/**
 * A subject or a resource in a test: `'Person:ann'`, `{ Person: 'ann' }`, or with its members.
 *
 * @example
 * const ann: TestedEntity = { Person: 'ann' }
 */
export type TestedEntity = string | Readonly<Record<string, string>> | RequestEntity

/** Values of the parameters of policies, by name without `$`. */
export type TestedParameters = Readonly<Record<string, unknown>>

/** The matchers of an authorizer, for the types of `expect`. */
export interface AuthorizerMatchers<R> {
  /**
   * The subject may perform the action on the resource. `options`: as for `Authorizer.evaluate`.
   *
   * @example
   * expect(authorizer).toAllow({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 4 })
   */
  toAllow(
    subject: TestedEntity,
    action: string,
    resource: TestedEntity,
    params?: TestedParameters,
    options?: CallOptions,
  ): R
  /** The subject may not perform the action on the resource. A refused request, such as one without a parameter, is no denial. */
  toDeny(
    subject: TestedEntity,
    action: string,
    resource: TestedEntity,
    params?: TestedParameters,
    options?: CallOptions,
  ): R
}

interface MatcherResult {
  readonly pass: boolean
  message(): string
}

type MatcherArguments = Parameters<AuthorizerMatchers<void>['toAllow']>

/** The matchers, for `expect.extend`. */
export const matchers = {
  toAllow: (authorizer: Authorizer, ...args: MatcherArguments): MatcherResult => compare(authorizer, true, args),
  toDeny: (authorizer: Authorizer, ...args: MatcherArguments): MatcherResult => compare(authorizer, false, args),
}

function compare(
  authorizer: Authorizer,
  isAllowed: boolean,
  [subject, action, resource, params = {}, options = {}]: MatcherArguments,
): MatcherResult {
  const request: EvaluationInput = {
    subject: entityOf(subject),
    action: { name: action },
    resource: entityOf(resource),
    context: { input_params: params },
  }
  const pass = decisionOf(authorizer, request, options) === isAllowed
  return {
    pass,
    message() {
      // With `.not`, the message is of a comparison that passed.
      const expected = pass ? !isAllowed : isAllowed
      const lines = describeExplanation(authorizer.explain(request, options))
      return [`expected ${titleOf(request)} to be ${expected ? 'allowed' : 'denied'}`, '', ...lines].join('\n')
    },
  }
}

/** Throws AuthorizerError with the request in its message, with `.not` too: a refused request proves nothing. */
function decisionOf(authorizer: Authorizer, request: EvaluationInput, options: CallOptions): boolean {
  if (typeof authorizer?.evaluate !== 'function') throw new TypeError('expect: expected an authorizer')
  try {
    return authorizer.evaluate(request, options).decision
  } catch (error) {
    if (!(error instanceof AuthorizerError)) throw error
    throw new AuthorizerError(error.kind, error.status, `${titleOf(request)} was refused`, error.issues)
  }
}

function titleOf({ subject, action, resource, context }: EvaluationInput): string {
  const params = context?.input_params ?? {}
  const text = Object.keys(params).length === 0 ? '' : ` with ${writeJson(params)}`
  return `${subject.type}:${subject.id} ${action.name} ${resource.type}:${resource.id}${text}`
}

function entityOf(given: TestedEntity): RequestEntity {
  if (typeof given === 'string') {
    const colon = given.indexOf(':')
    if (colon > 0) return { type: given.slice(0, colon), id: given.slice(colon + 1) }
  } else if (isRequestEntity(given)) return given
  else {
    const [entry, ...others] = Object.entries(given)
    if (entry !== undefined && others.length === 0) return { type: entry[0], id: entry[1] }
  }
  throw new TypeError(`expected 'Type:id', { Type: 'id' } or { type, id }, found ${writeJson(given)}`)
}

function isRequestEntity(given: object): given is RequestEntity {
  return 'type' in given && 'id' in given
}
