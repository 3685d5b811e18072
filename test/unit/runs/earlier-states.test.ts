// Runs that an earlier version has stored continue: documents with a pass in progress, an interrupted match run, suggestions that failed, and
// removals, as commit e6eaba1e wrote them.
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import type { DocumentFields } from '../../../src/config/kind.ts'
import { EntityMatching, matchRemovalsKind } from '../../../src/matching/entity-matching.ts'
import { entityMatchingPipelinesKind } from '../../../src/matching/entity-matching-pipeline.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { emptyReport } from '../../../src/trust/report.ts'
import { trustScoreProfilesKind } from '../../../src/trust/trust-score-profile.ts'
import { TrustScoring, trustScoreRemovalsKind } from '../../../src/trust/trust-scoring.ts'
import { openProject, type ProjectFixture, removeTemporaryFolders } from '../../support/configuration-fixture.ts'

let setup: ProjectFixture
let graph: LmdbEnvironment
let events: string[]

beforeEach(async () => {
  setup = await openProject()
  graph = openEnvironment(null, { clock: setup.clock, cacheBytes: 0 })
  await graph.write((batch) => {
    for (let i = 0; i < 20; i++)
      for (const type of ['Person', 'Customer'])
        batch.upsertNode({
          type,
          externalId: `${type}${i}`,
          properties: [{ name: 'email', value: `person${i}@example.org` }],
        })
  })
  events = []
})
afterEach(async () => {
  await graph.close()
  await setup.close()
})
afterAll(removeTemporaryFolders)

function process() {
  const { documents, clock } = setup
  const recorded = {
    started: () => void events.push('started'),
    ended: (_draft: unknown, _document: unknown, { runId }: { readonly runId: string }, error: string | null) =>
      void events.push(`ended ${runId} ${error ?? 'ok'}`),
  }
  const common = { documents, clock, events: recorded, report: (line: string) => void events.push(line) }
  return {
    trust: new TrustScoring({ ...common, graphsOf: async () => [graph] }),
    matching: new EntityMatching({ ...common, graphsOf: async () => ({ nodes: [graph], global: null }) }),
  }
}

async function stored(kind: string, body: object, fields: DocumentFields): Promise<string> {
  const { id } = await setup.create(kind, { project_id: setup.project, name: 'earlier', ...body })
  await setup.documents.write((draft) => {
    const document = draft.get(kind, id)!
    draft.put({ ...document, fields: { ...document.fields, ...fields } })
  })
  return id
}

const profile = {
  node_classification: 'Person',
  schedule: 'DAILY',
  dimensions: [{ name: 'COMPLETENESS', weight: 1 }],
}
const pipeline = {
  node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
  similarity_score_cutoff: 0.5,
  rerun_interval: '1h',
}
const mapping = { sourceProperty: 'email', targetProperty: 'email', kind: 'text', cutoff: 0 }

it('a pass that was interrupted while it counted continues as the same run', async () => {
  const id = await stored(trustScoreProfilesKind, profile, {
    last_error: 'the disk is full',
    run: {
      runId: 'gid:earlier',
      startedMs: setup.clock.now(),
      revision: 1,
      request: { id: 'gid:request', time: '2026-01-01T00:00:00Z', by: 'ann' },
      phase: 'count',
      scoringMs: setup.clock.now(),
      graph: 0,
      from: 0,
      nodesCounted: 0,
      propertyCounts: {},
      usual: [],
      nodesTotal: 20,
      nodesScored: 0,
      scoresWritten: 0,
      scoresRemoved: 0,
      report: emptyReport,
    },
  })
  await process().trust.runDue()
  expect(setup.read(trustScoreProfilesKind, id)).toMatchObject({
    last_run_id: 'gid:earlier',
    last_error: '',
    run_progress: null,
  })
  expect(events).toEqual(['ended gid:earlier ok'])
})

it('a match run that was interrupted begins again as the same run, and its interruptions count', async () => {
  const run = {
    runId: 'gid:earlier',
    startedMs: setup.clock.now(),
    request: { runId: 'gid:earlier', time: '2026-01-01T00:00:00Z', by: 'agent', cutoff: 0.5, mappings: [mapping] },
    cutoff: 0.5,
    mappings: [mapping],
    phase: 'link',
    done: 0.5,
    attempts: 4,
  }
  const fields = { property_mapping_status: 'SUCCESS', suggestions: [mapping], entity_matching_status: 'IN_PROGRESS' }
  const id = await stored(entityMatchingPipelinesKind, pipeline, { ...fields, run })
  await process().matching.runDue()
  expect(setup.read(entityMatchingPipelinesKind, id)).toMatchObject({ entity_matching_status: 'SUCCESS' })
  expect(events).toEqual(['ended gid:earlier ok'])
  const other = { ...pipeline, name: 'other', node_filter: { ...pipeline.node_filter, target_node_types: ['Person'] } }
  const exhausted = await stored(entityMatchingPipelinesKind, other, { ...fields, run: { ...run, attempts: 5 } })
  await process().matching.runDue()
  expect(setup.read(entityMatchingPipelinesKind, exhausted)).toMatchObject({ entity_matching_status: 'ERROR' })
})

it('suggestions that failed wait as long as their attempts say, and a run that failed before waits for its interval', async () => {
  const id = await stored(entityMatchingPipelinesKind, pipeline, {
    property_mapping_status: 'ERROR',
    property_mapping_message: 'the disk is full',
    suggestions_begun: { atMs: setup.clock.now(), attempts: 2 },
    entity_matching_status: 'ERROR',
    entity_matching_message: 'the disk is full',
  })
  const { matching } = process()
  setup.clock.advance(19_999)
  await matching.runDue()
  expect(setup.read(entityMatchingPipelinesKind, id)).toMatchObject({ property_mapping_status: 'ERROR' })
  setup.clock.advance(1)
  await matching.runDue()
  expect(setup.read(entityMatchingPipelinesKind, id)).toMatchObject({
    property_mapping_status: 'SUCCESS',
    entity_matching_status: 'ERROR',
  })
  setup.clock.advance(3_600_000)
  await matching.runDue()
  expect(setup.read(entityMatchingPipelinesKind, id)).toMatchObject({ entity_matching_status: 'SUCCESS' })
})

it('removals are executed, and one that fails is repeated later, also by another process', async () => {
  const { documents, clock } = setup
  const base = documents.get('projects', setup.project)!
  const types = { source: 'Person', target: 'Customer' }
  await documents.write((draft) => {
    const document = { ...base, id: 'gid:removal', project_id: setup.project, parent_id: setup.project, name: '' }
    draft.put({ ...document, kind: matchRemovalsKind, fields: { pipeline_id: 'gid:pipeline', types } })
    draft.put({ ...document, kind: trustScoreRemovalsKind, fields: { node_classification: 'Person' } })
  })
  const failing = new TrustScoring({
    documents,
    clock,
    graphsOf: () => Promise.reject(new Error('the folder is missing')),
    events: { started: () => undefined, ended: () => undefined },
    report: (line) => void events.push(line),
  })
  await failing.runDue()
  await failing.runDue()
  expect(events).toEqual(['the removal of gid:removal failed and is repeated after 10 s: the folder is missing'])
  const { trust, matching } = process()
  await trust.runDue()
  expect(documents.all(trustScoreRemovalsKind)).toHaveLength(1)
  clock.advance(10_000)
  await trust.runDue()
  await matching.runDue()
  expect([...documents.all(trustScoreRemovalsKind), ...documents.all(matchRemovalsKind)]).toEqual([])
})
