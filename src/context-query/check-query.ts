// Whether a knowledge query stays within its policy (ruling C3): every path that it reads, writes or deletes is one that
// the policy allows, and every name is one that the pattern binds or the query itself writes.
import type { VariableKind } from '../engine/condition-rows.ts'
import { protectedNames } from '../kernel/element-rules.ts'
import type { ContextPolicy } from '../policy/compile-context.ts'
import { covers, type ElementPath, type PathElementKind, parsePath } from '../policy/element-path.ts'
import { filterIssues } from './check-filter.ts'
import type { QueryDocument } from './query-document.ts'
import { compileWrites } from './write-plan.ts'

/** Issues name the member by its path from `query`. */
export function queryIssues(query: QueryDocument, policy: ContextPolicy): string[] {
  const { allowed_reads, allowed_deletes } = policy.document
  // A name of the query's own is read as what it is: namesBeyondReads looks at nodes and relationships apart.
  const isOwn = (name: string, kind: PathElementKind): boolean => {
    const written = kind === 'node' ? query.upsert_nodes : query.upsert_relationships
    return (written ?? []).some((one) => one.name === name) && !policy.variables.has(name)
  }
  const readIssues = (member: 'nodes' | 'relationships', kind: PathElementKind): string[] =>
    pathIssues(member, query[member], kind, (path) => {
      if (isOwn(path.variable, kind)) return null
      return refusalOf(path, allowed_reads?.[member], kind, policy, 'be read')
    })
  const deleteIssues = (member: 'delete_nodes' | 'delete_relationships', kind: PathElementKind): string[] =>
    pathIssues(member, query[member], kind, (path) => {
      if (path.kind === 'own' || (path.kind === 'property' && protectedNames.has(path.name)))
        return 'is a protected name'
      if (path.kind === 'metadata' || path.kind === 'score' || path.kind === 'scores') return 'cannot be deleted'
      const allowed = kind === 'node' ? allowed_deletes?.nodes : allowed_deletes?.relationships
      return refusalOf(path, allowed, kind, policy, 'be deleted') ?? kindFault(path.variable, kind, policy)
    })
  const writes = compileWrites(query)
  return [
    ...readIssues('nodes', 'node'),
    ...readIssues('relationships', 'relationship'),
    ...(query.aggregate_values ?? []).flatMap((name, i) => {
      const at = `query.aggregate_values[${i}]`
      if (allowed_reads?.aggregate_values?.includes(name) !== true)
        return [`${at}: the policy does not let \`${name}\` be read`]
      // A name of the query's own is no alias of the pattern: what it meets is told path by path.
      return policy.variables.has(name) ? [] : [`${at}: the policy binds no \`${name}\``]
    }),
    ...filterIssues(query, policy),
    ...nodeIssues(query, policy),
    ...relationshipIssues(query, policy),
    ...(writes.ok ? [] : writes.error),
    ...deleteIssues('delete_nodes', 'node'),
    ...deleteIssues('delete_relationships', 'relationship'),
  ]
}

/** Of the variable as the pattern holds it; what a `value` is, each row tells. */
function kindFault(name: string, kind: PathElementKind, { variables }: ContextPolicy): string | null {
  const kinds: readonly (VariableKind | undefined)[] =
    kind === 'node' ? ['node', 'value'] : ['relationship', 'relationships', 'value']
  return kinds.includes(variables.get(name)) ? null : `\`${name}\` is no ${kind}`
}

function reserved(name: string): string[] {
  return name.startsWith('_') ? [`\`${name}\` is reserved for the service`] : []
}

/**
 * A name of a query's own may turn out to be an element that was there before (ruling G1). What the query writes there is
 * the caller's own; these names are read beyond that and beyond what the policy lets be read of them.
 */
export function restrictedNamesOf(query: QueryDocument, { document }: ContextPolicy): ReadonlySet<string> {
  const { allowed_reads } = document
  const beyond = (
    upserts: readonly NonNullable<QueryDocument['upsert_nodes' | 'upsert_relationships']>[number][] = [],
    asked: readonly string[] = [],
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
        return parsed(asked)
          .filter(({ variable }) => variable === name)
          .some((path) => !isOwnWriting(path, written) && !readable.some((one) => covers(one, path)))
      })
      .map(({ name }) => name)
  }
  return new Set([
    ...beyond(query.upsert_nodes, query.nodes, allowed_reads?.nodes, 'node'),
    ...beyond(query.upsert_relationships, query.relationships, allowed_reads?.relationships, 'relationship'),
  ])
}

