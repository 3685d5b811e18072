// The header of a stored policy: what the index needs of its document without compiling it. It is read from the text once for
// each stored revision and process, and never stored: a second copy could contradict the text, and would then decide.
import type { DocumentFields } from '../config/kind.ts'
import { CompiledOnce } from '../kernel/compiled-once.ts'
import { parseJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { contextVersion } from './context-document.ts'
import type { PolicyEffect } from './decision-document.ts'
import { executedVersion } from './policy-version.ts'

/** The version, effect, types and actions of a policy. A DRAFT may hold any text: what it lacks is empty. */
export interface PolicyHeader {
  /** The version that is executed: `2.0-kbac` for `1.0-svc`. */
  readonly version: string
  /** `forbid` only if the document says so. */
  readonly effect: PolicyEffect
  readonly subjectType: string
  /** Each once. */
  readonly actions: readonly string[]
  readonly resourceType: string
}

/** Reads the header of a parsed policy document, valid or not. */
function readPolicyHeader(document: unknown): PolicyHeader {
  const actions = member(document, 'actions')
  return {
    version: executedVersion(document),
    effect: member(document, 'effect') === 'forbid' ? 'forbid' : 'permit',
    subjectType: textOf(member(member(document, 'subject'), 'type')),
    actions: Array.isArray(actions) ? [...new Set(actions.map(textOf))] : [],
    resourceType: textOf(member(member(document, 'resource'), 'type')),
  }
}

const headers = new CompiledOnce<DocumentFields, PolicyHeader>()

/** Returns the header of a stored policy. Parses its text at the first call for these fields. */
export function policyHeader(fields: DocumentFields): PolicyHeader {
  return headers.get(fields, ({ policy }) => {
    const json = parseJson(policy as string, 'integers')
    return readPolicyHeader(json.ok ? json.value : null)
  })
}

/** Returns whether the policy is for context queries. Any other text, also that of a DRAFT, is a decision policy. */
export function isContextPolicy(fields: DocumentFields): boolean {
  return policyHeader(fields).version === contextVersion
}

/** Returns whether a parsed policy document is for context queries. */
export function isContextVersion(document: unknown): boolean {
  return readPolicyHeader(document).version === contextVersion
}

function member(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
