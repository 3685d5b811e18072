// Explains the result of a check, and profiles a run by operator.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  compileCondition,
  type DecisionTrace,
  type MatchedPattern,
  type QueryContext,
} from '../../../src/engine/conditions.ts'
import { compileRowsQuery } from '../../../src/engine/rows-query.ts'
import { writeGraph } from '../../support/convert-graph.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

let stored: StoredGraph
beforeAll(async () => {
  stored = await storeGraph(
    readGraph(`
      (ann:Person {age: 17})-[:MEMBER]->(red:Team)-[:PARENT]->(all:Team)-[:OWNS]->(c1:Car {wheels: 4})
      (bob:Person {age: 40})-[:MEMBER]->(blue:Team)-[:OWNS]->(c2:Car)
      (bob)-[:BANNED]->(c2)
      (cyd:Person)
    `),
  )
})
afterAll(() => stored.close())

function within<T>(ask: (asking: QueryContext) => T): T {
  const snapshot = stored.environment.snapshot()
  try {
    return ask({ snapshot, parameters: new Map([['min', 18]]), limits: { stepsMax: 100_000, timeMs: 60_000 } })
  } finally {
    snapshot.close()
  }
}

function why(text: string, subject: string, resource: string): DecisionTrace {
  const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return within((asking) => {
    const answer = compiled.value.trace(asking, subject, resource)
    expect(answer.decision).toBe(compiled.value.check(asking, subject, resource))
    return answer
  })
}

const throughTeams = 'MATCH (subject)-[m:MEMBER]->(t:Team)-[:PARENT*0..2]->(top:Team)-[:OWNS]->(resource)'

describe('a permit shows the matched path', () => {
  test('of the branch of a union that matched, and of no other', () => {
    const above = 'MATCH (subject)-[:MEMBER]->(t)-[:PARENT]->(top)-[:OWNS]->(resource) RETURN subject, resource'
    const own = 'MATCH (subject)-[:MEMBER]->(t:Team)-[:OWNS]->(resource) RETURN subject, resource'
    for (const [subject, resource, teams] of [
      ['ann', 'c1', ['t=Team:red', 'top=Team:all']],
      ['bob', 'c2', ['t=Team:blue']],
    ] as const) {
      for (const text of [`CALL () { ${above} UNION ${own} }`, `CALL () { ${own} UNION ALL ${above} }`]) {
        const { nodes, relationships } = why(text, subject, resource).matched!
        const named = nodes.map((node) => `${node.variable}=${node.type}:${node.externalId}`).sort()
        expect(named).toEqual([`resource=Car:${resource}`, `subject=Person:${subject}`, ...teams])
        expect(relationships).toHaveLength(teams.length + 1)
      }
    }
  })

  test('every element of the pattern, including the steps of variable length', () => {
    const { decision, matched, nearestMiss, unknown } = why(throughTeams, 'ann', 'c1')
    expect(decision).toBe(true)
    expect(nearestMiss).toBeNull()
    expect(unknown).toEqual([])
    const named = matched!.nodes.map((node) => `${node.variable}=${node.type}:${node.externalId}`).sort()
    expect(named).toEqual(['resource=Car:c1', 'subject=Person:ann', 't=Team:red', 'top=Team:all'])
    const steps = matched!.relationships.map((r) => `${r.source.externalId}-${r.type}-${r.target.externalId}`).sort()
    expect(steps).toEqual(['all-OWNS-c1', 'ann-MEMBER-red', 'red-PARENT-all'])
    expect(matched!.relationships.find((r) => r.type === 'MEMBER')!.variable).toBe('m')
  })

  test('including the match of a pattern predicate', () => {
    const { matched } = why(
      'MATCH (subject), (resource) WHERE (subject)-[:MEMBER]->()-[:OWNS]->(resource)',
      'bob',
      'c2',
    )
    expect(matched!.relationships.map((r) => r.type).sort()).toEqual(['MEMBER', 'OWNS'])
  })

  test('an aggregation keeps its grouping keys', () => {
    const text = `${throughTeams} WITH subject, resource, count(t) AS n WHERE n > 0`
    expect(why(text, 'ann', 'c1').matched!.nodes.map((node) => node.variable)).toEqual(['subject', 'resource'])
  })

  test('fixed variables are kept to the end, whatever is grouped in between', () => {
    const text =
      'MATCH (subject)-[:MEMBER]->(t) WITH subject, collect(t) AS ts MATCH (subject)-[:BANNED]->(resource) WHERE size(ts) = 1'
    const names = why(text, 'bob', 'c2').matched!.nodes.map((node) => node.variable)
    expect(names.sort()).toEqual(['resource', 'subject'])
  })

  test('an optional match that failed adds nothing', () => {
    const text =
      'MATCH (subject), (resource) OPTIONAL MATCH (subject)-[:MEMBER]->(t) WHERE EXISTS { (t)-[:OWNS]->(c) } AND t.x + 0 = 5'
    expect(why(text, 'bob', 'c2').matched!.relationships).toEqual([])
  })

  test('a subquery shows its match', () => {
    const text = 'CALL () { MATCH (subject)-[:MEMBER]->(t)-[:OWNS]->(resource) RETURN subject, resource, t }'
    expect(
      why(text, 'bob', 'c2')
        .matched!.nodes.map((node) => node.externalId)
        .sort(),
    ).toEqual(['blue', 'bob', 'c2'])
  })
})

