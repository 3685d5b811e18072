// Graphs whose values were written below the checks of this version, as earlier versions wrote them.
import type { PropertyValue } from '../../src/engine/value/value.ts'
import { mintGid } from '../../src/kernel/ids.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { ByteWriter } from '../../src/store/format/bytes.ts'
import { writeNode, writeRelationship } from '../../src/store/format/records.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import { temporaryFolder } from './temporary-folder.ts'

const options = { clock: systemClock, sync: false }

/** A graph with these values of the property `level`, the last one also at a relationship. They may be values that no batch writes. */
export async function folderWithEarlierValues(values: readonly unknown[], folder = temporaryFolder()): Promise<string> {
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
