// Definitions of every form: checks, searches from both ends, knowledge queries and graph queries. On graphs in database servers, those
// that Cypher can say are executed by the server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { graphServers } from '../../support/graph-servers.ts'

const MODEL = `
DEFINE (u:Person)-[:reads]->(d:Doc|Folder) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (u)-[:MEMBER]->(:Group)-[:VIEWER]->(d) }
DEFINE (u:Person)-[:inherits]->(d:Doc|Folder) AS {
  MATCH (u)-[:reads]->(d)
  UNION MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:inherits]->(f)
}
DEFINE (g:Group|Person)-[:in]->(h:Group) AS { MATCH (g)-[:MEMBER]->(h) }
DEFINE (u:Person)-[:approves]->(d:Doc|Folder) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:PARENT]->(a:Folder), (d)-[:SECOND]->(b:Folder) WHERE (u)-[:approves]->(a) AND (u)-[:approves]->(b)
}
DEFINE (u:Person)-[:odd]->(d:Doc|Folder) AS { MATCH (d)-[:PARENT]->(f) WHERE (u)-[:even]->(f) }
DEFINE (u:Person)-[:even]->(d:Doc|Folder) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (d)-[:PARENT]->(f) WHERE (u)-[:odd]->(f) }
DEFINE (u:Person)-[:strange]->(d:Doc|Folder) AS { MATCH (u), (d) WHERE NOT (u)-[:inherits]->(d) }
DEFINE (u:Person)-[:cheap]->(d:Doc) AS { MATCH (u)-[:inherits]->(d) WHERE d.level < u.level }
`

/** Each form of a definition: a condition, the pairs that it grants, and what executes it on a database server. */
const forms = [
  ['two alternatives', '(subject:Person)-[:reads]->(resource:Doc)', ['bob plan'], 'server'],
  ['linear recursion', '(subject:Person)-[:inherits]->(resource:Doc)', ['ann note', 'ann plan', 'bob plan'], 'server'],
  ['a definition over another one', '(subject:Person)-[:cheap]->(resource:Doc)', ['ann note'], 'server'],
  [
    'a repetition',
    '(subject:Person)-[:in]->+(:Group)-[:VIEWER]->(f:Folder)<-[:PARENT]-{0,3}(resource:Doc)',
    ['ann note', 'ann plan', 'bob note', 'bob plan'],
    'server',
  ],
  [
    'none and more repetitions',
    '(subject:Person)-[:in]->*(x)-[:OWNER]->(resource:Doc)',
    ['ann note', 'bob note', 'bob plan'],
    'server',
  ],
  ['an exclusion', '(subject:Person)-[:strange]->(resource:Doc)', ['bob note', 'cid note', 'cid plan'], 'server'],
  [
    'EXISTS',
    '(subject:Person), (resource:Doc) WHERE EXISTS { (subject)-[:inherits]->(f:Folder)<-[:PARENT]-(resource) }',
    ['ann note', 'ann plan'],
    'server',
  ],
  [
    'OPTIONAL MATCH',
    '(subject:Person)-[:MEMBER]->(), (resource:Doc) OPTIONAL MATCH (subject)-[:reads]->(f:Folder)<-[:PARENT]-(resource) WITH * WHERE f IS NULL',
    ['ann plan', 'bob note', 'bob plan'],
    'server',
  ],
  [
    'COUNT',
    '(subject:Person), (resource:Doc) WHERE COUNT { (subject)-[:inherits]->(:Doc|Folder) } > 2',
    ['ann note', 'ann plan'],
    'server',
  ],
  ['recursion along two branches', '(subject:Person)-[:approves]->(resource:Doc)', ['bob plan'], 'engine'],
  ['mutual recursion', '(subject:Person)-[:even]->(resource:Doc)', ['bob plan'], 'engine'],
] as const

const TYPES = `
(:Person {level INTEGER}), (:Group), (:Folder), (:Doc {level INTEGER}),
(:Person|Group)-[:MEMBER]->(:Group), (:Group)-[:VIEWER]->(:Folder), (:Person|Group)-[:OWNER]->(:Doc|Folder),
(:Doc|Folder)-[:PARENT]->(:Folder), (:Doc|Folder)-[:SECOND]->(:Folder)
`