describe('patterns and clauses of GQL', () => {
  const walk = 'MATCH (subject)-[m:MEMBER]->(t:Team)'
  const names = (of: MatchedPattern['nodes']): string[] =>
    of.map(({ variable, externalId }) => `${variable}=${externalId}`).sort()
  const steps = (of: NonNullable<DecisionTrace['matched']>): string[] =>
    of.relationships.map(({ source, type, target }) => `${source.externalId}-${type}-${target.externalId}`).sort()
  const branches = `MATCH (subject), (resource) RETURN subject, resource
    NEXT WHEN subject.age < 18 THEN { ${walk}-[:PARENT]->(top)-[:OWNS]->(resource) RETURN subject, resource }`
  const otherwise = `ELSE { ${walk}-[:OWNS]->(resource) RETURN subject, resource }`

  test.each([
    ['a quantified relationship', `${walk}-[:PARENT]->*(top)-[:OWNS]->(resource)`],
    [
      'a quantified pattern',
      `${walk} ((x:Team)-[p:PARENT]->(y:Team WHERE y.external_id <> 'red')){1,3} (top)-[:OWNS]->(resource)`,
    ],
    ['a shortest path', 'MATCH p = SHORTEST 1 (subject)-->+(resource) WHERE length(p) < 4'],
  ])('%s shows every step of the match', (_name, text) => {
    const { matched } = why(text, 'ann', 'c1')
    expect(steps(matched!)).toEqual(['all-OWNS-c1', 'ann-MEMBER-red', 'red-PARENT-all'])
  })

  test('a quantified pattern that finds no repetition is the step that stopped', () => {
    const { nearestMiss } = why(`${walk} ((x)-[:PARENT]->(y)){1,3} (top)-[:OWNS]->(resource)`, 'bob', 'c2')
    expect(nearestMiss!.stopped.says).toMatch(/^no relationship matches .*PARENT/)
    expect(names([...nearestMiss!.reached!.sample.nodes])).toContain('t=blue')
  })

  test('a condition within a quantified pattern is part of the step that stopped', () => {
    const text = `${walk} ((x)-[:PARENT]->(y) WHERE y.open){1,3} (top)-[:OWNS]->(resource)`
    const { nearestMiss } = why(text, 'ann', 'c1')
    expect(nearestMiss!.stopped.says).toMatch(/PARENT/)
    expect(names([...nearestMiss!.reached!.sample.nodes])).toEqual(['resource=c1', 'subject=ann', 't=red'])
  })

  test('a shortest path that does not exist names its ends', () => {
    const { nearestMiss } = why('MATCH SHORTEST 1 (subject)-->+(resource)', 'ann', 'c2')
    expect(nearestMiss!.stopped.says).toBe('no relationship matches (subject)-[*1..]->(resource)')
  })

  test('the branch of WHEN that was chosen shows its match, and what stopped it', () => {
    const granted = why(`${branches} ${otherwise}`, 'bob', 'c2').matched!
    expect([names(granted.nodes), steps(granted)]).toEqual([
      ['resource=c2', 'subject=bob', 't=blue'],
      ['blue-OWNS-c2', 'bob-MEMBER-blue'],
    ])
    expect(names([...why(`${branches} ${otherwise}`, 'ann', 'c1').matched!.nodes])).toContain('top=all')
    const { nearestMiss } = why(`${branches} ${otherwise}`, 'bob', 'c1')
    expect(nearestMiss!.stopped.says).toBe('no relationship matches (t)-[:OWNS]->(resource)')
    expect(names([...nearestMiss!.reached!.sample.nodes])).toEqual(['resource=c1', 'subject=bob', 't=blue'])
  })

  test('without a branch that applies, the sample is the pair that was asked', () => {
    const { nearestMiss } = why(branches, 'bob', 'c2')
    expect(nearestMiss!.stopped.says).toBe('the predicate is not true: branch of WHEN = 1')
    expect(nearestMiss!.reached!.rows).toBe(1)
    expect(names([...nearestMiss!.reached!.sample.nodes])).toEqual(['resource=c2', 'subject=bob'])
  })
})

