// Lays out the frame of a query: every variable, named or not, gets a slot of its own.
import type { Span } from '../../../grammar/ast.ts'
import type { StaticType } from '../value/static-type.ts'
import type { Slot, SlotKind } from './bound.ts'

/** Allocates the slots of one query. */
export class FrameLayout {
  private next = 0
  private anonymous = 0

  /** A new slot. A null name becomes `anon_` with a number; `span` is then the place of the element. */
  slot(name: string | null, kind: SlotKind, graph = 0, type?: StaticType, span?: Span): Slot {
    const shown = name ?? `anon_${this.anonymous++}`
    const slot = { index: this.next++, name: shown, kind, graph }
    if (name === null && span) return { ...slot, span }
    return type ? { ...slot, type } : slot
  }

  /** The number of slots so far. */
  get size(): number {
    return this.next
  }
}

/** The names in scope, in the order in which they were declared. */
export type VariableScope = ReadonlyMap<string, Slot>
