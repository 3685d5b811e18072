// Proves the claims of `verdigraph lint` about useless policies wrong, if it can: conditions that it reports as never granting,
// and policies that it reports as covered, are decided by the reference on random graphs.
import { compileText } from '../../src/engine/prepared-query.ts'
import { type AnalysedPolicy, isCoveredBy } from '../../src/language/lint/covered-by.ts'
import { neverTrue } from '../../src/language/lint/never-grants.ts'
import { PARAMETERS, randomCondition } from '../generate/condition.ts'
import { NODE_TYPES, randomGraph } from '../generate/graph.ts'
import type { Random } from '../generate/random.ts'
import { decide } from './cypher/decide.ts'
import { TooManyRowsError } from './cypher/pattern.ts'
import { NotInReference, type ReferenceGraph } from './cypher/values.ts'

export interface UselessCounts {
  conditions: number
  neverGranting: number
  pairs: number
  covered: number
  /** Covered by a policy with another text. */
  coveredByOther: number
  /** Decisions of the reference with at least one pair. */
  fruitful: number
}

interface Condition {
  readonly text: string
  readonly subjectType: string
  readonly resourceType: string
}

const VARIABLES = ['subject', 'resource', 'a', 'b'] as const

/** Predicates over few properties and values, so that some contradict or imply others. */
function predicate(random: Random, depth = 0): string {
  const of = random.pick(VARIABLES)
  if (depth < 2 && random.odds(0.2))
    return `(${predicate(random, depth + 1)} ${random.pick(['AND', 'OR', 'XOR'])} ${predicate(random, depth + 1)})`
  if (depth < 2 && random.odds(0.15)) return `NOT ${predicate(random, depth + 1)}`
  const number = () => random.pick(['0', '1', '1.0', '1.5', '2', '3', 'null', '$number', '$float', '$unset'])
  const text = () => random.pick(["'a'", "'b'", "'ab'", "''", '$text', 'null'])
  const sign = () => random.pick(['=', '<>', '<', '<=', '>', '>='])
  return random.weighted<() => string>([
    [6, () => `${of}.num ${sign()} ${number()}`],
    [1, () => `${number()} ${sign()} ${of}.num`],
    [1, () => `0 < ${of}.num ${sign()} ${number()}`],
    [2, () => `${of}.num IN [${Array.from({ length: random.between(0, 3) }, number)}]`],
    [3, () => `${of}.name ${sign()} ${text()}`],
    [1, () => `${of}.name ${random.pick(['STARTS WITH', 'ENDS WITH', 'CONTAINS'])} ${text()}`],
    [1, () => `${of}.odd ${sign()} ${random.odds(0.5) ? number() : text()}`],
    [2, () => `${of}.${random.pick(['num', 'name', 'odd'])} IS ${random.odds(0.5) ? 'NOT ' : ''}NULL`],
    [2, () => `${of}:${random.pick([...NODE_TYPES, 'Hot', 'Cold', '!Hot', 'Hot|Cold', 'Hot&Cold', '%', '!Person'])}`],
    [1, () => `${of}.type = '${random.pick(NODE_TYPES)}'`],
    [0.5, () => `${of} = ${random.pick(VARIABLES)}`],
    [0.5, () => `${of}.flag`],
    [0.5, () => `EXISTS { (${of})-[:A]->(e) WHERE e.num ${sign()} ${number()} }`],
    [0.5, () => `${of}.num ${sign()} ${random.pick(VARIABLES)}.num`],
    [0.3, () => '$claims.level = 2'],
    [0.4, () => `12 / ${of}.num > 3`],
  ])()
}

interface Draft {
  /** Each is one MATCH. */
  readonly patterns: readonly (readonly string[])[]
  readonly predicates: readonly string[]
  readonly subjectType: string
  readonly resourceType: string
}

function hop(random: Random): string {
  const types = random.pick(['', ':A', ':A', ':B', ':A|B', ':A|B|C'])
  const range = random.weighted([
    [6, ''],
    [1, '*1..2'],
    [1, '*1..3'],
    [0.5, '*2'],
    [0.5, '*0..2'],
  ])
  const body = `[${types}${range}]`
  return random.pick([`-${body}->`, `-${body}->`, `<-${body}-`, `-${body}-`])
}

function draft(random: Random): Draft {
  const paths = [
    ...(random.odds(0.5)
      ? [`(subject)${hop(random)}(a)`, `(a)${hop(random)}(resource), (b)`]
      : [`(subject)${hop(random)}(a)`, `(a)${hop(random)}(b)`, `(b)${hop(random)}(resource)`]),
    ...(random.odds(0.3) ? [`(subject)${hop(random)}(resource)`] : []),
  ]
  const patterns = random.odds(0.6) ? [paths] : paths.map((path) => [path])
  const predicates = Array.from({ length: random.odds(0.5) ? random.between(0, 1) : random.between(2, 4) }, () =>
    predicate(random),
  )
  return {
    patterns,
    predicates,
    subjectType: random.pick(NODE_TYPES.slice(0, 2)),
    resourceType: random.pick(NODE_TYPES),
  }
}