describe('a denial shows the closest partial match', () => {
  test('the step that found no relationship, and the partial match before it', () => {
    const { decision, nearestMiss, matched } = why('MATCH (subject)-[:MEMBER]->(t)-[:OWNS]->(resource)', 'ann', 'c1')
    expect(decision).toBe(false)
    expect(matched).toBeNull()
    expect(nearestMiss!.stopped.step).toBe('Expand(Into) (t)-[:OWNS]->(resource)')
    expect(nearestMiss!.stopped.says).toBe('no relationship matches (t)-[:OWNS]->(resource)')
    expect(nearestMiss!.reached!.rows).toBe(1)
    expect(nearestMiss!.reached!.sample.nodes.map((node) => node.externalId)).toContain('red')
  })

  test('the predicate that failed', () => {
    const { nearestMiss } = why(`${throughTeams} WHERE subject.age >= $min`, 'ann', 'c1')
    expect(nearestMiss!.stopped).toEqual({
      step: 'Filter subject.age >= $min',
      rows: 0,
      says: 'the predicate is not true: subject.age >= $min',
      found: null,
      alternatives: [],
      comparisons: [
        {
          text: 'subject.age >= $min',
          values: [
            { text: 'subject.age', names: ['age'], value: 17 },
            { text: '$min', names: ['min'], value: 18 },
          ],
        },
      ],
    })
  })

  test('only the comparisons that are not true, with the values of the sample', () => {
    const text = `${throughTeams} WHERE subject.age < 18 AND resource.wheels = 3 AND resource.ghost <> 1`
    const { comparisons } = why(text, 'ann', 'c1').nearestMiss!.stopped
    expect(comparisons.map(({ text: shown, values }) => [shown, values.map(({ value }) => value)]).sort()).toEqual([
      ['resource.ghost <> 1', [null]],
      ['resource.wheels = 3', [4]],
    ])
  })

  test('the comparisons of alternatives, unless one of them is true or cannot be shown', () => {
    const shown = (where: string) =>
      why(`${throughTeams} WHERE ${where}`, 'ann', 'c1')
        .nearestMiss!.stopped.comparisons.map(({ text }) => text)
        .sort()
    expect(shown('(subject.age > $min OR resource.wheels = 3) AND resource.wheels = 4')).toEqual([
      'resource.wheels = 3',
      'subject.age > $min',
    ])
    expect(shown('(subject.age < $min OR resource.wheels = 3) AND resource.wheels > 4')).toEqual([
      'resource.wheels > 4',
    ])
    expect(shown("(subject.age > $min OR top.external_id STARTS WITH 'x') AND resource.wheels > 4")).toEqual([
      'resource.wheels > 4',
    ])
  })

  test('elements without names as the author wrote them', () => {
    const { stopped, reached } = why(
      'MATCH (subject)-[:MEMBER]->(:Team  {size: 3})-[:OWNS {since: $min}]->(resource)',
      'bob',
      'c2',
    ).nearestMiss!
    const shown = JSON.stringify([stopped, reached])
    expect(shown).not.toContain('anon_')
    expect(shown).toContain('(:Team {size: 3})')
    const { profile } = why('MATCH (subject)-[:MEMBER]->(:Team)-[:OWNS]->(resource)', 'bob', 'c2')
    expect(JSON.stringify(profile)).not.toContain('anon_')
    expect(JSON.stringify(profile)).toContain('(:Team)')
  })

  test('the match of a forbidden pattern', () => {
    const text = 'MATCH (subject)-[:MEMBER]->()-[:OWNS]->(resource) WHERE NOT (subject)-[:BANNED]->(resource)'
    const { stopped } = why(text, 'bob', 'c2').nearestMiss!
    expect(stopped.step).toBe('AntiSemiApply')
    expect(stopped.says).toBe('the excluded pattern matches: (subject)-[:BANNED]->(resource)')
    expect(stopped.found!.relationships.map((r) => `${r.source.externalId}-${r.type}-${r.target.externalId}`)).toEqual([
      'bob-BANNED-c2',
    ])
  })

  test('inside a subquery', () => {
    const text =
      'MATCH (subject), (resource) CALL (subject, resource) { MATCH (subject)-[:MEMBER]->(t:Team)-[:OWNS]->(resource) RETURN t }'
    expect(why(text, 'ann', 'c1').nearestMiss!.stopped.step).toContain('OWNS')
  })

  test('of the branch of a union with the longest partial match', () => {
    const short = 'MATCH (subject)-[:OWNS]->(resource) RETURN subject, resource'
    const long = 'MATCH (subject)-[:MEMBER]->(t)-[:OWNS]->(resource) RETURN subject, resource'
    for (const text of [`CALL () { ${short} UNION ${long} }`, `CALL () { ${long} UNION ${short} }`]) {
      const { reached, stopped } = why(text, 'ann', 'c1').nearestMiss!
      expect(stopped.says).toBe('no relationship matches (t)-[:OWNS]->(resource)')
      expect(reached!.sample.nodes.map((node) => node.externalId)).toContain('red')
    }
  })

  test('missing nodes are named', () => {
    expect(why(throughTeams, 'nobody', 'c1').unknown).toEqual(['subject'])
    expect(why(throughTeams, 'nobody', 'nothing').unknown).toEqual(['subject', 'resource'])
  })
})

