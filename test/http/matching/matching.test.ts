// Entity matching as its users see it: pipelines, suggestions and runs over HTTP, and relationships in reads and decisions.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  entity,
  type MatchingService,
  nodesOf,
  property,
  startMatchingService,
} from '../../support/matching-service.ts'

let setup: MatchingService
beforeAll(async () => {
  setup = await startMatchingService()
})
afterAll(() => setup.stop())

async function capture(nodes: readonly object[]): Promise<void> {
  const { status, text } = await setup.capture('nodes', { nodes })
  if (status !== 200) throw new Error(text)
}

describe('a pipeline', () => {
  it('suggests property mappings, runs, and writes what it found', async () => {
    await capture([...nodesOf('Person', 'p', 0, 40), ...nodesOf('Customer', 'c', 10, 50)])
    const id = await setup.addPipeline('people')
    expect((await setup.ask(id, 'property-mappings')).status).toBe(202)
    await setup.service.app.matchEntities()
    const { status, body } = await setup.ask(id, 'property-mappings')
    expect(status).toBe(200)
    const suggested = body.suggested_property_mappings as Record<string, unknown>[]
    expect(suggested.map((one) => [one.source_node_property, one.target_node_property])).toEqual(
      expect.arrayContaining([
        ['email', 'email'],
        ['name', 'name'],
      ]),
    )
    await setup.match(id)
    const found = await setup.matches(id)
    expect(found.map(({ source, target }) => [source, target])).toEqual(
      Array.from({ length: 30 }, (_, i) => [`p${i + 10}`, `c${i + 10}`]),
    )
    expect(found[0]?.properties).toMatchObject({
      score: expect.closeTo(1, 0),
      run_id: expect.stringMatching(/^gid:/),
      matched_properties: expect.arrayContaining(['email']),
    })
    const read = await setup.readPipeline(id)
    expect(read).toMatchObject({
      property_mapping_status: 'SUCCESS',
      entity_matching_status: 'SUCCESS',
      matched_entities: 60,
      report_type: 'application/json',
      report_url: `/entity-matching/v1/pipelines/${id}/report`,
      run_progress: null,
    })
  })
})
void entity
void property
