// Random batches write the same to the embedded store and to Neo4j: results, changes, and what is stored afterwards. Needs Java and Maven.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BoltServer } from '../../../src/bolt/bolt-server.ts'
import { PushedPlans } from '../../../src/bolt/pushed-queries.ts'
import { RemoteGraph } from '../../../src/bolt/remote-graph.ts'
import {
  createChunk,
  type ElementChange,
  type GraphStore,
  type NodeKey,
  type PropertyInput,
  type Snapshot,
  type WriteBatch,
} from '../../../src/engine/store.ts'
import { Float } from '../../../src/kernel/float.ts'
import { readingGraphs } from '../../../src/kernel/request/remote-reads.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { Random } from '../../generate/random.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { patientBoltLimits } from '../../support/remote-projects.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let neo4j: Neo4jServer | null = null

beforeAll(async () => {
  try {
    neo4j = await startNeo4j()
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: random writes to Neo4j: ${failure.message}`)
  }
}, 600_000)
afterAll(() => neo4j?.stop())

const SEED = 20261123
const BATCHES = 60
const types = ['Person', 'Car'] as const
const ids = ['a', 'b', 'c', 'd'] as const
const names = ['p', 'q', 'r'] as const

type BatchOperation = (batch: WriteBatch) => unknown

function randomOperation(random: Random): BatchOperation {
  const key = (): NodeKey => ({ type: random.pick(types), externalId: random.pick(ids) })
  const edge = () => ({ source: key(), type: random.pick(['OWNS', 'KNOWS']), target: key() })
  const value = () =>
    random.pick([
      1,
      2 ** 60 / 2 ** 10,
      new Float(1.5),
      'text',
      true,
      ['a', 'b'],
      [1, 2],
      [],
      12345678901234567890n % 2n ** 62n,
    ])
  const property = (): PropertyInput => {
    const name = random.pick(names)
    const metadata = random.odds(0.3) ? { metadata: { source: random.pick(['x', 'y']), custom: { k: [1] } } } : {}
    return random.odds(0.15) ? { name, externalValue: 'resolver', ...metadata } : { name, value: value(), ...metadata }
  }
  const properties = (): PropertyInput[] => Array.from({ length: random.between(0, 2) }, property)
  const upsertNode: BatchOperation = (() => {
    const input = {
      ...key(),
      ...(random.odds(0.5) ? { properties: properties() } : {}),
      ...(random.odds(0.3) ? { labels: random.pick([[], ['Vip'], ['Vip', 'Old']]) } : {}),
      ...(random.odds(0.3) ? { isIdentity: random.odds(0.5) } : {}),
      ...(random.odds(0.1) ? { location: 'eu' } : {}),
    }
    return (batch: WriteBatch) => batch.upsertNode(input).created
  })()
  const [one, other, chosen] = [key(), edge(), random.pick(names)]
  return random.weighted<BatchOperation>([
    [6, upsertNode],
    [4, (batch) => batch.upsertRelationship({ ...other, properties: [] })?.created],
    [
      2,
      (
        (given) => (batch: WriteBatch) =>
          batch.upsertRelationship({ ...other, properties: given })?.created
      )(properties()),
    ],
    [1, (batch) => batch.deleteNode(one) === null],
    [1, (batch) => batch.deleteRelationship(other) === null],
    [1, (batch) => batch.deleteNodeProperties(one, [chosen]) === null],
    [1, (batch) => batch.deleteNodePropertyMetadata(one, chosen, { own: ['source'], custom: [] }) === null],
    [1, (batch) => batch.deleteRelationshipProperties(other, [chosen]) === null],
    [1, (batch) => [batch.nodeImage(one)?.labels.toSorted(), batch.relationshipImage(other)?.type]],
  ])
}

function shownChange({ element, before, after }: ElementChange): string {
  const image = (after ?? before)!
  const key =
    'source' in image
      ? `${image.source.type} ${image.source.externalId} ${image.type} ${image.target.type} ${image.target.externalId}`
      : `${image.type} ${image.externalId}`
  const properties = (of: typeof image | null): string =>
    of === null
      ? '-'
      : shown([...of.properties()].map(([name, { value, externalValue }]) => [name, value, externalValue]).sort())
  return `${element} ${key}: ${properties(before)} > ${properties(after)}`
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint' ? `${part}n` : part instanceof Float ? `${part.value}f` : part,
  )
}

async function apply(store: GraphStore, operations: readonly BatchOperation[]): Promise<readonly string[]> {
  return store.write((batch) => {
    const results = operations.map((operation) => shown(operation(batch)))
    const { changes } = batch as unknown as { changes(): Iterable<ElementChange> }
    return [...results, ...Array.from(changes.call(batch), shownChange).sort()]
  })
}

/** Everything that is stored, with names and without ids. */
function dumpOf(snapshot: Snapshot): string[] {
  const lines: string[] = []
  const chunk = createChunk()
  const nameOf = (id: number): string =>
    `${snapshot.nodeField(id, 'type') as string} ${snapshot.nodeField(id, 'external_id') as string}`
  for (const type of types) {
    for (const externalId of ids) {
      const id = snapshot.findNode(snapshot.symbol('label', type), externalId)
      if (id === 0) continue
      const { labels, isIdentity, location, createTime, updateTime, properties } = snapshot.storedNode(id)!
      const stored = [...properties].sort(([a], [b]) => (a < b ? -1 : 1))
      lines.push(shown([nameOf(id), labels.toSorted(), isIdentity, location, createTime, updateTime, stored]))
      for (const name of ['OWNS', 'KNOWS']) {
        snapshot.neighbours(id, 'out', snapshot.symbol('type', name), 0, chunk)
        const targets = Array.from(
          { length: chunk.length },
          (_, at) => [chunk.ids[at]!, chunk.relationships[at]!] as const,
        )
        for (const [target, relationship] of targets) {
          const {
            createTime: created,
            updateTime: updated,
            properties: own,
          } = snapshot.storedRelationship(relationship)!
          lines.push(
            shown([nameOf(id), name, nameOf(target), created, updated, [...own].sort(([a], [b]) => (a < b ? -1 : 1))]),
          )
        }
      }
    }
  }
  return lines.sort()
}

test(`random batches write the same to both, seed ${SEED}`, async (context) => {
  if (neo4j === null) return context.skip()
  const random = new Random(SEED)
  let nowMs = Date.parse('2026-01-01T00:00:00Z')
  const clock = { now: () => nowMs }
  const embedded = openEnvironment(temporaryFolder(), { clock, sync: false })
  const server = new BoltServer({ url: neo4j.url, username: null, password: null }, { limits: patientBoltLimits })
  const remote = new RemoteGraph({ server, database: null, clock, commits: null, plans: new PushedPlans() })
  await remote.provision()
  const read = (store: GraphStore): string[] | Promise<string[]> =>
    readingGraphs(() => {
      const snapshot = store.snapshot()
      try {
        return dumpOf(snapshot)
      } finally {
        snapshot.close()
      }
    })
  try {
    for (let batch = 0; batch < BATCHES; batch++) {
      nowMs += 1000
      const operations = Array.from({ length: random.between(1, 8) }, () => randomOperation(random))
      const expected = await apply(embedded, operations)
      expect(await apply(remote, operations), `batch ${batch}`).toEqual(expected)
      expect(await read(remote), `after batch ${batch}`).toEqual(await read(embedded))
    }
  } finally {
    await server.close()
    await embedded.close()
  }
}, 300_000)