let setup: ContextService
let modelId: string
beforeAll(async () => {
  setup = await startContextService({ metricsAccess: 'public' })
  const node = (type: string, external_id: string, level: number | null = null) => ({
    type,
    external_id,
    is_identity: type === 'Person',
    properties: level === null ? [] : [{ type: 'level', value: level }],
  })
  await setup.capture('nodes', {
    nodes: [
      ...[node('Person', 'ann', 5), node('Person', 'bob', 5), node('Person', 'cid')],
      ...[node('Group', 'staff', 1), node('Group', 'all')],
      ...[node('Folder', 'top'), node('Folder', 'side'), node('Doc', 'plan'), node('Doc', 'note', 3)],
    ],
  })
  const related = (text: string) => {
    const [source, type, target] = text.split(' ').map((part) => part.split(':'))
    const key = ([of, external_id]: readonly string[]) => ({ type: of, external_id })
    return { source: key(source!), type: type![0], target: key(target!) }
  }
  const relationships = [
    ...['Person:ann MEMBER Group:staff', 'Person:bob MEMBER Group:all', 'Group:staff MEMBER Group:all'],
    ...['Group:all MEMBER Group:staff', 'Group:staff VIEWER Folder:top', 'Group:all OWNER Doc:note'],
    ...['Person:bob OWNER Doc:plan', 'Folder:side PARENT Folder:top', 'Folder:top PARENT Folder:side'],
    ...['Doc:plan PARENT Folder:side', 'Doc:note PARENT Folder:top'],
  ].map(related)
  await setup.capture('relationships', { relationships })
  const model = { project_id: setup.service.projectId, name: 'model', model: MODEL }
  const created = await setup.service.configure('POST', 'models', model)
  expect(created.status, created.text).toBe(201)
  modelId = created.body.id as string
})
afterAll(() => setup?.stop())

async function executed(): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${setup.service.url}/metrics`)).text()
  const lines = text.matchAll(/^verdigraph_database_conditions_total\{by="(\w+)"\} (\d+)/gm)
  return Object.fromEntries(Array.from(lines, ([, by, count]) => [by, Number(count)]))
}

describe.each(forms)('%s', (name, pattern, pairs, by) => {
  const action = name.replaceAll(' ', '-').toLowerCase()
  const people = ['ann', 'bob', 'cid']
  const docs = ['note', 'plan']
  const granted = (user: string, doc: string): boolean => (pairs as readonly string[]).includes(`${user} ${doc}`)

  test('checks and searches agree', async () => {
    const { service } = setup
    const before = await executed()
    await service.addPolicy({
      name: action,
      actions: [action],
      subject: 'Person',
      resource: 'Doc',
      cypher: `MATCH ${pattern}`,
    })
    for (const user of people) {
      const subject = { type: 'Person', id: user }
      const found = await service.ask('/access/v1/search/resource', {
        subject,
        action: { name: action },
        resource: { type: 'Doc' },
      })
      expect(idsIn(found.body.results), found.text).toEqual(docs.filter((doc) => granted(user, doc)))
      for (const doc of docs) {
        const resource = { type: 'Doc', id: doc }
        const decided = await service.ask('/access/v1/evaluation', { subject, action: { name: action }, resource })
        expect([user, doc, decided.body.decision]).toEqual([user, doc, granted(user, doc)])
      }
    }
    for (const doc of docs) {
      const found = await service.ask('/access/v1/search/subject', {
        subject: { type: 'Person' },
        action: { name: action },
        resource: { type: 'Doc', id: doc },
      })
      expect(idsIn(found.body.results), found.text).toEqual(people.filter((user) => granted(user, doc)))
    }
    if (graphServers.length === 0) return
    const after = await executed()
    const other = by === 'server' ? 'engine' : 'server'
    expect([name, after[other]! - before[other]!]).toEqual([name, 0])
  })

  test('a graph query has each pair', async () => {
    const { service } = setup
    const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
    const query = `MATCH ${pattern} RETURN DISTINCT subject.external_id + ' ' + resource.external_id AS pair ORDER BY pair`
    const rows = await service.send('/graph/v1/query', { headers, body: { query } })
    const own = (rows.body.rows as readonly (readonly [string])[])
      .map(([pair]) => pair)
      .filter((pair) => /note|plan/.test(pair))
    expect(own, rows.text).toEqual(pairs)
  })
})

const idsIn = (results: unknown): readonly string[] => (results as { readonly id: string }[]).map(({ id }) => id).sort()

test('a knowledge query reads along a recursive definition', async () => {
  const id = await setup.addQuery(
    'inherited',
    {
      subject: { type: 'Person' },
      condition: {
        cypher: 'MATCH (subject:Person)-[:inherits]->(doc:Doc)',
        filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
      },
      allowed_reads: { nodes: ['doc.external_id'] },
    },
    { nodes: ['doc.external_id'] },
  )
  const answer = await setup.execute(id, {}, await setup.tokenOf('ann'))
  const found = (answer.body.data as { readonly nodes: object }[]).map(({ nodes }) => Object.values(nodes)[0])
  expect(found.sort(), answer.text).toEqual(['note', 'plan'])
})

test('a model with types lists the stored data that it would not fit', async () => {
  const changed = await setup.service.configure('PUT', `models/${modelId}`, { model: `${TYPES}${MODEL}` })
  expect([changed.status, changed.body.warnings], changed.text).toEqual([
    200,
    ['model: 1 stored element does not fit: `(:Group)` has no property `level`; such as Group:staff'],
  ])
})
