// The states of a pipeline: each row of both tables is driven through the operations and the execution, and what no row allows is
// refused. docs/how-to/entity-matching.md has the same rows.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { etagOf } from '../../../src/config/etag.ts'
import type { GraphStore } from '../../../src/engine/store.ts'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import {
  EntityMatching,
  type MatchingEvents,
  matchRemovalsKind,
  requestRemoval,
} from '../../../src/matching/entity-matching.ts'
import { MatchingOperations } from '../../../src/matching/matching-operations.ts'
import type { MatchedGraphs } from '../../../src/matching/node-batches.ts'
import {
  type MatchingStatus,
  matchingStatuses,
  nextStatus,
  type RunEvent,
  runTransitions,
  type StatusTransition,
  type SuggestionEvent,
  suggestionTransitions,
} from '../../../src/matching/pipeline-states.ts'
import type { RunResult } from '../../../src/matching/run-state.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import {
  type ConfigurationFixture,
  openConfiguration,
  removeTemporaryFolders,
} from '../../support/configuration-fixture.ts'
import { entity } from '../../support/matching-service.ts'

const KIND = 'entity-matching-pipelines'
const custom = [{ source_node_property: 'email', target_node_property: 'email' }]

let setup: ConfigurationFixture
let graph: LmdbEnvironment
let id: string
/** The results of ended runs with their errors. */
let ends: { readonly result: RunResult; readonly error: string | null }[]
/** The states at the begin of runs. */
let begins: string[]

beforeEach(async () => {
  setup = await openConfiguration()
  graph = openEnvironment(null, { clock: setup.clock, cacheBytes: 0 })
  ends = []
  begins = []
  const project = await setup.create('projects', {
    organization_id: setup.admin.organizationId,
    name: 'project',
    region: 'eu',
  })
  await setup.provisioning.whenIdle()
  const pipeline = await setup.create(KIND, {
    project_id: project.id,
    name: 'people',
    node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
    similarity_score_cutoff: 0.5,
    rerun_interval: '1h',
  })
  id = pipeline.id
})
afterEach(async () => {
  await graph.close()
  await setup.close()
})
afterAll(() => removeTemporaryFolders())

const events: MatchingEvents = {
  started: (draft, pipeline) => {
    begins.push(draft.get(KIND, pipeline.id)?.fields.entity_matching_status as string)
  },
  ended: (_draft, _pipeline, result, error) => {
    ends.push({ result, error })
  },
}

/** A process. `graphs`: what it opens; null: the project is not provisioned. */
function matching(graphs: MatchedGraphs | null = { nodes: [graph], global: null }): EntityMatching {
  const { documents, clock } = setup
  return new EntityMatching({ documents, graphsOf: async () => graphs, events, clock, report: () => undefined })
}

function operations(): MatchingOperations {
  const { documents, clock } = setup
  const decided = { decided: () => undefined }
  return new MatchingOperations({
    documents,
    graphsOf: async () => ({ nodes: [graph], global: null }),
    events: decided,
    clock,
    etagOf,
  })
}

const relationships = (): number => {
  const snapshot = graph.snapshot()
  const count = snapshot.relationshipCount(null)
  snapshot.close()
  return count
}

const fields = (): Record<string, unknown> => setup.read(KIND, id)
const suggestions = (): MatchingStatus => fields().property_mapping_status as MatchingStatus
const runs = (): MatchingStatus => fields().entity_matching_status as MatchingStatus

/** 20 persons and the same customers; `properties`: false: they have nothing in common. */
async function fill(properties = true): Promise<void> {
  await graph.write((batch) => {
    for (let i = 0; i < 20; i++) {
      for (const type of ['Person', 'Customer']) {
        const all = properties ? Object.entries(entity(i)) : []
        batch.upsertNode({ type, externalId: `${type}${i}`, properties: all.map(([name, value]) => ({ name, value })) })
      }
    }
  })
}

const request = (more: object = { custom_property_mappings: custom }) =>
  operations().requestRun(setup.admin, id, { similarity_score_cutoff: 0.5, ...more }, noOrigin)

/** A graph whose reads and writes do what a test needs. */
function wrapped(write: GraphStore['write']): MatchedGraphs {
  return { nodes: [{ snapshot: () => graph.snapshot(), write }], global: null }
}

/** A run that has begun in a process that hangs while it writes. */
async function hang(): Promise<void> {
  await fill()
  await request()
  const stuck = matching(wrapped(() => new Promise<never>(() => undefined)))
  void stuck.runDue(id)
  while (setup.documents.get(KIND, id)?.fields.run === undefined) await Bun.sleep(1)
}

