// A graph holds one relationship of a type from one node to another, so a capture names the items that it merges.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({}, { sync: false })
  await service.ask('/capture/v1/nodes', {
    nodes: [node('Person', 'ann'), node('Org', 'acme'), node('Org', 'beta')],
  })
})

afterAll(() => service?.stop())

const node = (type: string, external_id: string) => ({ type, external_id })
const role = (org: string, value: string, type = 'ROLE') => ({
  source: node('Person', 'ann'),
  target: node('Org', org),
  type,
  properties: [{ type: 'name', value }],
})
const capture = async (relationships: object[]) =>
  (await service.ask('/capture/v1/relationships', { relationships })).body

it('a capture lists the relationships that it merges with an earlier one of the batch', async () => {
  const roles = [role('acme', 'admin'), role('beta', 'admin'), role('acme', 'viewer'), role('acme', 'editor')]
  const body = await capture(roles)
  expect(body.merged).toEqual([
    { index: 2, into: 0 },
    { index: 3, into: 0 },
  ])
  const ids = (body.results as { id: string }[]).map(({ id }) => id)
  expect(new Set(ids).size).toBe(2)
})

it('a capture without such items, or of a relationship that an earlier request captured, lists none', async () => {
  expect(await capture([role('acme', 'admin'), role('acme', 'admin', 'OWNS'), role('beta', 'x')])).not.toHaveProperty(
    'merged',
  )
})
