// Sets of node ids that are filled and cleared again and again: open addressing in one array, without an allocation per
// id.
import { type Budget, SLICE_ITEMS } from '../budget.ts'
import type { NodeId } from '../store.ts'

const INITIAL_SLOTS = 32
/** A larger table is replaced when it is cleared: one wide search must not make every later one clear it. */
const REUSED_SLOTS_MAX = 1024

/** As above, if only the slots in use are cleared. This table has 32 kB. */
const KEPT_SLOTS_MAX = 8192

/** A set of ids. */
export class NodeSet {
  size = 0
  /** 0 is no id, so it marks a free slot. */
  protected slots = new Uint32Array(INITIAL_SLOTS)
  protected shift = 32 - Math.log2(INITIAL_SLOTS)

  /** Whether the id is in the set. */
  has(node: NodeId): boolean {
    const { slots } = this
    const mask = slots.length - 1
    let index = Math.imul(node, 0x9e3779b1) >>> this.shift
    for (;;) {
      const occupant = slots[index]!
      if (occupant === node) return true
      if (occupant === 0) return false
      index = (index + 1) & mask
    }
  }

  /** Returns false if the id was in the set. Charges the budget when the table grows. */
  add(node: NodeId, budget: Budget): boolean {
    const { slots } = this
    const mask = slots.length - 1
    let index = Math.imul(node, 0x9e3779b1) >>> this.shift
    for (;;) {
      const occupant = slots[index]!
      if (occupant === node) return false
      if (occupant === 0) break
      index = (index + 1) & mask
    }
    slots[index] = node
    this.size += 1
    if (this.size * 2 > slots.length) this.grow(budget)
    return true
  }

  /** Removes all ids. */
  clear(): void {
    if (this.size === 0) return
    if (this.slots.length > REUSED_SLOTS_MAX) this.reset()
    else this.eraseAll()
  }

  protected get capacity(): number {
    return this.slots.length
  }

  /** Removes all ids and replaces the table by a small one. */
  protected reset(): void {
    this.size = 0
    this.slots = new Uint32Array(INITIAL_SLOTS)
    this.shift = 32 - Math.log2(INITIAL_SLOTS)
  }

  protected eraseAll(): void {
    this.size = 0
    this.slots.fill(0)
  }

  /** Removes all ids, if `ids` lists them. From the first slot of each id, all slots up to the next free one are cleared. */
  protected erase(ids: Uint32Array, length: number): void {
    const { slots } = this
    const mask = slots.length - 1
    this.size = 0
    for (let i = 0; i < length; i++) {
      let index = Math.imul(ids[i]!, 0x9e3779b1) >>> this.shift
      for (; slots[index] !== 0; index = (index + 1) & mask) slots[index] = 0
    }
  }

  protected grow(budget: Budget): void {
    const old = this.slots
    const slots = new Uint32Array(old.length * 4)
    const mask = slots.length - 1
    const shift = this.shift - 2
    for (let i = 0; i < old.length; i++) {
      if (i % SLICE_ITEMS === 0 && i > 0) budget.chargeSteps(SLICE_ITEMS / 4)
      const node = old[i]!
      if (node === 0) continue
      let index = Math.imul(node, 0x9e3779b1) >>> shift
      while (slots[index] !== 0) index = (index + 1) & mask
      slots[index] = node
    }
    this.slots = slots
    this.shift = shift
  }
}

/** A set of ids in the order of insertion: `ids[0]` to `ids[length - 1]`. */
export class OrderedNodeSet extends NodeSet {
  ids = new Uint32Array(16)
  length = 0

  /** Returns false if the id was in the set. Charges the budget when the table grows. */
  override add(node: NodeId, budget: Budget): boolean {
    if (!super.add(node, budget)) return false
    if (this.length === this.ids.length) this.enlargeIds()
    this.ids[this.length++] = node
    return true
  }

  /** Adds the first `count` nodes of a list, as `add` does, but small enough to be compiled into the loop that calls it. */
  addAll(nodes: Uint32Array, count: number, budget: Budget): void {
    let { slots } = this
    for (let i = 0; i < count; i++) {
      const node = nodes[i]!
      let index = Math.imul(node, 0x9e3779b1) >>> this.shift
      while (slots[index] !== node && slots[index] !== 0) index = (index + 1) & (slots.length - 1)
      if (slots[index] === node) continue
      slots[index] = node
      this.append(node)
      if (this.length * 2 <= slots.length) continue
      this.grow(budget)
      slots = this.slots
    }
  }

  private append(node: NodeId): void {
    const { length } = this
    if (length === this.ids.length) this.enlargeIds()
    this.ids[length] = node
    this.length = length + 1
    this.size = length + 1
  }

  private enlargeIds(): void {
    const ids = new Uint32Array(this.length * 4)
    ids.set(this.ids)
    this.ids = ids
  }

  /** Removes all ids. The table of a search of ordinary width is kept, so that the next search need not grow it again. */
  override clear(): void {
    const { length } = this
    if (length === 0) return
    this.length = 0
    if (this.capacity > KEPT_SLOTS_MAX) {
      this.reset()
      this.ids = new Uint32Array(16)
    } else if (length * 16 < this.capacity) this.erase(this.ids, length)
    else this.eraseAll()
  }
}
