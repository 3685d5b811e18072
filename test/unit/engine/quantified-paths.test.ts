// Quantified path patterns, path selectors, match modes and dynamic labels, on graphs with cycles, loops and parallel
// relationships. test/oracle compares them with an interpreter that tries every path.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderDiagnostic } from '../../../grammar/diagnostic.ts'
import { compileCondition } from '../../../src/engine/conditions.ts'
import { compileRowsQuery, type QueryResult } from '../../../src/engine/rows-query.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

// A cycle a-b-c-d with a chord, a tail, a loop at e and parallel relationships of two types.
const graph = `
  (a:Stop:Start {rank: 1})-[:R {at: 1}]->(b:Stop {rank: 2})-[:R {at: 2}]->(c:Stop {rank: 3})-[:R {at: 3}]->(d:Stop {rank: 4})-[:R {at: 4}]->(a)
  (a)-[:S]->(c)
  (d)-[:R {at: 5}]->(e:Stop:Last {rank: 5})-[:R {at: 6}]->(e)
  (a)-[:S]->(b)
  (e)-[:T]->(f:Other)
`

let stored: StoredGraph
beforeAll(async () => {
  stored = await storeGraph(readGraph(graph))
})
afterAll(() => stored.close())

function run(
  text: string,
  parameters: Readonly<Record<string, string | readonly string[]>> = {},
  stepsMax = 200_000,
): QueryResult {
  const compiled = compileRowsQuery(text)
  if (!compiled.ok) throw new Error(compiled.error.map((one) => renderDiagnostic(text, one)).join('\n'))
  const snapshot = stored.environment.snapshot()
  try {
    return compiled.value.run({
      snapshot,
      parameters: new Map(Object.entries(parameters)) as never,
      limits: { stepsMax, timeMs: 60_000 },
    })
  } finally {
    snapshot.close()
  }
}

/** The rows as text, in any order. */
function rows(text: string, parameters: Readonly<Record<string, string | readonly string[]>> = {}): string[] {
  return run(text, parameters)
    .rows.map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? Number(value) : value)))
    .toSorted()
}

const ids = (name: string): string => `[n IN ${name} | n.external_id]`
const from = (id: string): string => `(x {external_id: '${id}'})`