test('a profile counts rows and reads of each operator', () => {
  const query = compileRowsQuery('MATCH (p:Person)-[:MEMBER]->(t) WHERE p.age > 20 RETURN t.external_id')
  if (!query.ok) throw new Error(query.error[0]!.message)
  const { rows, text, root } = within((asking) => query.value.profile(asking))
  expect(rows.rows).toEqual([['blue']])
  const line = (start: string): string =>
    text
      .split('\n')
      .find((l) => l.trim().startsWith(start))!
      .trim()
  expect(line('NodeByLabelScan')).toBe('NodeByLabelScan (p:Person)  (rows 3, reads 1)')
  // One read of age for each of the three people.
  expect(line('Filter')).toBe('Filter p.age > 20  (rows 1, reads 3)')
  expect(line('Expand(All)')).toBe('Expand(All) (p)-[:MEMBER]->(t)  (rows 1, reads 1)')
  expect(root.operator).toBe('Projection')
  expect(JSON.parse(JSON.stringify(root)).children[0].node.operator).toBe('Expand(All)')
})

test('a plan is available as data', () => {
  const query = compileRowsQuery('MATCH (p:Person) WHERE NOT (p)-->() RETURN p')
  if (!query.ok) throw new Error(query.error[0]!.message)
  const node = query.value.describe()
  expect(node.operator).toBe('AntiSemiApply')
  expect(node.children.map((child) => child.role)).toEqual(['inner', 'input'])
})

describe('a condition that is traced several times', () => {
  const texts = [
    'MATCH (subject)-[:MEMBER]->(:Team)-[:OWNS]->(resource) WHERE NOT EXISTS { (subject)-[:BANNED]->(resource) }',
    'MATCH (subject)-[:MEMBER]->(t:Team)-[:OWNS]->(resource) WHERE COUNT { (t)<-[:MEMBER]-(:Guest) } < 2',
    throughTeams,
  ]
  const withoutTimes = (trace: DecisionTrace): unknown =>
    JSON.parse(JSON.stringify(trace, (name, value) => (name === 'timeMs' ? undefined : value)))

  test('is explained as by a new condition, also after names and counts of the graph have changed', async () => {
    const { environment, close } = await storeGraph(
      readGraph('(ann:Person)-[:MEMBER]->(red:Team)-[:OWNS]->(c1:Car) (bob:Person)'),
    )
    const compile = (text: string) => {
      const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
      if (!compiled.ok) throw new Error(compiled.error[0]!.message)
      return compiled.value
    }
    const conditions = texts.map(compile)
    const decisions: boolean[][] = []
    const compare = (): void => {
      const snapshot = environment.snapshot()
      const asking = { snapshot, parameters: new Map(), limits: { stepsMax: 100_000, timeMs: 60_000 } }
      decisions.push([])
      texts.forEach((text, i) => {
        for (const subject of ['ann', 'bob', 'ann']) {
          const trace = conditions[i]!.trace(asking, subject, 'c1')
          expect(withoutTimes(trace), text).toEqual(withoutTimes(compile(text).trace(asking, subject, 'c1')))
          if (subject === 'bob') decisions.at(-1)!.push(trace.decision)
        }
      })
      snapshot.close()
    }
    const add = (notation: string) => environment.write((batch) => writeGraph(readGraph(notation), batch))
    compare()
    await add('(bob:Person)-[:MEMBER]->(red:Team)-[:PARENT]->(all:Team)')
    compare()
    await add('(bob:Person)-[:BANNED]->(c1:Car)')
    compare()
    const guests = Array.from({ length: 40 }, (_, i) => `(g${i}:Guest)-[:MEMBER]->(red:Team)`)
    await add(guests.join(' '))
    compare()
    expect(decisions).toEqual([
      [false, false, false],
      [true, true, true],
      [false, true, true],
      [false, false, true],
    ])
    await close()
  })
})
