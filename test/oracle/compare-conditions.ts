// Evaluates one random case in three ways and compares the results; a difference is printed with the case as a scenario
// file.
import type { NodePage, QueryContext } from '../../src/engine/conditions.ts'
import { ExecutionError } from '../../src/engine/errors.ts'
import { type GeneratedCondition, randomCondition, randomSearchedCondition } from '../generate/condition.ts'
import type { Random } from '../generate/random.ts'
import { printGraph, printValue } from '../support/graph-notation.ts'
import { ask, compiled, type Rules, type StoredGraph } from '../support/store-engine.ts'
import { decide } from './cypher/decide.ts'
import { TooManyRowsError } from './cypher/pattern.ts'
import type { ReferenceGraph } from './cypher/values.ts'

/** The results of one engine for all pairs; each line is one result, so that two engines can be compared. */
type ConditionAnswers = readonly string[]
export type ComparisonOutcome =
  /** `answers`: how many answers of the engine were compared, for each set of rules. */
  | { readonly kind: 'agree'; readonly size: number; readonly answers: number }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'refused' | 'differ'; readonly why: string }

/** A condition over a graph. */
export interface ConditionCase extends GeneratedCondition {
  readonly graph: ReferenceGraph
  /** True: the condition of a policy that forbids. */
  readonly keepsUnknown?: boolean
}

/** The graphs are small, so lists are split early: a traversal must continue from one chunk to the next. */
export const SHORT_CHUNKS = { entriesPerChunk: 2 }

/** A condition for the graph. Most random conditions grant nothing, so up to a few are drawn until one grants. */
export function randomCase(random: Random, graph: ReferenceGraph, drawsMax = 4): ConditionCase {
  let drawn: ConditionCase = { graph, ...randomCondition(random) }
  for (let draw = 1; draw < drawsMax && !grants(drawn); draw++) drawn = { graph, ...randomCondition(random) }
  return drawn
}

/** A condition with a selector or a quantified path pattern where there may be no match. */
export const randomSearchedCase = (random: Random, graph: ReferenceGraph): ConditionCase => ({
  graph,
  ...randomSearchedCondition(random),
})

function grants(case_: ConditionCase): boolean {
  try {
    return referencePairs(case_).size > 0
  } catch {
    // Recorded as a refusal or as too large when the case is settled.
    return false
  }
}

function referencePairs(case_: ConditionCase): Set<string> {
  const { graph, text, subjectType, resourceType, parameters, keepsUnknown = false } = case_
  return decide(graph, { cypher: text, subjectType, resourceType, keepsUnknown }, parameters)
}

const policyOf = (condition: GeneratedCondition & { readonly keepsUnknown?: boolean }) => ({
  keepsUnknown: condition.keepsUnknown === true,
  cypher: condition.text,
  version: 'open',
  subject: condition.subjectType,
  resource: condition.resourceType,
})

const ids = (graph: ReferenceGraph, type: string): string[] =>
  graph.nodes.filter((node) => node.type === type).map((node) => node.externalId)

/** From the set of pairs: what every check and every search must return. */
function expectedAnswers(case_: ConditionCase, pairs: ReadonlySet<string>): ConditionAnswers {
  const [subjects, resources] = [ids(case_.graph, case_.subjectType), ids(case_.graph, case_.resourceType)]
  return [
    ...subjects.flatMap((s) => resources.map((r) => `check ${s} ${r}: ${pairs.has(`${s}|${r}`)}`)),
    ...subjects.map((s) => `resources of ${s}: ${resources.filter((r) => pairs.has(`${s}|${r}`)).sort()}`),
    ...resources.map((r) => `subjects of ${r}: ${subjects.filter((s) => pairs.has(`${s}|${r}`)).sort()}`),
  ]
}

/**
 * Incremental searches that stop after a few nodes and resume there, with merges where possible; joined they are the
 * whole search.
 */
