import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { GraphStore, NodeKey } from '../../../../src/engine/store.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { checkProxies } from '../../../../src/store/tenancy/check-proxies.ts'
import {
  type CompositeGraphs,
  ConstituentStore,
  completeProxies,
  flagConstituents,
  identityOf,
  processIntents,
} from '../../../../src/store/tenancy/composite.ts'
import { testSeed } from '../../../generate/random.ts'
import { compositeRounds } from '../../../stress/composite.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const clock = new ManualClock(1_750_000_000_000)
const WHERE = [null, 'eu', 'us'] as const
const KEYS: readonly NodeKey[] = ['a', 'b', 'c'].map((externalId) => ({ type: 'T', externalId }))

class SimulatedCrash extends Error {}

/** Three constituents and the global environment, on disk. */
class CompositeFixture implements CompositeGraphs {
  readonly stores: readonly ConstituentStore[]
  /** Whether writes to the global environment fail, as after a crash between two commits. */
  isCut = false
  private readonly open: readonly LmdbEnvironment[]

  constructor(folder: string) {
    this.open = [0, 1, 2, 3].map((i) => openEnvironment(`${folder}/${i}`, { clock, sync: false }))
    this.stores = this.openConstituents().map((own) => new ConstituentStore(own, this))
  }

  get joint(): LmdbEnvironment {
    return this.open[3]!
  }

  async global(): Promise<LmdbEnvironment> {
    if (this.isCut) throw new SimulatedCrash()
    return this.joint
  }

  async constituents(): Promise<readonly LmdbEnvironment[]> {
    return this.openConstituents()
  }

  openConstituents(): readonly LmdbEnvironment[] {
    return this.open.slice(0, 3)
  }

  proxies(): Map<string, string> {
    return idsIn(this.open[3]!)
  }

  faults(): string[] {
    return [
      ...this.open.flatMap((environment) => checkGraph(environment)),
      ...checkProxies(this.joint, this.openConstituents()),
    ]
  }

  relationships(): number {
    const snapshot = this.open[3]!.snapshot()
    try {
      return snapshot.relationshipCount(null)
    } finally {
      snapshot.close()
    }
  }

  async close(): Promise<void> {
    for (const environment of this.open) await environment.close()
  }
}

function idsIn(store: GraphStore): Map<string, string> {
  const snapshot = store.snapshot()
  try {
    return new Map(
      KEYS.flatMap((key) => {
        const found = identityOf(snapshot, key)
        return found === null ? [] : [[key.externalId, found.gid] as const]
      }),
    )
  } finally {
    snapshot.close()
  }
}

async function newProject(folder: string): Promise<CompositeFixture> {
  const project = new CompositeFixture(folder)
  await flagConstituents(project)
  await completeProxies(project)
  return project
}

const key = fc.constantFrom(...KEYS)
const change = fc.record({ key, isDeletion: fc.boolean() })
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      where: fc.constantFrom(0, 1, 2),
      changes: fc.array(change, { minLength: 1, maxLength: 4 }),
      isCut: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('join' as const), source: key, target: key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
)

describe('the constituents of a composite project', () => {
  test('have one proxy for each node, after any writes and a crash at any point', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const folder = temporaryFolder()
        let project = await newProject(folder)
        /** By the ids of the two proxies that they connect. */
        const joined = new Set<string>()
        const restart = async (): Promise<void> => {
          await project.close()
          project = new CompositeFixture(folder)
          await processIntents(project)
        }
        for (const step of steps) {
          if (step.do === 'reopen') await restart()
          else if (step.do === 'join') {
            const proxies = project.proxies()
            const ends = [proxies.get(step.source.externalId), proxies.get(step.target.externalId)]
            const written = await project.joint.write((batch) =>
              batch.upsertRelationship({ source: step.source, type: 'JOINS', target: step.target }),
            )
            expect(written !== null).toBe(!ends.includes(undefined))
            if (written !== null) joined.add(ends.join())
          } else {
            project.isCut = step.isCut
            const location = WHERE[step.where]!
            const written = project.stores[step.where]!.write((batch) => {
              for (const { key, isDeletion } of step.changes) {
                if (isDeletion) batch.deleteNode(key)
                else batch.upsertNode({ ...key, ...(location === null ? {} : { location }) })
              }
            })
            if (step.isCut) {
              await expect(written).rejects.toThrow(SimulatedCrash)
              project.isCut = false
              await restart()
            } else await written
          }
          expect(project.faults()).toEqual([])
          const standing = new Set(project.proxies().values())
          for (const ends of joined) if (ends.split(',').some((end) => !standing.has(end))) joined.delete(ends)
          expect(project.relationships()).toBe(joined.size)
        }
        await project.close()
      }),
      { numRuns: 40 },
    )
  })

  test('are repaired by the next write of the same nodes without a restart', async () => {
    const project = await newProject(temporaryFolder())
    const [main] = project.stores
    const write = (change: Parameters<GraphStore['write']>[0]) => main!.write(change)
    for (const change of [
      (batch) => void batch.upsertNode({ type: 'T', externalId: 'a' }),
      (batch) => void batch.deleteNode({ type: 'T', externalId: 'a' }),
    ] satisfies Parameters<GraphStore['write']>[0][]) {
      project.isCut = true
      await expect(write(change)).rejects.toThrow(SimulatedCrash)
      project.isCut = false
      expect(project.faults()).toHaveLength(1)
      await write(change)
      expect(project.faults()).toEqual([])
    }
    await project.close()
  })

  test('keep a proxy unchanged while only properties change, and leave no intent', async () => {
    const project = await newProject(temporaryFolder())
    const [main] = project.stores
    await main!.write((batch) => batch.upsertNode({ type: 'T', externalId: 'a' }))
    const updated = (): unknown => {
      const snapshot = project.joint.snapshot()
      try {
        return snapshot.nodeField(snapshot.findNode(snapshot.symbol('label', 'T'), 'a'), 'update_time')
      } finally {
        snapshot.close()
      }
    }
    const before = updated()
    clock.advance(1000)
    for (const value of [1, 2]) {
      const properties = [{ name: 'p', value }]
      await main!.write((batch) => batch.upsertNode({ type: 'T', externalId: 'a', properties }))
    }
    expect(updated()).toBe(before)
    expect(project.openConstituents()[0]!.intents().size).toBe(0)
    await project.close()
  })

  test('get proxies for existing nodes, however many there are', async () => {
    const folder = temporaryFolder()
    const project = new CompositeFixture(folder)
    const count = 3000
    await project.openConstituents()[1]!.write((batch) => {
      for (let i = 0; i < count; i++) batch.upsertNode({ type: 'T', externalId: `${i}`, location: 'eu' })
      batch.createNode(['Keyless'], [])
    })
    await flagConstituents(project)
    expect(project.faults()).not.toEqual([])
    await completeProxies(project)
    expect(project.faults()).toEqual([])
    const snapshot = project.joint.snapshot()
    expect(snapshot.nodeCount(null)).toBe(count)
    snapshot.close()
    await project.close()
  })

  test('refuse a batch that is not synchronous, like any store', async () => {
    const project = await newProject(temporaryFolder())
    const write = project.stores[0]!.write(async (batch) => batch.upsertNode({ type: 'T', externalId: 'a' }))
    await expect(write).rejects.toThrow('a write batch is synchronous')
    expect(project.faults()).toEqual([])
    await project.close()
  })
})

test('a process killed while it writes to a composite project leaves a state that replaying its intents repairs', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const outcome = await compositeRounds(2, seed)
  expect(outcome.faults).toEqual([])
  expect(outcome.acknowledged).toBeGreaterThan(2)
})