describe('a quantified path pattern', () => {
  test('repeats its hops as often as its quantifier allows', () => {
    const ends = (quantifier: string): string[] =>
      rows(`MATCH ${from('a')} ((p)-[:R]->(q))${quantifier} (y) RETURN y.external_id`)
    expect(ends('{2}')).toEqual(['["c"]'])
    expect(ends('{0,2}')).toEqual(['["a"]', '["b"]', '["c"]'])
    expect(ends('{,1}')).toEqual(['["a"]', '["b"]'])
    // No path uses a relationship twice: the loop at e is used once.
    expect(ends('{5,}')).toEqual(['["e"]'])
    expect(ends('+')).toEqual(['["a"]', '["b"]', '["c"]', '["d"]', '["e"]', '["e"]'])
    expect(ends('*')).toEqual(['["a"]', '["a"]', '["b"]', '["c"]', '["d"]', '["e"]', '["e"]'])
  })

  test('has variables that are lists outside of it and elements inside', () => {
    expect(
      rows(
        `MATCH ${from('a')} ((p)-[r:R]->(q) WHERE p.rank < q.rank){2} (y) RETURN ${ids('p')}, [e IN r | e.at], ${ids('q')}`,
      ),
    ).toEqual(['[["a","b"],[1,2],["b","c"]]'])
    expect(rows(`MATCH ${from('a')} ((p)-[r:NONE]->(q)){0,1} (y) RETURN p, r, q, y.external_id`)).toEqual([
      '[[],[],[],"a"]',
    ])
    expect(
      rows(`MATCH ${from('a')} ((p)-[r:R]->(m)-[s:R]->(q)){2} (y) RETURN ${ids('m')}, [e IN s | e.at], y.external_id`),
    ).toEqual(['[["b","d"],[2,4],"a"]', '[["b","d"],[2,5],"e"]'])
  })

  test('tests a predicate on several of its hops after each repetition', () => {
    const query = (where: string): string[] =>
      rows(`MATCH ${from('a')} ((p)-[r]->()-[s]->(q) WHERE ${where}){1,2} (y) RETURN DISTINCT y.external_id`)
    expect(query('p.rank + 2 = q.rank')).toEqual(['["c"]', '["e"]'])
    expect(query('r.at + 1 = s.at AND q.rank > 3')).toEqual([])
    expect(query('type(r) <> type(s) AND q.rank > 2')).toEqual(['["c"]', '["d"]'])
  })

  test('may name a node twice, which is then one node', () => {
    expect(rows(`MATCH (x) ((p)-[:R]->(p)){1,2} (y) RETURN x.external_id, size(p)`)).toEqual(['["e",1]'])
    expect(rows(`MATCH (x) ((p)-[:R]-()--(p)){1} (y) RETURN DISTINCT x.external_id`)).toEqual(['["a"]', '["b"]'])
  })

  test('stands next to other patterns, and reads variables of earlier clauses', () => {
    expect(
      rows(`MATCH ((p)-[:R]->(q))+ ((r:Last)-[:T]->(s)) {1} RETURN size(p), s[0].external_id`).length,
    ).toBeGreaterThan(4)
    expect(
      rows(
        `MATCH ${from('c')} WITH x MATCH (x)-[:R]->(y) ((p)-[:R]->(q) WHERE q.rank > x.rank)* (z:Last) RETURN size(p)`,
      ),
    ).toEqual(['[1]', '[2]'])
  })

  test('gives the same ends by a search by nodes as by an enumeration of paths', () => {
    for (const body of [
      '(p)-[:R]->(q)',
      '(p)-[:R]->()-[:S]->(q)',
      '(p)<-[:S]-(m:Stop)-[:R]->(q)',
      '(p)-[:R|S]->(q WHERE q.rank > 1)',
    ]) {
      for (const quantifier of ['+', '*', '{1,2}', '{0,3}']) {
        const pattern = `MATCH (x) (${body})${quantifier} (y)`
        const distinct = rows(`${pattern} RETURN DISTINCT x.external_id AS a, y.external_id AS b`)
        expect(distinct).toEqual([
          ...new Set(rows(`${pattern} WITH x, y, size(p) AS n RETURN x.external_id AS a, y.external_id AS b`)),
        ])
        const checks = rows(
          `MATCH (x), (y) WHERE EXISTS { MATCH (x) (${body})${quantifier} (y) } RETURN x.external_id AS a, y.external_id AS b`,
        )
        expect(checks).toEqual(distinct)
      }
    }
  })

  test('decides a policy, and names the policy variables in EXISTS', () => {
    const text =
      'MATCH (subject) ((p)-[:R]->(q) WHERE q.rank > p.rank)+ (resource) WHERE NOT EXISTS { (subject)-[:S]->{1,2}(resource) }'
    const compiled = compileCondition({ text, dialect: '2.0-kbac', subjectType: 'Stop', resourceType: 'Stop' })
    if (!compiled.ok) throw new Error(compiled.error[0]!.message)
    const snapshot = stored.environment.snapshot()
    const asking = { snapshot, parameters: new Map(), limits: { stepsMax: 10_000, timeMs: 60_000 } }
    const granted = ['a', 'b', 'c', 'd', 'e'].filter((id) => compiled.value.check(asking, 'a', id))
    snapshot.close()
    expect(granted).toEqual(['d', 'e'])
  })
})