function answersInSteps(case_: ConditionCase, stored: StoredGraph): ConditionAnswers {
  const engine = compiled(policyOf(case_), 'on', { collectedMax: 0 })
  if (typeof engine === 'string') return []
  const inSteps = (asking: QueryContext, behind: (after: number, enough: number) => NodePage): string[] => {
    const found: string[] = []
    let after = 0
    for (let enough = 1; ; enough = (enough % 3) + 1) {
      const { nodes, isComplete } = behind(after, enough)
      if (!isComplete && nodes.length < enough) return ['fewer than there are']
      for (const node of nodes.subarray(0, enough)) {
        if (node <= after) return ['out of order']
        found.push(String(asking.snapshot.nodeField(node, 'external_id')))
        after = node
      }
      if (isComplete && nodes.length <= enough) return found.sort()
    }
  }
  const [subjects, resources] = [ids(case_.graph, case_.subjectType), ids(case_.graph, case_.resourceType)]
  return ask(
    stored.environment,
    engine,
    case_.parameters,
    (asking) => [
      ...(engine.targetGraph('resource') === null ? [] : subjects).map(
        (s) => `resources of ${s}: ${inSteps(asking, (after, n) => engine.resourcesAfter(asking, s, after, n))}`,
      ),
      ...(engine.targetGraph('subject') === null ? [] : resources).map(
        (r) => `subjects of ${r}: ${inSteps(asking, (after, n) => engine.subjectsAfter(asking, r, after, n))}`,
      ),
    ],
    [],
  )
}

function engineAnswers(
  case_: ConditionCase,
  stored: StoredGraph,
  rules: Rules,
): ConditionAnswers | { refused: string } {
  const engine = compiled(policyOf(case_), rules)
  if (typeof engine === 'string') return { refused: engine }
  const [subjects, resources] = [ids(case_.graph, case_.subjectType), ids(case_.graph, case_.resourceType)]
  return ask(
    stored.environment,
    engine,
    case_.parameters,
    (asking) => [
      ...subjects.flatMap((s) => resources.map((r) => `check ${s} ${r}: ${engine.check(asking, s, r)}`)),
      ...subjects.map((s) => `resources of ${s}: ${engine.resources(asking, s).sort()}`),
      ...resources.map((r) => `subjects of ${r}: ${engine.subjects(asking, r).sort()}`),
    ],
    ['a fault'],
  )
}

/** The first result that differs, from both sides. */
function difference(expected: ConditionAnswers, found: ConditionAnswers, name: string): string | null {
  const at = expected.findIndex((line, index) => line !== found[index])
  if (at < 0 && found.length === expected.length) return null
  return `${name} says \`${found[at] ?? found.join()}\`, the reference \`${expected[at]}\``
}

function outcomeOf(case_: ConditionCase, stored: StoredGraph): ComparisonOutcome {
  let pairs: Set<string>
  try {
    pairs = referencePairs(case_)
  } catch (fault) {
    if (fault instanceof TooManyRowsError) return { kind: 'too-large' }
    return { kind: 'refused', why: `the reference: ${(fault as Error).message}` }
  }
  const expected = expectedAnswers(case_, pairs)
  for (const rules of ['off', 'on'] as const) {
    const found = engineAnswers(case_, stored, rules)
    if ('refused' in found) return { kind: 'refused', why: found.refused }
    const why = difference(expected, found, `the engine with rules ${rules}`)
    if (why) return { kind: 'differ', why }
  }
  const known = new Set(expected)
  const other = answersInSteps(case_, stored).find((line) => !known.has(line))
  if (other !== undefined) return { kind: 'differ', why: `the engine returns in steps \`${other}\`` }
  return { kind: 'agree', size: pairs.size, answers: expected.length }
}

/** An exception is a difference too. */
export function settled(case_: ConditionCase, stored: StoredGraph): ComparisonOutcome {
  try {
    return outcomeOf(case_, stored)
  } catch (fault) {
    if (fault instanceof ExecutionError && fault.code === 'budget') return { kind: 'too-large' }
    return { kind: 'differ', why: `it crashed: ${(fault as Error).stack ?? fault}` }
  }
}

/** As a scenario file for test/scenarios. */
export function asWorld(case_: ConditionCase, why: string): string {
  const indent = (text: string, by: string): string => text.split('\n').join(`\n${by}`)
  return [
    `# ${indent(why, '# ')}`,
    'graph: |',
    `  ${indent(printGraph(case_.graph), '  ')}`,
    'policies:',
    `  - subject: ${case_.subjectType}`,
    '    action: act',
    `    resource: ${case_.resourceType}`,
    '    cypher: >-',
    `      ${indent(case_.text, '      ')}`,
    `# parameters: ${printValue(case_.parameters)}`,
  ].join('\n')
}
