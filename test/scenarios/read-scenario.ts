// Reads a scenario file: a small graph, policies over it, and the expected results. Unknown members are errors.
import { parseDocument } from 'yaml'
import type { GraphNode, ReferenceGraph, ReferenceValue } from '../oracle/cypher/values.ts'
import { readGraph } from '../support/graph-notation.ts'

export type ScenarioParameters = ReadonlyMap<string, ReferenceValue>

export interface EntityRef {
  readonly type: string
  readonly id: string
}

export interface ScenarioPolicy {
  readonly name: string
  readonly version: string
  readonly subject: string
  readonly actions: readonly string[]
  readonly resource: string
  readonly cypher: string
}

export interface ExpectedDecision {
  readonly subject: EntityRef
  readonly action: string
  readonly resource: EntityRef
  readonly parameters: ScenarioParameters
  readonly granted: boolean
}

/** One end is given; the ids of the other end are expected. */
export interface ExpectedSearch {
  readonly given: EntityRef
  readonly action: string
  readonly soughtType: string
  readonly parameters: ScenarioParameters
  /** Sorted. */
  readonly ids: readonly string[]
}

export interface RefusedPolicy {
  readonly cypher: string
  readonly version: string
  readonly subject: string
  readonly resource: string
  readonly messageContains: string
}

export interface Scenario {
  readonly name: string
  readonly graph: ReferenceGraph
  readonly policies: readonly ScenarioPolicy[]
  readonly decisions: readonly ExpectedDecision[]
  readonly resources: readonly ExpectedSearch[]
  readonly subjects: readonly ExpectedSearch[]
  readonly refused: readonly RefusedPolicy[]
}

/** A scenario that cannot be read: names the scenario, the place in it and the error. */
export class ScenarioError extends Error {
  override readonly name = 'WorldFault'
}

export function readScenario(name: string, text: string): Scenario {
  const document = parseDocument(text, { intAsBigInt: true })
  if (document.errors[0]) throw new ScenarioError(`${name}: ${document.errors[0].message}`)
  return new WorldReader(name).scenario(document.toJS({ mapAsMap: true }))
}

/** Nothing in a scenario is skipped: an invalid list entry is an error. */
class WorldReader {
  private readonly name: string
  constructor(name: string) {
    this.name = name
  }

  scenario(root: unknown): Scenario {
    const map = this.fields(root, 'world', ['graph', 'policies', 'decisions', 'resources', 'subjects', 'refused'])
    const graph = this.graph(this.text(map.get('graph'), 'graph'))
    const policies = this.list(map.get('policies'), 'policies').map((each, i) =>
      this.policy(each, `policies[${i}]`, `policy-${i + 1}`),
    )
    const known = (ref: EntityRef): GraphNode | undefined =>
      graph.nodes.find((node) => node.type === ref.type && node.externalId === ref.id)
    const scenario = {
      name: this.name,
      graph,
      policies,
      decisions: this.list(map.get('decisions'), 'decisions').map((each, i) => this.decision(each, `decisions[${i}]`)),
      resources: this.list(map.get('resources'), 'resources').map((each, i) =>
        this.resourceSearch(each, policies, `resources[${i}]`),
      ),
      subjects: this.list(map.get('subjects'), 'subjects').map((each, i) => this.subjectSearch(each, `subjects[${i}]`)),
      refused: this.list(map.get('refused'), 'refused').map((each, i) => this.refusedPolicy(each, `refused[${i}]`)),
    }
    for (const granted of scenario.decisions.filter((each) => each.granted)) {
      for (const ref of [granted.subject, granted.resource]) {
        if (!known(ref)) this.fail('decisions', `${ref.type}:${ref.id} is granted but not in the graph`)
      }
    }
    return scenario
  }

  private graph(text: string): ReferenceGraph {
    try {
      return readGraph(text)
    } catch (fault) {
      throw new ScenarioError(`${this.name}: ${(fault as Error).message}`)
    }
  }

  private policy(value: unknown, where: string, fallbackName: string): ScenarioPolicy {
    const map = this.fields(value, where, ['name', 'version', 'subject', 'action', 'actions', 'resource', 'cypher'])
    if (map.has('action') === map.has('actions')) this.fail(where, 'either `action` or `actions` is expected')
    const actions = map.has('action') ? [map.get('action')] : this.list(map.get('actions'), `${where}.actions`)
    return {
      name: map.has('name') ? this.text(map.get('name'), `${where}.name`) : fallbackName,
      version: map.has('version') ? this.text(map.get('version'), `${where}.version`) : '2.0-kbac',
      subject: this.text(map.get('subject'), `${where}.subject`),
      actions: actions.map((action) => this.text(action, `${where}.action`)),
      resource: this.text(map.get('resource'), `${where}.resource`),
      cypher: this.text(map.get('cypher'), `${where}.cypher`),
    }
  }

