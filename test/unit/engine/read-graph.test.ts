// A look cannot have effects that its type would show, and its snapshots are closed when it ends.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readGraph, readGraphNow, readGraphRows, readGraphsNow } from '../../../src/engine/read-graph.ts'
import type { GraphStore, Snapshot } from '../../../src/engine/store.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let environment: LmdbEnvironment
let openCount = 0

beforeEach(async () => {
  openCount = 0
  environment = openEnvironment(temporaryFolder(), {
    clock: new ManualClock(1_750_000_000_000),
    sync: false,
    onSnapshot: () => {
      openCount += 1
      return () => {
        openCount -= 1
      }
    },
  })
  await environment.write((batch) => {
    for (const externalId of ['ann', 'ben']) batch.upsertNode({ type: 'Person', externalId })
  })
})
afterEach(() => environment.close())

const people = (snapshot: Snapshot): number => snapshot.nodeCount(snapshot.symbol('label', 'Person'))

describe('a look', () => {
  test('at a graph of this process ends at once, and its snapshots are closed', async () => {
    expect(readGraph(environment, people)).toBe(2)
    expect(readGraph([environment], (snapshots) => snapshots.map(people))).toEqual([2])
    expect(readGraphNow(environment, people)).toBe(2)
    const several = readGraphsNow((views) => {
      const snapshots = [environment, environment].map((graph) => views.of(graph))
      return { numbers: snapshots.map(people), opened: [...views.opened()].length }
    })
    expect(several).toEqual({ numbers: [2, 2], opened: 1 })
    expect(openCount).toBe(0)
  })

  test('that throws closes its snapshots too', () => {
    const look = (snapshot: Snapshot): number => {
      expect([people(snapshot), openCount]).toEqual([2, 1])
      throw new Error('the look fails')
    }
    for (const read of [readGraph, readGraphNow]) expect(() => read(environment, look)).toThrow('the look fails')
    expect(openCount).toBe(0)
  })

  test('emits rows, which are used in their order', () => {
    const used: number[] = []
    const value = readGraphRows(
      environment,
      (snapshot, emit: (row: number) => void) => {
        for (let row = 0; row < people(snapshot); row++) emit(row)
        return 'all'
      },
      (row) => used.push(row),
    )
    expect([value, used]).toEqual(['all', [0, 1]])
  })

  // Checked by the compiler: the function is never called.
  test('does not compile if it continues after its end, writes, or has no result', () => {
    const compiled = (graph: GraphStore): void => {
      // @ts-expect-error A promise continues after the look.
      readGraph(graph, async (snapshot) => people(snapshot))
      // @ts-expect-error
      readGraphNow(graph, async (snapshot) => people(snapshot))
      // @ts-expect-error A write ends later.
      readGraph(graph, () => graph.write((batch) => batch.hasNode(1)))
      // @ts-expect-error A snapshot cannot write.
      readGraph(graph, (snapshot) => snapshot.write(() => 1))
      // @ts-expect-error A snapshot cannot write.
      readGraphNow(graph, (snapshot) => snapshot.upsertNode({ type: 'Person', externalId: 'ann' }).isNew)
      // @ts-expect-error A look does not close what it did not open.
      readGraphNow(graph, (snapshot) => snapshot.close() ?? 1)
      // @ts-expect-error The snapshot is closed when the look has ended.
      readGraph(graph, (snapshot) => snapshot)
      // @ts-expect-error A generator reads after the look.
      readGraph(graph, function* (snapshot) {
        yield people(snapshot)
      })
      // @ts-expect-error Nothing is returned: such a look would exist for its effects.
      readGraphsNow((views) => {
        people(views.of(graph))
      })
      // @ts-expect-error
      readGraph(graph, (snapshot) => {
        people(snapshot)
      })
      // @ts-expect-error Rows come from a look too.
      readGraphRows(graph, async (snapshot, emit: (row: number) => void) => emit(people(snapshot)), Number)
    }
    expect(compiled).toBeInstanceOf(Function)
  })
})