function textOf({ patterns, predicates }: Draft, random: Random): string {
  const matches = patterns.map((paths) => `MATCH ${paths.join(', ')}`)
  const where = predicates.length === 0 ? '' : ` WHERE ${predicates.join(' AND ')}`
  const tail = random.weighted([
    [8, ''],
    [1, ' WITH subject, resource, count(*) AS n WHERE n > 0'],
    [1, ' OPTIONAL MATCH (subject)-->(o) WITH DISTINCT subject, resource'],
    [1, ' WITH count(*) AS n MATCH (subject)-->(resource)'],
    [1, ' WITH subject, resource, a.num AS n WHERE n > 1'],
  ])
  return `${matches.join(' ')}${where}${tail}`
}

/** The same with less, which mostly grants the same or more; sometimes a change that must not be taken for one. */
function wider(one: Draft, random: Random): Draft {
  const changed = (path: string): string => {
    const looser = random.odds(0.3)
      ? path
          .replace(/:A(?=[*\]])/, ':A|B')
          .replace('*1..2', '*1..3')
          .replace(']->', ']-')
      : path
    const narrower = random.odds(0.1)
      ? looser.replace(/\]-\(/, ']->(').replace('*1..3', '*1..2').replace(':A|B', ':A')
      : looser
    return random.odds(0.05) ? narrower.replace(/\*[\d.]+/, '') : narrower
  }
  const paths = one.patterns
    .flat()
    .map(changed)
    .filter((path, i) => i === 0 || /resource/.test(path) || random.odds(0.95))
  const isOneMatch = random.odds(0.3) ? one.patterns.length > 1 : one.patterns.length === 1
  return {
    ...one,
    patterns: isOneMatch ? [paths] : paths.map((path) => [path]),
    predicates: one.predicates.filter(() => random.odds(0.6)),
  }
}

function compiled({ text, subjectType, resourceType }: Condition): AnalysedPolicy | null {
  const result = compileText(text, '3.0-kbac', 'condition')
  if (!result.ok) return null
  const { bound, query } = result.value
  const types = new Map([
    ['subject', subjectType],
    ['resource', resourceType],
  ])
  return {
    bound,
    query,
    types,
    filter: null,
    filterSource: undefined,
    isDecision: true,
    version: '3.0-kbac',
    actions: ['act'],
    tags: [],
    inputParameters: bound.parameters,
  }
}

/** Runs rounds; throws for a claim that a graph disproves. */
export function testUselessClaims(random: Random, rounds: number): UselessCounts {
  const counts: UselessCounts = {
    conditions: 0,
    neverGranting: 0,
    pairs: 0,
    covered: 0,
    coveredByOther: 0,
    fruitful: 0,
  }
  for (let round = 0; round < rounds; round++) {
    const first = draft(random)
    const other = random.odds(0.7)
      ? wider(first, random)
      : { ...draft(random), subjectType: first.subjectType, resourceType: first.resourceType }
    testPair({ ...first, text: textOf(first, random) }, { ...other, text: textOf(other, random) }, random, counts)
    const condition = randomCondition(random)
    const extra = Array.from({ length: 3 }, () => predicate(random).replace(/\b[ab](?=[.:)]| =|$)/g, 'subject'))
    testNever({ ...condition, text: `${condition.text} WITH * WHERE ${extra.join(' AND ')}` }, random, counts)
  }
  return counts
}

function testPair(narrow: Condition, wide: Condition, random: Random, counts: UselessCounts): void {
  testNever(narrow, random, counts)
  testNever(wide, random, counts)
  const [one, other] = [compiled(narrow), compiled(wide)]
  if (one === null || other === null) return
  for (const [a, b, from, to] of [
    [one, other, narrow, wide],
    [other, one, wide, narrow],
  ] as const) {
    counts.pairs += 1
    if (!isCoveredBy(a, b)) continue
    counts.covered += 1
    if (from.text !== to.text) counts.coveredByOther += 1
    for (const graph of graphs(random)) {
      const [granted, all] = [pairs(from, graph), pairs(to, graph)]
      if (granted === null || all === null) continue
      if (granted.size > 0) counts.fruitful += 1
      const missing = [...granted].find((pair) => !all.has(pair))
      if (missing !== undefined)
        throw new Error(`not covered: ${missing}\n${JSON.stringify(from)}\n${JSON.stringify(to)}`)
    }
  }
}

function testNever(condition: Condition, random: Random, counts: UselessCounts): void {
  const policy = compiled(condition)
  if (policy === null) return
  counts.conditions += 1
  const reason = neverTrue(policy)
  if (reason === null) return
  counts.neverGranting += 1
  for (const graph of graphs(random)) {
    const granted = pairs(condition, graph)
    if (granted !== null && granted.size > 0)
      throw new Error(`grants ${[...granted][0]}, but: ${reason}\n${JSON.stringify(condition)}`)
  }
}

function graphs(random: Random): ReferenceGraph[] {
  return Array.from({ length: 3 }, () => randomGraph(random))
}

/** Null: the reference does not decide it. */
function pairs({ text, subjectType, resourceType }: Condition, graph: ReferenceGraph): Set<string> | null {
  try {
    return decide(graph, { cypher: text, subjectType, resourceType }, PARAMETERS)
  } catch (fault) {
    if (fault instanceof TooManyRowsError || fault instanceof NotInReference) return null
    throw fault
  }
}
