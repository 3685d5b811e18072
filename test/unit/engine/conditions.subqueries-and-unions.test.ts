// Subqueries, unions, several graphs and shortest paths: what the TCK does not cover.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderDiagnostic } from '../../../grammar/diagnostic.ts'
import {
  compileCondition,
  type DialectName,
  type EngineOptions,
  type QueryContext,
} from '../../../src/engine/conditions.ts'
import { ExecutionError } from '../../../src/engine/errors.ts'
import { compileRowsQuery, type ResultValue } from '../../../src/engine/rows-query.ts'
import type { OpenSnapshot, Snapshot } from '../../../src/engine/store.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

const home = `
  (ann:Person {age: 30})-[:MEMBER]->(red:Team {size: 3})-[:OWNS]->(c1:Car {wheels: 4})
  (bob:Person {age: 40})-[:MEMBER]->(red)-[:OWNS]->(c2:Car {wheels: 3})
  (bob)-[:MEMBER]->(blue:Team {size: 1})-[:OWNS]->(c3:Car {wheels: 4})
  (cyd:Person {age: 50})-[:KNOWS]->(ann)-[:KNOWS]->(bob)
  (cyd)-[:KNOWS]->(dan:Person)-[:KNOWS]->(bob)-[:KNOWS]->(eve:Person)
`
const abroad = `
  (ann:Person {age: 31})-[:RENTS]->(c9:Car {wheels: 2})
  (zoe:Person)-[:RENTS]->(c1:Car)
`

let graphs: { home: StoredGraph; abroad: StoredGraph }
beforeAll(async () => {
  graphs = { home: await storeGraph(readGraph(home)), abroad: await storeGraph(readGraph(abroad)) }
})
afterAll(async () => {
  await graphs.home.close()
  await graphs.abroad.close()
})

function within<T>(parameters: Readonly<Record<string, string>>, ask: (asking: QueryContext) => T): T {
  const open: OpenSnapshot[] = []
  const take = (stored: StoredGraph): Snapshot => {
    const snapshot = stored.environment.snapshot()
    open.push(snapshot)
    return snapshot
  }
  try {
    return ask({
      snapshot: take(graphs.home),
      parameters: new Map(Object.entries(parameters)),
      limits: { stepsMax: 1_000_000, timeMs: 60_000 },
      locate: (location) => {
        if (location !== 'abroad') throw new Error(`unknown location ${location}`)
        return take(graphs.abroad)
      },
    })
  } finally {
    for (const snapshot of open) snapshot.close()
  }
}

function rows(
  text: string,
  parameters: Readonly<Record<string, string>> = {},
  options: EngineOptions,
): ResultValue[][] {
  const query = compileRowsQuery(text, options)
  if (!query.ok) throw new Error(query.error.map((issue) => renderDiagnostic(text, issue)).join('\n'))
  return within(parameters, (asking) => query.value.run(asking).rows.map((row) => [...row]))
}

function codes(text: string): string[] {
  const query = compileRowsQuery(text)
  return query.ok ? [] : query.error.map((issue) => issue.code)
}

const inOrder = (found: ResultValue[][]): string[] => found.map((row) => JSON.stringify(row)).sort()