describe('a path selector', () => {
  test('SHORTEST k and ANY k keep so many paths between two nodes, SHORTEST k GROUPS all of k lengths', () => {
    const lengths = (selector: string): string[] =>
      rows(`MATCH p = ${selector} ${from('a')}-->+({external_id: 'c'}) RETURN length(p)`)
    expect(lengths('SHORTEST 1')).toEqual(['[1]'])
    expect(lengths('ANY SHORTEST PATH')).toEqual(['[1]'])
    expect(lengths('ALL SHORTEST PATHS')).toEqual(['[1]'])
    expect(lengths('SHORTEST 2')).toEqual(['[1]', '[2]'])
    expect(lengths('SHORTEST 2 PATH GROUPS')).toEqual(['[1]', '[2]', '[2]'])
    expect(lengths('ANY 2')).toHaveLength(2)
    expect(lengths('ANY')).toHaveLength(1)
    expect(lengths('SHORTEST GROUP')).toEqual(['[1]'])
    expect(lengths('ALL').length).toBe(rows(`MATCH p = ${from('a')}-->+({external_id: 'c'}) RETURN length(p)`).length)
    expect(lengths('SHORTEST 99')).toEqual(lengths('ALL'))
    expect(lengths('SHORTEST 99 GROUPS')).toEqual(lengths('ALL'))
  })

  test('keeps paths for each pair of ends, and finds the ends from one that is known', () => {
    expect(rows(`MATCH p = SHORTEST 1 ${from('a')}-[:R]->+(y) RETURN y.external_id, length(p)`)).toEqual([
      '["a",4]',
      '["b",1]',
      '["c",2]',
      '["d",3]',
      '["e",4]',
    ])
    expect(rows(`MATCH p = SHORTEST 1 (y)-[:R]->+(x {external_id: 'e'}) RETURN y.external_id, length(p)`)).toEqual([
      '["a",4]',
      '["b",3]',
      '["c",2]',
      '["d",1]',
      '["e",1]',
    ])
  })

  test('a condition in the parentheses is tested before the selector chooses, WHERE after it', () => {
    const before = `MATCH SHORTEST 1 (p = ${from('a')}-->+({external_id: 'c'}) WHERE length(p) > 1) RETURN length(p)`
    const after = `MATCH p = SHORTEST 1 ${from('a')}-->+({external_id: 'c'}) WHERE length(p) > 1 RETURN length(p)`
    expect(rows(before)).toEqual(['[2]'])
    expect(rows(after)).toEqual([])
    const inline = `MATCH p = SHORTEST 1 ${from('a')}-->(m WHERE m.rank = 2)-->+({external_id: 'c'}) RETURN m.external_id, length(p)`
    expect(rows(inline)).toEqual(['["b",2]'])
    // The older functions return the shortest path that satisfies WHERE.
    expect(
      rows(`MATCH p = shortestPath(${from('a')}-[*]->(y {external_id: 'c'})) WHERE length(p) > 1 RETURN length(p)`),
    ).toEqual(['[2]'])
    expect(
      rows(
        `MATCH p = shortestPath(${from('a')}-[*]->(y {external_id: 'c'})) WHERE none(r IN relationships(p) WHERE r:S) RETURN length(p)`,
      ),
    ).toEqual(['[2]'])
  })

  test('goes through several steps, and fills their variables', () => {
    expect(
      rows(
        `MATCH p = SHORTEST 1 ${from('a')}-[r:S]->(m)-[s:R]->{1,3}(n) ((u)-[t:R]->(v)){1} (y:Last) RETURN length(p), type(r), m.external_id, size(s), ${ids('u')}`,
      ),
    ).toEqual(['[3,"S","c",1,["d"]]'])
  })

  test('with a larger minimum, a walk that repeats a relationship is no path', () => {
    // From b, five steps of R lead over the whole cycle to c only by using b-c twice.
    expect(rows(`MATCH p = SHORTEST 1 (x {external_id: 'b'})-[:R]->{5,}({external_id: 'c'}) RETURN length(p)`)).toEqual(
      [],
    )
    expect(rows(`MATCH p = SHORTEST 1 (x {external_id: 'b'})-[:R]->{4,}(y) RETURN y.external_id, length(p)`)).toEqual([
      '["b",4]',
      '["e",4]',
    ])
  })
})

