// Clauses of Cypher 25 in queries: their rows, their format, and how wrong texts are refused.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renderDiagnostic } from '../../../grammar/diagnostic.ts'
import { compileRowsQuery } from '../../../src/engine/rows-query.ts'
import { formatCypher } from '../../../src/language/format/format-cypher.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

let stored: StoredGraph
beforeAll(async () => {
  stored = await storeGraph(
    readGraph(`
      (ann:Person {age: 30})-[:KNOWS]->(bob:Person {age: 40})-[:KNOWS]->(cyd:Person)
      (ann)-[:OWNS]->(car:Car {wheels: 4})
      (bob)-[:OWNS]->(bike:Car {wheels: 2})`),
  )
})
afterAll(() => stored.close())

function rowsOf(text: string, isOptimized: boolean): string {
  const compiled = compileRowsQuery(text, { rules: isOptimized ? 'on' : 'off' })
  if (!compiled.ok) throw new Error(compiled.error.map((issue) => renderDiagnostic(text, issue)).join('\n'))
  const snapshot = stored.environment.snapshot()
  try {
    const limits = { stepsMax: 100_000, timeMs: 60_000 }
    const { rows } = compiled.value.run({ snapshot, parameters: new Map(), limits, locate: () => snapshot })
    return rows.map((row) => row.map((cell) => JSON.stringify(cell)).join(' ')).join(', ')
  } finally {
    snapshot.close()
  }
}

const people = 'MATCH (n:Person)'
const id = 'n.external_id AS id'