/** A property that is written is replaced with its metadata; the id and the time are those of this very write. */
function isOwnWriting(path: ElementPath, written: ReadonlySet<string>): boolean {
  switch (path.kind) {
    case 'own':
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
  faultOf: (path: ElementPath) => string | null,
): string[] {
  return paths.flatMap((text, i) => {
    const path = parsePath(text, kind)
    const fault = path.ok ? faultOf(path.value) : path.error
    return fault === null ? [] : [`query.${member}[${i}]: ${fault}`]
  })
}

function refusalOf(
  asked: ElementPath,
  allowed: readonly string[] = [],
  kind: PathElementKind,
  policy: ContextPolicy,
  what: 'be read' | 'be deleted',
): string | null {
  if (!policy.variables.has(asked.variable)) return `the policy binds no \`${asked.variable}\``
  const isCovered = allowed.some((text) => {
    const path = parsePath(text, kind)
    if (!path.ok || !covers(path.value, asked)) return false
    // In a deletion `var.*` is all properties and `var` the element itself (facts 1.6.1): one does not stand for the other.
    return what === 'be read' || asked.kind !== 'whole' || path.value.kind === 'whole'
  })
  return isCovered ? null : `the policy does not let it ${what}`
}

/** A name of the pattern is written where it is; any other one is made, and says what it is. */
function nodeIssues({ upsert_nodes = [] }: QueryDocument, policy: ContextPolicy): string[] {
  const { document, variables } = policy
  const allowed = document.allowed_upserts?.nodes
  const types = [...(allowed?.node_types ?? []), ...(allowed?.node_labels ?? [])]
  const seen = new Set<string>()
  return upsert_nodes.flatMap(({ name, type, external_id }, i) => {
    const at = `query.upsert_nodes[${i}]`
    if (seen.has(name)) return [`${at}.name: \`${name}\` is written twice`]
    seen.add(name)
    if (variables.has(name)) {
      if (allowed?.existing_nodes?.includes(name) !== true)
        return [`${at}: the policy does not let \`${name}\` be written`]
      const fault = kindFault(name, 'node', policy)
      return [
        ...(fault === null ? [] : [`${at}: ${fault}`]),
        ...(type === undefined ? [] : [`${at}.type: \`${name}\` exists and has its type`]),
        ...(external_id === undefined ? [] : [`${at}.external_id: \`${name}\` exists and has its external id`]),
      ]
    }
    if (type === undefined) return [`${at}.type: expected string, found nothing`]
    if (external_id === undefined) return [`${at}.external_id: expected string, found nothing`]
    if (!types.includes(type)) return [`${at}.type: the policy does not let a \`${type}\` be made`]
    return reserved(type).map((fault) => `${at}.type: ${fault}`)
  })
}

function relationshipIssues(query: QueryDocument, policy: ContextPolicy): string[] {
  const { document, variables } = policy
  const allowed = document.allowed_upserts?.relationships
  const made = new Set((query.upsert_nodes ?? []).map(({ name }) => name))
  const isNode = (name: string): boolean => made.has(name) || kindFault(name, 'node', policy) === null
  const seen = new Set<string>()
  return (query.upsert_relationships ?? []).flatMap(({ name, source, target, type }, i) => {
    const at = `query.upsert_relationships[${i}]`
    if (seen.has(name)) return [`${at}.name: \`${name}\` is written twice`]
    seen.add(name)
    if (made.has(name)) return [`${at}.name: \`${name}\` is a node`]
    const ends = { source, target }
    if (variables.has(name)) {
      const given = [...Object.entries(ends), ['type', type] as const].filter(([, value]) => value !== undefined)
      if (allowed?.existing_relationships?.includes(name) !== true) {
        return [`${at}: the policy does not let \`${name}\` be written`]
      }
      const fault = kindFault(name, 'relationship', policy)
      if (fault !== null) return [`${at}: ${fault}`]
      return given.map(([member]) => `${at}.${member}: \`${name}\` exists and has its ${member}`)
    }
    const missing = Object.entries({ ...ends, type }).filter(([, value]) => value === undefined)
    if (missing.length > 0) return missing.map(([member]) => `${at}.${member}: expected string, found nothing`)
    const strangers = Object.entries(ends).filter(([, end]) => !isNode(end as string))
    if (strangers.length > 0) return strangers.map(([member, end]) => `${at}.${member}: there is no node \`${end}\``)
    const isAllowed = allowed?.relationship_types?.some((one) => one.type === type) === true
    if (!isAllowed) return [`${at}.type: the policy does not let a \`${type}\` be made`]
    return reserved(type as string).map((fault) => `${at}.type: ${fault}`)
  })
}
