// Judges the issues of a tested request: each is an error of the test, unless the test expects it.
import { isFaultReason } from '../pdp/denial-reasons.ts'
import type { RequestIssue } from './authorizer.ts'

/**
 * The denials that a test can mean. `refused`: the service refuses the request, for example because a parameter is missing. `failed`: a policy
 * fails. The others: the request is denied because of that name.
 */
export const intentions = ['unknown-type', 'unknown-node', 'unknown-action', 'refused', 'failed'] as const
/** One of `intentions`. */
export type Intention = (typeof intentions)[number]

/** Whether a text is one of `intentions`. */
export function isIntention(text: unknown): text is Intention {
  return (intentions as readonly unknown[]).includes(text)
}

/**
 * Returns the errors of a test of a request that has these issues; empty: none. `isDecision`: it is refused if it needs one of the
 * missing parameters, so they are no issue of their own; a search leaves out what needs them. `grants`: the test expects a permission
 * or a result, which a missing token cannot cause.
 */
export function unintendedIssues(
  issues: readonly RequestIssue[],
  intention: Intention | null,
  { isDecision, grants }: { readonly isDecision: boolean; readonly grants: boolean },
): readonly string[] {
  const others = issues.filter(({ kind }) => {
    if (kind === 'missing-parameter') return intention !== 'refused' && !isDecision
    return kind === 'missing-token' ? intention === null && !grants : kind !== intention
  })
  return [...others.map(({ message }) => message), ...absentIntention(issues, intention), ...hint(others)]
}

/** Exactly one name must be unknown: a second one is probably misspelt. */
function absentIntention(issues: readonly RequestIssue[], intention: Intention | null): readonly string[] {
  if (intention === null || intention === 'refused' || intention === 'failed') return []
  const found = issues.filter(({ kind }) => kind === intention)
  if (found.length === 1) return []
  const what = intention.replace('-', ' ')
  if (found.length === 0) return [`expected an ${what}, and the request has none`]
  return [`expected one ${what}, found ${found.map(({ name }) => `\`${name}\``).join(' and ')}`]
}

function hint([first]: readonly RequestIssue[]): readonly string[] {
  const word = first?.kind === 'missing-parameter' ? 'refused' : first?.kind
  if (word === 'missing-member') return ['a test that means it gives `null`']
  if (word === 'missing-token') return ['a test that means it gives `token: null`']
  return isIntention(word) ? [hintFor(word)] : []
}

/**
 * Returns why an answer without a grant proves nothing, from its `context.reason`: a policy failed, and the test does not mean it. The
 * reverse is an error too: a test that means it, and no policy failed. Null: neither.
 */
export function unintendedFault(reason: string | undefined, intention: Intention | null): string | null {
  const isFault = isFaultReason(reason)
  if (intention === 'failed') return isFault ? null : 'expected a policy that fails, and none does'
  return isFault ? reason : null
}

/** A line for the author of the test: how to expect such a denial. */
export function hintFor(intention: Intention): string {
  return `a test that means it expects \`${intention}\``
}
