// Checks a knowledge query against its policy: every path that it reads, writes or deletes must be allowed, and every
// name must be bound by the pattern or written by the query itself.
import type { VariableKind } from '../engine/condition-rows.ts'
import { protectedNames } from '../kernel/element-rules.ts'
import type { ContextPolicy } from '../policy/compile-context.ts'
import { covers, type ElementPath, type PathElementKind, parsePath } from '../policy/element-path.ts'
import { filterIssues } from './check-filter.ts'
import type { QueryDocument } from './query-document.ts'
import { compileWrites } from './write-plan.ts'

/** Returns the issues of a query; each begins with a path from `query`. Empty if the query keeps within its policy. */
export function queryIssues(query: QueryDocument, policy: ContextPolicy): string[] {
  const { allowed_reads, allowed_deletes } = policy.document
  // The query reads an element that it writes under a name of its own as the kind, node or relationship, that it writes:
  // restrictedNamesOf handles the two kinds separately.
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
      if (path.kind === 'field' || (path.kind === 'property' && protectedNames.has(path.name)))
        return 'is a protected name'
      if (path.kind === 'metadata' || path.kind === 'score' || path.kind === 'scores') return 'cannot be deleted'
      const allowed = kind === 'node' ? allowed_deletes?.nodes : allowed_deletes?.relationships
      return pathIssue(path, allowed, kind, policy, 'deleting') ?? kindIssue(path.variable, kind, policy)
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

/** Checks the kind that the pattern gives a variable; the kind of a `value` is only known for each row. */
function kindIssue(name: string, kind: PathElementKind, { variables }: ContextPolicy): string | null {
  const kinds: readonly (VariableKind | undefined)[] =
    kind === 'node' ? ['node', 'value'] : ['relationship', 'relationships', 'value']
  return kinds.includes(variables.get(name)) ? null : `\`${name}\` is not a ${kind}`
}

function reservedIssues(name: string): string[] {
  return name.startsWith('_') ? [`\`${name}\` is reserved for the service`] : []
}

/**
 * Returns the names of the query's own under which it reads more than it writes and more than the policy allows. An
 * upsert under such a name may meet an existing element, which must not be revealed
 * (docs/decisions/0011-context-query-writes.md).
 */
export function restrictedNamesOf(query: QueryDocument, { document }: ContextPolicy): ReadonlySet<string> {
  const { allowed_reads } = document
  const restricted = (
    upserts: readonly NonNullable<QueryDocument['upsert_nodes' | 'upsert_relationships']>[number][] = [],
    requested: readonly string[] = [],
    allowed: readonly string[] = [],
    kind: PathElementKind,
  ): string[] => {
    const parsed = (texts: readonly string[]) =>
      texts.flatMap((text) => {
        const path = parsePath(text, kind)
        return path.ok ? [path.value] : []
      })
    const readable = parsed(allowed)
    return upserts
      .filter(({ type, name, properties = [] }) => {
        if (type === undefined) return false
        const written = new Set(properties.map((property) => property.type))
        return parsed(requested)
          .filter(({ variable }) => variable === name)
          .some((path) => !isWrittenHere(path, written) && !readable.some((one) => covers(one, path)))
      })
      .map(({ name }) => name)
  }
  return new Set([
    ...restricted(query.upsert_nodes, query.nodes, allowed_reads?.nodes, 'node'),
    ...restricted(query.upsert_relationships, query.relationships, allowed_reads?.relationships, 'relationship'),
  ])
}

/** A written property is replaced with its metadata; id and update time are those of this write. */
function isWrittenHere(path: ElementPath, written: ReadonlySet<string>): boolean {
  switch (path.kind) {
    case 'field':
      return path.name !== 'create_time' && path.name !== 'is_identity'
    case 'property':
    case 'metadata':
      return written.has(path.name)
    default:
      return false
  }
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
  if (!policy.variables.has(requested.variable)) return `the policy does not bind \`${requested.variable}\``
  const isCovered = allowed.some((text) => {
    const path = parsePath(text, kind)
    if (!path.ok || !covers(path.value, requested)) return false
    // In a deletion `var.*` means all properties and `var` the element itself, so one does not include the other.
    return what === 'reading' || requested.kind !== 'whole' || path.value.kind === 'whole'
  })
  return isCovered ? null : `the policy does not allow ${what} it`
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
      const issue = kindIssue(name, 'node', policy)
      return [
        ...(issue === null ? [] : [`${at}: ${issue}`]),
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
  const isNode = (name: string): boolean => createdNodes.has(name) || kindIssue(name, 'node', policy) === null
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
      const issue = kindIssue(name, 'relationship', policy)
      if (issue !== null) return [`${at}: ${issue}`]
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
