// The commands for an element of the picture.
import type { RelationshipGroup } from './element-data.ts'

/** The commands, by the key of the element. */
export interface ElementActions {
  /** Adds neighbours. `group`: only these relationships; null: all. */
  expand(key: string, group: RelationshipGroup | null): void
  /** Removes the neighbours that were added. */
  collapse(key: string): void
  hide(key: string): void
  /** Pins a node, or releases it. */
  pin(key: string): void
}
