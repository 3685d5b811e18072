// Decisions, searches and explanations by definitions that are evaluated with a table, in a project folder.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const project = temporaryFolder()
mkdirSync(join(project, 'policies'))
writeFileSync(join(project, 'verdigraph.yaml'), 'name: approval\n')
writeFileSync(
  join(project, 'model.gql'),
  `DEFINE (u:Person)-[:approved]->(c:Change) AS {
  MATCH (u)-[:SIGNED]->(c)
  UNION
  MATCH (c)-[:FIRST]->(x:Change), (c)-[:SECOND]->(y:Change) WHERE (u)-[:approved]->(x) AND (u)-[:approved]->(y)
}`,
)
writeFileSync(
  join(project, 'policies', 'release.policy.yaml'),
  'subject: Person\nactions: [release]\nresource: Change\ncypher: MATCH (subject:Person)-[:approved]->(resource:Change)\n',
)

test('an authorizer decides, searches and explains by recursion along two branches', async () => {
  await using authorizer = await openAuthorizer({ memory: true, project })
  const [ann, bob] = ['ann', 'bob'].map((external_id) => ({ type: 'Person', external_id })) as [
    WrittenElement,
    WrittenElement,
  ]
  const [left, right, merge] = ['left', 'right', 'merge'].map((external_id) => ({ type: 'Change', external_id })) as [
    WrittenElement,
    WrittenElement,
    WrittenElement,
  ]
  await authorizer.write({
    nodes: [ann, bob, left, right, merge],
    relationships: [
      { source: ann, type: 'SIGNED', target: left },
      { source: ann, type: 'SIGNED', target: right },
      { source: bob, type: 'SIGNED', target: left },
      { source: merge, type: 'FIRST', target: left },
      { source: merge, type: 'SECOND', target: right },
    ],
  })
  const ask = (id: string) => ({
    subject: { type: 'Person', id },
    action: { name: 'release' },
    resource: { type: 'Change', id: 'merge' },
  })
  expect(authorizer.evaluate(ask('ann')).decision).toBe(true)
  expect(authorizer.evaluate(ask('bob')).decision).toBe(false)
  const { results } = authorizer.search.subject({ ...ask('ann'), subject: { type: 'Person' } })
  expect(results.map(({ id }) => id)).toEqual(['ann'])
  const found = authorizer.search.resource({ ...ask('ann'), resource: { type: 'Change' } }).results.map(({ id }) => id)
  expect(found.sort()).toEqual(['left', 'merge', 'right'])
  expect(authorizer.explain(ask('ann')).decision).toBe(true)
})

interface WrittenElement {
  readonly type: string
  readonly external_id: string
}
