// The cache must never be visible: after any write of any process, every snapshot returns its own state.
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { createChunk } from '../../../src/engine/store.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import type { LmdbSnapshot } from '../../../src/store/graph/snapshot.ts'
import {
  type BatchStep,
  EXTERNAL_IDS,
  PROPERTY_NAMES,
  RELATIONSHIP_TYPES,
  step,
  TYPES,
  take,
} from '../../generate/store-inputs.ts'
import { factsOfModel, factsOfSnapshot, GraphModel, type NamePool } from '../../oracle/store-model.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { commitsIn, OtherProcess } from './other-process.ts'

// Candidates of the index are not cached, so few values are searched.
const names: NamePool = {
  labels: [...TYPES, 'L', 'M'],
  types: RELATIONSHIP_TYPES,
  externalIds: EXTERNAL_IDS,
  properties: PROPERTY_NAMES,
  values: [1],
}

class WriteAborted extends Error {}

const steps = fc.array(step, { minLength: 1, maxLength: 8 })

/** A sequence of events on a graph. */
const happening = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('we write' as const), steps }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('they write' as const), steps }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('we abandon' as const), steps }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('we write at once' as const), batches: fc.tuple(steps, steps, steps) }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('a snapshot is held' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('the oldest is let go' as const) }) },
  { weight: 9, arbitrary: fc.record({ what: fc.constant('all is read' as const), newestFirst: fc.boolean() }) },
  // A snapshot that reads a part only caches that part.
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('a part is read' as const), node: fc.integer({ min: 1, max: 9 }) }),
  },
)
type CacheEvent = typeof happening extends fc.Arbitrary<infer T> ? T : never

interface HeldSnapshot {
  readonly snapshot: LmdbSnapshot
  readonly model: GraphModel
}

const other = new OtherProcess()
afterAll(() => other.end())

class CacheScenario {
  private readonly folder = temporaryFolder()
  private readonly clock = new ManualClock(1_750_000_000_000)
  private readonly environment: LmdbEnvironment
  private model = new GraphModel(this.clock)
  private readonly held: HeldSnapshot[] = []

  constructor(hotBytes: number) {
    const commits = commitsIn(this.folder)
    const options = { clock: this.clock, sync: false, entriesPerChunk: 4, hotBytes, commits }
    this.environment = openEnvironment(this.folder, options)
  }

  async meet(next: CacheEvent): Promise<void> {
    this.clock.advance(1000)
    switch (next.what) {
      case 'we write':
        this.change(next.steps)
        await this.write(next.steps)
        return
      case 'they write':
        this.change(next.steps)
        await other.write({ folder: this.folder, now: this.clock.now(), steps: next.steps })
        return
      case 'we abandon':
        await expect(
          this.environment.write((batch) => {
            for (const step of next.steps) take(step, batch)
            throw new WriteAborted()
          }),
        ).rejects.toThrow(WriteAborted)
        return
      case 'we write at once':
        for (const steps of next.batches) this.change(steps)
        await Promise.all(next.batches.map((steps) => this.write(steps)))
        return
      case 'a snapshot is held':
        this.held.push({ snapshot: this.environment.snapshot(), model: this.model })
        return
      case 'the oldest is let go':
        this.held.shift()?.snapshot.close()
        return
      case 'a part is read': {
        const snapshot = this.environment.snapshot()
        const chunk = createChunk()
        for (const type of RELATIONSHIP_TYPES) {
          snapshot.neighbours(next.node, 'out', snapshot.symbol('type', type), 0, chunk)
        }
        snapshot.close()
        return
      }
      case 'all is read': {
        const now = { snapshot: this.environment.snapshot(), model: this.model }
        const all = next.newestFirst ? [now, ...this.held, now] : [...this.held, now, ...this.held]
        for (const { snapshot, model } of all) {
          expect(factsOfSnapshot(snapshot, names)).toEqual(factsOfModel(model, names))
        }
        now.snapshot.close()
      }
    }
  }

