// A pass over a graph: it continues from every state that it has saved, and writes only what has changed.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createChunk, type NodeKey } from '../../../src/engine/store.ts'
import { Float } from '../../../src/kernel/float.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { emptyReport } from '../../../src/trust/report.ts'
import type { RunState } from '../../../src/trust/run-state.ts'
import { removeScores, ScoringPass } from '../../../src/trust/scoring-pass.ts'
import { dimensionNames } from '../../../src/trust/scoring-rules.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const NODES = 60
const clock = new ManualClock(Date.parse('2026-05-01T00:00:00Z'))
const options = { dimensions: dimensionNames.map((name) => ({ name, weight: 1 })) }

const fresh: RunState = {
  runId: 'run',
  startedMs: clock.now(),
  revision: 1,
  request: null,
  phase: 'count',
  scoringMs: clock.now(),
  graph: 0,
  from: 0,
  nodesCounted: 0,
  propertyCounts: {},
  usual: [],
  nodesTotal: NODES,
  nodesScored: 0,
  scoresWritten: 0,
  scoresRemoved: 0,
  report: emptyReport,
}

const keyOf = (i: number): NodeKey => ({ type: i % 3 === 0 ? 'Van' : 'Car', externalId: `n${i}` })

let graphs: LmdbEnvironment[]
beforeEach(async () => {
  graphs = [0, 1].map(() => openEnvironment(null, { clock, cacheBytes: 0 }))
  for (const graph of graphs) {
    await graph.write((batch) => {
      for (let i = 0; i < NODES; i++) {
        const properties = [
          { name: 'plate', value: i % 2 === 0 ? '' : `B-${i}` },
          ...(i % 5 === 0 ? [{ name: 'valid_until', value: i % 10 === 0 ? '2026-04-30' : '2026-05-01' }] : []),
        ]
        // Vans have the label of cars too, and another type.
        batch.upsertNode({ ...keyOf(i), properties, ...(i % 3 === 0 && { labels: ['Car'] }) })
      }
    })
  }
})
afterEach(async () => {
  for (const graph of graphs) await graph.close()
})

/** `states`: receives what is saved. `until`: the pass ends after so many. */
function run(state: RunState, states: RunState[] = [], until = Number.POSITIVE_INFINITY): Promise<RunState | null> {
  const save = async (saved: RunState): Promise<boolean> => {
    // As it is stored: JSON.
    states.push(JSON.parse(JSON.stringify(saved)))
    return states.length < until
  }
  return new ScoringPass(
    { graphs, nodeType: 'Car', options, clock, batchNodes: 7, saveIntervalMs: 0, save },
    state,
  ).run()
}

/** The scores of each graph by external id, of nodes with exactly one. */
function scores(): Map<string, Record<string, unknown>>[] {
  return graphs.map((graph) => {
    const snapshot = graph.snapshot()
    const all = new Map<string, Record<string, unknown>>()
    try {
      const chunk = createChunk()
      for (let i = 0; i < NODES; i++) {
        const { type, externalId } = keyOf(i)
        const node = snapshot.findNode(snapshot.symbol('label', type), externalId)
        snapshot.neighbours(node, 'out', snapshot.symbol('type', '_HAS'), 0, chunk)
        if (node === 0 || chunk.length !== 1) continue
        const properties = [...snapshot.nodeProperties(chunk.ids[0]!)]
        all.set(
          externalId,
          Object.fromEntries(properties.map(([n, value]) => [n, value instanceof Float ? value.value : value])),
        )
      }
    } finally {
      snapshot.close()
    }
    return all
  })
}

async function removeAll(): Promise<void> {
  expect(await removeScores(graphs, 'Car', () => false)).toBe(true)
  expect(scores().map((all) => all.size)).toEqual([0, 0])
}

describe('a pass', () => {
  it('continues from every state that it has saved, with the same scores and the same report', async () => {
    const states: RunState[] = []
    const whole = await run(fresh, states)
    const expected = scores()
    expect(expected.map((all) => all.size)).toEqual([40, 40])
    expect(whole).toMatchObject({ nodesScored: 80, scoresWritten: 80, scoresRemoved: 0 })
    expect(new Set(states.map(({ phase }) => phase))).toEqual(new Set(['count', 'score', 'sweep']))
    for (const [at, state] of states.entries()) {
      await removeAll()
      // The first part once more, then the rest as another process would do it.
      expect(await run(fresh, [], at + 1)).toBeNull()
      const rest = await run(state)
      expect([at, rest?.report]).toEqual([at, whole!.report])
      expect([at, rest?.nodesScored]).toEqual([at, 80])
      expect(scores()).toEqual(expected)
    }
  }, 60_000)

  it('scores only nodes of the type, not those that have it as a further label', async () => {
    await run(fresh)
    const [first] = scores()
    expect([...first!.keys()].filter((id) => Number(id.slice(1)) % 3 === 0)).toEqual([])
    // Half of the cars have an empty plate, and one in five an expiry date: plates are usual.
    expect(first!.get('n1')).toMatchObject({ completeness: 1, freshness: 1, formula_version: 1 })
    expect([first!.get('n10')!.validity, first!.get('n5')!.validity, first!.get('n1')!.validity]).toEqual([
      0,
      1,
      undefined,
    ])
  })

  it('writes nothing if nothing has changed, and only the scores of changed nodes otherwise', async () => {
    await run(fresh)
    const versions = graphs.map((graph) => graph.snapshot().version)
    expect(await run(fresh)).toMatchObject({ nodesScored: 80, scoresWritten: 0, scoresRemoved: 0 })
    expect(graphs.map((graph) => graph.snapshot().version)).toEqual(versions)
    await graphs[1]!.write((batch) => batch.upsertNode({ ...keyOf(2), properties: [{ name: 'plate', value: 'B-2' }] }))
    expect(await run(fresh)).toMatchObject({ scoresWritten: 1 })
  })

  it('removes the scores of deleted nodes, and gives a node that is created again a new one', async () => {
    await run(fresh)
    await graphs[0]!.write((batch) => {
      batch.deleteNode(keyOf(1))
      batch.deleteNode(keyOf(2))
      batch.upsertNode({ ...keyOf(2), properties: [{ name: 'plate', value: 'B-2' }] })
    })
    expect(await run(fresh)).toMatchObject({ nodesScored: 79, scoresWritten: 1, scoresRemoved: 2 })
    expect(scores().map((all) => all.size)).toEqual([39, 40])
    expect(scores()[0]!.get('n2')).toMatchObject({ completeness: 1 })
  })
})
