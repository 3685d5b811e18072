// Elements that earlier versions stored, written below the checks of this version: equal integers are one value at once, `verify` names
// the elements, and `migrate` writes the integers again.
import { expect, test } from 'vitest'
import { Graph } from '../../../../src/engine/graph.ts'
import type { PropertyValue } from '../../../../src/engine/value/value.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { mintGid } from '../../../../src/kernel/ids.ts'
import { ByteWriter } from '../../../../src/store/format/bytes.ts'
import { writeNode, writeRelationship } from '../../../../src/store/format/records.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { rewriteIntegers } from '../../../../src/store/graph/rewrite-integers.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = { clock: systemClock, sync: false }

/** A graph with these values of the property `level`, the last one also at a relationship. They may be values that no batch writes. */
async function folderWith(values: readonly unknown[]): Promise<string> {
  const folder = temporaryFolder()
  const environment = openEnvironment(folder, options)
  const pass = (i: number) => ({ type: 'Pass', externalId: `p${i}` })
  await environment.write((batch) => {
    // The index holds a single number already as it equals the bigint; lists have no index.
    for (const [i, value] of values.entries()) {
      const indexed = typeof value === 'object' ? ['list'] : (value as number)
      batch.upsertNode({ ...pass(i), properties: [{ name: 'level', value: indexed }] })
    }
    batch.upsertRelationship({
      source: pass(0),
      type: 'LINK',
      target: pass(1),
      properties: [{ name: 'level', value: ['list'] }],
    })
  })
  const property = (value: unknown) =>
    new Map([[1, { value: value as PropertyValue, externalValue: null, updatedMs: 5, metadata: null }]])
  // Code in a batch shares its transaction, and the batch itself adds nothing here.
  await environment.write(() => {
    const { nodes, relationships } = environment.databases
    const put = (encode: (writer: ByteWriter) => void): Uint8Array => {
      const writer = new ByteWriter()
      encode(writer)
      return writer.bytes.slice(0, writer.length)
    }
    const fields = { type: 1, gid: mintGid(3), createdMs: 3, updatedMs: 4 }
    for (const [i, value] of values.entries()) {
      const node = { ...fields, externalId: `p${i}`, labels: [1], isIdentity: false, location: null }
      nodes.put(
        i + 1,
        put((writer) => writeNode(writer, { ...node, properties: property(value) })),
      )
    }
    const link = { ...fields, source: 1, target: 2, properties: property(values.at(-1)) }
    relationships.put(
      1,
      put((writer) => writeRelationship(writer, link)),
    )
  })
  await environment.close()
  return folder
}

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