/** Brings the suggestions into a state. */
const toSuggestion: Readonly<Record<MatchingStatus, () => Promise<void>>> = {
  PENDING: async () => undefined,
  INVALID: async () => matching().runDue(id),
  ERROR: async () => matching(null).runDue(id),
  SUCCESS: async () => {
    await fill()
    await matching().runDue(id)
  },
  IN_PROGRESS: async () => {
    // A process was killed after it had begun.
    await setup.documents.write((draft) => {
      const pipeline = draft.get(KIND, id)!
      draft.put({ ...pipeline, fields: { ...pipeline.fields, property_mapping_status: 'IN_PROGRESS' } })
    })
  },
}

/** Causes an event of suggestions; resolves with the state after it. */
const suggestionEvents: Readonly<Record<SuggestionEvent, () => Promise<MatchingStatus>>> = {
  async requested() {
    const asked = await operations().suggestAgain(setup.admin, id)
    if (!asked.ok) throw new Error(asked.error.kind)
    return suggestions()
  },
  async begun() {
    await fill()
    let during: MatchingStatus | null = null
    const { documents } = setup
    documents.subscribe(() => {
      during ??= documents.get(KIND, id)?.fields.property_mapping_status as MatchingStatus
    })
    setup.clock.advance(3_600_000)
    await matching().runDue(id)
    return during as unknown as MatchingStatus
  },
  async suggested() {
    await fill()
    await matching().runDue(id)
    return suggestions()
  },
  async 'nothing to compare'() {
    await fill(false)
    await matching().runDue(id)
    return suggestions()
  },
  async failed() {
    await matching(wrapped(graph.write.bind(graph)) && null).runDue(id)
    return suggestions()
  },
}

const toRun: Readonly<Record<MatchingStatus, () => Promise<void>>> = {
  PENDING: async () => fill(),
  INVALID: async () => {
    await graph.write((batch) => {
      batch.upsertNode({ type: 'Person', externalId: 'p', properties: [{ name: 'email', value: 'a@example.org' }] })
    })
    await request()
    await matching().runDue(id)
    await fill()
  },
  ERROR: async () => {
    await fill()
    await request()
    await matching(wrapped(() => Promise.reject(new Error('the disk is full')))).runDue(id)
  },
  SUCCESS: async () => {
    await fill()
    await request()
    await matching().runDue(id)
  },
  IN_PROGRESS: hang,
}

const runEvents: Readonly<Record<RunEvent, () => Promise<MatchingStatus>>> = {
  async requested() {
    const asked = await request()
    if (!asked.ok) throw new Error(asked.error.kind)
    return runs()
  },
  async begun() {
    const seen = new Set<MatchingStatus>()
    await matching().runDue(id)
    setup.documents.subscribe(() => {
      const { run, entity_matching_status } = setup.documents.get(KIND, id)?.fields ?? {}
      if (run !== undefined) seen.add(entity_matching_status as MatchingStatus)
    })
    // By the rerun interval, or because a failed run is repeated.
    setup.clock.advance(2 * 3_600_000)
    await matching().runDue(id)
    expect(runs()).toBe('SUCCESS')
    const [during] = seen
    return during as MatchingStatus
  },
  async interrupted() {
    const stuck = matching(wrapped(() => new Promise<never>(() => undefined)))
    const attempts = (): number => {
      const { run } = setup.documents.get(KIND, id)?.fields ?? {}
      return (run as { attempts: number }).attempts
    }
    const before = attempts()
    void stuck.runDue(id)
    while (attempts() === before) await Bun.sleep(1)
    return runs()
  },
  async completed() {
    await matching().runDue(id)
    expect(ends).toEqual([{ result: expect.objectContaining({ matchedPairs: 20, matchedEntities: 40 }), error: null }])
    return runs()
  },
  async 'nothing to compare'() {
    await graph.write((batch) => {
      for (let i = 0; i < 20; i++) batch.deleteNode({ type: 'Customer', externalId: `Customer${i}` })
    })
    await matching().runDue(id)
    expect(fields().entity_matching_message).toBe('the project has no `Customer` nodes')
    return runs()
  },
  async failed() {
    await matching(wrapped(() => Promise.reject(new Error('the disk is full')))).runDue(id)
    expect(fields().entity_matching_message).toBe('the disk is full')
    expect(ends.at(-1)?.error).toBe('the disk is full')
    return runs()
  },
}

const rowsOf = <E extends string>(table: readonly StatusTransition<E>[]) =>
  table.flatMap(({ from, event, to }) => from.map((status) => [status, event, to] as const))

const suggestionRows = rowsOf(suggestionTransitions)
const runRows = rowsOf(runTransitions)

describe('the state of suggestions', () => {
  it.each(suggestionRows)('%s, %s → %s', async (from, event, to) => {
    await toSuggestion[from]()
    expect(suggestions()).toBe(from)
    expect(await suggestionEvents[event]()).toBe(to)
  })

  it('is not changed by a request while suggestions are in progress', async () => {
    await toSuggestion.IN_PROGRESS()
    expect(nextStatus(suggestionTransitions, 'IN_PROGRESS', 'requested')).toBeNull()
    expect(await operations().suggestAgain(setup.admin, id)).toMatchObject({ error: { kind: 'conflict' } })
    expect(suggestions()).toBe('IN_PROGRESS')
  })

  it('tries again after INVALID and ERROR, later each time', async () => {
    await matching().runDue(id)
    expect([suggestions(), fields().property_mapping_message]).toEqual(['INVALID', 'the project has no `Person` nodes'])
    await fill()
    await matching().runDue(id)
    expect(suggestions()).toBe('INVALID')
    setup.clock.advance(10_000)
    await matching().runDue(id)
    expect(suggestions()).toBe('SUCCESS')
  })
})

