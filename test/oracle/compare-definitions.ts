// Compares conditions over random models with the reference interpreter: every check, and every search from both ends.

import type { Definitions } from '../../src/engine/bind/definitions.ts'
import { compileCondition, KnownGoals, type PolicyCondition, type QueryContext } from '../../src/engine/conditions.ts'
import type { DecisionTrace, ExplainedDerivation } from '../../src/engine/decision-trace.ts'
import { compileModel } from '../../src/engine/definitions/model.ts'
import { ExecutionError } from '../../src/engine/errors.ts'
import type { Snapshot } from '../../src/engine/store.ts'
import { randomGraph } from '../generate/graph.ts'
import { type GeneratedModel, randomDerivedCondition, randomModel } from '../generate/model.ts'
import { Random } from '../generate/random.ts'
import { engineParameters } from '../support/convert-graph.ts'
import { printGraph } from '../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../support/store-engine.ts'
import { decide } from './cypher/decide.ts'
import { withDerived } from './cypher/derived.ts'
import { TooManyRowsError } from './cypher/pattern.ts'
import type { ReferenceGraph, ReferenceValue } from './cypher/values.ts'

export interface DefinitionFindings {
  answers: number
  conditions: number
  /** Conditions that granted at least one pair. */
  fruitful: number
  /** Too large for the reference. */
  skipped: number
  /** Each with its seed, the model, the condition and the graph. */
  readonly failures: string[]
}

const CONDITIONS_PER_MODEL = 20
const MODELS_PER_GRAPH = 4

/** Compares until so many answers were compared, or until the first differences. Graph i has the seed `seed + i`. */
export async function compareDefinitions(
  seed: number,
  {
    answersMax,
    failuresMax = 3,
    progress,
  }: { answersMax: number; failuresMax?: number; progress?: (findings: DefinitionFindings) => void },
): Promise<DefinitionFindings> {
  const findings: DefinitionFindings = { answers: 0, conditions: 0, fruitful: 0, skipped: 0, failures: [] }
  for (let round = 0; findings.answers < answersMax && findings.failures.length < failuresMax; round++) {
    const random = new Random(seed + round)
    const graph = randomGraph(random)
    const stored = await storeGraph(graph, { entriesPerChunk: 2 })
    try {
      for (let model = 0; model < MODELS_PER_GRAPH; model++) compareModel(random, graph, stored, seed + round, findings)
    } finally {
      await stored.close()
    }
    progress?.(findings)
  }
  return findings
}

function compareModel(
  random: Random,
  graph: ReferenceGraph,
  stored: StoredGraph,
  seed: number,
  findings: DefinitionFindings,
): void {
  const model = randomModel(random)
  const parameters = new Map<string, ReferenceValue>([['n', 1n]])
  const compiled = compileModel(model.text)
  if (!compiled.ok) throw new Error(`seed ${seed}: ${compiled.error[0]!.message}\n${model.text}`)
  let whole: ReferenceGraph
  try {
    whole = withDerived(graph, model, parameters)
  } catch (fault) {
    if (!(fault instanceof TooManyRowsError)) throw fault
    findings.skipped += 1
    return
  }
  // The conditions of every other model are one batch: they share what they derive, also after limits have ended some of them.
  const session = { snapshot: stored.environment.snapshot(), knownGoals: random.odds(0.5) ? new KnownGoals() : null }
  try {
    compareConditions({ random, graph, whole, model, definitions: compiled.value, parameters, session, seed }, findings)
  } finally {
    session.snapshot.close()
  }
}

interface Session {
  readonly snapshot: Snapshot
  readonly knownGoals: KnownGoals | null
}

interface ModelComparison {
  readonly random: Random
  readonly graph: ReferenceGraph
  /** The graph with the derived pairs. */
  readonly whole: ReferenceGraph
  readonly model: GeneratedModel
  readonly definitions: Definitions
  readonly parameters: ReadonlyMap<string, ReferenceValue>
  readonly session: Session
  readonly seed: number
}

