// The interned names of one environment, in memory. Names are only added, so the table is complete if its count is right.
import type { SymbolId, SymbolKind } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { SymbolCounts } from '../format/header.ts'
import type { SymbolKey } from '../format/keys.ts'
import { kindNumber, symbolText } from '../format/symbol-names.ts'
import type { Database } from '../lmdb/database.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'

// Per process, not per environment: the epochs of two environments must differ.
let lastEpoch = 0

/** Names and ids of the symbols of one environment. `epoch` changes with each added name. */
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

  /** All names, in the order of their ids. */
  allNames(kind: SymbolKind): Iterable<string> {
    return this.ids[kindNumber(kind)]!.keys()
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

  /** Reads the names added since by any process. Returns false if some are missing in the database. */
  complete(counts: SymbolCounts, database: Database<SymbolKey>, readOptions?: ReadOptions): boolean {
    for (let kind = 0; kind < 3; kind++) {
      const start = { kind, symbol: this.count(kind) + 1 }
      const end = { kind, symbol: counts[kind]! + 1 }
      if (start.symbol >= end.symbol) continue
      for (const { key, valueView } of database.entries({ start, end, ...readOptions })) {
        if (key.symbol !== this.count(kind) + 1) break
        this.add(kind, symbolText(valueView))
      }
    }
    return this.isComplete(counts)
  }
}