test('MATCH REPEATABLE ELEMENTS uses a relationship several times, DIFFERENT RELATIONSHIPS does not', () => {
  const count = (mode: string): number =>
    Number(run(`MATCH ${mode} ${from('f')}-[:T]-{1,4}(y) RETURN count(*) AS n`).rows[0]![0])
  expect(count('')).toBe(1)
  expect(count('DIFFERENT RELATIONSHIPS')).toBe(1)
  expect(count('REPEATABLE ELEMENTS')).toBe(4)
  expect(
    rows(`MATCH REPEATABLE ELEMENTS p = SHORTEST 1 ${from('b')}-[:R]->{5,6}({external_id: 'c'}) RETURN length(p)`),
  ).toEqual(['[5]'])
  expect(Number(run(`MATCH REPEATABLE ELEMENTS (x)-[:T]->(y), (z)-[:T]->(u) RETURN count(*) AS n`).rows[0]![0])).toBe(1)
  expect(run(`MATCH (x)-[:T]->(y), (z)-[:T]->(u) RETURN count(*) AS n`).rows[0]![0]).toEqual(
    run('RETURN 0 AS n').rows[0]![0],
  )
})

test('a dynamic label or type is known for each row; $any and $all take lists', () => {
  expect(rows('MATCH (n:$($label)) RETURN n.external_id', { label: 'Last' })).toEqual(['["e"]'])
  expect(rows('MATCH (n:Stop&!$any($labels)) RETURN n.external_id', { labels: ['Last', 'Start'] })).toEqual([
    '["b"]',
    '["c"]',
    '["d"]',
  ])
  expect(rows('MATCH (n:$all($labels)) RETURN n.external_id', { labels: ['Stop', 'Start'] })).toEqual(['["a"]'])
  expect(rows(`MATCH (n:$($labels)) RETURN n.external_id`, { labels: ['Stop', 'Nowhere'] })).toEqual([])
  expect(rows("UNWIND ['S', 'T'] AS type MATCH ()-[r:$(type)]->(n) RETURN type, n.external_id")).toEqual([
    '["S","b"]',
    '["S","c"]',
    '["T","f"]',
  ])
  expect(rows("MATCH ({external_id: 'a'})-[:$any(['S'])]->+(n) WHERE n:$('Stop') RETURN n.external_id")).toEqual([
    '["b"]',
    '["c"]',
  ])
  expect(rows("MATCH (n:Last) RETURN n['ra' + 'nk']")).toEqual(['[5]'])
  expect(() => rows('WITH 1 AS label MATCH (n:$(label)) RETURN n')).toThrow(
    /a dynamic label must be a string or a list of strings/,
  )
})