const table: readonly (readonly [
  name: string,
  text: string,
  expected: ResultValue[][],
  parameters?: Record<string, string>,
])[] = [
  [
    'CALL sees outer variables only if it imports them',
    'MATCH (p:Person) CALL { MATCH (t:Team) RETURN count(t) AS teams } RETURN DISTINCT teams',
    [[2]],
  ],
  [
    'CALL (x) imports by name',
    'MATCH (p:Person) CALL (p) { MATCH (p)-[:MEMBER]->(t) RETURN count(t) AS n } WITH p, n WHERE n > 0 RETURN p.external_id, n',
    [
      ['ann', 1],
      ['bob', 2],
    ],
  ],
  [
    'CALL imports by its first WITH',
    'MATCH (p:Person) CALL { WITH p MATCH (p)-[:MEMBER]->(t) RETURN t.external_id AS team } RETURN p.external_id, team',
    [
      ['ann', 'red'],
      ['bob', 'red'],
      ['bob', 'blue'],
    ],
  ],
  [
    'a subquery without rows drops the outer row',
    'MATCH (p:Person) CALL (p) { MATCH (p)-[:MEMBER]->(t:Team {size: 1}) RETURN t } RETURN p.external_id',
    [['bob']],
  ],
  [
    'the limit of a subquery holds for each outer row',
    'MATCH (p:Person) CALL (p) { MATCH (p)-[:MEMBER]->(t) RETURN t.external_id AS t ORDER BY t LIMIT 1 } RETURN p.external_id, t',
    [
      ['ann', 'red'],
      ['bob', 'blue'],
    ],
  ],
  [
    'UNION inside CALL takes each row once',
    "MATCH (p:Person {external_id: 'ann'}) CALL (p) { MATCH (p)-[:MEMBER]->(x) RETURN x UNION MATCH (x:Team) RETURN x } RETURN x.external_id",
    [['red'], ['blue']],
  ],
  ['UNION ALL keeps both', 'RETURN 1 AS x UNION ALL RETURN 1 AS x', [[1], [1]]],
  [
    'COUNT { } counts the rows of a pattern',
    'MATCH (p:Person) WHERE COUNT { (p)-[:MEMBER]->() } > 1 RETURN p.external_id, COUNT { (p)-[:KNOWS]->(q) WHERE q.age > 0 } AS n',
    [['bob', 0]],
  ],
  [
    'COLLECT { } gives the column in order',
    "MATCH (p:Person {external_id: 'bob'}) RETURN COLLECT { MATCH (p)-[:MEMBER]->(t) RETURN t.external_id ORDER BY t.external_id } AS teams",
    [[['blue', 'red']]],
  ],
  [
    'EXISTS { } takes a whole query',
    'MATCH (p:Person) WHERE EXISTS { MATCH (p)-[:MEMBER]->(t) MATCH (t)-[:OWNS]->(c {wheels: 3}) RETURN c } RETURN p.external_id',
    [['ann'], ['bob']],
  ],
  [
    'NOT EXISTS { } over an aggregation that always has a row is false',
    'MATCH (p:Person) WHERE NOT EXISTS { MATCH (p)-[:MEMBER]->(t) RETURN count(t) AS n } RETURN p',
    [],
  ],
  [
    'a pattern comprehension projects each match',
    "MATCH (t:Team {external_id: 'red'}) RETURN size([(t)-[:OWNS]->(c) WHERE c.wheels = 4 | c.external_id]) AS n",
    [[1]],
  ],
  [
    'USE names another graph by literal',
    "USE graph.byName('abroad') MATCH (p:Person)-[:RENTS]->(c) RETURN p.external_id, c.external_id",
    [
      ['ann', 'c9'],
      ['zoe', 'c1'],
    ],
  ],
  [
    'USE names another graph by parameter',
    'USE graph.byName($where) MATCH (p:Person) RETURN count(p) AS n',
    [[2]],
    { where: 'abroad' },
  ],
  [
    'a subquery may use another graph than the query around it',
    "MATCH (p:Person {external_id: 'ann'}) WITH p.external_id AS id, p.age AS here CALL (id) { USE graph.byName('abroad') MATCH (q:Person {external_id: id}) RETURN q.age AS there } RETURN here, there",
    [[30, 31]],
  ],
  [
    'a union over graphs reads each node from its own',
    "CALL () { MATCH (p:Person {external_id: 'ann'}) RETURN p UNION USE graph.byName('abroad') MATCH (p:Person {external_id: 'ann'}) RETURN p } RETURN p.age",
    [[30], [31]],
  ],
  [
    'shortestPath gives one of the shortest',
    "MATCH (a:Person {external_id: 'cyd'}), (b:Person {external_id: 'eve'}), p = shortestPath((a)-[:KNOWS*]->(b)) RETURN length(p)",
    [[3]],
  ],
  [
    'allShortestPaths gives all of them',
    "MATCH (a:Person {external_id: 'cyd'}), (b:Person {external_id: 'bob'}), p = allShortestPaths((a)-[:KNOWS*..5]->(b)) RETURN [n IN nodes(p) | n.external_id] AS way",
    [[['cyd', 'ann', 'bob']], [['cyd', 'dan', 'bob']]],
  ],
  [
    'every step of a variable length satisfies its WHERE',
    "MATCH (a:Person {external_id: 'cyd'})-[r:KNOWS|MEMBER*1..3 WHERE type(r) = 'KNOWS']->(b) RETURN DISTINCT b.external_id",
    [['ann'], ['dan'], ['bob'], ['eve']],
  ],
  [
    'a type expression holds for every step',
    "MATCH (a:Person {external_id: 'cyd'})-[:!MEMBER*1..2]->(b) RETURN DISTINCT b.external_id",
    [['ann'], ['dan'], ['bob']],
  ],
  [
    'a quantified relationship is a variable length',
    "MATCH (a:Person {external_id: 'cyd'})-[:KNOWS]->{2,3}(b) RETURN b.external_id",
    [['bob'], ['bob'], ['eve'], ['eve']],
  ],
  [
    'no shortest path within the bound is no row',
    "MATCH (a:Person {external_id: 'cyd'}), (b:Person {external_id: 'eve'}), p = shortestPath((a)-[:KNOWS*..2]->(b)) RETURN p",
    [],
  ],
  [
    'a node that was collected can be matched again',
    'MATCH (t:Team)<-[:MEMBER]-(p) WITH t, collect(p) AS ps UNWIND ps AS q MATCH (q)-[:KNOWS]->(r) RETURN t.external_id, r.external_id',
    [
      ['red', 'bob'],
      ['red', 'eve'],
      ['blue', 'eve'],
    ],
  ],
  [
    'a node that was collected keeps its name after an aggregate of a subquery that matches it',
    'MATCH (:Team)<-[:MEMBER]-(p) WITH collect(p) AS ps UNWIND ps AS q RETURN q.external_id, COLLECT { MATCH (q)<-[:KNOWS]-(k) WITH k, count(*) AS m WHERE q.age - 9 > m * 30 RETURN k.external_id AS id ORDER BY id }',
    [
      ['ann', []],
      ['bob', ['ann', 'dan']],
      ['bob', ['ann', 'dan']],
    ],
  ],
  [
    'a node that was collected can be a grouping key of a subquery that matches it',
    'MATCH (:Team)<-[:MEMBER]-(p) WITH collect(p) AS ps UNWIND ps AS q CALL (q) { MATCH (q)<-[:KNOWS]-(k) WITH q, count(*) AS m RETURN q.age + m AS n } RETURN q.external_id, n',
    [
      ['ann', 31],
      ['bob', 42],
      ['bob', 42],
    ],
  ],
  [
    'a node that was collected keeps its name after DISTINCT in a subquery that matches it',
    'MATCH (:Team)<-[:MEMBER]-(p) WITH collect(p) AS ps UNWIND ps AS q RETURN q.external_id, COUNT { MATCH (q)<-[:KNOWS]-(k) WITH DISTINCT k WHERE k.age > q.age RETURN k }',
    [
      ['ann', 1],
      ['bob', 0],
      ['bob', 0],
    ],
  ],
  [
    'an optional match that fails keeps the node it started from',
    "MATCH (e:Person {external_id: 'eve'}) WITH [e] AS es UNWIND es AS x OPTIONAL MATCH (x)-[:MEMBER]->(t) RETURN x.external_id, t",
    [['eve', null]],
  ],
  [
    'a known list of relationships is followed in its order',
    "MATCH (a:Person {external_id: 'cyd'})-[r:KNOWS*2]->(b) WITH r AS trail MATCH (x)-[trail*]->(y) RETURN x.external_id, y.external_id",
    [
      ['cyd', 'bob'],
      ['cyd', 'bob'],
    ],
  ],
]

