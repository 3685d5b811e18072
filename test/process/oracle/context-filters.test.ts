// Context filters return no row outside the policy: random patterns and filters over random graphs, evaluated by the
// engine and by the reference interpreter. This test writes the filter for the reference as text, independently of the
// product.
import { expect, test } from 'vitest'
import { parse } from '../../../grammar/index.ts'
import { compileConditionRows, type FilterableCondition } from '../../../src/engine/condition-rows.ts'
import { ExecutionError } from '../../../src/engine/errors.ts'
import { NodeValue } from '../../../src/engine/value/value.ts'
import type { ContextFilter } from '../../../src/policy/context-filter.ts'
import { filterExpression } from '../../../src/policy/filter-expression.ts'
import { PARAMETERS, randomCondition } from '../../generate/condition.ts'
import { randomGraph } from '../../generate/graph.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { SHORT_CHUNKS } from '../../oracle/compare-conditions.ts'
import { Interpreter } from '../../oracle/cypher/interpreter.ts'
import { TooManyRowsError } from '../../oracle/cypher/pattern.ts'
import { isNode, ReferenceEvaluationError, type ReferenceGraph } from '../../oracle/cypher/values.ts'
import { engineParameters } from '../../support/convert-graph.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

const GRAPHS = 40
const POLICIES = 12
const AGREED_MIN = 150
const FRUITFUL_MIN = 15
const DRAWS = 6

interface WrittenFilter {
  readonly filter: ContextFilter
  /** The same filter in Cypher. */
  readonly text: string
}

class FilterWriter {
  private readonly random: Random
  private readonly nodes: readonly string[]

  constructor(random: Random, nodes: readonly string[]) {
    this.random = random
    this.nodes = nodes
  }

  filter(depth = 0): WrittenFilter {
    const { random } = this
    if (depth > 2 || random.odds(0.5)) return this.leaf()
    if (random.odds(0.25)) {
      const inner = this.filter(depth + 1)
      return { filter: { operator: 'NOT', operands: [inner.filter] }, text: `NOT (${inner.text})` }
    }
    const operator = random.pick(['AND', 'OR'] as const)
    const operands = Array.from({ length: random.between(1, 3) }, () => this.filter(depth + 1))
    return {
      filter: { operator, operands: operands.map(({ filter }) => filter) },
      text: operands.map(({ text }) => `(${text})`).join(` ${operator} `),
    }
  }

  private leaf(): WrittenFilter {
    const { random } = this
    const [attribute, left] = this.attribute()
    if (random.odds(0.15)) {
      const operator = random.pick(['IS NULL', 'IS NOT NULL'] as const)
      return { filter: { operator, attribute }, text: `${left} ${operator}` }
    }
    if (random.odds(0.25)) {
      const [value, right] = random.pick<[unknown, string]>([
        [['n1', 'n2', 1], "['n1', 'n2', 1]"],
        ['$texts', '$texts'],
        [['a', '$text'], "['a', $text]"],
      ])
      return { filter: { operator: 'IN', attribute, value }, text: `${left} IN ${right}` }
    }
    const operator = random.pick(['=', '<>', '<', '<=', '>', '>=', 'STARTS WITH', 'ENDS WITH', 'CONTAINS'] as const)
    const [value, right] = this.value()
    return { filter: { operator, attribute, value }, text: `${left} ${operator} ${right}` }
  }

  private attribute(): [attribute: string, text: string] {
    const node = this.random.pick(this.nodes)
    return this.random.weighted<[string, string]>([
      [4, [`${node}.external_id`, `${node}.external_id`]],
      [1, [`${node}.type`, `${node}.type`]],
      [3, [`${node}.property.num`, `${node}.num`]],
      [2, [`${node}.property.name`, `${node}.name`]],
      [2, [`${node}.property.odd`, `${node}.odd`]],
      [1, ['$claims.level', '$claims.level']],
      [1, ['$claims.gone', '$claims.gone']],
    ])
  }

  private value(): [value: unknown, text: string] {
    const [other, text] = this.attribute()
    return this.random.pick<[unknown, string]>([
      [1, '1'],
      [1.5, '1.5'],
      ['n2', "'n2'"],
      ["a' OR true OR '", '"a\' OR true OR \'"'],
      [true, 'true'],
      ['$number', '$number'],
      ['$id', '$id'],
      ['$claims.act.sub', '$claims.act.sub'],
      other.startsWith('$') ? [other, text] : [`@${other}`, text],
    ])
  }
}

