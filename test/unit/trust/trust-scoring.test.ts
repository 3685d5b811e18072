// The passes of a profile while the profile or the graph changes: real documents, and a graph in memory whose writes the test delays.
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createChunk, type GraphStore, type WriteBatch } from '../../../src/engine/store.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { trustScoreProfilesKind } from '../../../src/trust/trust-score-profile.ts'
import { requestRemoval, requestRun, TrustScoring, trustScoreRemovalsKind } from '../../../src/trust/trust-scoring.ts'
import {
  openProject,
  type ProjectFixture,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

const NODES = 2500

let setup: ProjectFixture
let environment: LmdbEnvironment
let scoring: TrustScoring
let profile: string
/** Called before each write of a pass. */
let beforeWrite: () => Promise<void>
let events: string[]
let log: string[]
/** Another instance has the lease. */
let isElsewhere: boolean

beforeEach(async () => {
  setup = await openProject()
  const { clock, documents, project } = setup
  environment = openEnvironment(null, { clock, cacheBytes: 0 })
  await environment.write((batch) => {
    for (let i = 0; i < NODES; i++)
      batch.upsertNode({ type: 'Car', externalId: `c${i}`, properties: [{ name: 'plate', value: `B-${i}` }] })
  })
  beforeWrite = async () => {}
  const graph: GraphStore = {
    snapshot: () => environment.snapshot(),
    async write<T>(change: (batch: WriteBatch) => T): Promise<T> {
      await beforeWrite()
      return environment.write(change)
    },
  }
  events = []
  log = []
  isElsewhere = false
  scoring = new TrustScoring({
    documents,
    graphsOf: async () => [graph],
    events: {
      started: (_draft, _profile, runId) => void events.push(`started ${runId}`),
      ended: (_draft, _profile, { runId }, error) => void events.push(`ended ${runId} ${error ?? 'ok'}`),
    },
    clock,
    report: (message) => void log.push(message),
    isLeading: () => !isElsewhere,
  })
  const body = {
    project_id: project,
    name: 'cars',
    node_classification: 'Car',
    schedule: 'DAILY',
    dimensions: [{ name: 'FRESHNESS', weight: 1 }],
  }
  profile = (await setup.create(trustScoreProfilesKind, body)).id
})
afterEach(async () => {
  await scoring.close()
  await environment.close()
  await setup.close()
})
afterAll(removeTemporaryFolders)

const document = () => setup.documents.get(trustScoreProfilesKind, profile)!
const read = () => setup.read(trustScoreProfilesKind, profile)

/** Does something once, before the second batch is written. */
function duringPass(act: () => Promise<unknown>): void {
  let writes = 0
  beforeWrite = async () => {
    writes += 1
    if (writes === 2) await act()
  }
}

/** The names of the properties of all scores, each list once, and the nodes without score. */
function scores(): { names: Set<string>; unscored: number; loose: number } {
  const snapshot = environment.snapshot()
  const names = new Set<string>()
  let unscored = 0
  let scored = 0
  try {
    const chunk = createChunk()
    const nodes = createChunk()
    const car = snapshot.symbol('label', 'Car')
    for (let from = 0; ; from = nodes.next) {
      snapshot.nodesWithLabel(car, from, nodes)
      for (const id of nodes.ids.slice(0, nodes.length)) {
        snapshot.neighbours(id, 'out', snapshot.symbol('type', '_HAS'), 0, chunk)
        if (chunk.length === 0) unscored += 1
        else {
          scored += chunk.length
          names.add([...snapshot.nodeProperties(chunk.ids[0]!).keys()].sort().join())
        }
      }
      if (!nodes.more) break
    }
    return { names, unscored, loose: snapshot.nodeCount(snapshot.symbol('label', '_TrustScore')) - scored }
  } finally {
    snapshot.close()
  }
}

describe('a pass', () => {
  it('is left to the instance that leads, unless it is asked for here', async () => {
    isElsewhere = true
    const time = '2026-01-01T00:00:00Z'
    await requestRun(setup.documents, profile, { id: 'gid:RUN', time, by: 'ann' })
    await scoring.runDue()
    expect([events, document().fields.requested_run === undefined]).toEqual([[], false])
    isElsewhere = false
    // The lease is lost during a pass: it ends, and no other begins.
    duringPass(async () => {
      isElsewhere = true
      await requestRun(setup.documents, profile, { id: 'gid:RUN2', time, by: 'ann' })
    })
    await scoring.runDue()
    expect([events.length, document().fields.requested_run === undefined]).toEqual([2, false])
    await scoring.runNow(profile, 'ann')
    expect(events.length).toBe(4)
  })

  it('starts over with the new dimensions if its profile is changed, as the same run', async () => {
    const dimensions = [{ name: 'ORIGIN', weight: 1 }]
    duringPass(async () => {
      expect(read().run_progress).toMatchObject({ phase: 'score' })
      valueIn(
        await setup.service.update(setup.admin, setup.kind(trustScoreProfilesKind), profile, { dimensions }, null),
      )
    })
    await scoring.runNow(profile, 'operator')
    expect(scores()).toEqual({ names: new Set(['_final_score,formula_version,origin']), unscored: 0, loose: 0 })
    const { last_run_id, run_progress, dimensions_execution_times } = read()
    expect([run_progress, Object.keys(dimensions_execution_times as object)]).toEqual([null, ['ORIGIN']])
    expect(events).toEqual([`started ${last_run_id}`, `ended ${last_run_id} ok`])
  })

  it('leaves no score of nodes that are deleted while it runs, and the next pass scores those that are created', async () => {
    duringPass(() =>
      environment.write((batch) => {
        // Scored before, scored by the batch that is being written, and not read yet.
        for (const i of [3, 1500, NODES - 1]) batch.deleteNode({ type: 'Car', externalId: `c${i}` })
        batch.upsertNode({ type: 'Car', externalId: 'c3' })
      }),
    )
    await scoring.runNow(profile, 'operator')
    expect(scores()).toMatchObject({ loose: 0 })
    beforeWrite = async () => {}
    await scoring.runNow(profile, 'operator')
    expect(scores()).toEqual({ names: new Set(['_final_score,formula_version,freshness']), unscored: 0, loose: 0 })
  })

  it('ends if its profile is deleted, and its scores are removed', async () => {
    duringPass(async () => {
      const deleted = document()
      valueIn(await setup.service.remove(setup.admin, setup.kind(trustScoreProfilesKind), profile, null))
      await requestRemoval(setup.documents, deleted)
    })
    await scoring.runNow(profile, 'operator')
    beforeWrite = async () => {}
    await scoring.runDue()
    expect(scores()).toMatchObject({ unscored: NODES, loose: 0 })
    expect(setup.documents.all(trustScoreRemovalsKind)).toEqual([])
  })

  it('that fails shows why, does not run again at once nor in the next process, and then continues', async () => {
    duringPass(async () => {
      throw new Error('the disk is full')
    })
    await scoring.runNow(profile, 'operator')
    expect(read()).toMatchObject({ last_error: 'the disk is full', last_run_id: '' })
    expect(log).toEqual([`the pass of ${profile} failed and is repeated after 10 s: the disk is full`])
    const [started] = events
    const runId = started!.replace('started ', '')
    expect(events).toEqual([`started ${runId}`, `ended ${runId} the disk is full`])
    beforeWrite = async () => {}
    await scoring.runDue()
    expect(read().last_run_id).toBe('')
    const { documents, clock } = setup
    const next = new TrustScoring({
      documents,
      graphsOf: async () => [environment],
      events: { started: () => {}, ended: () => {} },
      clock,
      report: () => {},
    })
    await next.runDue()
    expect(read()).toMatchObject({ last_error: 'the disk is full', last_run_id: '' })
    clock.advance(10_000)
    await next.runDue()
    expect(read()).toMatchObject({ last_error: '', last_run_id: runId })
    expect(scores()).toMatchObject({ unscored: 0, loose: 0 })
  })

  it('answers all requests that are made before it begins', async () => {
    const request = (id: string) => ({ id, time: new Date(setup.clock.now()).toISOString(), by: 'operator' })
    expect(await requestRun(setup.documents, profile, request('first'))).toBe('first')
    expect(await requestRun(setup.documents, profile, request('second'))).toBe('first')
    await scoring.runDue()
    expect(events.length).toBe(2)
    expect(await requestRun(setup.documents, profile, request('third'))).toBe('third')
    expect(await requestRun(setup.documents, 'gid:00000000000000000000000000', request('x'))).toBeNull()
  })
})

describe('the schedule', () => {
  it('counts from the creation of the profile, also if the profile is changed before its first pass', async () => {
    const { clock, service, admin } = setup
    await scoring.runDue()
    expect(events).toEqual([])
    valueIn(await service.update(admin, setup.kind(trustScoreProfilesKind), profile, { schedule: 'THREE_HOURS' }, null))
    clock.advance(3 * 3_600_000)
    await scoring.runDue()
    expect(events.length).toBe(2)
    // A clock that is set back by hand starts no pass until it has caught up.
    clock.advance(-2 * 3_600_000)
    await scoring.runDue()
    clock.advance(2 * 3_600_000)
    await scoring.runDue()
    expect(events.length).toBe(2)
    clock.advance(3 * 3_600_000)
    await scoring.runDue()
    expect(events.length).toBe(4)
  })
})
