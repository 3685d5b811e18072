// Finds the documents that a change of a project's model breaks: policies that would no longer compile, and uses of definitions that it removes.
import type { ConfigReader } from '../config/kind.ts'
import { typeNamedIn } from '../engine/definitions/uses.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { definedNames, type StoredModel } from '../model/stored-model.ts'
import { policiesKind } from './authorization-policy.ts'
import { compiledContextPolicy, compiledDecisionPolicy } from './compiled-policies.ts'
import { parseDocument } from './document-json.ts'
import { isContextPolicy } from './policy-header.ts'
import { policyTypeIssues } from './type-issues.ts'

/** An issue for each definition and each stored policy that forbids the change; empty: the change may be stored. */
export function modelConsequences(
  reader: ConfigReader,
  projectId: string,
  before: StoredModel,
  after: StoredModel,
): readonly string[] {
  const defined = new Set(definedNames(after))
  const removed = new Set(definedNames(before).filter((name) => !defined.has(name)))
  const names = [...defined, ...removed]
  const users = after.ok ? (after.value?.definitions?.usersOf(removed) ?? []) : []
  const changesTypes = after.ok && after.value?.types != null
  const policies = reader.inScope(policiesKind, projectId).flatMap(({ name, fields }) => {
    const text = fields.policy as string
    if (fields.status === 'DRAFT' || !(changesTypes || mayName(text, names))) return []
    const type = removed.size === 0 ? null : typeNamedIn(cypherOf(text), removed)
    if (type !== null) return [removedIssue(`the authorization policy \`${name}\``, type)]
    const compile = isContextPolicy(fields) ? compiledContextPolicy : compiledDecisionPolicy
    const compiled = compile(fields, after)
    // One that does not compile with the present model either is no reason to keep it.
    if (!compiled.ok) {
      if (!compile(fields, before).ok) return []
      return [`the authorization policy \`${name}\` would not compile: ${compiled.error[0] ?? ''}`]
    }
    if (!changesTypes) return []
    const unfit = typeIssues(text, after)
    const others = new Set(unfit.length === 0 ? [] : typeIssues(text, before))
    const added = unfit.find((issue) => !others.has(issue))
    return added === undefined ? [] : [`the authorization policy \`${name}\` would not fit the types: ${added}`]
  })
  return [...users.map(({ definition, type }) => removedIssue(`the definition \`${definition}\``, type)), ...policies]
}

function typeIssues(policy: string, model: StoredModel): readonly string[] {
  const json = parseDocument(policy, 'policy')
  return json.ok && model.ok ? policyTypeIssues(json.value, model.value) : []
}

function removedIssue(user: string, type: string): string {
  return `${user} uses the definition \`${type}\`, which the change removes: change it first, or in the same apply`
}

/** Whether the text of a policy may name one of the relationship types. A name may be written with escapes, which are not decoded here. */
export function mayName(text: string, names: readonly string[]): boolean {
  return text.includes('\\') || names.some((name) => name.includes('`') || text.includes(name))
}

function cypherOf(policy: string): string {
  const json = parseDocument(policy, 'policy')
  const condition = json.ok && isJsonObject(json.value) ? json.value.condition : undefined
  const cypher = isJsonObject(condition) ? condition.cypher : undefined
  return typeof cypher === 'string' ? cypher : ''
}
