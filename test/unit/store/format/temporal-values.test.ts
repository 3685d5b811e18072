// Temporal values as properties: written, reopened, read back with their type, and found by equality although the index
// omits them.
import { expect, test } from 'vitest'
import { compileRowsQuery } from '../../../../src/engine/rows-query.ts'
import { construct } from '../../../../src/engine/value/temporal/construct.ts'
import type { AnyTemporal, TemporalKind } from '../../../../src/engine/value/temporal/temporal.ts'
import type { PropertyValue } from '../../../../src/engine/value/value.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { scalarKey } from '../../../../src/store/format/keys.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = { clock: systemClock, sync: false }

const texts: readonly (readonly [kind: TemporalKind, text: string])[] = [
  ['date', '-999999999-01-01'],
  ['date', '2015-07-21'],
  ['localtime', '23:59:59.999999999'],
  ['time', '21:40:32.142-18:00'],
  ['localdatetime', '+999999999-12-31T23:59:59.999999999'],
  ['datetime', '2015-07-21T21:40:32.142+02:00[Europe/Stockholm]'],
  ['datetime', '1818-07-21T21:40:32.142-01:23:45'],
  ['duration', 'P12Y5M-14DT16H13M10.000000002S'],
  ['duration', 'PT-2562047788015215H-30M-7.999999999S'],
]
const temporals = texts.map(([kind, text]) => construct(kind, text) as AnyTemporal)

function rowsOf(environment: LmdbEnvironment, text: string): unknown[][] {
  const query = compileRowsQuery(text)
  if (!query.ok) throw new Error(query.error[0]?.message)
  const snapshot = environment.snapshot()
  try {
    const asking = { snapshot, parameters: new Map(), limits: { stepsMax: 100_000, timeMs: 10_000 } }
    return query.value.run(asking).rows.map((row) => [...row])
  } finally {
    snapshot.close()
  }
}

test('every type is read back as written, alone and in lists, also from disk', async () => {
  const folder = temporaryFolder()
  const lists: PropertyValue[] = [...temporals.map((value) => [value, value]), []]
  const first = openEnvironment(folder, options)
  await first.write((batch) => {
    for (const [i, value] of [...temporals, ...lists].entries()) {
      batch.createNode(
        ['Held'],
        [
          { name: 'at', value: i },
          { name: 'value', value },
        ],
      )
    }
  })
  const ask = 'MATCH (n:Held) RETURN n.value AS value ORDER BY n.at'
  const wanted = [...temporals, ...lists].map((value) => [value])
  expect(rowsOf(first, ask)).toStrictEqual(wanted)
  await first.close()
  const again = openEnvironment(folder, options)
  expect(rowsOf(again, ask)).toStrictEqual(wanted)
  expect(checkGraph(again)).toEqual([])
  await again.close()
})

test('an equality finds them by the label, since the index contains none of them', async () => {
  for (const value of temporals) expect(scalarKey(value)).toBe(null)
  const environment = openEnvironment(temporaryFolder(), options)
  await environment.write((batch) => {
    for (const [i, value] of temporals.entries()) {
      batch.upsertNode({ type: 'Held', externalId: String(i), properties: [{ name: 'value', value }] })
    }
  })
  for (const [i, [kind, text]] of texts.entries()) {
    const query = `MATCH (n:Held) WHERE n.value = ${kind}('${text}') RETURN n.external_id AS id`
    const compiled = compileRowsQuery(query)
    expect(compiled.ok && compiled.value.explain()).toContain('NodeIndexSeek')
    expect(rowsOf(environment, query), text).toEqual([[String(i)]])
  }
  expect(rowsOf(environment, "MATCH (n:Held {value: '2015-07-21'}) RETURN n.external_id AS id")).toEqual([])
  await environment.close()
})

test("a node's own times are texts that a condition can read", async () => {
  const environment = openEnvironment(temporaryFolder(), options)
  await environment.write((batch) => batch.upsertNode({ type: 'Held', externalId: 'a', properties: [] }))
  const query = `MATCH (n:Held)
    WHERE datetime(n.create_time) <= datetime() AND datetime(n.create_time) > datetime() - duration('PT1H')
    RETURN count(*) AS fresh`
  expect(rowsOf(environment, query)).toEqual([[1]])
  await environment.close()
})