const queries: readonly (readonly [text: string, rows: string])[] = [
  ['UNWIND [1, 2, 3] AS x FILTER x > 1 RETURN x', '2, 3'],
  ['UNWIND [1, 2, 3] AS x FILTER WHERE x > 1 AND x < 3 RETURN x', '2'],
  [`UNWIND [25, 30] AS a OPTIONAL MATCH (n:Person) WHERE n.age = a FILTER n IS NOT NULL RETURN ${id}`, '"ann"'],
  [`${people} FILTER (n)-[:OWNS]->() AND NOT (n)-[:KNOWS]->(:Person {age: 40}) RETURN ${id}`, '"bob"'],
  ['LET a = 1, b = 2 LET c = a + b RETURN c', '3'],
  [`${people} LET old = n.age > 35 FILTER old RETURN ${id}`, '"bob"'],
  ['FOR x IN [1, 2] FOR y IN [x, 10] RETURN x * y AS z', '1, 10, 4, 20'],
  ['FOR x IN null RETURN x', ''],
  [`${people} ORDER BY n.age LIMIT 1 RETURN ${id}`, '"ann"'],
  ['UNWIND [3, 1, 2] AS x ORDER BY x SKIP 1 RETURN x', '2, 3'],
  ['UNWIND [3, 1, 2] AS x OFFSET 1 LIMIT 1 RETURN x', '1'],
  ['UNWIND [3, 1, 2] AS x LIMIT 2 RETURN sum(x) AS s', '4'],
  ['UNWIND [3, 1, 2] AS x RETURN x ORDER BY x OFFSET 1 LIMIT 1', '2'],
  ['RETURN 1 AS x UNION DISTINCT RETURN 1 AS x', '1'],
  [
    'MATCH (p:Person) RETURN p AS q NEXT MATCH (q)-[:OWNS]->(c) RETURN c.external_id AS id ORDER BY id',
    '"bike", "car"',
  ],
  ['UNWIND [1, 2] AS x RETURN x NEXT RETURN sum(x) AS s NEXT RETURN s + 1 AS t', '4'],
  ['UNWIND [1, 2] AS x RETURN x NEXT RETURN sum(x) AS s UNION ALL RETURN max(x) AS s', '3, 2'],
  ['RETURN 1 AS x UNION ALL RETURN 1 AS x NEXT RETURN count(x) AS c', '2'],
  ['UNWIND [1, 2] AS x RETURN x NEXT { RETURN x UNION RETURN x + 1 AS x } NEXT RETURN collect(x) AS xs', '[1,2,3]'],
  ['{ RETURN 1 AS x NEXT RETURN x + 1 AS x } UNION ALL { RETURN 1 AS x UNION RETURN 1 AS x }', '2, 1'],
  ['WHEN false THEN RETURN 1 AS x WHEN true THEN RETURN 2 AS x WHEN true THEN RETURN 3 AS x ELSE RETURN 4 AS x', '2'],
  ['WHEN null THEN RETURN 1 AS x ELSE { RETURN 2 AS x UNION RETURN 3 AS x }', '2, 3'],
  ['WHEN false THEN RETURN 1 AS x', ''],
  ['{ WHEN true THEN RETURN 1 AS x } UNION { WHEN false THEN RETURN 2 AS x ELSE RETURN 3 AS x }', '1, 3'],
  [
    `${people} CALL (*) { WHEN n.age > 35 THEN RETURN 'old' AS how WHEN n.age > 0 THEN RETURN 'young' AS how } RETURN ${id}, how ORDER BY id`,
    '"ann" "young", "bob" "old"',
  ],
  [
    `${people} RETURN n NEXT WHEN n.age IS NULL THEN RETURN 0 AS a ELSE RETURN n.age AS a NEXT RETURN sum(a) AS s`,
    '70',
  ],
  [
    `${people} RETURN n NEXT WHEN (n)-[:OWNS]->() THEN MATCH (n)-[:OWNS]->(c) RETURN c.wheels AS w ELSE RETURN -1 AS w NEXT RETURN sum(w) AS s`,
    '5',
  ],
  [
    `${people} FILTER EXISTS { WHEN n.age > 35 THEN RETURN 1 AS x ELSE MATCH (n)-[:KNOWS]->(x) RETURN x } RETURN ${id} ORDER BY id`,
    '"ann", "bob"',
  ],
  [`${people} RETURN COUNT { WHEN n.age > 35 THEN MATCH (n)-->() ELSE MATCH (n)<--() } AS c ORDER BY c`, '0, 1, 2'],
  [
    `${people} RETURN COLLECT { MATCH (n)-[:OWNS]->(c) RETURN c.wheels AS w NEXT RETURN w * 10 AS w } AS ws ORDER BY size(ws), ws[0]`,
    '[], [20], [40]',
  ],
  [
    `${people} OPTIONAL CALL (n) { MATCH (n)-[:OWNS]->(c) RETURN c.wheels AS w } RETURN ${id}, w ORDER BY id`,
    '"ann" 4, "bob" 2, "cyd" null',
  ],
  [
    `${people} OPTIONAL CALL (n) { WITH n WHERE n.age > 35 RETURN n AS m } RETURN ${id}, m.age ORDER BY id`,
    '"ann" null, "bob" 40, "cyd" null',
  ],
  [
    `${people} OPTIONAL CALL (n) { MATCH (n)-[:OWNS]->(c) RETURN c UNION MATCH (n)-->(:Person)-[:OWNS]->(c) RETURN c } RETURN count(c) AS c, count(*) AS r`,
    '3 4',
  ],
]

