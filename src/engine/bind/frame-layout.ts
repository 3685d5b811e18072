// Lays out the frame of a query: every variable, named or not, gets a slot of its own.
import type { StaticType } from '../value/static-type.ts'
import type { Slot, SlotKind } from './bound.ts'

/** Allocates the slots of one query. */
export class FrameLayout {
  private next = 0
  private anonymous = 0

  /** A new slot. A null name becomes `anon_` with a number. */
  slot(name: string | null, kind: SlotKind, graph = 0, type?: StaticType): Slot {
    const shown = name ?? `anon_${this.anonymous++}`
    const slot = { index: this.next++, name: shown, kind, graph }
    return type ? { ...slot, type } : slot
  }

  /** The number of slots so far. */
  get size(): number {
    return this.next
  }
}

/** The names in scope, in the order in which they were declared. */
export type VariableScope = ReadonlyMap<string, Slot>