type FilteredRow = readonly string[] | 'a fault'

function byReference(graph: ReferenceGraph, text: string, subjectType: string, nodes: readonly string[]): FilteredRow {
  const parsed = parse(text)
  if (!parsed.ok) throw new Error(`does not parse: ${parsed.diagnostics[0]?.message}\n${text}`)
  try {
    return new Interpreter(graph, PARAMETERS)
      .run(parsed.query)
      .filter((row) => {
        const subject = row.get('subject') ?? null
        return isNode(subject) && subject.type === subjectType
      })
      .map((row) =>
        nodes
          .map((name) => {
            const node = row.get(name) ?? null
            return isNode(node) ? `${node.type} ${node.externalId}` : '-'
          })
          .join(', '),
      )
      .sort()
  } catch (fault) {
    if (fault instanceof ReferenceEvaluationError) return 'a fault'
    throw fault
  }
}

function byEngine(
  stored: StoredGraph,
  source: FilterableCondition,
  filter: ContextFilter,
  nodes: readonly string[],
): FilteredRow {
  const expression = filterExpression([{ filter, at: 'filter' }], source.variables)
  if (!expression.ok) throw new Error(expression.error[0])
  const reading = source.withFilter(expression.value)
  if (!reading.ok) throw new Error(reading.error[0]!.message)
  const snapshot = stored.environment.snapshot()
  try {
    const limits = { stepsMax: 1_000_000, timeMs: 60_000 }
    const cursor = reading.value.open({ snapshot, parameters: engineParameters(PARAMETERS), limits })
    const rows: string[] = []
    while (cursor.next()) {
      const named = nodes.map((name) => {
        const value = cursor.value(name)
        if (!(value instanceof NodeValue)) return '-'
        return `${snapshot.nodeField(value.id, 'type')} ${snapshot.nodeField(value.id, 'external_id')}`
      })
      rows.push(named.join(', '))
    }
    return rows.sort()
  } catch (fault) {
    if (fault instanceof ExecutionError) return 'a fault'
    throw fault
  } finally {
    snapshot.close()
  }
}

test('a filtered query returns exactly the rows of the reference', async () => {
  const seed = testSeed()
  console.log(`VERDIGRAPH_SEED=${seed}`)
  const differ: string[] = []
  let agreed = 0
  let fruitful = 0
  for (let round = 0; round < GRAPHS; round++) {
    const random = new Random(seed + round)
    const graph = randomGraph(random)
    const stored = await storeGraph(graph, SHORT_CHUNKS)
    try {
      for (let turn = 0; turn < POLICIES; turn++) {
        const { text, subjectType } = randomCondition(random)
        const source = compileConditionRows({ text, dialect: '1.0-ciq', subjectType })
        // The context dialect has no CALL subqueries.
        if (!source.ok) continue
        const nodes = [...source.value.variables].filter(([, kind]) => kind === 'node').map(([name]) => name)
        const writer = new FilterWriter(random, nodes)
        try {
          const ask = (written: WrittenFilter) =>
            byReference(graph, `${text}\nWITH * WHERE ${written.text}`, subjectType, nodes)
          let drawn = writer.filter()
          let expected = ask(drawn)
          // Most filters match nothing in a small graph.
          for (let draw = 1; draw < DRAWS && expected.length === 0; draw++) {
            drawn = writer.filter()
            expected = ask(drawn)
          }
          const { filter, text: filterText } = drawn
          const found = byEngine(stored, source.value, filter, nodes)
          // The order of several errors or rows is unspecified; a policy that fails in the reference may stop earlier
          // in the engine.
          if (expected === 'a fault' || found === 'a fault') continue
          if (JSON.stringify(expected) === JSON.stringify(found)) {
            agreed += 1
            if (found.length > 0) fruitful += 1
          } else
            differ.push(`seed ${seed + round}\n${text}\n${filterText}\n${expected.join('; ')}\n${found.join('; ')}`)
        } catch (fault) {
          if (!(fault instanceof TooManyRowsError)) throw fault
        }
      }
    } finally {
      await stored.close()
    }
  }
  expect(differ.join('\n\n')).toBe('')
  expect(agreed).toBeGreaterThan(AGREED_MIN)
  expect(fruitful).toBeGreaterThan(FRUITFUL_MIN)
}, 600_000)