describe('a query of Cypher 25', () => {
  it.each(queries)('%s', (text, rows) => {
    expect(rowsOf(text, true)).toBe(rows)
    expect(rowsOf(text, false)).toBe(rows)
  })

  it.each(queries)('%s gives the same rows after formatting', (text, rows) => {
    const formatted = formatCypher(text)
    if (!formatted.ok) throw new Error(formatted.error[0]!.message)
    expect(rowsOf(formatted.value, true)).toBe(rows)
    expect(formatCypher(formatted.value)).toEqual(formatted)
  })

  it('is formatted with one clause on each line', () => {
    const text =
      'match (n) let a=n.x,b=1 filter where a>b and a<9 for x in [a] order by x limit 1 return x next when x>1 then return 1 as y else{return 2 as y}'
    expect(formatCypher(text)).toEqual({
      ok: true,
      value: [
        'MATCH (n)',
        'LET a = n.x, b = 1',
        'FILTER WHERE a > b AND a < 9',
        'FOR x IN [a]',
        'ORDER BY x LIMIT 1',
        'RETURN x',
        'NEXT',
        'WHEN x > 1 THEN RETURN 1 AS y ELSE { RETURN 2 AS y }',
      ].join('\n'),
    })
  })

  it.each([
    [
      'MATCH (n) FINISH',
      '`FINISH` is not allowed: a query without rows has no effect, because nothing can be written; use RETURN',
      'FINISH',
    ],
    [
      'MATCH (n) WHEN true THEN RETURN 1 AS x',
      '`WHEN` begins a query: after another clause, write `CALL (*) { WHEN … THEN … }`',
      'WHEN',
    ],
    [
      'MATCH (n) CALL (n) { RETURN 1 AS x } IN TRANSACTIONS RETURN x',
      '`CALL { … } IN TRANSACTIONS` is not allowed: nothing is written',
      'IN TRANSACTIONS',
    ],
    ['SHOW INDEXES', '`SHOW` is not allowed: it reads the settings of a server, not the graph', 'SHOW'],
    [
      'PROFILE MATCH (n) RETURN n',
      '`PROFILE` is not allowed: explanations and plans have endpoints of their own',
      'PROFILE',
    ],
    ["LOAD CSV FROM 'x' AS row RETURN row", 'writing clause `LOAD CSV` is not allowed', 'LOAD CSV'],
    ['MATCH (n) LET c = count(n) RETURN c', 'LET cannot aggregate: use WITH', 'LET c = count(n)'],
    ['LET x = 1 LET x = 2 RETURN x', 'two columns are named `x`', 'LET x = 2'],
    ['LET x = 1, y = x RETURN y', 'variable `x` is not defined', 'x'],
    [
      'MATCH (n) FILTER count(n) > 1 RETURN n',
      'count() is not allowed here: use aggregates in WITH or RETURN',
      'count(n)',
    ],
    ['RETURN 1 NEXT RETURN 2 AS x', 'an expression before NEXT needs a name: add `AS name`', '1'],
    ['MATCH (n) RETURN n AS m NEXT RETURN n', 'variable `n` is not defined; did you mean `m`?', 'n'],
    ['MATCH (n) NEXT RETURN 1 AS x', 'a query must end with RETURN', ' '],
    [
      'WHEN true THEN RETURN 1 AS x ELSE RETURN 2 AS y',
      'all branches of WHEN must return the same columns',
      'RETURN 2 AS y',
    ],
    ['FOR x IN 1 RETURN', 'unexpected end of the query, expected an expression', ' '],
    ['FILTER RETURN 1 AS x', 'unexpected `RETURN`, expected an expression', 'RETURN'],
    [
      'LET RETURN 1 AS x',
      'unexpected `RETURN`, expected a name; `RETURN` is a reserved word; to use it as a name, put it in back-ticks',
      'RETURN',
    ],
  ])('%s is refused', (text, message, marked) => {
    const compiled = compileRowsQuery(text)
    if (compiled.ok) throw new Error(`is not refused: ${text}`)
    const [issue] = compiled.error
    expect(issue!.message).toBe(message)
    expect(text.slice(issue!.span.start, issue!.span.end) || ' ').toBe(marked)
  })

  it('is refused if its unions repeat the queries before NEXT too often', () => {
    const union = (depth: number): string =>
      depth === 0 ? 'RETURN 1 AS x' : `${union(depth - 1)} NEXT RETURN x UNION ALL RETURN x`
    const text = `${union(9)} NEXT RETURN count(x) AS c`
    const compiled = compileRowsQuery(text)
    expect(compiled.ok ? [] : compiled.error.map(({ message }) => message)).toEqual([
      'more than 100 queries before NEXT: each part of a UNION repeats those before it',
    ])
    expect(rowsOf(`${union(4)} NEXT RETURN count(x) AS c`, true)).toBe('16')
  })
})
