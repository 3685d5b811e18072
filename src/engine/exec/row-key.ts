// Keys of rows for DISTINCT and grouping: two rows have equal keys if and only if their cells are equivalent.
import type { Slot } from '../bind/bound.ts'
import type { Budget } from '../budget.ts'
import { type GroupingKey, groupingKey } from '../value/compare.ts'
import type { Value } from '../value/value.ts'
import { estimateBytes } from '../value/value-size.ts'
import type { ExecutionContext } from './execution-context.ts'

/** Estimated bytes of a key in a Map or Set, without its text. */
const KEY_BYTES = 48

/** Estimates the bytes of a key in a Map or Set. */
export function keyBytes(key: GroupingKey): number {
  return typeof key === 'string' ? KEY_BYTES + key.length : KEY_BYTES
}

/** Estimates the bytes of a retained cell. Elements are ids, and a trail is a list of ids. */
export function cellBytes(budget: Budget, cell: unknown): number {
  return typeof cell === 'number' ? 8 : estimateBytes(budget, cell as Value)
}

/** Computes the key of the current row. */
export type RowKey = (run: ExecutionContext) => GroupingKey

/** Returns the key of a cell. Ids stay numbers; other cells use the grouping key of their value. */
export function cellKey(budget: Budget, slot: Slot, cell: unknown): GroupingKey {
  switch (slot.kind) {
    case 'node':
    case 'relationship':
      return cell as number
    case 'relationships':
      if (cell === null) return null
      budget.chargeSteps((cell as number[]).length)
      return (cell as number[]).join(' ')
    case 'path':
    case 'value':
      return groupingKey(budget, cell as Value)
  }
}

/** Creates the key function for rows of these slots. */
export function rowKey(slots: readonly Slot[]): RowKey {
  const only = slots.length === 1 ? slots[0] : undefined
  if (only) return (run) => cellKey(run.budget, only, run.frame[only.index])
  return (run) =>
    joinKeys(
      run.budget,
      slots.map((slot) => cellKey(run.budget, slot, run.frame[slot.index])),
    )
}

/**
 * Joins the keys of cells to one key. Each part has its kind and length before it, so that no two combinations are equal.
 */
export function joinKeys(budget: Budget, keys: readonly GroupingKey[]): string {
  let joined = ''
  for (const key of keys) {
    const text = String(key)
    joined += `${typeof key === 'string' ? 's' : typeof key === 'boolean' ? 'b' : key === null ? 'z' : 'n'}${text.length}:${text}`
  }
  budget.chargeText(joined.length)
  return joined
}
