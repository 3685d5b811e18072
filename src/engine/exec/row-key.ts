// What makes two rows the same row for DISTINCT and grouping: equivalence of their cells, as one key for a Map.
import type { Slot } from '../bind/bound.ts'
import type { Budget } from '../budget.ts'
import { type GroupingKey, groupingKey } from '../value/compare.ts'
import type { Value } from '../value/value.ts'
import { estimateBytes } from '../value/value-size.ts'
import type { ExecutionContext } from './execution-context.ts'

/** What a key takes in a Map or Set beside its text, bytes. */
const KEY_BYTES = 48

export function keyBytes(key: GroupingKey): number {
  return typeof key === 'string' ? KEY_BYTES + key.length : KEY_BYTES
}

/** What a cell of a row takes that is kept; elements are ids, and a trail is a list of them. */
export function cellBytes(budget: Budget, cell: unknown): number {
  return typeof cell === 'number' ? 8 : estimateBytes(budget, cell as Value)
}

export type RowKey = (run: ExecutionContext) => GroupingKey

/** Ids stay numbers; everything else is as equivalence has it. */
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

export function rowKey(slots: readonly Slot[]): RowKey {
  const only = slots.length === 1 ? slots[0] : undefined
  if (only) return (run) => cellKey(run.budget, only, run.frame[only.index])
  return (run) =>
    joinKeys(
      run.budget,
      slots.map((slot) => cellKey(run.budget, slot, run.frame[slot.index])),
    )
}

/** Lengths keep the parts apart, a letter keeps the kinds apart. */
export function joinKeys(budget: Budget, keys: readonly GroupingKey[]): string {
  let joined = ''
  for (const key of keys) {
    const text = String(key)
    joined += `${typeof key === 'string' ? 's' : typeof key === 'boolean' ? 'b' : key === null ? 'z' : 'n'}${text.length}:${text}`
  }
  budget.chargeText(joined.length)
  return joined
}