describe('refused patterns name the place', () => {
  const codes = (text: string): string[] => {
    const compiled = compileRowsQuery(text)
    return compiled.ok
      ? []
      : compiled.error.map(({ code, message, span }) => `${code} ${text.slice(span.start, span.end)}: ${message}`)
  }
  const refused: readonly (readonly [string, RegExp])[] = [
    [
      'MATCH (a) ((b) ((c)-->(d))+ (e)){2} (f) RETURN a',
      /InvalidQuantifiedPath \+: quantified path patterns cannot be nested/,
    ],
    ['MATCH (a)-->{0}(b) RETURN a', /\{0\}: the upper bound of a quantifier must be at least 1/],
    ['MATCH (a)-->{,0}(b) RETURN a', /the upper bound of a quantifier must be at least 1/],
    ['MATCH ((a)-->(b)){3,2} RETURN a', /\{3,2\}: the lower bound 3 of the quantifier is above its upper bound 2/],
    ['MATCH ((b)-->+(c)){2} RETURN b', /InvalidQuantifiedPath \+: .* cannot be nested/],
    ['MATCH ((b)-[*]->(c)){2} RETURN b', /InvalidQuantifiedPath \*: a variable-length relationship cannot be inside/],
    ['MATCH ((b)){2} RETURN b', /at least one relationship/],
    ['MATCH (p = (a)-->(b)){2} RETURN p', /InvalidQuantifiedPath p: .* cannot be named/],
    ['MATCH (a) (b) RETURN a', /UnexpectedSyntax \(b\): two patterns can be next to each other only if/],
    ['MATCH (a)-[*]->(b) ((c)-->(d))+ RETURN a', /InvalidQuantifiedPath \*: a variable-length relationship/],
    ['MATCH p = shortestPath((a)-[*]->(b)), ((c)-->(d))+ RETURN a', /InvalidShortestPath .*write `SHORTEST 1`/],
    ['MATCH (a) ((a)-->(b))+ RETURN a', /VariableAlreadyBound a: .* outside of the quantified path pattern/],
    ['MATCH (a) MATCH ((a)-->(b))+ RETURN a', /VariableAlreadyBound a: .* by an earlier clause/],
    ['MATCH ((a)-->(b))+ ((b)-->(c))+ RETURN a', /VariableAlreadyBound b/],
    ['MATCH ((a)-->(b))+ (a) RETURN a', /VariableAlreadyBound a: .* outside of the quantified path pattern/],
    ['MATCH (x) ((a)-->(b) WHERE a.n = x.n)+ RETURN x', /NotSupported .* cannot read `x` of the same MATCH/],
    ['MATCH ANY (a)-->(b), (c)-->(d) RETURN a', /InvalidPathSelector ANY: .* several patterns/],
    ['MATCH SHORTEST (a)-->(b) RETURN a', /InvalidPathSelector \(: .* the number of paths, or `GROUP`/],
    ['MATCH SHORTEST 0 (a)-->(b) RETURN a', /InvalidPathSelector SHORTEST 0: .* at least one path/],
    ['MATCH SHORTEST 1 shortestPath((a)-[*]->(b)) RETURN a', /InvalidPathSelector SHORTEST 1/],
    ['MATCH (p = (a)-->(b)) RETURN p', /UnexpectedSyntax|InvalidQuantifiedPath p: .* only after a path selector/],
    [
      'MATCH REPEATABLE ELEMENTS (a)-->+(b) RETURN a',
      /InvalidQuantifiedPath \+: REPEATABLE ELEMENTS needs an upper bound/,
    ],
    ['MATCH REPEATABLE ELEMENTS (a)-[*1..2]->(b) RETURN a', /InvalidQuantifiedPath \*1\.\.2/],
    ['MATCH (m) MATCH ANY (a)-->(m)-->+(b) RETURN a', /VariableAlreadyBound m: .* inside of a path with a selector/],
    ['MATCH (n:$label) RETURN n', /UnexpectedSyntax \$label: a label from a parameter is written `\$\(\$label\)`/],
    ['MATCH (n:$(1) RETURN n', /UnexpectedSyntax/],
  ]
  test.each(refused)('%s', (text, expected) => {
    expect(codes(text).join('\n')).toMatch(expected)
  })
})

test('a hostile quantifier ends at the budget, whatever its bounds', () => {
  const limited = (text: string): string => {
    try {
      return `${run(text, {}, 20_000).rows.length} rows`
    } catch (error) {
      return (error as { subject?: string }).subject ?? String(error)
    }
  }
  const most = 2 ** 53 - 1
  expect(limited(`MATCH REPEATABLE ELEMENTS (x:Stop)-[:R]-{1,${most}}(y) RETURN count(*) AS n`)).toBe(
    'traversalStepsMax',
  )
  expect(limited(`MATCH p = SHORTEST ${most} (x:Stop)-->{${most - 1},${most}}(y) RETURN p`)).toBe('0 rows')
  expect(limited(`MATCH (x:Stop) ((p)-->(q)){${most}} (y) RETURN p`)).toBe('0 rows')
})
