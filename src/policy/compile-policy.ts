// Turns the text of a policy into something that can be asked, or into what its author has to mend.
import { type Issue, renderIssue } from '../../grammar/issue.ts'
import { type Condition, compileCondition } from '../engine/conditions.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type DecisionVersion, readPolicyDocument } from './document.ts'

export interface CompiledDocument {
  readonly version: DecisionVersion
  readonly subjectType: string
  readonly actions: readonly string[]
  readonly resourceType: string
  readonly condition: Condition
  /** What the caller must send in `input_params`: the condition's parameters without the platform-bound ones. */
  readonly inputParameters: readonly string[]
}

export interface CompiledPolicy extends CompiledDocument {
  readonly id: string
  readonly name: string
  readonly tags: readonly string[]
}

/** Bound by the decision itself and never taken from `input_params` (interface, decisions rule 6; ruling D5). */
export const platformParameters: ReadonlySet<string> = new Set([
  'subject_external_id',
  'subject_type',
  'resource_external_id',
  'resource_type',
  'subject_properties',
  'resource_properties',
  'action_properties',
])

const CYPHER = 'policy.condition.cypher'

export function compilePolicy(text: string): Result<CompiledDocument, readonly string[]> {
  const read = readPolicyDocument(text)
  if (!read.ok) return read
  const { meta, subject, actions, resource, condition } = read.value
  const version = meta.policy_version as DecisionVersion
  const compiled = compileCondition({
    text: condition.cypher,
    dialect: version,
    subjectType: subject.type,
    resourceType: resource.type,
  })
  if (!compiled.ok) return err(compiled.error.map((issue) => `${CYPHER}: ${rendered(condition.cypher, issue)}`))
  const parameters = compiled.value.parameters
  return ok({
    version,
    subjectType: subject.type,
    actions,
    resourceType: resource.type,
    condition: compiled.value,
    inputParameters: parameters.filter((name) => !platformParameters.has(name)),
  })
}

/** Ruling F7: line, column, what was found, what was expected, and a caret line. */
function rendered(text: string, issue: Issue): string {
  let message = issue.message
  if (issue.found !== undefined && !message.includes(issue.found)) message += `, found ${issue.found}`
  if (issue.expected !== undefined && !message.includes(issue.expected)) message += `, expected ${issue.expected}`
  return renderIssue(text, { ...issue, message })
}
