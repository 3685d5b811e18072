// Lays out the frame of one query: every variable, named or not, gets a slot of its own and keeps it.
import type { Slot, SlotKind } from './bound.ts'

export class FrameLayout {
  private next = 0
  private anonymous = 0

  slot(name: string | null, kind: SlotKind, graph = 0): Slot {
    const shown = name ?? `anon_${this.anonymous++}`
    return { index: this.next++, name: shown, kind, graph }
  }

  get size(): number {
    return this.next
  }
}

/** Names in scope, in the order in which they came into it. */
export type Scope = ReadonlyMap<string, Slot>