function compareConditions(comparison: ModelComparison, findings: DefinitionFindings): void {
  const { random, graph, whole, model, definitions, parameters, seed } = comparison
  for (let turn = 0; turn < CONDITIONS_PER_MODEL; turn++) {
    const text = randomDerivedCondition(random, model)
    const subjectType = /\(subject:(\w+)/.exec(text)![1]!
    const resourceType = /\(resource:(\w+)/.exec(text)![1]!
    let expected: readonly string[]
    try {
      const pairs = decide(whole, { cypher: text, subjectType, resourceType }, parameters)
      expected = answersOf(graph, subjectType, resourceType, pairs)
      if (pairs.size > 0) findings.fruitful += 1
    } catch (fault) {
      if (!(fault instanceof TooManyRowsError)) throw fault
      findings.skipped += 1
      continue
    }
    for (const rules of ['on', 'off'] as const) {
      const condition = compileCondition({ text, dialect: 'open', subjectType, resourceType, definitions }, { rules })
      if (!condition.ok) throw new Error(`seed ${seed}: ${condition.error[0]!.message}\n${text}\n${model.text}`)
      const found = engineAnswers(condition.value, comparison, subjectType, resourceType)
      const at = expected.findIndex((line, index) => line !== found[index])
      findings.answers += expected.length
      if (at < 0 && expected.length === found.length) continue
      findings.failures.push(
        [
          `seed ${seed}, rules ${rules}: the engine says \`${found[at] ?? found.join()}\`, the reference \`${expected[at]}\``,
          text,
          shownModel(model),
          printGraph(graph),
        ].join('\n'),
      )
      return
    }
    findings.conditions += 1
  }
}

const shownModel = ({ text }: GeneratedModel): string => text

const ids = (graph: ReferenceGraph, type: string): string[] =>
  graph.nodes.filter((node) => node.type === type).map((node) => node.externalId)

/** What is wrong with an explanation: each derived pair is one of the reference, and follows from stored relationships alone. */
function explanationFault(
  { decision, matched }: DecisionTrace,
  granted: boolean,
  { relationships, derivedTypes }: ReferenceGraph,
): string | null {
  if (decision !== granted) return `explained as ${decision}`
  const keyOf = ({ type, source, target }: Pick<ExplainedDerivation, 'type' | 'source' | 'target'>): string =>
    `${source.type}:${source.externalId} ${type} ${target.type}:${target.externalId}`
  const holds = new Set(relationships.map(keyOf))
  const entries = matched?.derived ?? []
  const known = new Set<string>()
  for (let size = -1; size < known.size; ) {
    size = known.size
    for (const one of entries) if (one.derived.every((each) => known.has(keyOf(each)))) known.add(keyOf(one))
  }
  for (const one of entries) {
    // The definitions of repetitions have no name in the model.
    if (derivedTypes?.includes(one.type) === true && !holds.has(keyOf(one))) return `it derives ${keyOf(one)}`
    const stored = one.relationships.find((each) => !holds.has(keyOf(each)))
    if (stored !== undefined) return `it shows ${keyOf(stored)}`
    if (!known.has(keyOf(one)) && entries.length < DERIVATIONS_MAX) return `${keyOf(one)} follows from itself`
  }
  return null
}

/** As many as an explanation has at most. */
const DERIVATIONS_MAX = 100

function answersOf(
  graph: ReferenceGraph,
  subjectType: string,
  resourceType: string,
  pairs: ReadonlySet<string>,
): readonly string[] {
  const [subjects, resources] = [ids(graph, subjectType), ids(graph, resourceType)]
  return [
    ...subjects.flatMap((s) => resources.map((r) => `check ${s} ${r}: ${pairs.has(`${s}|${r}`)}`)),
    ...subjects.map((s) => `resources of ${s}: ${resources.filter((r) => pairs.has(`${s}|${r}`)).sort()}`),
    ...resources.map((r) => `subjects of ${r}: ${subjects.filter((s) => pairs.has(`${s}|${r}`)).sort()}`),
  ]
}

function engineAnswers(
  condition: PolicyCondition,
  { random, whole, session: { snapshot, knownGoals }, parameters }: ModelComparison,
  subjectType: string,
  resourceType: string,
): readonly string[] {
  const [subjects, resources] = [ids(whole, subjectType), ids(whole, resourceType)]
  try {
    const asking: QueryContext = {
      snapshot,
      parameters: engineParameters(parameters),
      limits: { stepsMax: 20_000_000, timeMs: 60_000 },
      ...(knownGoals === null ? {} : { knownGoals }),
    }
    if (knownGoals !== null && resources.length > 0) {
      for (const s of subjects) interrupt(condition, { ...asking, limits: limitsOf(random) }, s, random.pick(resources))
    }
    return [
      ...subjects.flatMap((s, at) =>
        resources.map((r) => {
          const granted = condition.check(asking, s, r)
          // An explanation is planned without some rules; those of one subject are enough.
          const why = at === 0 ? condition.trace(asking, s, r) : null
          const fault = why === null ? null : explanationFault(why, granted, whole)
          return `check ${s} ${r}: ${granted}${fault === null ? '' : `, but ${fault}`}`
        }),
      ),
      ...subjects.map((s) => `resources of ${s}: ${condition.resources(asking, s).sort()}`),
      ...resources.map((r) => `subjects of ${r}: ${condition.subjects(asking, r).sort()}`),
    ]
  } catch (fault) {
    if (fault instanceof ExecutionError) return [`${fault.code}: ${fault.message}`]
    return [`it crashed: ${(fault as Error).stack}`]
  }
}

const limitsOf = (random: Random): QueryContext['limits'] => ({ stepsMax: random.between(0, 60), timeMs: 60_000 })

/** A check that a limit may end. */
function interrupt(condition: PolicyCondition, asking: QueryContext, subject: string, resource: string): void {
  try {
    condition.check(asking, subject, resource)
  } catch (fault) {
    if (!(fault instanceof ExecutionError) || fault.code !== 'budget') throw fault
  }
}
