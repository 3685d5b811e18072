// The meaning of a policy condition that every engine must share: the relation of the (subject, resource) pairs for
// which the whole condition, run without any fixed variable, has a row.
import type { Query } from '../../../grammar/ast.ts'
import { parse } from '../../../grammar/index.ts'
import { Interpreter } from './interpreter.ts'
import { isNode, ReferenceEvaluationError, type ReferenceGraph, type ReferenceValue } from './values.ts'

export interface ReferencePolicy {
  readonly cypher: string
  readonly subjectType: string
  readonly resourceType: string
  /** True: the pairs for which the condition is not definitely false. */
  readonly keepsUnknown?: boolean
}

/** `subjectId|resourceId` of every granted pair. An error (type error, missing parameter) grants nothing. */
export function decide(
  graph: ReferenceGraph,
  policy: ReferencePolicy,
  parameters: ReadonlyMap<string, ReferenceValue>,
): Set<string> {
  try {
    return relation(graph, policy, parameters)
  } catch (fault) {
    if (fault instanceof ReferenceEvaluationError) return new Set()
    throw fault
  }
}

/** The same, but throws the error. Types are the nodes' own types, not further labels. */
export function relation(
  graph: ReferenceGraph,
  policy: ReferencePolicy,
  parameters: ReadonlyMap<string, ReferenceValue>,
): Set<string> {
  const parsed = parse(policy.cypher)
  if (!parsed.ok) throw new Error(`does not parse: ${parsed.diagnostics[0]?.message}\n${policy.cypher}`)
  for (const name of parameterNames(parsed.query)) {
    if (!parameters.has(name)) throw new ReferenceEvaluationError(`missing parameter $${name}`)
  }
  const pairs = new Set<string>()
  for (const row of new Interpreter(graph, parameters, policy.keepsUnknown === true ? 'possible' : 'plain').run(
    parsed.query,
  )) {
    const subject = row.get('subject') ?? null
    const resource = row.get('resource') ?? null
    if (!isNode(subject) || !isNode(resource)) continue
    if (subject.type !== policy.subjectType || resource.type !== policy.resourceType) continue
    pairs.add(`${subject.externalId}|${resource.externalId}`)
  }
  return pairs
}

/** A condition requires all parameters that its text names, also unused ones. */
export function parameterNames(query: Query): Set<string> {
  const names = new Set<string>()
  const look = (tree: unknown): void => {
    if (tree === null || typeof tree !== 'object') return
    const { kind, name } = tree as { kind?: unknown; name?: unknown }
    if (kind === 'parameter' && typeof name === 'string') names.add(name)
    for (const child of Object.values(tree)) look(child)
  }
  look(query)
  return names
}
