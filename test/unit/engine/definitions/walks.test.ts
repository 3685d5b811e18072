// Linear recursion is a walk only if the walk demands what the alternatives demand: labels of both ends, nodes without a name, and the
// rows that WITH leaves. Each case has its pairs for checks and for searches from both ends.
import { describe, expect, test } from 'vitest'
import { compileCondition } from '../../../../src/engine/conditions.ts'
import { compileModel } from '../../../../src/engine/definitions/model.ts'
import { readGraph } from '../../../support/graph-notation.ts'
import { storeGraph } from '../../../support/store-engine.ts'

const FOLDERS = `(ann:User:Admin)-[:OWNS]->(top:Folder)-[:CONTAINS]->(sub:Folder)
  (bob:User)-[:OWNS]->(top)`

describe('the pairs of a definition', () => {
  test.each([
    {
      name: 'the end that stays has a label in the recursive alternative',
      graph: FOLDERS,
      body: 'MATCH (u)-[:OWNS]->(d) UNION MATCH (u:Admin)-[:can]->(f)-[:CONTAINS]->(d)',
      pairs: ['ann sub', 'ann top', 'bob top'],
    },
    {
      name: 'that label is in a MATCH of its own',
      graph: FOLDERS,
      body: 'MATCH (u)-[:OWNS]->(d) UNION MATCH (u:Admin) MATCH (d)<-[:CONTAINS]-(f) WHERE (u)-[:can]->(f)',
      pairs: ['ann sub', 'ann top', 'bob top'],
    },
    {
      name: 'the end that stays is the target',
      graph: `(ann:User)-[:BOSS]->(bob:User)-[:OWNS]->(open:Folder:Open)
        (bob)-[:OWNS]->(shut:Folder)`,
      body: 'MATCH (u)-[:OWNS]->(d) UNION MATCH (u)-[:BOSS]->(v)-[:can]->(d:Open)',
      pairs: ['ann open', 'bob open', 'bob shut'],
    },
    {
      name: 'the base has the label that the recursion demands',
      graph: FOLDERS,
      body: 'MATCH (u:Admin)-[:OWNS]->(d) UNION MATCH (u:Admin)-[:can]->(f)-[:CONTAINS]->(d)',
      pairs: ['ann sub', 'ann top'],
    },
    {
      name: 'the recursion demands a label of its target that the base does not have',
      graph: '(ann:User)-[:OWNS]->(top:Folder)-[:CONTAINS]->(hot:Folder:Hot)-[:CONTAINS]->(sub:Folder)',
      head: '(u:User)-[:can]->(d)',
      body: 'MATCH (u)-[:OWNS]->(d) UNION MATCH (u)-[:can]->(f)-[:CONTAINS]->(d:Hot)',
      pairs: ['ann hot', 'ann top'],
    },
    {
      name: 'each step of the recursion demands the label of its two nodes',
      graph: `(ann:User)-[:OWNS]->(plan:Doc)
        (ann)-[:OWNS]->(top:Folder)-[:CONTAINS]->(sub:Folder)`,
      head: '(u:User)-[:can]->(d)',
      body: 'MATCH (u)-[:OWNS]->(d) UNION MATCH (u)-[:can]->(f:Folder)-[:CONTAINS]->(d:Folder)',
      pairs: ['ann plan', 'ann sub', 'ann top'],
    },
    {
      name: 'the recursion demands a node without a name that does not exist',
      graph: FOLDERS,
      body: 'MATCH (u)-[:OWNS]->(d) UNION MATCH (:Licence), (u)-[:can]->(f)-[:CONTAINS]->(d)',
      pairs: ['ann top', 'bob top'],
    },
    {
      name: 'WITH drops the end that moves',
      graph: `(ann:User)-[:OWNS]->(top:Folder)-[:CONTAINS]->(sub:Folder)
        (ann)-[:ACTIVE]->(paid:Plan)
        (bob:User)-[:OWNS]->(other:Folder)-[:CONTAINS]->(below:Folder)`,
      body: 'MATCH (u)-[:OWNS]->(d) WITH u MATCH (u)-[:ACTIVE]->(:Plan) UNION MATCH (u)-[:can]->(f)-[:CONTAINS]->(d)',
      pairs: ['ann sub', 'ann top'],
    },
    {
      name: 'WITH keeps it by *',
      graph: FOLDERS,
      body: 'MATCH (u)-[:OWNS]->(d) FILTER d:Folder UNION MATCH (u)-[:can]->(f)-[:CONTAINS]->(d)',
      pairs: ['ann sub', 'ann top', 'bob sub', 'bob top'],
    },
    {
      name: 'a node has the name that the end of the walk would have',
      graph: FOLDERS,
      body: 'MATCH (u)-[:OWNS]->(d), (`d of the walk`:Admin) UNION MATCH (u)-[:can]->(f)-[:CONTAINS]->(d)',
      pairs: ['ann sub', 'ann top', 'bob sub', 'bob top'],
    },
    {
      name: 'a label of the recursion is the value of a property',
      graph: `(ann:User)-[:OWNS]->(top:Folder {of: 'Hot'})-[:CONTAINS]->(hot:Folder:Hot)
        (top)-[:CONTAINS]->(cold:Folder)`,
      body: 'MATCH (u)-[:OWNS]->(d) UNION MATCH (u)-[:can]->(f)-[:CONTAINS]->(d:$(f.of))',
      pairs: ['ann hot', 'ann top'],
    },
    {
      name: 'a condition on a shortest path chooses the path',
      graph: `(ann:User)-[:A]->(top:Folder)
        (ann)-[:A]->(sub:Folder)-[:A]->(top)
        (ann)-[:B]->(top)
        (ann)-[:B]->(sub)`,
      body: 'MATCH p = shortestPath((u)-[:A*]->(d)) WHERE (u)-[:B]->(d) AND length(p) > 1',
      pairs: ['ann top'],
    },
  ])('$name', async ({ graph, head = '(u:User)-[:can]->(d:Folder)', body, pairs }) => {
    const model = compileModel(`DEFINE ${head} AS { ${body} }`)
    if (!model.ok) throw new Error(model.error[0]!.message)
    const reference = readGraph(graph)
    const stored = await storeGraph(reference)
    const snapshot = stored.environment.snapshot()
    try {
      const asking = { snapshot, parameters: new Map(), limits: { stepsMax: 1_000_000, timeMs: 60_000 } }
      const ids = (wanted: string) => reference.nodes.filter((node) => node.type === wanted).map((n) => n.externalId)
      const found = {
        checks: [] as string[],
        traces: [] as string[],
        resources: [] as string[],
        subjects: [] as string[],
      }
      for (const type of ['Folder', 'Doc']) {
        const text = `MATCH (subject:User)-[:can]->(resource:${type})`
        const ends = { subjectType: 'User', resourceType: type }
        const condition = compileCondition({ text, dialect: 'open', ...ends, definitions: model.value })
        if (!condition.ok) throw new Error(condition.error[0]!.message)
        for (const subject of ids('User')) {
          for (const resource of ids(type)) {
            if (condition.value.check(asking, subject, resource)) found.checks.push(`${subject} ${resource}`)
            if (condition.value.trace(asking, subject, resource).decision) found.traces.push(`${subject} ${resource}`)
          }
          found.resources.push(...condition.value.resources(asking, subject).map((id) => `${subject} ${id}`))
        }
        for (const resource of ids(type)) {
          found.subjects.push(...condition.value.subjects(asking, resource).map((id) => `${id} ${resource}`))
        }
      }
      for (const list of Object.values(found)) expect(list.toSorted()).toEqual(pairs)
    } finally {
      snapshot.close()
      await stored.close()
    }
  })
})

