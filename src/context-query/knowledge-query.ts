// The configuration kind of knowledge queries. A query that is not DRAFT is checked against its policy when it is
// stored.

import { z } from 'zod'
import {
  type ConfigKind,
  type ConfigReader,
  envelope,
  envelopeUpdate,
  projectsKind,
  queriesKind,
  reference,
  type StoredDocument,
} from '../config/kind.ts'
import type { UnknownSymbols } from '../engine/unknown-symbols.ts'
import { err, ok } from '../kernel/result.ts'
import { documentStatus, policiesKind } from '../policy/authorization-policy.ts'
import { compiledContextPolicy } from '../policy/compiled-policies.ts'
import { filterLabelIssues } from '../policy/filter-labels.ts'
import { filterWarnings, type NameSource, nameWarnings, pathWarnings } from '../policy/name-warnings.ts'
import { isContextPolicy } from '../policy/policy-header.ts'
import { queryIssues } from './check-query.ts'
import { compileQuery } from './compile-query.ts'
import { queryDocument, readQueryDocument } from './query-document.ts'

/**
 * Returns the kind. `textMax`: maximum characters of a query's document. `names`: the graphs whose names a stored query is
 * compared with.
 */
export function knowledgeQueries(textMax: number, names: NameSource): ConfigKind {
  const members = {
    policy_id: reference,
    query: z
      .string()
      .min(1)
      .max(textMax)
      .meta({ description: 'the JSON text of a `KnowledgeQueryDocument`', contentSchema: queryDocument }),
    status: documentStatus,
  }
  return {
    path: queriesKind,
    label: 'knowledge query',
    plural: 'knowledge queries',
    parent: { field: 'project_id', kind: projectsKind },
    operations: { create: true, update: true, delete: true, byName: true },
    createSchema: z.strictObject({ ...envelope, project_id: reference, ...members }),
    updateSchema: z.strictObject({
      ...envelopeUpdate,
      policy_id: members.policy_id.nullish(),
      query: members.query.nullish(),
      status: members.status.nullish(),
    }),
    readShape: { policy_id: z.string(), query: z.string(), status: members.status },
    secrets: [],
    jsonTexts: ['query'],
    omittedInLists: ['query'],
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
      const compiled = compiledContextPolicy(policy.fields)
      if (!compiled.ok) return err({ kind: 'invalid', issues: ['policy_id: the policy is a draft that cannot be run'] })
      const document = readQueryDocument(query)
      if (!document.ok) return err({ kind: 'invalid', issues: document.error })
      const isKept = current?.fields.query === query && current?.fields.status !== 'DRAFT'
      const labels = isKept ? [] : filterLabelIssues(document.value.filter, 'query.filter')
      const issues = [...labels, ...queryIssues(document.value, compiled.value)]
      if (issues.length > 0) return err({ kind: 'invalid', issues })
      const conditionRows = compileQuery(document.value, compiled.value)
      return conditionRows.ok ? ok({ fields }) : err({ kind: 'invalid', issues: conditionRows.error })
    },
    warnings: (document, reader) =>
      nameWarnings(names, document.project_id, (unknown) => queryWarnings(document, reader, unknown)),
  }
}

/** The warnings about a stored query; none for a DRAFT that cannot be read, or whose policy cannot. */
function queryWarnings({ fields }: StoredDocument, reader: ConfigReader, unknown: UnknownSymbols): readonly string[] {
  const policy = reader.get(policiesKind, fields.policy_id as string)
  if (policy === null || !isContextPolicy(policy.fields)) return []
  const compiled = compiledContextPolicy(policy.fields)
  const document = readQueryDocument(fields.query as string)
  if (!compiled.ok || !document.ok) return []
  const { nodes, relationships, filter, delete_nodes, delete_relationships } = document.value
  const lists = [
    ['nodes', nodes, 'node'],
    ['relationships', relationships, 'relationship'],
    ['delete_nodes', delete_nodes, 'node'],
    ['delete_relationships', delete_relationships, 'relationship'],
  ] as const
  return [
    ...lists.flatMap(([member, paths, kind]) => pathWarnings(`query.${member}`, paths, kind, compiled.value, unknown)),
    ...filterWarnings(filter, 'query.filter', compiled.value, unknown),
  ]
}
