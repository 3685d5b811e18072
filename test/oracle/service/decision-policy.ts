// Random decision policies: the document as stored, and the condition evaluated over plain graphs.
import type { Random } from '../../generate/random.ts'
import {
  CONDITIONS,
  type DecisionCondition,
  type EndTypes,
  GraphView,
  NaiveConditionError,
} from './decision-condition.ts'
import {
  type DecisionFilter,
  type DecisionParameters,
  parametersOfFilter,
  randomDecisionFilter,
} from './decision-filter.ts'
import { type DecisionLocation, LOCATIONS, type NaiveGraphs, nodeAt } from './decision-graph.ts'
import { UnmodelledError } from './terms.ts'

interface Branch {
  readonly condition: DecisionCondition
  /** A name, a parameter, or null for the project's own database. */
  readonly location: string | null
}

export interface DecisionPolicy {
  readonly name: string
  readonly version: '2.0-kbac' | '3.0-kbac'
  readonly status: 'ACTIVE' | 'INACTIVE' | 'DRAFT'
  readonly types: EndTypes
  readonly actions: readonly string[]
  readonly tags: readonly string[]
  /** More than one: a union. */
  readonly branches: readonly Branch[]
  /** The branches are inside a subquery. */
  readonly called: boolean
  readonly filter: DecisionFilter | null
}

const OF_PLATFORM = [
  'subject_external_id',
  'subject_type',
  'resource_external_id',
  'resource_type',
  'subject_properties',
  'resource_properties',
  'action_properties',
  'token',
]

export function randomDecisionPolicy(random: Random, name: string): DecisionPolicy {
  const version = random.pick(['2.0-kbac', '3.0-kbac', '3.0-kbac'] as const)
  const condition = random.pick(CONDITIONS)
  const { types } = condition
  const location = () => (random.odds(0.5) ? random.pick(['$loc', '$region']) : random.pick(LOCATIONS))
  const form = version === '2.0-kbac' || random.odds(0.45) ? 'plain' : random.pick(['placed', 'placed', 'called'])
  const isCalled = form === 'called' && !/OPTIONAL|WITH/.test(condition.text)
  const another = random.pick(CONDITIONS)
  const more = version === '2.0-kbac' ? ['$subject_id'] : []
  return {
    name,
    version,
    types,
    status: random.odds(0.1) ? random.pick(['INACTIVE', 'DRAFT'] as const) : 'ACTIVE',
    actions: [random.pick(['read', 'edit', 'own']), ...(random.odds(0.4) ? ['view'] : [])],
    tags: ['t1', 't2', 't3'].filter(() => random.odds(0.3)),
    called: isCalled,
    branches: isCalled
      ? [condition, ...(another.types === types ? [another] : [])].map((one) => ({
          condition: one,
          location: random.odds(0.2) ? null : location(),
        }))
      : [{ condition, location: form === 'plain' ? null : location() }],
    filter: random.odds(0.45) ? randomDecisionFilter(random, 2, more) : null,
  }
}

export function decisionDocument({ version, types, actions, branches, called, filter }: DecisionPolicy): object {
  const placed = ({ condition, location }: Branch): string => {
    const name = location?.startsWith('$') ? location : `'${location}'`
    return location === null ? condition.text : `USE graph.byName(${name}) ${condition.text}`
  }
  const cypher = called
    ? `CALL () { ${branches.map((branch) => `${placed(branch)} RETURN subject, resource`).join(' UNION ')} }`
    : branches.map(placed).join()
  return {
    meta: { policy_version: version },
    subject: { type: types[0] },
    actions,
    resource: { type: types[1] },
    condition: { cypher, ...(filter === null ? {} : { filter }) },
  }
}

export function locationParameters({ branches }: DecisionPolicy): string[] {
  return branches.flatMap(({ location }) => (location?.startsWith('$') ? [location.slice(1)] : []))
}

/** The parameters that a request must send for it. */
export function neededParameters(policy: DecisionPolicy): string[] {
  const { branches, filter } = policy
  return [
    ...branches.flatMap(({ condition }) => condition.parameters),
    ...(filter === null ? [] : parametersOfFilter(filter)),
    ...locationParameters(policy),
  ].filter((name) => !OF_PLATFORM.includes(name))
}

export function conditionHolds(
  { branches, types }: DecisionPolicy,
  graphs: NaiveGraphs,
  parameters: DecisionParameters,
  subjectId: string,
  resourceId: string,
): boolean {
  let [holds, fault] = [false, null as NaiveConditionError | null]
  for (const { condition, location } of branches) {
    const name = location?.startsWith('$') ? parameters.get(location.slice(1)) : (location ?? 'home')
    const graph = graphs[name as DecisionLocation]
    const [subject, resource] = [nodeAt(graph, types[0], subjectId), nodeAt(graph, types[1], resourceId)]
    if (subject === undefined || resource === undefined) continue
    try {
      if (condition.holds(new GraphView(graph, parameters), subject, resource)) holds = true
    } catch (thrown) {
      if (!(thrown instanceof NaiveConditionError)) throw thrown
      fault = thrown
    }
  }
  if (fault === null) return holds
  if (holds) throw new UnmodelledError('one branch is true and another fails')
  throw fault
}