  /** The previous model is kept: held snapshots are compared with it. */
  private change(steps: readonly BatchStep[]): void {
    this.model = this.model.copy()
    for (const step of steps) take(step, this.model)
  }

  private write(steps: readonly BatchStep[]): Promise<void> {
    return this.environment.write((batch) => {
      for (const step of steps) take(step, batch)
    })
  }

  async end(): Promise<void> {
    for (const { snapshot } of this.held) snapshot.close()
    await this.environment.close()
  }
}

describe('snapshots of any age, with concurrent writes of this process and of another,', () => {
  const end: CacheEvent = { what: 'all is read', newestFirst: true }

  test.each([
    ['no cache', 0, 5],
    ['a cache for a handful', 1, 40],
    ['a cache for some', 40_000, 40],
    ['a cache for all', 64 * 2 ** 20, 80],
  ])('return what plain maps contain, with %s in memory', async (_, hotBytes, numRuns) => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 25 }), async (happenings) => {
        const scene = new CacheScenario(hotBytes)
        try {
          for (const next of [...happenings, end]) await scene.meet(next)
        } finally {
          await scene.end()
        }
      }),
      { numRuns },
    )
  })
})

const options = { clock: new ManualClock(1_750_000_000_000), sync: false }
const person = { type: 'Person', externalId: 'p' }
const document = { type: 'Document', externalId: 'd' }
const grant = { source: person, type: 'OWNS', target: document }

function owns(environment: LmdbEnvironment): number {
  const snapshot = environment.snapshot()
  const [source, target] = [person, document].map(({ type, externalId }) =>
    snapshot.findNode(snapshot.symbol('label', type), externalId),
  )
  const chunk = createChunk()
  snapshot.relationshipsBetween(source!, snapshot.symbol('type', 'OWNS'), target!, chunk)
  snapshot.close()
  return chunk.length
}

describe('a grant', () => {
  test('that is revoked is gone for the next snapshot, and so is one revoked by another process: 5,000 times', async () => {
    const folder = temporaryFolder()
    const environment = openEnvironment(folder, options)
    // Another environment on the same folder counts its commits as another process does.
    const elsewhere = openEnvironment(folder, options)
    await environment.write((batch) => {
      batch.upsertNode(person)
      batch.upsertNode(document)
    })
    const seen = { given: 0, revoked: 0 }
    for (let number = 0; number < 5_000; number++) {
      await environment.write((batch) => batch.upsertRelationship(grant))
      seen.given += owns(environment)
      const revoking = number % 4 === 3 ? elsewhere : environment
      await revoking.write((batch) => batch.deleteRelationship(grant))
      seen.revoked += 1 - owns(environment)
    }
    expect(seen).toEqual({ given: 5_000, revoked: 5_000 })
    await environment.close()
    await elsewhere.close()
  })

  test('is not cached again by an older snapshot, nor shown to it if it is new', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    await environment.write((batch) => {
      batch.upsertNode(person)
      batch.upsertNode(document)
      batch.upsertRelationship(grant)
    })
    const read = (snapshot: LmdbSnapshot): [number, number] => [
      snapshot.findNode(snapshot.symbol('label', 'Person'), 'p'),
      snapshot.degree(1, 'out', snapshot.symbol('type', 'OWNS')),
    ]
    const before = environment.snapshot()
    await environment.write((batch) => batch.deleteRelationship(grant))
    const revoked = environment.snapshot()
    expect([read(before), read(revoked), read(before), read(revoked)]).toEqual([
      [1, 1],
      [1, 0],
      [1, 1],
      [1, 0],
    ])
    await environment.write((batch) => batch.deleteNode(person))
    const deleted = environment.snapshot()
    expect([read(deleted), read(revoked), read(before), read(deleted)]).toEqual([
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ])
    for (const snapshot of [before, revoked, deleted]) snapshot.close()
    await environment.close()
  })

  test('of a batch in progress is not cached, although every read inside the batch sees it', async () => {
    const environment = openEnvironment(temporaryFolder(), options)
    await environment.write((batch) => {
      batch.upsertNode(person)
      batch.upsertNode(document)
    })
    /** The count in the header, which is not cached, and the entries of the list. */
    const read = (snapshot: LmdbSnapshot): [number, number] => [
      snapshot.relationshipCount(null),
      snapshot.degree(1, 'out', snapshot.symbol('type', 'OWNS')),
    ]
    const pairs: [number, number][] = []
    for (let number = 0; number < 100; number++) {
      const before = environment.snapshot()
      // Both share a transaction, so that the second reads uncommitted changes of the first.
      await Promise.all([
        environment.write((batch) => {
          if (number % 2 === 0) batch.upsertRelationship(grant)
          else batch.deleteRelationship(grant)
        }),
        environment.write(() => {
          read(before)
          if (number % 3 === 0) {
            const within = environment.snapshot()
            read(within)
            within.close()
          }
          queueMicrotask(() => {
            const after = environment.snapshot()
            pairs.push(read(after))
            after.close()
          })
        }),
      ])
      before.close()
    }
    expect(pairs).toHaveLength(100)
    expect(pairs.filter(([counted, listed]) => counted !== listed)).toEqual([])
    await environment.close()
  })
})

