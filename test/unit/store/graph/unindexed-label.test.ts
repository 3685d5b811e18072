// Trust scores are not in the property index: a search by value returns all of them, and the caller compares.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Graph } from '../../../../src/engine/graph.ts'
import { createChunk, type NodeKey } from '../../../../src/engine/store.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const COUNT = 700
const scoreOf = (i: number): NodeKey => ({ type: '_TrustScore', externalId: `s${i}` })

let environment: LmdbEnvironment
beforeEach(async () => {
  environment = openEnvironment(null, { clock: new ManualClock(1_750_000_000_000) })
  await environment.write((batch) => {
    for (let i = 0; i < COUNT; i++) {
      const properties = [{ name: 'validity', value: new Float((i % 4) / 4) }]
      batch.upsertNode({ ...scoreOf(i), properties })
      batch.upsertNode({ type: 'Licence', externalId: `l${i}`, properties })
    }
  })
})
afterEach(() => environment.close())

const indexEntries = (): number =>
  environment.inspect(
    ({ index }, options) =>
      [
        ...index.entries({
          start: { label: 0, property: 0, scalar: new Uint8Array(0), node: 0 },
          end: undefined,
          ...options,
        }),
      ].length,
  )

it('has no index entries for scores, and finds them by value', async () => {
  expect(indexEntries()).toBe(COUNT)
  expect(checkGraph(environment)).toEqual([])
  const graph = new Graph(environment)
  for (const label of ['_TrustScore', 'Licence']) {
    const { rows } = graph.query(`MATCH (s:${label} {validity: 0.25}) RETURN count(s) AS n`)
    expect([label, rows]).toEqual([label, [[COUNT / 4]]])
  }
  const snapshot = environment.snapshot()
  const chunk = createChunk()
  let found = 0
  const label = snapshot.symbol('label', '_TrustScore')
  for (let from = 0; ; from = chunk.next) {
    snapshot.nodesWithProperty(label, snapshot.symbol('property', 'validity'), new Float(0.25), from, chunk)
    found += chunk.length
    if (!chunk.more) break
  }
  snapshot.close()
  expect(found).toBe(COUNT)
})

it('stays consistent when scores change and are deleted', async () => {
  await environment.write((batch) => {
    for (let i = 0; i < COUNT; i += 2)
      batch.upsertNode({ ...scoreOf(i), properties: [{ name: 'validity', value: new Float(1) }] })
    for (let i = 0; i < COUNT; i += 3) batch.deleteNode(scoreOf(i))
  })
  expect(indexEntries()).toBe(COUNT)
  expect(checkGraph(environment)).toEqual([])
})
