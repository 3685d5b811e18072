// The state of a load whose edge lists are not complete, stored with the graph.
import type { NodeId } from '../../engine/store.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { type Databases, META_KIND } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import type { LoadId } from '../sorting/edge-runs.ts'

const UNSORTED_KEY = { kind: META_KIND.unsorted, symbol: 0 }

/** A graph whose edge lists are not complete. */
export interface UnsortedState {
  readonly load: LoadId
  /** The lists of nodes below it are complete. 1: relationships may still be added. */
  readonly nextNode: NodeId
}

/** Null if the edge lists are complete. */
export function readUnsorted({ meta }: Databases, readOptions?: ReadOptions): UnsortedState | null {
  const valueView = meta.get(UNSORTED_KEY, readOptions)
  if (valueView === null) return null
  const { words } = valueView
  return { nextNode: words[0]!, load: [words[1]!, words[2]!] }
}

/** Records the state of a load with a batch; null: the lists are complete. */
export function putUnsorted(
  { meta }: Databases,
  state: UnsortedState | null,
  writer: ByteWriter,
  pending: PendingWrites,
): void {
  if (state === null) {
    pending.remove(meta, UNSORTED_KEY)
    return
  }
  pending.begin(writer)
  writer.u32(state.nextNode)
  writer.u32(state.load[0])
  writer.u32(state.load[1])
  pending.put(meta, UNSORTED_KEY, writer)
}
