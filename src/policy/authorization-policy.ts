// The kind of authorization policies. One that is not DRAFT compiles when it is stored (ruling F7).
import { z } from 'zod'
import {
  type ConfigKind,
  type DocumentFields,
  envelope,
  envelopeUpdate,
  projectsKind,
  reference,
  type StoredDocument,
  tagList,
} from '../config/kind.ts'
import { isJsonObject } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type ContextPolicy, compileContextPolicy } from './compile-context.ts'
import { type CompiledDocument, compileDecisionPolicy, locationIssues } from './compile-policy.ts'
import { contextVersion } from './context-document.ts'

export const policiesKind = 'authorization-policies'

const members = {
  status: z.enum(['ACTIVE', 'INACTIVE', 'DRAFT']),
  tags: tagList.nullish(),
}

/** `textMax`: characters of a policy's document (facts 1.7.6). `locationsOf`: the logical locations of a project. */
export function authorizationPolicies(
  textMax: number,
  locationsOf: (project: StoredDocument) => Iterable<string>,
): ConfigKind {
  const document = { policy: z.string().min(1).max(textMax) }
  return {
    path: policiesKind,
    label: 'authorization policy',
    plural: 'authorization policies',
    parent: { field: 'project_id', kind: projectsKind },
    operations: { create: true, update: true, delete: true, byName: true },
    createSchema: z.strictObject({ ...envelope, project_id: reference, ...document, ...members }),
    updateSchema: z.strictObject({ ...envelopeUpdate, ...document, ...members }),
    readShape: { policy: z.string(), status: members.status, tags: z.array(z.string()) },
    secrets: [],
    omittedInLists: ['policy'],
    filters: { type: { kbac: ({ fields }) => !isContextPolicy(fields), ciq: ({ fields }) => isContextPolicy(fields) } },
    check(fields, { parent }) {
      const stored = { tags: [], ...fields }
      if (fields.status === 'DRAFT') return ok({ fields: stored })
      if (isContextPolicy(stored)) {
        const context = compiledContextPolicy(stored)
        return context.ok ? ok({ fields: stored }) : err({ kind: 'invalid', issues: context.error })
      }
      const compiled = compiledDecisionPolicy(stored)
      if (!compiled.ok) return err({ kind: 'invalid', issues: compiled.error })
      const issues = locationIssues(compiled.value, new Set(locationsOf(parent)))
      return issues.length === 0 ? ok({ fields: stored }) : err({ kind: 'invalid', issues })
    },
  }
}

const compilations = new WeakMap<DocumentFields, Result<CompiledDocument, readonly string[]>>()

/** Once for each stored revision: what was compiled to check it is what decides. */
export function compiledDecisionPolicy(fields: DocumentFields): Result<CompiledDocument, readonly string[]> {
  let compiled = compilations.get(fields)
  if (compiled === undefined) {
    compiled = compileDecisionPolicy(fields.policy as string)
    compilations.set(fields, compiled)
  }
  return compiled
}

const contexts = new WeakMap<DocumentFields, Result<ContextPolicy, readonly string[]>>()

/** The same for a context policy, which decides nothing by itself. */
export function compiledContextPolicy(fields: DocumentFields): Result<ContextPolicy, readonly string[]> {
  let context = contexts.get(fields)
  if (context === undefined) {
    context = compileContextPolicy(fields.policy as string)
    contexts.set(fields, context)
  }
  return context
}

/** What of a policy's document can be read without compiling it. */
export interface PolicyHead {
  readonly isContext: boolean
  /** Empty where the document does not tell. */
  readonly subjectType: string
  readonly actions: readonly string[]
  readonly resourceType: string
}

const heads = new WeakMap<DocumentFields, PolicyHead>()

/** Read once for each stored revision. */
export function headOf(fields: DocumentFields): PolicyHead {
  let head = heads.get(fields)
  if (head === undefined) {
    head = readHead(fields.policy as string)
    heads.set(fields, head)
  }
  return head
}

function readHead(text: string): PolicyHead {
  const document = parsed(text)
  const actions = member(document, 'actions')
  return {
    isContext: member(member(document, 'meta'), 'policy_version') === contextVersion,
    subjectType: textOf(member(member(document, 'subject'), 'type')),
    actions: Array.isArray(actions) ? [...new Set(actions.map(textOf))] : [],
    resourceType: textOf(member(member(document, 'resource'), 'type')),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function member(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A DRAFT may hold anything; what does not say that it is for context queries counts as a decision policy. */
export function isContextPolicy(fields: DocumentFields): boolean {
  return headOf(fields).isContext
}