  private decision(value: unknown, where: string): ExpectedDecision {
    const [subject, action, resource, parameters, answer] = this.row(
      value,
      where,
      5,
      'subject, action, resource, params, yes|no',
    )
    if (answer !== 'yes' && answer !== 'no') this.fail(where, `yes or no is expected, not ${String(answer)}`)
    return {
      subject: this.entity(subject, where),
      action: this.text(action, where),
      resource: this.entity(resource, where),
      parameters: this.parameters(parameters, where),
      granted: answer === 'yes',
    }
  }

  private resourceSearch(value: unknown, policies: readonly ScenarioPolicy[], where: string): ExpectedSearch {
    const cells = this.list(value, where)
    const [subject, action, parameters, ids, more] =
      cells.length === 5 ? cells : this.row(value, where, 4, 'subject, action, params, [ids]')
    const given = this.entity(subject, where)
    const name = this.text(action, where)
    const types = new Set(
      policies
        .filter((each) => each.subject === given.type && each.actions.includes(name))
        .map((each) => each.resource),
    )
    if (more === undefined && types.size !== 1) {
      this.fail(where, `the resource type is not clear (${[...types].join(', ') || 'no policy'}): add {type: …}`)
    }
    const soughtType = more === undefined ? [...types][0] : this.fields(more, where, ['type']).get('type')
    return {
      given,
      action: name,
      soughtType: this.text(soughtType, `${where}.type`),
      parameters: this.parameters(parameters, where),
      ids: this.ids(ids, where),
    }
  }

  private subjectSearch(value: unknown, where: string): ExpectedSearch {
    const [type, action, resource, parameters, ids] = this.row(
      value,
      where,
      5,
      'subject type, action, resource, params, [ids]',
    )
    return {
      given: this.entity(resource, where),
      action: this.text(action, where),
      soughtType: this.text(type, where),
      parameters: this.parameters(parameters, where),
      ids: this.ids(ids, where),
    }
  }

  private refusedPolicy(value: unknown, where: string): RefusedPolicy {
    const map = this.fields(value, where, ['cypher', 'version', 'subject', 'resource', 'message-contains'])
    return {
      cypher: this.text(map.get('cypher'), `${where}.cypher`),
      version: map.has('version') ? this.text(map.get('version'), `${where}.version`) : '2.0-kbac',
      subject: map.has('subject') ? this.text(map.get('subject'), `${where}.subject`) : 'Person',
      resource: map.has('resource') ? this.text(map.get('resource'), `${where}.resource`) : 'Document',
      messageContains: this.text(map.get('message-contains'), `${where}.message-contains`),
    }
  }

  // -------------------------------------------------------------- cells

  private entity(value: unknown, where: string): EntityRef {
    const text = this.text(value, where)
    const colon = text.indexOf(':')
    if (colon < 1) this.fail(where, `Type:id is expected, not ${text}`)
    return { type: text.slice(0, colon), id: text.slice(colon + 1) }
  }

  private parameters(value: unknown, where: string): ScenarioParameters {
    if (!(value instanceof Map)) return this.fail(where, 'the parameters are a map; {} if empty')
    return this.value(value, where) as ScenarioParameters
  }

  private value(value: unknown, where: string): ReferenceValue {
    if (value instanceof Map) {
      return new Map([...value].map(([key, item]) => [this.text(key, where), this.value(item, where)]))
    }
    if (Array.isArray(value)) return value.map((item) => this.value(item, where))
    if (value === null || ['boolean', 'bigint', 'number', 'string'].includes(typeof value))
      return value as ReferenceValue
    return this.fail(where, `not a value: ${String(value)}`)
  }

  private ids(value: unknown, where: string): string[] {
    return this.list(value, where)
      .map((id) => this.text(id, where))
      .sort()
  }

  private row(value: unknown, where: string, length: number, form: string): unknown[] {
    const cells = this.list(value, where)
    if (cells.length !== length) this.fail(where, `[${form}] is expected, ${cells.length} entries are there`)
    return cells
  }

  private fields(value: unknown, where: string, allowed: readonly string[]): ReadonlyMap<string, unknown> {
    if (!(value instanceof Map)) return this.fail(where, 'a map is expected')
    for (const key of value.keys()) {
      if (!allowed.includes(key)) this.fail(where, `unknown field ${key}; known: ${allowed.join(', ')}`)
    }
    return value
  }

  private list(value: unknown, where: string): unknown[] {
    if (value === undefined) return []
    return Array.isArray(value) ? value : this.fail(where, 'a list is expected')
  }

  private text(value: unknown, where: string): string {
    if (typeof value === 'bigint') return String(value)
    return typeof value === 'string' ? value : this.fail(where, `text is expected, not ${String(value)}`)
  }

  private fail(where: string, message: string): never {
    throw new ScenarioError(`${this.name}: ${where}: ${message}`)
  }
}
