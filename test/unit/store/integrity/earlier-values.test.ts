// Elements that earlier versions stored, written below the checks of this version: equal integers are one value at once, `verify` names
// the elements, and `migrate` writes the integers again.
import { expect, test } from 'vitest'
import { Graph } from '../../../../src/engine/graph.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { rewriteIntegers } from '../../../../src/store/graph/rewrite-integers.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { folderWithEarlierValues as folderWith } from '../../../support/earlier-values.ts'

const options = { clock: systemClock, sync: false }

async function query(folder: string, text: string): Promise<unknown> {
  const environment = openEnvironment(folder, options)
  const { rows } = new Graph(environment).query(text)
  await environment.close()
  return rows
}

async function noticesOf(folder: string): Promise<string[]> {
  const notices: string[] = []
  expect(
    await verifyFolder(
      folder,
      () => {},
      (text) => notices.push(text),
    ),
  ).toEqual([])
  return notices
}

test('integers in more bits than they need are read as numbers, named, and written again', async () => {
  const folder = await folderWith([1, 1n, 2n ** 60n, [1n, 7]])
  const equal = 'MATCH (p:Pass) RETURN count(DISTINCT p.level) AS levels'
  expect(await query(folder, equal)).toEqual([[3]])
  const wide = 'an integer is stored in more bits than it needs: `migrate` stores it as the number'
  expect(await noticesOf(folder)).toEqual([
    `the node \`Pass\` "p1": ${wide}`,
    `the node \`Pass\` "p3": ${wide}`,
    `the relationship 1 \`LINK\`: ${wide}`,
  ])
  const records = 'MATCH (p:Pass) OPTIONAL MATCH (p)-[l]->() RETURN p, p.level AS level, l ORDER BY p.external_id'
  const before = await query(folder, records)
  expect(await rewriteIntegers(folder)).toBe(3)
  expect(await noticesOf(folder)).toEqual([])
  expect(await query(folder, records)).toEqual(before)
  expect(await rewriteIntegers(folder)).toBe(0)
})

test('a list of mixed kinds and a lone surrogate are named, and stay', async () => {
  const folder = await folderWith([[1, 'x'], ['\ud800'], [1]])
  expect(await noticesOf(folder)).toEqual([
    expect.stringMatching(
      /^the node `Pass` "p0": the property `level`: .* found an array of number and string: write it again$/,
    ),
    expect.stringMatching(/^the node `Pass` "p1": the property `level`: .*a lone surrogate: write it again$/),
  ])
  expect(await rewriteIntegers(folder)).toBe(0)
})
