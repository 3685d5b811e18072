// Lays out the frame of one query: every variable, named or not, gets a slot of its own and keeps it.
import type { StaticType } from '../value/static-type.ts'
import type { Slot, SlotKind } from './bound.ts'

export class FrameLayout {
  private next = 0
  private anonymous = 0

  slot(name: string | null, kind: SlotKind, graph = 0, type?: StaticType): Slot {
    const shown = name ?? `anon_${this.anonymous++}`
    const slot = { index: this.next++, name: shown, kind, graph }
    return type ? { ...slot, type } : slot
  }

  get size(): number {
    return this.next
  }
}

/** Names in scope, in the order in which they came into it. */
export type VariableScope = ReadonlyMap<string, Slot>
