// Warnings about the names in stored knowledge queries. Only the service, which has graphs to compare them with, loads this file.
import type { ConfigKind, ConfigReader, StoredDocument } from '../config/kind.ts'
import type { UnknownSymbols } from '../engine/unknown-symbols.ts'
import { modelOf } from '../model/stored-model.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { compiledContextPolicy } from '../policy/compiled-policies.ts'
import { filterWarnings, type NameSource, nameWarnings, pathWarnings } from '../policy/name-warnings.ts'
import { isContextPolicy } from '../policy/policy-header.ts'
import { readQueryDocument } from './query-document.ts'

/** Returns the warnings of the kind of queries. `names`: the graphs whose names a stored query is compared with. */
export function queryWarningsBy(names: NameSource): NonNullable<ConfigKind['warnings']> {
  return (document, reader) => {
    const model = modelOf(reader, document.project_id)
    return nameWarnings(names, document.project_id, model, (unknown) => queryWarnings(document, reader, unknown))
  }
}

/** The warnings about a stored query; none for a DRAFT that cannot be read, or whose policy cannot. */
function queryWarnings({ fields }: StoredDocument, reader: ConfigReader, unknown: UnknownSymbols): readonly string[] {
  const policy = reader.get(policiesKind, fields.policy_id as string)
  if (policy === null || !isContextPolicy(policy.fields)) return []
  const compiled = compiledContextPolicy(policy.fields, modelOf(reader, policy.project_id))
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
