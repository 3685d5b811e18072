// Comparisons in this process: the authorizer over a project folder, with its active policies and drafts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AuthorizerError } from '../../../src/authorizer/authorizer-error.ts'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const project = temporaryFolder()
mkdirSync(join(project, 'policies'))
writeFileSync(join(project, 'verdigraph.yaml'), 'name: fleet\n')
for (const [name, type, status] of [
  ['own', 'OWNS', 'ACTIVE'],
  ['rent', 'RENTS', 'DRAFT'],
] as const) {
  const text = `subject: Person\nactions: [drive]\nresource: Car\nstatus: ${status}\ncypher: MATCH (subject)-[:${type}]->(resource)\n`
  writeFileSync(join(project, 'policies', `${name}.policy.yaml`), text)
}

const ann = { type: 'Person', external_id: 'ann' }
const cars = ['c1', 'c2'].map((external_id) => ({ type: 'Car', external_id }))

async function opened() {
  const authorizer = await openAuthorizer({ memory: true, project })
  const [c1, c2] = cars as [(typeof cars)[number], (typeof cars)[number]]
  await authorizer.write({
    nodes: [ann, ...cars],
    relationships: [
      { source: ann, type: 'OWNS', target: c1 },
      { source: ann, type: 'RENTS', target: c2 },
    ],
  })
  return authorizer
}

test('an authorizer compares its policies with drafts and with a proposal', async () => {
  await using authorizer = await opened()
  expect(authorizer.compare({ draft: true })).toMatchObject({
    complete: true,
    gained: 1,
    lost: 0,
    gains: [{ policy: { name: 'rent' }, sample: [{ resource: { id: 'c2' } }] }],
  })
  expect(authorizer.compare({ removed_policies: ['own'] })).toMatchObject({ gained: 0, lost: 1 })
  expect(() => authorizer.compare({ removed_policies: ['rents'] })).toThrow(AuthorizerError)
  // @ts-expect-error A proposal has no such member.
  expect(() => authorizer.compare({ drafts: true })).toThrow('drafts')
})

test('an authorizer decides with drafts', async () => {
  await using authorizer = await opened()
  const request = {
    subject: { type: 'Person', id: 'ann' },
    action: { name: 'drive' },
    resource: { type: 'Car', id: 'c2' },
  }
  expect(authorizer.evaluate(request)).toEqual({ decision: false })
  expect(authorizer.evaluate({ ...request, context: { policy_status: 'DRAFT' } })).toEqual({ decision: true })
})