describe('the state of runs', () => {
  it.each(runRows)('%s, %s → %s', async (from, event, to) => {
    await toRun[from]()
    expect(runs()).toBe(from)
    expect(await runEvents[event]()).toBe(to)
  })

  it('is not changed by a request while a run is requested or in progress', async () => {
    await fill()
    await request()
    expect(await request()).toMatchObject({ error: { kind: 'conflict', message: 'a run is requested already' } })
    await hang()
    expect(await request()).toMatchObject({ error: { kind: 'conflict', message: 'a run is in progress' } })
  })

  it('shows the progress of its run until the run ends', async () => {
    await hang()
    expect(fields().run_progress).toMatchObject({ run_id: expect.any(String), phase: 'read', done: 0 })
    await runEvents.completed()
    expect([runs(), fields().run_progress]).toEqual(['SUCCESS', null])
  })

  it('is ERROR after the process has ended five times during a run', async () => {
    await hang()
    for (let i = 0; i < 4; i++) await runEvents.interrupted()
    await matching().runDue(id)
    expect([runs(), fields().entity_matching_message]).toEqual([
      'ERROR',
      'the process ended 5 times during the run; its memory may not suffice',
    ])
    await request()
    await matching().runDue(id)
    expect(runs()).toBe('SUCCESS')
  })

  it('is ERROR until a failed run is repeated, which has one start and the end of each failure', async () => {
    await toRun.ERROR()
    const failed = { result: expect.objectContaining({ matchedPairs: 0 }), error: 'the disk is full' }
    expect([begins, ends, fields().run_progress]).toEqual([['IN_PROGRESS'], [failed], null])
    await matching().runDue(id)
    setup.clock.advance(9_999)
    await matching().runDue(id)
    expect([runs(), ends.length]).toEqual(['ERROR', 1])
    setup.clock.advance(1)
    await matching(wrapped(() => Promise.reject(new Error('the disk is full')))).runDue(id)
    // Twice the time, and the same failure has no second event.
    setup.clock.advance(19_999)
    await matching().runDue(id)
    expect([runs(), ends.length]).toEqual(['ERROR', 1])
    setup.clock.advance(1)
    await matching().runDue(id)
    expect([runs(), fields().entity_matching_message, begins.length]).toEqual(['SUCCESS', '', 1])
    expect(ends).toEqual([failed, { result: expect.objectContaining({ matchedPairs: 20 }), error: null }])
  })

  it('is not ERROR for longer than a request, which replaces a failed run', async () => {
    await toRun.ERROR()
    const asked = await request()
    if (!asked.ok) throw new Error(asked.error.kind)
    await matching().runDue(id)
    expect([runs(), begins.length]).toEqual(['SUCCESS', 2])
    expect(ends.at(-1)?.result.runId).toBe((asked.value as { run_id: string }).run_id)
  })

  it('ends a run whose pipeline is deleted, and its relationships are removed', async () => {
    await toRun.PENDING()
    await request()
    const pipeline = setup.documents.get(KIND, id)!
    const write: GraphStore['write'] = async (change) => {
      await setup.documents.write((draft) => draft.remove(KIND, id))
      return graph.write(change)
    }
    await matching(wrapped(write)).runDue(id)
    expect([ends, relationships()]).toEqual([[], 20])
    await requestRemoval(setup.documents, pipeline)
    await matching().runDue()
    expect([relationships(), setup.documents.all(matchRemovalsKind)]).toEqual([0, []])
  })
})

describe('the tables of states in the documentation', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/how-to/entity-matching.md'), 'utf8')
  const documented = (heading: string): string[] =>
    (page.split(`### ${heading}\n`)[1]?.split('\n#')[0] ?? '')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.replaceAll('`', ''))
      .map((line) => {
        const [, from = '', event = '', to = ''] = line.split('|').map((cell) => cell.trim())
        return `${from.split(', ').sort().join(' ')} | ${event} | ${to}`
      })
  const tables = [
    ['States of suggestions', suggestionTransitions],
    ['States of runs', runTransitions],
  ] as const
  it.each(tables)('%s has the rows of the code', (heading, table) => {
    expect(documented(heading)).toEqual(
      table.map(({ from, event, to }) => `${[...from].sort().join(' ')} | ${event} | ${to}`),
    )
    expect(new Set(table.flatMap(({ from, to }) => [...from, to]))).toEqual(new Set(matchingStatuses))
  })
})