for (const rules of ['on', 'off'] as const) {
  describe(`with rules ${rules}`, () => {
    for (const [name, text, expected, parameters] of table) {
      test(name, () => expect(inOrder(rows(text, parameters, { rules }))).toEqual(inOrder(expected)))
    }

    const pairs = (text: string, dialect: DialectName = 'open'): string[] => {
      const compiled = compileCondition({ text, dialect, subjectType: 'Person', resourceType: 'Car' }, { rules })
      if (!compiled.ok) throw new Error(compiled.error[0]!.message)
      const condition = compiled.value
      const people = ['ann', 'bob', 'cyd', 'dan', 'eve', 'zoe']
      const cars = ['c1', 'c2', 'c3', 'c9']
      return within({}, (asking) => {
        const checked = people.flatMap((s) => cars.filter((r) => condition.check(asking, s, r)).map((r) => `${s} ${r}`))
        const resources = people.flatMap((s) => condition.resources(asking, s).map((r) => `${s} ${r}`))
        const subjects = cars.flatMap((r) => condition.subjects(asking, r).map((s) => `${s} ${r}`))
        expect(resources.sort()).toEqual([...checked].sort())
        expect(subjects.sort()).toEqual([...checked].sort())
        return checked
      })
    }

    test('a condition may bind subject and resource in a subquery', () => {
      const text = 'CALL () { MATCH (subject)-[:MEMBER]->()-[:OWNS]->(resource) RETURN subject, resource }'
      expect(pairs(text, '3.0-kbac')).toEqual(['ann c1', 'ann c2', 'bob c1', 'bob c2', 'bob c3'])
    })

    test('the subquery is evaluated before the check: a limit inside applies to all', () => {
      const text =
        'CALL () { MATCH (subject)-[:MEMBER]->()-[:OWNS]->(resource) RETURN subject, resource ORDER BY subject.external_id DESC, resource.external_id LIMIT 1 }'
      expect(pairs(text, '3.0-kbac')).toEqual(['bob c1'])
    })

    const all = 'MATCH (subject:Person), (resource:Car) RETURN subject, resource NEXT'
    const own = 'MATCH (subject)-[:MEMBER]->()-[:OWNS]->(resource) RETURN subject, resource'
    const known = 'MATCH (subject)-[:KNOWS]->()-[:MEMBER]->()-[:OWNS]->(resource) RETURN subject, resource'
    const old = 'CALL (subject, resource) { WITH subject, resource WHERE subject.age > 40 RETURN true AS ok }'
    test.each([
      [
        'of the pair before',
        `${all} WHEN subject.age < 40 THEN { ${own} } ELSE { ${known} }`,
        ['ann c1', 'ann c2', 'cyd c1', 'cyd c2', 'dan c1', 'dan c2', 'dan c3'],
      ],
      ['without ELSE', `${all} WHEN subject.age < 40 THEN { ${own} }`, ['ann c1', 'ann c2']],
      [
        'within another',
        `${all} WHEN subject.age < 45 THEN { WHEN subject.age < 35 THEN { ${own} } } ELSE { ${known} }`,
        ['ann c1', 'ann c2', 'cyd c1', 'cyd c2', 'dan c1', 'dan c2', 'dan c3'],
      ],
      [
        'that exchange what they return',
        'MATCH (resource:Person)-[:MEMBER]->()-[:OWNS]->(subject:Car) RETURN subject, resource NEXT WHEN subject.wheels = 3 THEN { RETURN resource AS s, subject AS r } NEXT RETURN s AS subject, r AS resource',
        ['ann c2', 'bob c2'],
      ],
      [
        'of which one looks for other nodes',
        `MATCH (someone:Person {external_id: 'ann'}), (subject:Person), (resource:Car) RETURN someone, subject, resource NEXT WHEN subject.age = 30 THEN { ${own} } ELSE { MATCH (someone)-[:MEMBER]->()-[:OWNS]->(other) WHERE other.wheels = 3 RETURN someone AS subject, other AS resource }`,
        ['ann c1', 'ann c2'],
      ],
      [
        'before a count',
        `${all} WHEN subject.age < 40 THEN { ${own} } NEXT MATCH (subject)-[:MEMBER]->(t) WITH subject, resource, count(t) AS n WHERE n = 1 RETURN subject, resource`,
        ['ann c1', 'ann c2'],
      ],
      ['with a limit for each pair', `${all} WHEN subject.age < 40 THEN { ${own} LIMIT 1 }`, ['ann c1', 'ann c2']],
      [
        'with a subquery',
        `${all} WHEN subject.age >= 40 THEN { ${old} RETURN subject, resource }`,
        ['cyd c1', 'cyd c2', 'cyd c3'],
      ],
    ])('branches of WHEN: %s', (_name, text, expected) => {
      expect(pairs(text, '3.0-kbac')).toEqual(expected)
    })

    if (rules === 'on') {
      test('a check with WHEN reads only its pair, and not every pair', () => {
        const text = `${all} WHEN subject.age < 40 THEN { ${own} } ELSE { ${known} }`
        const compiled = compileCondition(
          { text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' },
          { rules },
        )
        if (!compiled.ok) throw new Error(compiled.error[0]!.message)
        const condition = compiled.value
        const { profile } = within({}, (asking) => condition.trace(asking, 'bob', 'c1'))
        const counts: number[] = []
        const visit = ({ rows, children }: typeof profile): void => {
          counts.push(rows)
          for (const { node } of children) visit(node)
        }
        visit(profile)
        expect(Math.max(...counts)).toBeLessThan(5)
      })
    }

    test('a union of subject and resource is evaluated branch by branch', () => {
      const text =
        'CALL () { MATCH (subject)-[:MEMBER]->(:Team {size: 1})-[:OWNS]->(resource) RETURN subject, resource UNION MATCH (subject {age: 30}), (resource {wheels: 3}) RETURN subject, resource }'
      expect(pairs(text, '3.0-kbac')).toEqual(['ann c2', 'bob c3'])
    })

    test('a union over graphs finds the nodes of both', () => {
      const text =
        "CALL () { MATCH (subject)-[:MEMBER]->(:Team {size: 1})-[:OWNS]->(resource) RETURN subject, resource UNION USE graph.byName('abroad') MATCH (subject)-[:RENTS]->(resource) RETURN subject, resource }"
      expect(pairs(text)).toEqual(['ann c9', 'bob c3', 'zoe c1'])
    })

    test('a condition in another graph is evaluated there', () => {
      expect(pairs("USE graph.byName('abroad') MATCH (subject)-[:RENTS]->(resource)")).toEqual(['ann c9', 'zoe c1'])
    })

    test('names may be swapped on the way', () => {
      const text =
        'MATCH (resource:Person)-[:MEMBER]->()-[:OWNS]->(subject:Car) WITH resource AS subject, subject AS resource'
      expect(pairs(text)).toEqual(['ann c1', 'ann c2', 'bob c1', 'bob c2', 'bob c3'])
    })

    test('a limit above the check is kept', () => {
      const text =
        'MATCH (subject)-[:MEMBER]->()-[:OWNS]->(resource) WITH subject, resource ORDER BY resource.external_id DESC LIMIT 1'
      expect(pairs(text)).toEqual(['bob c3'])
    })

    test('subject and resource may be the same variable, but never of two types', () => {
      const ask = (text: string, resourceType: string): string[] => {
        const compiled = compileCondition({ text, dialect: 'open', subjectType: 'Person', resourceType }, { rules })
        if (!compiled.ok) throw new Error(compiled.error[0]!.message)
        const people = ['ann', 'bob', 'cyd']
        return within({}, (asking) =>
          people.flatMap((s) =>
            [...people, 'c1'].filter((r) => compiled.value.check(asking, s, r)).map((r) => `${s} ${r}`),
          ),
        )
      }
      const same = 'MATCH (subject:Person)-[:MEMBER]->() WITH subject, subject AS resource'
      expect(ask(same, 'Person')).toEqual(['ann ann', 'bob bob'])
      expect(ask('MATCH (resource:Car)<-[:OWNS]-() WITH resource, resource AS subject', 'Car')).toEqual([])
    })

    test('variables imported by a subquery stay in scope after its WITH', () => {
      const inner = 'MATCH (t:Team) WITH t ORDER BY t.size LIMIT 1 MATCH (subject)-[:MEMBER]->(t)'
      const call = `MATCH (subject:Person), (resource:Car) CALL (subject, resource) { ${inner} RETURN 1 AS one }`
      const onlyBob = ['bob c1', 'bob c2', 'bob c3']
      expect(pairs(call, '3.0-kbac')).toEqual(onlyBob)
      expect(pairs(call.replace('subject, resource', '*'), '3.0-kbac')).toEqual(onlyBob)
      expect(pairs(`MATCH (subject:Person), (resource:Car) WHERE EXISTS { ${inner} }`, '2.0-kbac')).toEqual(onlyBob)
      expect(pairs(`MATCH (subject:Person), (resource:Car) WHERE COUNT { ${inner} } > 0`)).toEqual(onlyBob)
    })

    test('a null node matches nothing, even without a traversal from it', () => {
      const optional = 'MATCH (subject:Person), (resource:Car) OPTIONAL MATCH (subject)-[:MEMBER]->(x)'
      const members = ['ann c1', 'ann c2', 'ann c3', 'bob c1', 'bob c2', 'bob c3']
      expect([...new Set(pairs(`${optional} MATCH (x)`))]).toEqual(members)
      expect([...new Set(pairs(`${optional} WITH subject, resource, x WHERE EXISTS { (x) }`))]).toEqual(members)
      expect([...new Set(pairs(`${optional} MATCH (x), (y:Team)`))]).toEqual(members)
      expect(pairs('MATCH (subject:Person), (resource:Car) WITH subject, resource, null AS x MATCH (x)')).toEqual([])
    })

    test('a list of relationships that another pattern traverses is kept', () => {
      const two = 'MATCH (subject:Person)-[r:MEMBER*1..2]->(t) MATCH (t)-[:OWNS]->(resource)'
      expect(pairs(`${two} WHERE NOT EXISTS { (subject)-[r*]->(t) }`)).toEqual([])
      expect(pairs(`${two} MATCH (subject)-[r*]->(t)`)).toEqual(['ann c1', 'ann c2', 'bob c1', 'bob c2', 'bob c3'])
    })

    test('a group is counted completely', () => {
      const text = 'MATCH (subject)-[:MEMBER]->(t), (resource:Car) WITH subject, resource, count(t) AS n WHERE n > 1'
      expect(pairs(text)).toEqual(['bob c1', 'bob c2', 'bob c3', 'bob c9'].filter((pair) => pair !== 'bob c9'))
    })
  })
}

describe('refused conditions', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['MATCH (a) CALL (b) { RETURN 1 AS x } RETURN a', 'UndefinedVariable'],
    ['MATCH (a) CALL (a) { MATCH (a) RETURN a } RETURN a', 'VariableAlreadyBound'],
    ['MATCH (a) CALL (a) { MATCH (b) WITH b AS a RETURN 1 AS x } RETURN a', 'VariableAlreadyBound'],
    ['MATCH (a) WHERE EXISTS { MATCH (b) WITH b AS a MATCH (a) } RETURN a', 'VariableAlreadyBound'],
    ['RETURN $`given subject` AS x', 'ReservedParameter'],
    ['MATCH (a) CALL { WITH a AS b MATCH (b) RETURN b } RETURN a', 'InvalidImportingWith'],
    ['MATCH (a) CALL { MATCH (a)-->(b) } RETURN a', 'InvalidClauseComposition'],
    ['RETURN 1 AS a UNION RETURN 2 AS b', 'DifferentColumnsInUnion'],
    ['RETURN 1 AS a UNION RETURN 2 AS a UNION ALL RETURN 3 AS a', 'InvalidClauseComposition'],
    ['MATCH (a) USE graph.byName("x") RETURN a', 'InvalidClauseComposition'],
    ['USE graph.byName($p) MATCH (a) WHERE a.x = $p RETURN a', 'InvalidParameterUse'],
    ['USE graph.byName(coalesce($p, "x")) MATCH (a) RETURN a', 'InvalidGraphReference'],
    ['MATCH (a) CALL (a) { USE graph.byName("x") MATCH (a)-->(b) RETURN b } RETURN b', 'InvalidGraphReference'],
    ['MATCH (a)-[:R* {x: b.y}]->(b) RETURN a', 'NotSupported'],
    ['MATCH p = shortestPath((a)-[:R*]->()-[:S]->(b)) RETURN p', 'InvalidShortestPath'],
    ['MATCH p = shortestPath((a)-[:R*2..]->(b)) RETURN p', 'InvalidShortestPath'],
    ['MATCH (a) RETURN COLLECT { MATCH (b) RETURN b, 1 AS x } AS xs', 'InvalidCollectSubquery'],
    ['WITH 1 AS n MATCH (n) RETURN n', 'VariableTypeConflict'],
  ]
  for (const [text, code] of refused) {
    test(`${text}: ${code}`, () => expect(codes(text)).toContain(code))
  }

  test('a shortest path from a node undirected to itself uses no relationship twice', () => {
    const text =
      'MATCH (subject:Person), (resource:Car) OPTIONAL MATCH p = shortestPath((subject)-[:KNOWS*]-(subject)) WITH subject, resource, p WHERE p IS NULL'
    const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
    if (!compiled.ok) throw new Error(compiled.error[0]!.message)
    // Ann is on a cycle.
    expect(within({}, (asking) => compiled.value.check(asking, 'ann', 'c1'))).toBe(false)
  })

  test('in a policy, a subquery with another subject', () => {
    const inner = 'MATCH (subject)-[:MEMBER]->(t) RETURN t'
    const text = (imports: string): string => `MATCH (subject), (resource) CALL ${imports}{ ${inner} }`
    const compile = (given: string) =>
      compileCondition({ text: given, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
    const refused = compile(text(''))
    expect(refused.ok ? [] : refused.error.map((issue) => issue.code)).toEqual(['ShadowedVariable'])
    expect(compile(text('(resource) ')).ok).toBe(false)
    expect(compile(text('(subject) ')).ok).toBe(true)
  })

  test('texts whose planning would block the process', () => {
    expect(codes(`${'OPTIONAL MATCH (a) '.repeat(5000)}RETURN a`)).toEqual(['QueryTooLong'])
    expect(codes(Array(1501).fill('RETURN 1 AS x').join(' UNION '))).toEqual(['QueryTooLong'])
    expect(codes(`${'WHEN false THEN { RETURN 1 AS x } '.repeat(1501)}ELSE { RETURN 1 AS x }`)).toEqual([
      'QueryTooLong',
    ])
    const columns = Array.from({ length: 2000 }, (_, i) => `count(n.x${i}) AS c${i}`).join(', ')
    expect(codes(`MATCH (n) RETURN ${columns}`)).toEqual(['QueryTooLong'])
    expect(codes(`MATCH (n)${'-->()'.repeat(5000)} RETURN n`)).toEqual(['PatternTooLong'])
    expect(codes(`MATCH ${Array(5000).fill('(n)').join(', ')} RETURN n`)).toEqual(['PatternTooLong'])
  })

  test('a computed value that is not a node is a run-time error', () => {
    const text = 'UNWIND $xs AS x MATCH (x)-->(y) RETURN y'
    const query = compileRowsQuery(text)
    if (!query.ok) throw new Error(query.error[0]!.message)
    const asked = (): unknown =>
      within({}, (asking) => query.value.run({ ...asking, parameters: new Map([['xs', [1]]]) }))
    expect(asked).toThrow(ExecutionError)
    expect(asked).toThrow('`x` is an integer, not a node')
  })
})
