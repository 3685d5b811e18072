// The header of a stored policy: what the index needs of its document without parsing or compiling it. It is stored with
// the policy; for a policy that was stored without one it is derived from the text.
import type { DocumentFields } from '../config/kind.ts'
import { CompiledOnce } from '../kernel/compiled-once.ts'
import { parseJson } from '../kernel/json.ts'
import { isJsonObject } from '../kernel/json-kind.ts'
import { contextVersion } from './context-document.ts'

/** Field of a stored policy that holds its header. Not part of the interface. */
export const headerField = 'policy_header'

/** The stored form, which is why its members have wire names. A DRAFT may hold any text: what it lacks is empty. */
export interface PolicyHeader {
  readonly policy_version: string
  readonly subject_type: string
  /** Each once. */
  readonly actions: readonly string[]
  readonly resource_type: string
}

/** Reads the header of a parsed policy document, valid or not. */
export function readPolicyHeader(document: unknown): PolicyHeader {
  const actions = member(document, 'actions')
  return {
    policy_version: textOf(member(member(document, 'meta'), 'policy_version')),
    subject_type: textOf(member(member(document, 'subject'), 'type')),
    actions: Array.isArray(actions) ? [...new Set(actions.map(textOf))] : [],
    resource_type: textOf(member(member(document, 'resource'), 'type')),
  }
}

const derived = new CompiledOnce<DocumentFields, PolicyHeader>()

/** Returns the header of a stored policy. */
export function policyHeader(fields: DocumentFields): PolicyHeader {
  const stored = fields[headerField]
  if (stored !== undefined) return stored as PolicyHeader
  return derived.get(fields, ({ policy }) => {
    const json = parseJson(policy as string, 'integers')
    return readPolicyHeader(json.ok ? json.value : null)
  })
}

/** Returns whether the policy is for context queries. Any other text, also that of a DRAFT, is a decision policy. */
export function isContextPolicy(fields: DocumentFields): boolean {
  return policyHeader(fields).policy_version === contextVersion
}

function member(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
