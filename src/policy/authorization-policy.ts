// The configuration kind of authorization policies. A policy that is not DRAFT is compiled when it is stored.
import { z } from 'zod'
import { defineKind, field } from '../config/define-kind.ts'
import { type ConfigKind, type StoredDocument, tagList } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import { modelOf } from '../model/stored-model.ts'
import { locationIssues } from './compile-policy.ts'
import { compiledContextPolicy, compiledDecisionPolicy } from './compiled-policies.ts'
import { literalIssues } from './condition-findings.ts'
import { policyDocument } from './context-document.ts'
import { parseDocument } from './document-json.ts'
import { policyLabelIssues } from './filter-labels.ts'
import { isContextPolicy, isContextVersion } from './policy-header.ts'
import { policyTypeIssues } from './type-issues.ts'

/** Name of the kind. */
export const policiesKind = 'authorization-policies'

/** Whether a policy or query is used; a draft is not checked. */
export const documentStatus = z.enum(['ACTIVE', 'INACTIVE', 'DRAFT']).meta({ id: 'DocumentStatus' })

/**
 * Returns the kind. `textMax`: maximum characters of a policy's document. `locationsOf`: returns the locations of a
 * project. `warnings`: about stored policies; without it none, and no analysis is loaded.
 */
export function authorizationPolicies(
  textMax: number,
  locationsOf: (project: StoredDocument) => Iterable<string>,
  warnings?: ConfigKind['warnings'],
): ConfigKind {
  return defineKind({
    path: policiesKind,
    label: 'authorization policy',
    plural: 'authorization policies',
    fields: {
      policy: field(
        z
          .string()
          .min(1)
          .max(textMax)
          .meta({ description: 'the JSON text of a `PolicyDocument`', contentSchema: policyDocument }),
      )
        .required()
        .jsonText()
        .emptyInLists(),
      status: field(documentStatus).required(),
      tags: field(tagList).storedDefault([]),
    },
    filters: { type: { kbac: ({ fields }) => !isContextPolicy(fields), ciq: ({ fields }) => isContextPolicy(fields) } },
    check(fields, { reader, parent, current }) {
      const json = parseDocument(fields.policy as string, 'policy')
      const stored = { tags: [], ...fields }
      if (fields.status === 'DRAFT') return ok({ fields: stored })
      if (!json.ok) return err({ kind: 'invalid', issues: json.error })
      const isKept = current?.fields.policy === fields.policy && current?.fields.status !== 'DRAFT'
      // Earlier releases stored such policies.
      const refusedNow = isKept ? [] : [...policyLabelIssues(json.value), ...literalIssues(json.value)]
      if (refusedNow.length > 0) return err({ kind: 'invalid', issues: refusedNow })
      const model = modelOf(reader, parent.id)
      const unfit = isKept || !model.ok ? [] : policyTypeIssues(json.value, model.value)
      if (isContextVersion(json.value)) {
        const context = compiledContextPolicy(stored, model, json.value)
        const issues = context.ok ? unfit : context.error
        return issues.length === 0 ? ok({ fields: stored }) : err({ kind: 'invalid', issues })
      }
      const compiled = compiledDecisionPolicy(stored, model, json.value)
      if (!compiled.ok) return err({ kind: 'invalid', issues: compiled.error })
      const issues = [...locationIssues(compiled.value, new Set(locationsOf(parent))), ...unfit]
      return issues.length === 0 ? ok({ fields: stored }) : err({ kind: 'invalid', issues })
    },
    ...(warnings === undefined ? {} : { warnings }),
  })
}
