// Conditions of decision policies: each in Cypher, and as a function of subject and resource over a plain graph.
import { type DecisionParameters, referenced } from './decision-filter.ts'
import { hasRelationship, targetsOf } from './decision-graph.ts'
import type { NaiveCell, NaiveGraph, NaiveNode } from './graph.ts'
import { type NaiveTruth, same, UnmodelledError } from './terms.ts'

export type EndTypes = readonly [subject: string, resource: string]
const documents: EndTypes = ['User', 'Doc']
const users: EndTypes = ['User', 'User']
export const END_TYPES = [documents, users] as const

/** The condition cannot be evaluated: its policy grants nothing. */
export class NaiveConditionError extends Error {}

export interface DecisionCondition {
  readonly text: string
  readonly parameters: readonly string[]
  readonly types: EndTypes
  holds(at: GraphView, subject: NaiveNode, resource: NaiveNode): boolean
}

/** One graph and the request contents, and the basic questions that conditions consist of. */
export class GraphView {
  readonly graph: NaiveGraph
  readonly parameters: DecisionParameters

  constructor(graph: NaiveGraph, parameters: DecisionParameters) {
    this.graph = graph
    this.parameters = parameters
  }

  isJoined(source: NaiveNode, types: readonly string[], target: NaiveNode): boolean {
    return types.some((type) => hasRelationship(this.graph, source, type, target))
  }

  behind(source: NaiveNode, type: string): readonly NaiveNode[] {
    return targetsOf(this.graph, source, type)
  }

  groups(subject: NaiveNode): readonly NaiveNode[] {
    return this.behind(subject, 'IN').filter(({ labels }) => labels.has('Group'))
  }

  /** Those of the subject's that may see the resource. */
  groupsBetween(subject: NaiveNode, resource: NaiveNode): readonly NaiveNode[] {
    return this.groups(subject).filter((group) => this.isJoined(group, ['MAY'], resource))
  }

  sent(path: string): unknown {
    return referenced(path, this.parameters)
  }
}

const property = (node: NaiveNode, name: string): NaiveCell => node.properties.get(name)?.value ?? null
const isSame = (a: unknown, b: unknown): boolean => same(a as NaiveCell, b as NaiveCell) === true

function compared(a: unknown, b: unknown, holds: (a: string | number, b: string | number) => boolean): NaiveTruth {
  if (a === null || b === null || typeof a !== typeof b || typeof a === 'object') return null
  return holds(a as string | number, b as string | number)
}

function condition(
  text: string,
  holds: DecisionCondition['holds'],
  parameters: readonly string[] = [],
  types = documents,
): DecisionCondition {
  return { text, holds, parameters, types }
}