const TRUSTED = 'MATCH (u)-[:OWNS]->(d) WHERE d.trust_score.validity > 0.5'

test.each([
  ['in place', TRUSTED],
  ['by a walk', `${TRUSTED} UNION MATCH (u)-[:can]->(f)-[:IN]->(d)`],
  ['with a table', `${TRUSTED} UNION MATCH (u)-[:can]->(f)<-[:can]-(u) MATCH (f)-[:IN]->(d)`],
])('a definition %s reads the trust scores that policies read', async (_, body) => {
  const model = compileModel(`DEFINE (u:User)-[:can]->(d:Doc) AS { ${body} }`)
  if (!model.ok) throw new Error(model.error[0]!.message)
  const condition = compileCondition({
    text: 'MATCH (subject:User)-[:can]->(resource:Doc)',
    dialect: '3.0-kbac',
    subjectType: 'User',
    resourceType: 'Doc',
    definitions: model.value,
  })
  if (!condition.ok) throw new Error(condition.error[0]!.message)
  const stored = await storeGraph(
    readGraph(`(ann:User)-[:OWNS]->(good:Doc)-[:_HAS]->(score:_TrustScore {validity: 0.9})
      (ann)-[:OWNS]->(other:Doc)`),
  )
  const snapshot = stored.environment.snapshot()
  try {
    const asking = { snapshot, parameters: new Map(), limits: { stepsMax: 1_000_000, timeMs: 60_000 } }
    expect(condition.value.resources(asking, 'ann')).toEqual(['good'])
    expect(condition.value.trace(asking, 'ann', 'good').decision).toBe(true)
    expect(condition.value.trace(asking, 'ann', 'other').decision).toBe(false)
  } finally {
    snapshot.close()
    await stored.close()
  }
})

test('a definition with a score that does not exist is refused', () => {
  const model = compileModel(`DEFINE (u:User)-[:can]->(d:Doc) AS { ${TRUSTED.replace('validity', 'validty')} }`)
  expect(model.ok ? [] : model.error.map(({ message }) => message)).toEqual([
    'trust scores have no `validty`; did you mean `validity`?',
  ])
})
