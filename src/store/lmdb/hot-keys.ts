// A bounded memory of upsert keys: type and external id → node. Two generations: what is asked for moves to the young one;
// when that is full, the old one is forgotten as a whole.
import type { NodeId, SymbolId } from '../../engine/store.ts'

/** What a map takes for an entry, its string and spare room included, measured; two bytes a unit at worst come on top. */
const BYTES_PER_KEY = 112

type Generation = (Map<string, NodeId> | undefined)[]

export class HotKeys {
  private readonly bytesPerGeneration: number
  /** By type. */
  private young: Generation = []
  private old: Generation = []
  private bytes = 0

  constructor(bytesMax: number) {
    this.bytesPerGeneration = bytesMax / 2
  }

  /** 0 when it is not known here: the database may have it. */
  find(type: SymbolId, externalId: string): NodeId {
    const node = this.young[type]?.get(externalId)
    if (node !== undefined) return node
    const before = this.old[type]?.get(externalId)
    if (before === undefined) return 0
    this.put(type, externalId, before)
    return before
  }

  put(type: SymbolId, externalId: string, node: NodeId): void {
    const size = BYTES_PER_KEY + externalId.length * 2
    if (this.bytes + size > this.bytesPerGeneration) {
      this.old = this.young
      this.young = []
      this.bytes = 0
    }
    this.bytes += size
    let keys = this.young[type]
    if (keys === undefined) {
      keys = new Map()
      this.young[type] = keys
    }
    keys.set(externalId, node)
  }

  forget(type: SymbolId, externalId: string): void {
    this.young[type]?.delete(externalId)
    this.old[type]?.delete(externalId)
  }

  forgetAll(): void {
    if (this.bytes === 0) return
    this.young = []
    this.old = []
    this.bytes = 0
  }
}