export const CONDITIONS: readonly DecisionCondition[] = [
  condition('MATCH (subject:User)-[:OWNS]->(resource:Doc)', (at, s, r) => at.isJoined(s, ['OWNS'], r)),
  condition('MATCH (subject)-[:OWNS|LIKES]->(resource)', (at, s, r) => at.isJoined(s, ['OWNS', 'LIKES'], r)),
  condition('MATCH (resource:Doc)<-[:MAY]-(:Group)<-[:IN*1..3]-(subject:User)', (at, s, r) => {
    let reached: readonly NaiveNode[] = [s]
    for (let hops = 1; hops <= 3; hops++) {
      reached = [...new Set(reached.flatMap((node) => at.behind(node, 'IN')))]
      if (reached.some((node) => node.labels.has('Group') && at.isJoined(node, ['MAY'], r))) return true
    }
    return false
  }),
  condition(
    'MATCH (subject:User)-[:IN]->(g:Group)-[:MAY]->(resource:Doc) WHERE resource.n >= $num',
    (at, s, r) =>
      at.groupsBetween(s, r).length > 0 && compared(property(r, 'n'), at.sent('$num'), (a, b) => a >= b) === true,
    ['num'],
  ),
  condition(
    'MATCH (subject:User)-[:IN]->(g:Group {s: $str})-[:MAY]->(resource:Doc)',
    (at, s, r) => at.groupsBetween(s, r).some((group) => isSame(property(group, 's'), at.sent('$str'))),
    ['str'],
  ),
  condition('MATCH (subject:User), (resource:Doc) WHERE subject.property.s = resource.s', (_, s, r) =>
    isSame(property(s, 's'), property(r, 's')),
  ),
  condition(
    'MATCH (subject:User)-[:IN]->(:Group)-[:MAY]->(resource:Doc) WHERE NOT (subject)-[:OWNS]->(resource)',
    (at, s, r) => at.groupsBetween(s, r).length > 0 && !at.isJoined(s, ['OWNS'], r),
  ),
  condition('MATCH (subject:User), (resource:Doc) WHERE resource.n = $resource_properties.n', (at, _, r) =>
    isSame(property(r, 'n'), at.sent('$resource_properties.n')),
  ),
  condition('MATCH (subject:User), (resource:Doc) WHERE $action_properties.soft', (at) => {
    const soft = at.sent('$action_properties.soft')
    if (soft !== null && typeof soft !== 'boolean') throw new NaiveConditionError('no truth value')
    return soft === true
  }),
  condition(
    'MATCH (subject:User)-[:OWNS|LIKES]->(resource:Doc) WHERE resource.external_id IN $list',
    (at, s, r) => {
      if (!at.isJoined(s, ['OWNS', 'LIKES'], r)) return false
      const list = at.sent('$list')
      if (list !== null && !Array.isArray(list)) throw new NaiveConditionError('no list')
      return list?.includes(r.externalId) ?? false
    },
    ['list'],
  ),
  condition('MATCH (subject:User)-[:IN]->(g:Group)-[:MAY]->(resource:Doc) WHERE 6 / g.n > 1', (at, s, r) => {
    const numbers = at
      .groupsBetween(s, r)
      .map((group) => property(group, 'n'))
      .filter((n) => n !== null)
    const fit = numbers.filter((n): n is number => typeof n === 'number' && n !== 0)
    const holds = fit.some((n) => Math.trunc(6 / n) > 1)
    // The order of the rows is unspecified.
    if (holds && fit.length < numbers.length) throw new UnmodelledError('one row is true and another fails')
    if (fit.length < numbers.length) throw new NaiveConditionError('no division')
    return holds
  }),
  condition(
    'MATCH (subject:User) MATCH (resource:Doc) OPTIONAL MATCH (subject)-[:IN]->(g:Group) ' +
      'WITH subject, resource, count(g) AS c WHERE c >= 2',
    (at, s) => at.groups(s).length >= 2,
  ),
  condition(
    'MATCH (subject:User)-[:OWNS|IN]->(x) MATCH (resource:Doc) ' +
      'WHERE resource.s = $token.role AND subject.external_id = $token.sub',
    (at, s, r) =>
      at.behind(s, 'OWNS').length + at.behind(s, 'IN').length > 0 &&
      isSame(property(r, 's'), at.sent('$token.role')) &&
      isSame(s.externalId, at.sent('$token.sub')),
  ),
  condition(
    "MATCH (subject:User), (resource:Doc) WHERE $subject_external_id = 'u1' OR $resource_external_id = 'd2'",
    (_, s, r) => s.externalId === 'u1' || r.externalId === 'd2',
  ),
  condition(
    'MATCH (subject:User)-[:KNOWS]-(resource:User)',
    (at, s, r) => at.isJoined(s, ['KNOWS'], r) || at.isJoined(r, ['KNOWS'], s),
    [],
    users,
  ),
  condition(
    'MATCH (subject:User), (resource:User) WHERE subject = resource OR subject.n > resource.n',
    (_, s, r) => s === r || compared(property(s, 'n'), property(r, 'n'), (a, b) => a > b) === true,
    [],
    users,
  ),
  condition(
    'MATCH (subject:Admin)-[:OWNS]->(resource:Doc)',
    (at, s, r) => s.labels.has('Admin') && at.isJoined(s, ['OWNS'], r),
  ),
  condition('MATCH (subject:User)-[:OWNS]->(resource)-[:LINK*0..2]->(x:Doc {s: "a"})', (at, s, r) => {
    if (!at.isJoined(s, ['OWNS'], r)) return false
    let reached: readonly NaiveNode[] = [r]
    for (let hops = 0; hops <= 2; hops++) {
      if (reached.some((node) => node.labels.has('Doc') && property(node, 's') === 'a')) return true
      reached = [...new Set(reached.flatMap((node) => at.behind(node, 'LINK')))]
    }
    return false
  }),
  condition(
    'MATCH (subject:User), (resource:Doc) ' +
      'WHERE EXISTS { MATCH (subject)-[:IN]->(g)-[:MAY]->(resource) WHERE g.n > 0 } OR (subject)-[:LIKES]->(resource)',
    (at, s, r) =>
      at
        .behind(s, 'IN')
        .some((group) => at.isJoined(group, ['MAY'], r) && compared(property(group, 'n'), 0, (a, b) => a > b)) ||
      at.isJoined(s, ['LIKES'], r),
  ),
  condition(
    'MATCH (subject:User)-[:OWNS]->(d:Doc), (resource:Doc) WHERE d.n = resource.n AND d <> resource',
    (at, s, r) =>
      at
        .behind(s, 'OWNS')
        .some((owned) => owned.labels.has('Doc') && owned !== r && isSame(property(owned, 'n'), property(r, 'n'))),
  ),
]
