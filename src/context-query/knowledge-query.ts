// The configuration kind of knowledge queries. A query that is not DRAFT is checked against its policy when it is
// stored.

import { z } from 'zod'
import { defineKind, field } from '../config/define-kind.ts'
import { type ConfigKind, queriesKind, reference } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import { modelOf } from '../model/stored-model.ts'
import { documentStatus, policiesKind } from '../policy/authorization-policy.ts'
import { compiledContextPolicy } from '../policy/compiled-policies.ts'
import { filterLabelIssues } from '../policy/filter-labels.ts'
import { isContextPolicy } from '../policy/policy-header.ts'
import { queryIssues } from './check-query.ts'
import { compileQuery } from './compile-query.ts'
import { queryDocument, readQueryDocument } from './query-document.ts'
import { queryTypeIssues } from './type-issues.ts'

/**
 * Returns the kind. `textMax`: maximum characters of a query's document. `warnings`: about stored
 * queries; without it none.
 */
export function knowledgeQueries(textMax: number, warnings?: ConfigKind['warnings']): ConfigKind {
  return defineKind({
    path: queriesKind,
    label: 'knowledge query',
    plural: 'knowledge queries',
    fields: {
      policy_id: field(reference).required(),
      query: field(
        z
          .string()
          .min(1)
          .max(textMax)
          .meta({ description: 'the JSON text of a `KnowledgeQueryDocument`', contentSchema: queryDocument }),
      )
        .required()
        .jsonText()
        .emptyInLists(),
      status: field(documentStatus).required(),
    },
    check(fields, { reader, parent, current }) {
      const { policy_id, query, status } = fields as { policy_id: string; query: string; status: string }
      const policy = reader.get(policiesKind, policy_id)
      if (policy?.project_id !== parent.id) {
        return err({ kind: 'invalid', issues: [`policy_id: no authorization policy \`${policy_id}\` in the project`] })
      }
      if (status === 'DRAFT') return ok({ fields })
      if (!isContextPolicy(policy.fields)) {
        return err({ kind: 'invalid', issues: [`policy_id: expected a policy of version \`1.0-ciq\``] })
      }
      const compiled = compiledContextPolicy(policy.fields, modelOf(reader, parent.id))
      if (!compiled.ok) return err({ kind: 'invalid', issues: ['policy_id: the policy is a draft that cannot be run'] })
      const document = readQueryDocument(query)
      if (!document.ok) return err({ kind: 'invalid', issues: document.error })
      const isKept = current?.fields.query === query && current?.fields.status !== 'DRAFT'
      const labels = isKept ? [] : filterLabelIssues(document.value.filter, 'query.filter')
      const model = modelOf(reader, parent.id)
      const unfit = isKept ? [] : queryTypeIssues(document.value, compiled.value, model.ok ? model.value : null)
      const issues = [...labels, ...queryIssues(document.value, compiled.value), ...unfit]
      if (issues.length > 0) return err({ kind: 'invalid', issues })
      const conditionRows = compileQuery(document.value, compiled.value)
      return conditionRows.ok ? ok({ fields }) : err({ kind: 'invalid', issues: conditionRows.error })
    },
    ...(warnings === undefined ? {} : { warnings }),
  })
}
