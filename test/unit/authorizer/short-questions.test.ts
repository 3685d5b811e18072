// `may` and `resources` of an authorizer, and a model that is inferred from its graph.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const project = temporaryFolder()
mkdirSync(join(project, 'policies'))
writeFileSync(join(project, 'verdigraph.yaml'), 'name: fleet\n')
writeFileSync(
  join(project, 'policies', 'own.policy.yaml'),
  'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels >= $min\n',
)

test('short questions have the answers of the long ones, for all pages', async () => {
  await using authorizer = await openAuthorizer({ memory: true, project })
  const ids = Array.from({ length: 250 }, (_, i) => `c${String(i).padStart(3, '0')}`)
  const ann = { type: 'Person', external_id: 'ann' }
  const cars = ids.map((external_id) => ({ type: 'Car', external_id, properties: [{ type: 'wheels', value: 4 }] }))
  await authorizer.write({
    nodes: [ann, ...cars],
    relationships: cars.map(({ type, external_id }) => ({ source: ann, type: 'OWNS', target: { type, external_id } })),
  })
  expect(authorizer.may({ Person: 'ann' }, 'drive', { Car: 'c001' }, { min: 4 })).toBe(true)
  expect(authorizer.may('Person:ann', 'drive', { type: 'Car', id: 'c001' }, { min: 5 })).toBe(false)
  expect([...authorizer.resources({ Person: 'ann' }, 'drive', 'Car', { min: 4 })].sort()).toEqual(ids)
  expect(() => authorizer.may({ Person: 'ann' }, 'drive', 'c001', { min: 4 })).toThrow('expected')
})
