// The names that a question may use: types of the graph and of the policies, and actions. An unknown one is most likely misspelt, and
// would otherwise only show as a denial.
import { suggestion } from '../../../grammar/suggest.ts'
import { policyHeader } from '../../policy/policy-header.ts'
import { CliError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printNotice } from '../output/print.ts'
import type { Target } from '../target/target.ts'

/** The subject type, actions and resource type of an active policy for decisions. */
interface KnownPolicy {
  readonly subject: string
  readonly actions: readonly string[]
  readonly resource: string
}

/** The types and actions that a question may name. */
export interface KnownNames {
  /** Labels of the graph and types of policies; null: unknown. */
  readonly types: ReadonlySet<string> | null
  /** Null: unknown. */
  readonly policies: readonly KnownPolicy[] | null
}

/** Reads the names of the graph and of the active policies. A part that the caller may not read is null. */
export async function knownNames(target: Target): Promise<KnownNames> {
  const [names, policies] = [await target.names(), await policiesOf(target)]
  const isEmpty = names === null || !names.labels.some((label) => !label.startsWith('_'))
  if (isEmpty || names.truncated) return { types: null, policies }
  const ofPolicies = (policies ?? []).flatMap(({ subject, resource }) => [subject, resource])
  return { types: new Set([...names.labels, ...ofPolicies]), policies }
}

async function policiesOf(target: Target): Promise<readonly KnownPolicy[] | null> {
  try {
    return (await target.policies())
      .filter(({ status }) => status === 'ACTIVE')
      .map(({ policy }) => policyHeader({ policy }))
      .filter(({ actions }) => actions.length > 0)
      .map(({ subjectType, actions, resourceType }) => ({ subject: subjectType, actions, resource: resourceType }))
  } catch (error) {
    if (error instanceof CliError) return null
    throw error
  }
}

/** Throws CliError for a type that neither the graph nor a policy has. */
export function checkTypes({ types }: KnownNames, given: readonly string[]): void {
  if (types === null) return
  const unknown = [...new Set(given)].filter((type) => !types.has(type))
  if (unknown.length === 0) return
  const lines = unknown.map(
    (type) => `neither the graph nor a policy has the type \`${type}\`${suggestion(type, types)}`,
  )
  throw new CliError(lines, exitCodes.usage.code)
}

/** Prints a notice for an action that no policy names. */
export function noticeUnknownAction({ policies }: KnownNames, action: string): void {
  const actions = new Set((policies ?? []).flatMap((policy) => policy.actions))
  if (actions.size === 0 || actions.has(action)) return
  printNotice(`no policy names the action \`${action}\`${suggestion(action, actions)}`)
}
