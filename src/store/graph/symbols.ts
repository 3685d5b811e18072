// Interned names of one environment, in memory. They are only ever added, so a count tells whether the memory is complete.
import type { SymbolId, SymbolKind } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { ValueView } from '../format/bytes.ts'
import type { SymbolCounts } from '../format/header.ts'
import type { SymbolKey } from '../format/keys.ts'
import { readText } from '../format/text.ts'
import type { Database } from '../lmdb/database.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'

export const SYMBOL_KINDS: readonly SymbolKind[] = ['label', 'type', 'property']

export function kindNumber(kind: SymbolKind): number {
  return kind === 'label' ? 0 : kind === 'type' ? 1 : 2
}

// Of the process, not of the environment: epochs of two environments must never be equal.
let lastEpoch = 0

export class SymbolTable {
  epoch = ++lastEpoch
  private readonly ids: readonly Map<string, SymbolId>[] = [new Map(), new Map(), new Map()]
  private readonly names: readonly string[][] = [[''], [''], ['']]

  id(kind: SymbolKind, name: string): SymbolId {
    return this.ids[kindNumber(kind)]!.get(name) ?? 0
  }

  name(kind: SymbolKind, id: SymbolId): string {
    const name = this.names[kindNumber(kind)]![id]
    assert(name !== undefined, 'a symbol id comes from this environment')
    return name
  }

  count(kind: number): number {
    return this.names[kind]!.length - 1
  }

  add(kind: number, name: string): SymbolId {
    const names = this.names[kind]!
    const id = names.length
    names.push(name)
    this.ids[kind]!.set(name, id)
    this.epoch = ++lastEpoch
    return id
  }

  isComplete(counts: SymbolCounts): boolean {
    return this.count(0) === counts[0] && this.count(1) === counts[1] && this.count(2) === counts[2]
  }

  /** Reads what was added since, by this process or by another. False when not all of it is there. */
  complete(counts: SymbolCounts, database: Database<SymbolKey>, reading?: ReadOptions): boolean {
    for (let kind = 0; kind < 3; kind++) {
      const start = { kind, symbol: this.count(kind) + 1 }
      const end = { kind, symbol: counts[kind]! + 1 }
      if (start.symbol >= end.symbol) continue
      for (const { key, window } of database.entries({ start, end, ...reading })) {
        if (key.symbol !== this.count(kind) + 1) break
        this.add(kind, symbolText(window))
      }
    }
    return this.isComplete(counts)
  }
}

export function symbolText({ view, text }: ValueView): string {
  return readText(text, 4, 4 + view.getUint32(0, true))
}
