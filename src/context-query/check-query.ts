// Checks a knowledge query against its policy: every path that it reads, writes or deletes must be allowed, and every
// name must be bound by the pattern or written by the query itself. The policy has been checked against its own pattern.
import type { ContextPolicy } from '../policy/compile-context.ts'
import {
  canHold,
  covers,
  type ElementPath,
  type PathElementKind,
  parsePath,
  unanswerable,
  undeletable,
} from '../policy/element-path.ts'
import { filterIssues } from './check-filter.ts'
import type { QueryDocument } from './query-document.ts'
import { compileWrites } from './write-plan.ts'

/** Returns the issues of a query; each begins with a path from `query`. Empty if the query keeps within its policy. */
export function queryIssues(query: QueryDocument, policy: ContextPolicy): string[] {
  const { allowed_reads, allowed_deletes } = policy.document
  // The query reads an element that it writes under a name of its own as the kind, node or relationship, that it writes.
  // record-reader.ts leaves out what may not be read of it.
  const isQueryName = (name: string, kind: PathElementKind): boolean => {
    const written = kind === 'node' ? query.upsert_nodes : query.upsert_relationships
    return (written ?? []).some((one) => one.name === name) && !policy.variables.has(name)
  }
  const readIssues = (member: 'nodes' | 'relationships', kind: PathElementKind): string[] =>
    pathIssues(member, query[member], kind, (path) => {
      if (isQueryName(path.variable, kind)) return null
      return pathIssue(path, allowed_reads?.[member], kind, policy, 'reading')
    })
  const deleteIssues = (member: 'delete_nodes' | 'delete_relationships', kind: PathElementKind): string[] =>
    pathIssues(member, query[member], kind, (path) => {
      const allowed = kind === 'node' ? allowed_deletes?.nodes : allowed_deletes?.relationships
      return undeletable(path) ?? pathIssue(path, allowed, kind, policy, 'deleting')
    })
  const writes = compileWrites(query)
  return [
    ...readIssues('nodes', 'node'),
    ...readIssues('relationships', 'relationship'),
    ...(query.aggregate_values ?? []).flatMap((name, i) => {
      const at = `query.aggregate_values[${i}]`
      if (allowed_reads?.aggregate_values?.includes(name) !== true)
        return [`${at}: the policy does not allow reading \`${name}\``]
      // A name of the query's own is not an alias of the pattern.
      return policy.variables.has(name) ? [] : [`${at}: the policy does not bind \`${name}\``]
    }),
    ...filterIssues(query, policy),
    ...nodeIssues(query, policy),
    ...relationshipIssues(query, policy),
    ...(writes.ok ? [] : writes.error),
    ...deleteIssues('delete_nodes', 'node'),
    ...deleteIssues('delete_relationships', 'relationship'),
  ]
}

function reservedIssues(name: string): string[] {
  return name.startsWith('_') ? [`\`${name}\` is reserved for the service`] : []
}

function pathIssues(
  member: string,
  paths: readonly string[] = [],
  kind: PathElementKind,
  issueOf: (path: ElementPath) => string | null,
): string[] {
  return paths.flatMap((text, i) => {
    const path = parsePath(text, kind)
    const issue = path.ok ? issueOf(path.value) : path.error
    return issue === null ? [] : [`query.${member}[${i}]: ${issue}`]
  })
}

function pathIssue(
  requested: ElementPath,
  allowed: readonly string[] = [],
  kind: PathElementKind,
  policy: ContextPolicy,
  what: 'reading' | 'deleting',
): string | null {
  const bound = policy.variables.get(requested.variable)
  if (bound === undefined) return `the policy does not bind \`${requested.variable}\``
  const isCovered = allowed.some((text) => {
    const path = parsePath(text, kind)
    if (!path.ok) return false
    if (what === 'reading') return covers(path.value, requested)
    // In a deletion `var.*` means all properties and `var` the element itself, so one does not include the other.
    const deleted: ElementPath = requested.kind === 'all' ? { ...requested, kind: 'properties' } : requested
    return covers(path.value, deleted) && (deleted.kind !== 'whole' || path.value.kind === 'whole')
  })
  if (!isCovered) return `the policy does not allow ${what} it`
  return what === 'reading' ? unanswerable(requested, bound) : null
}

/** A name that the pattern binds is updated in place; any other name is created and needs type and external id. */
function nodeIssues({ upsert_nodes = [] }: QueryDocument, policy: ContextPolicy): string[] {
  const { document, variables } = policy
  const allowed = document.allowed_upserts?.nodes
  const types = [...(allowed?.node_types ?? []), ...(allowed?.node_labels ?? [])]
  const writtenNames = new Set<string>()
  return upsert_nodes.flatMap(({ name, type, external_id }, i) => {
    const at = `query.upsert_nodes[${i}]`
    if (writtenNames.has(name)) return [`${at}.name: \`${name}\` is written twice`]
    writtenNames.add(name)
    if (variables.has(name)) {
      if (allowed?.existing_nodes?.includes(name) !== true)
        return [`${at}: the policy does not allow writing \`${name}\``]
      return [
        ...(type === undefined ? [] : [`${at}.type: \`${name}\` exists and has its type`]),
        ...(external_id === undefined ? [] : [`${at}.external_id: \`${name}\` exists and has its external id`]),
      ]
    }
    if (type === undefined) return [`${at}.type: expected string, found nothing`]
    if (external_id === undefined) return [`${at}.external_id: expected string, found nothing`]
    if (!types.includes(type)) return [`${at}.type: the policy does not allow creating a \`${type}\``]
    return reservedIssues(type).map((issue) => `${at}.type: ${issue}`)
  })
}

function relationshipIssues(query: QueryDocument, policy: ContextPolicy): string[] {
  const { document, variables } = policy
  const allowed = document.allowed_upserts?.relationships
  const createdNodes = new Set((query.upsert_nodes ?? []).map(({ name }) => name))
  const isNode = (name: string): boolean => createdNodes.has(name) || canHold(variables.get(name), 'node')
  const writtenNames = new Set<string>()
  return (query.upsert_relationships ?? []).flatMap(({ name, source, target, type }, i) => {
    const at = `query.upsert_relationships[${i}]`
    if (writtenNames.has(name)) return [`${at}.name: \`${name}\` is written twice`]
    writtenNames.add(name)
    if (createdNodes.has(name)) return [`${at}.name: \`${name}\` is a node`]
    const ends = { source, target }
    if (variables.has(name)) {
      const fixedMembers = [...Object.entries(ends), ['type', type] as const].filter(([, value]) => value !== undefined)
      if (allowed?.existing_relationships?.includes(name) !== true) {
        return [`${at}: the policy does not allow writing \`${name}\``]
      }
      return fixedMembers.map(([member]) => `${at}.${member}: \`${name}\` exists and has its ${member}`)
    }
    const missing = Object.entries({ ...ends, type }).filter(([, value]) => value === undefined)
    if (missing.length > 0) return missing.map(([member]) => `${at}.${member}: expected string, found nothing`)
    const unknownEnds = Object.entries(ends).filter(([, end]) => !isNode(end as string))
    if (unknownEnds.length > 0) return unknownEnds.map(([member, end]) => `${at}.${member}: unknown node \`${end}\``)
    const isAllowed = allowed?.relationship_types?.some((one) => one.type === type) === true
    if (!isAllowed) return [`${at}.type: the policy does not allow creating a \`${type}\``]
    return reservedIssues(type as string).map((issue) => `${at}.type: ${issue}`)
  })
}
