// What makes two rows the same row for DISTINCT and grouping: equivalence of their cells, as one key for a Map.
import type { Slot } from '../bind/bound.ts'
import { type GroupingKey, groupingKey } from '../value/compare.ts'
import { chargeItems, chargeText } from '../value/cost-accounting.ts'
import type { Value } from '../value/value.ts'
import { estimateBytes } from '../value/value-size.ts'
import type { ExecutionContext } from './execution-context.ts'

/** What a key takes in a Map or Set beside its text, bytes. */
const KEY_BYTES = 48

export function keyBytes(key: GroupingKey): number {
  return typeof key === 'string' ? KEY_BYTES + key.length : KEY_BYTES
}

/** What a cell of a row takes that is kept; elements are ids, and a trail is a list of them. */
export function cellBytes(cell: unknown): number {
  return typeof cell === 'number' ? 8 : estimateBytes(cell as Value)
}

export type RowKey = (run: ExecutionContext) => GroupingKey

/** Ids stay numbers; everything else is as equivalence has it. */
export function cellKey(slot: Slot, cell: unknown): GroupingKey {
  switch (slot.kind) {
    case 'node':
    case 'relationship':
      return cell as number
    case 'relationships':
      if (cell === null) return null
      chargeItems((cell as number[]).length)
      return (cell as number[]).join(' ')
    case 'path':
    case 'value':
      return groupingKey(cell as Value)
  }
}

export function rowKey(slots: readonly Slot[]): RowKey {
  const only = slots.length === 1 ? slots[0] : undefined
  if (only) return (run) => cellKey(only, run.frame[only.index])
  return (run) => joinKeys(slots.map((slot) => cellKey(slot, run.frame[slot.index])))
}

/** Lengths keep the parts apart, a letter keeps the kinds apart. */
export function joinKeys(keys: readonly GroupingKey[]): string {
  let joined = ''
  for (const key of keys) {
    const text = String(key)
    joined += `${typeof key === 'string' ? 's' : typeof key === 'boolean' ? 'b' : key === null ? 'z' : 'n'}${text.length}:${text}`
  }
  chargeText(joined.length)
  return joined
}
