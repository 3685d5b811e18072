// Writes a graph in layout version 2, the last one without checksums, so that a migration can be measured at any size.
import { mkdirSync } from 'node:fs'
import type { ValueView } from '../../src/store/format/bytes.ts'
import type { Database } from '../../src/store/lmdb/database.ts'
import {
  type Databases,
  GRAPH_DESCRIPTION,
  META_KIND,
  openDatabases,
  openMeta,
} from '../../src/store/lmdb/databases.ts'
import { encodeLayout, graphLayout, LAYOUT_KEY } from '../../src/store/lmdb/layout.ts'
import { LmdbFile } from '../../src/store/lmdb/lmdb-file.ts'

const EARLIER_VERSION = 2
const BATCH_ENTRIES = 20_000

const bytesOf = ({ words, byteLength }: ValueView): Uint8Array =>
  new Uint8Array(words.buffer, words.byteOffset, byteLength)
/** A name had no length, and a zero byte at its end. */
const earlierName = (valueView: ValueView): Uint8Array => {
  const length = valueView.words[0]!
  const name = new Uint8Array(length + 1)
  name.set(bytesOf(valueView).subarray(4, 4 + length))
  return name
}
const oneByte = (): Uint8Array => new Uint8Array(1)

/** `from`: a closed environment of the present layout; `to`: a new folder. */
export async function writeEarlierGraph(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true })
  const [source, target] = [new LmdbFile(from, { readOnly: true }), new LmdbFile(to, {})]
  const [present, earlier] = [source, target].map((file) => openDatabases(file, openMeta(file, GRAPH_DESCRIPTION)))
  const copy = async <K>(
    pick: (databases: Databases) => Database<K>,
    start: K,
    valueFrom: (valueView: ValueView) => Uint8Array = bytesOf,
  ): Promise<void> => {
    let batch: { readonly key: K; readonly value: Uint8Array }[] = []
    const put = async (): Promise<void> => {
      const entries = batch
      batch = []
      await target.transaction(() => {
        for (const { key, value } of entries) pick(earlier!).raw.put(key, value)
      })
    }
    for (const { key, valueView } of pick(present!).entries({ start, end: undefined }))
      if (batch.push({ key, value: valueFrom(valueView).slice() }) === BATCH_ENTRIES) await put()
    await put()
  }
  try {
    await copy((d) => d.symbols, { kind: 0, symbol: 0 }, earlierName)
    await copy((d) => d.upsertKeys, { type: 0, externalId: '' })
    await copy((d) => d.nodes, 1)
    await copy((d) => d.relationships, 1)
    await copy((d) => d.adjacency, { node: 0, edgeList: 0 })
    await copy((d) => d.chunks, 1)
    await copy((d) => d.chunkIndex, { node: 0, edgeList: 0, neighbour: 0, relationship: 0 })
    await copy((d) => d.labels, { label: 0, block: 0 })
    await copy((d) => d.index, { label: 0, property: 0, scalar: new Uint8Array(0), node: 0 }, oneByte)
    await copy((d) => d.meta, { kind: META_KIND.header, symbol: 0 })
    await target.transaction(() => {
      earlier!.meta.raw.put(LAYOUT_KEY, encodeLayout({ ...graphLayout, version: EARLIER_VERSION }))
    })
  } finally {
    await source.close()
    await target.close()
  }
}
