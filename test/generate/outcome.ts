// One random case asked in three ways, and what came of it; a difference is told with the case as a world to paste.
import { RunFault } from '../../src/engine/errors.ts'
import { decide } from '../reference/decide.ts'
import { TooLarge } from '../reference/pattern.ts'
import type { Graph } from '../reference/values.ts'
import { writeArrows, writeValue } from '../support/arrows.ts'
import { ask, compiled, type Rules, type StoredGraph, storeGraph } from '../support/store-engine.ts'
import type { Chance } from './chance.ts'
import { type GeneratedCondition, randomCondition, textOf } from './condition.ts'
import type { Case } from './shrink.ts'

/** What one way of asking says of all pairs; each line is one answer, so that two ways can be compared. */
type Answers = readonly string[]
export type Outcome =
  | { readonly kind: 'agree'; readonly pairs: number }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'refused' | 'differ'; readonly why: string }

/** The graphs are small, so lists are cut early: a walk has to go on from one chunk to the next. */
export const SHORT_CHUNKS = { entriesPerChunk: 2 }

/** A condition for the graph. Most random ones grant nothing, so it is drawn again a few times for one that does. */
export function randomCase(chance: Chance, graph: Graph, drawsMax = 4): Case {
  let drawn: Case = { graph, condition: randomCondition(chance) }
  for (let draw = 1; draw < drawsMax && !grants(drawn); draw++) drawn = { graph, condition: randomCondition(chance) }
  return drawn
}

function grants(case_: Case): boolean {
  try {
    return referencePairs(case_).size > 0
  } catch {
    // Told, as a refusal or as too large, where the case is settled.
    return false
  }
}

function referencePairs({ graph, condition }: Case): Set<string> {
  const { cypher, subject, resource } = policyOf(condition)
  return decide(graph, { cypher, subjectType: subject, resourceType: resource }, condition.parameters)
}

const policyOf = (condition: GeneratedCondition) => ({
  cypher: textOf(condition.clauses),
  version: 'open',
  subject: condition.subjectType,
  resource: condition.resourceType,
})

const ids = (graph: Graph, type: string): string[] =>
  graph.nodes.filter((node) => node.type === type).map((node) => node.externalId)

/** From the set of pairs: what every check and every search should say. */
function expectedAnswers({ graph, condition }: Case, pairs: ReadonlySet<string>): Answers {
  const [subjects, resources] = [ids(graph, condition.subjectType), ids(graph, condition.resourceType)]
  return [
    ...subjects.flatMap((s) => resources.map((r) => `check ${s} ${r}: ${pairs.has(`${s}|${r}`)}`)),
    ...subjects.map((s) => `resources of ${s}: ${resources.filter((r) => pairs.has(`${s}|${r}`)).sort()}`),
    ...resources.map((r) => `subjects of ${r}: ${subjects.filter((s) => pairs.has(`${s}|${r}`)).sort()}`),
  ]
}

function engineAnswers({ graph, condition }: Case, stored: StoredGraph, rules: Rules): Answers | { refused: string } {
  const engine = compiled(policyOf(condition), rules)
  if (typeof engine === 'string') return { refused: engine }
  const [subjects, resources] = [ids(graph, condition.subjectType), ids(graph, condition.resourceType)]
  return ask(
    stored.environment,
    engine,
    condition.parameters,
    (asking) => [
      ...subjects.flatMap((s) => resources.map((r) => `check ${s} ${r}: ${engine.check(asking, s, r)}`)),
      ...subjects.map((s) => `resources of ${s}: ${engine.resources(asking, s).sort()}`),
      ...resources.map((r) => `subjects of ${r}: ${engine.subjects(asking, r).sort()}`),
    ],
    ['a fault'],
  )
}

/** The first answer that differs, with both sides. */
function difference(expected: Answers, found: Answers, name: string): string | null {
  const at = expected.findIndex((line, index) => line !== found[index])
  if (at < 0 && found.length === expected.length) return null
  return `${name} says \`${found[at] ?? found.join()}\`, the reference \`${expected[at]}\``
}

function outcomeOf(case_: Case, stored: StoredGraph): Outcome {
  let pairs: Set<string>
  try {
    pairs = referencePairs(case_)
  } catch (fault) {
    if (fault instanceof TooLarge) return { kind: 'too-large' }
    return { kind: 'refused', why: `the reference: ${(fault as Error).message}` }
  }
  const expected = expectedAnswers(case_, pairs)
  for (const rules of ['off', 'on'] as const) {
    const found = engineAnswers(case_, stored, rules)
    if ('refused' in found) return { kind: 'refused', why: found.refused }
    const why = difference(expected, found, `the engine with rules ${rules}`)
    if (why) return { kind: 'differ', why }
  }
  return { kind: 'agree', pairs: pairs.size }
}

/** A crash is a difference too. */
export function settled(case_: Case, stored: StoredGraph): Outcome {
  try {
    return outcomeOf(case_, stored)
  } catch (fault) {
    if (fault instanceof RunFault && fault.code === 'budget') return { kind: 'too-large' }
    return { kind: 'differ', why: `it crashed: ${(fault as Error).stack ?? fault}` }
  }
}

export async function settledAlone(case_: Case): Promise<Outcome> {
  const stored = await storeGraph(case_.graph, SHORT_CHUNKS)
  try {
    return settled(case_, stored)
  } finally {
    await stored.close()
  }
}

/** Ready to be pasted into test/worlds. */
export function asWorld({ graph, condition }: Case, why: string): string {
  const indent = (text: string, by: string): string => text.split('\n').join(`\n${by}`)
  return [
    `# ${indent(why, '# ')}`,
    'graph: |',
    `  ${indent(writeArrows(graph), '  ')}`,
    'policies:',
    `  - subject: ${condition.subjectType}`,
    '    action: act',
    `    resource: ${condition.resourceType}`,
    '    cypher: >-',
    `      ${indent(textOf(condition.clauses), '      ')}`,
    `# parameters: ${writeValue(condition.parameters)}`,
  ].join('\n')
}
