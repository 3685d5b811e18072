// The names of a graph in a database server, as symbols. Callers can ask for any name, so a table that has grown large is replaced
// by a new one, which requests that begin afterwards use.
import type { SymbolId, SymbolKind } from '../engine/store.ts'
import { kindNumber } from '../store/format/symbol-names.ts'
import { SymbolTable } from '../store/graph/symbols.ts'
import type { Symbols } from './stored-elements.ts'

/** Names of one table. */
const NAMES_MAX = 200_000

/** Assigns an id to each name that is read or asked for. */
export class SharedSymbols implements Symbols {
  private readonly table = new SymbolTable()

  /** Names are never removed from a table, so the ids that a plan contains are valid for its epoch. */
  readonly epoch: number
  private size = 0

  constructor(epoch = 1) {
    this.epoch = epoch
  }

  /** This table, or an empty one if it has grown large. */
  current(): SharedSymbols {
    return this.size < NAMES_MAX ? this : new SharedSymbols(this.epoch + 1)
  }

  intern(kind: SymbolKind, name: string): SymbolId {
    const known = this.table.id(kind, name)
    if (known !== 0) return known
    this.size += 1
    return this.table.add(kindNumber(kind), name)
  }

  /** As `intern`: a graph in a database server may have any name. */
  find(kind: SymbolKind, name: string): SymbolId {
    return this.intern(kind, name)
  }

  name(kind: SymbolKind, id: SymbolId): string {
    return this.table.name(kind, id)
  }
}
