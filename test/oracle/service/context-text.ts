// The documents of a context case as a customer writes them: the condition in Cypher, filters and writes in JSON.
import type { NaiveContextCase, NaivePropertyWrite } from './context-query.ts'
import type { ChainPattern, NaiveClause, NaiveNodePattern, StepPattern } from './match.ts'
import type { NaiveCondition, Term } from './terms.ts'

export function policyDocument(one: NaiveContextCase): object {
  const relationship_types = one.joinRules
  return {
    meta: { policy_version: '1.0-ciq' },
    subject: { type: one.subjectType },
    condition: { cypher: one.clauses.map(clauseText).join(' '), filter: one.policyFilters.map(filterJson) },
    allowed_reads: one.allowedReads,
    allowed_upserts: {
      nodes: { existing_nodes: one.existingNodes, node_types: one.nodeTypes },
      relationships: { existing_relationships: one.existingRelationships, relationship_types },
    },
    allowed_deletes: one.allowedDeletes,
  }
}

export function queryDocument(one: NaiveContextCase): object {
  const upsert_nodes = one.nodeWrites.map(({ name, key, labels, properties }) => ({
    name,
    ...(key === null ? {} : { type: key.type, external_id: termJson(key.externalId) }),
    ...(labels === null ? {} : { labels }),
    properties: properties.map((property) => propertyJson(property)),
  }))
  const upsert_relationships = one.relationshipWrites.map(({ name, key, properties }) => ({
    name,
    ...(key ?? {}),
    properties: properties.map((property) => propertyJson(property)),
  }))
  return {
    nodes: one.nodes,
    relationships: one.relationships,
    aggregate_values: one.aggregates,
    ...(one.queryFilter === null ? {} : { filter: filterJson(one.queryFilter) }),
    ...(upsert_nodes.length === 0 ? {} : { upsert_nodes }),
    ...(upsert_relationships.length === 0 ? {} : { upsert_relationships }),
    ...(one.deleteNodes.length === 0 ? {} : { delete_nodes: one.deleteNodes }),
    ...(one.deleteRelationships.length === 0 ? {} : { delete_relationships: one.deleteRelationships }),
  }
}

function propertyJson({ name, term, metadata }: NaivePropertyWrite): object {
  return {
    type: name,
    value: termJson(term),
    ...(metadata.length === 0
      ? {}
      : { metadata: metadata.map((entry) => ({ type: entry.name, value: termJson(entry.term) })) }),
  }
}

/** As an attribute, and after `@` as a value. */
function pathText(term: Term): string {
  switch (term.kind) {
    case 'variable':
      return term.name
    case 'own':
      return `${term.of}.${term.name}`
    case 'property':
      return `${term.of}.property.${term.name}`
    case 'metadata':
      return `${term.of}.property.${term.name}.metadata.${term.field}`
    default:
      return `$${(term as { path: readonly string[] }).path.join('.')}`
  }
}

function termJson(term: Term): unknown {
  if (term.kind === 'literal') return term.value
  return term.kind === 'parameter' ? pathText(term) : `@${pathText(term)}`
}

export function filterJson(condition: NaiveCondition): object {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return { operator: condition.kind.toUpperCase(), operands: condition.operands.map(filterJson) }
    case 'not':
      return { operator: 'NOT', operands: [filterJson(condition.operand)] }
    case 'path':
      throw new Error('a filter has no word for it')
    case 'null-test':
      return { operator: condition.negated ? 'IS NOT NULL' : 'IS NULL', attribute: pathText(condition.left) }
    case 'comparison':
      return { operator: condition.operator, attribute: pathText(condition.left), value: termJson(condition.right) }
  }
}

function clauseText(clause: NaiveClause): string {
  if (clause.kind === 'match') {
    const chains = clause.chains.map(chainText)
    const where = clause.where === null ? '' : ` WHERE ${conditionText(clause.where)}`
    return `${clause.optional ? 'OPTIONAL ' : ''}MATCH ${chains.join(', ')}${where}`
  }
  if (clause.kind === 'some-subjects') {
    const order = 'ORDER BY subject.external_id, subject.type'
    const where = clause.where === null ? '' : ` WHERE ${conditionText(clause.where)}`
    return `WITH DISTINCT subject ${order} SKIP ${clause.skip} LIMIT ${clause.limit}${where}`
  }
  const keys = clause.keys.map(({ alias, term }) =>
    term.kind === 'variable' && term.name === alias ? alias : `${cypherText(term)} AS ${alias}`,
  )
  const aggregates = clause.aggregates.map(({ alias, how, of }) => {
    const [name = '', distinct] = how.split(' ')
    return `${name}(${distinct === undefined ? '' : 'DISTINCT '}${of === null ? '*' : cypherText(of)}) AS ${alias}`
  })
  const where = clause.where === null ? '' : ` WHERE ${conditionText(clause.where)}`
  return `WITH ${clause.distinct ? 'DISTINCT ' : ''}${[...keys, ...aggregates].join(', ')}${where}`
}

function chainText({ nodes, steps }: ChainPattern): string {
  return nodes.map((node, i) => (i === 0 ? '' : stepText(steps[i - 1] as StepPattern)) + nodeText(node)).join('')
}

function nodeText({ name, label, properties }: NaiveNodePattern): string {
  return `(${name ?? ''}${label === null ? '' : `:${label}`}${mapText(properties)})`
}

function stepText({ name, types, direction, range, properties }: StepPattern): string {
  const type = types.length === 0 ? '' : `:${types.join('|')}`
  const length = range === null ? '' : `*${range[0]}..${range[1]}`
  const inner = `[${name ?? ''}${type}${length}${mapText(properties)}]`
  return `${direction === 'in' ? '<' : ''}-${inner}-${direction === 'out' ? '>' : ''}`
}

function mapText(properties: readonly (readonly [name: string, term: Term])[]): string {
  if (properties.length === 0) return ''
  return ` {${properties.map(([name, term]) => `${name}: ${cypherText(term)}`).join(', ')}}`
}

function conditionText(condition: NaiveCondition): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.operands.map((one) => `(${conditionText(one)})`).join(` ${condition.kind.toUpperCase()} `)
    case 'path':
      return chainText(condition.chain)
    case 'not':
      return `NOT (${conditionText(condition.operand)})`
    case 'null-test':
      return `${cypherText(condition.left)} IS ${condition.negated ? 'NOT ' : ''}NULL`
    case 'comparison':
      return `${cypherText(condition.left)} ${condition.operator} ${cypherText(condition.right)}`
  }
}

function cypherText(term: Term): string {
  if (term.kind === 'literal') {
    return JSON.stringify(term.value).replaceAll('"', "'")
  }
  // Both ways to write a property are equivalent.
  if (term.kind === 'property' && term.name.length % 2 === 0) return `${term.of}.${term.name}`
  return pathText(term)
}
