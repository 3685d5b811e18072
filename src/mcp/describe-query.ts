// Describes a knowledge query to a model: its purpose, its parameters and what they are compared with, its result, whether it
// writes, and an example call.

import { type ConfigReader, queriesKind } from '../config/kind.ts'
import { serviceParameters } from '../context-query/parameters.ts'
import { type CompiledQuery, isApplicationQuery } from '../context-query/query-index.ts'
import type { ContextFilter } from '../policy/context-filter.ts'
import type { RpcObject } from './json-rpc.ts'

/** Returns the description of a query as a JSON object. */
export function describeQuery(documents: ConfigReader, query: CompiledQuery): RpcObject {
  const fields = documents.get(queriesKind, query.id)?.fields ?? {}
  const { display_name, description } = fields as Readonly<Record<string, string | undefined>>
  const { document, policy } = query
  const names = parameterNames(query)
  const writes = Object.fromEntries(
    (['upsert_nodes', 'upsert_relationships', 'delete_nodes', 'delete_relationships'] as const)
      .filter((member) => (document[member]?.length ?? 0) > 0)
      .map((member) => [member, true]),
  )
  return {
    id: query.id,
    name: query.name,
    title: display_name ?? query.name,
    description: description ?? '',
    subject: isApplicationQuery(query)
      ? 'the application of this server, the same for every user'
      : `a node of type ${policy.document.subject.type}, found by the subject of the token`,
    parameters: names.map((name) => describeParameter(name, query)),
    returns: {
      nodes: document.nodes ?? [],
      relationships: document.relationships ?? [],
      aggregate_values: document.aggregate_values ?? [],
    },
    read_only: Object.keys(writes).length === 0,
    ...(Object.keys(writes).length > 0 && { writes: Object.keys(writes) }),
    example: {
      tool: 'ciq_execute',
      arguments: { id: query.name, input_params: Object.fromEntries(names.map((name) => [name, `<${name}>`])) },
    },
  }
}

/** Names of all parameters, sorted and unique. */
function parameterNames({ conditionRows, policy, writes }: CompiledQuery): string[] {
  const all = [...conditionRows.parameters, ...(policy.tokenFilter?.parameters ?? []), ...(writes?.parameters ?? [])]
  return [...new Set(all)].filter((name) => !serviceParameters.has(name)).sort()
}

function describeParameter(name: string, { policy, document }: CompiledQuery): RpcObject {
  const filters = [
    ...(policy.document.condition.filter ?? []),
    ...(document.filter === undefined ? [] : [document.filter]),
  ]
  const uses = filters.flatMap((filter) => comparisonsWith(filter, `$${name}`))
  const isId = uses.some((use) => use.endsWith('.external_id'))
  return {
    name,
    required: true,
    type: isId ? 'string' : 'string, number, boolean or a list of these',
    ...(uses.length > 0 && { description: `compared with ${[...new Set(uses)].join(', ')}` }),
  }
}

function comparisonsWith({ operator, attribute, value, operands = [] }: ContextFilter, parameter: string): string[] {
  const own = value === parameter && attribute !== undefined ? [`(${operator}) ${attribute}`] : []
  return [...own, ...operands.flatMap((operand) => comparisonsWith(operand, parameter))]
}