describe('a property', () => {
  test.each(['here', 'elsewhere'])('that is added or changed %s is read by the next snapshot', async (where) => {
    const folder = temporaryFolder()
    const environment = openEnvironment(folder, options)
    const elsewhere = openEnvironment(folder, options)
    await environment.write((batch) => {
      batch.upsertNode(document)
      batch.upsertNode({ ...person, properties: [{ name: 'known', value: true }] })
      batch.upsertRelationship(grant)
    })
    const read = (): unknown[] => {
      const snapshot = environment.snapshot()
      const property = snapshot.symbol('property', 'known')
      const values = [snapshot.nodeProperty(1, property), snapshot.relationshipProperty(1, property)]
      snapshot.close()
      return values
    }
    expect([read(), read()]).toEqual([
      [null, null],
      [null, null],
    ])
    for (const value of ['one', 'two', [1, 2]]) {
      const properties = [{ name: 'known', value }]
      await (where === 'here' ? environment : elsewhere).write((batch) => {
        batch.upsertNode({ ...document, properties })
        batch.upsertRelationship({ ...grant, properties })
      })
      expect([read(), read()]).toEqual([
        [value, value],
        [value, value],
      ])
    }
    await elsewhere.close()
    await environment.close()
  })
})

describe('the cache', () => {
  test('keeps entries across unrelated writes of this process, but across no write of another one', async () => {
    const folder = temporaryFolder()
    const environment = openEnvironment(folder, options)
    const elsewhere = openEnvironment(folder, options)
    await environment.write((batch) => {
      batch.upsertNode(person)
      batch.upsertNode(document)
      batch.upsertRelationship(grant)
    })
    const kept = (): boolean => {
      environment.snapshot().close()
      return environment.cache.keys.find(1, 'p') === 1 && environment.cache.lists.find(1, 1)
    }
    expect([kept(), owns(environment), kept()]).toEqual([false, 1, true])
    let always = true
    for (let number = 0; number < 3000; number++) {
      // Several batches may precede the next snapshot.
      await Promise.all(
        ['a', 'b'].map((letter) =>
          environment.write((batch) => batch.upsertNode({ type: 'Note', externalId: `${letter} ${number}` })),
        ),
      )
      always = kept() && always
    }
    expect(always).toBe(true)
    await environment.write((batch) => {
      for (let number = 0; number < 5000; number++) batch.upsertNode({ type: 'Note', externalId: `many ${number}` })
    })
    expect([kept(), owns(environment), kept()]).toEqual([false, 1, true])
    await elsewhere.write((batch) => batch.upsertNode({ type: 'Note', externalId: 'theirs' }))
    expect([kept(), owns(environment), kept()]).toEqual([false, 1, true])
    await elsewhere.close()
    await environment.close()
  })
})
