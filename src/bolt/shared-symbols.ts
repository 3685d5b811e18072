// The names of a graph in a database server, as symbols that stay the same as long as the process runs.
import type { SymbolId, SymbolKind } from '../engine/store.ts'
import { kindNumber } from '../store/format/symbol-names.ts'
import { SymbolTable } from '../store/graph/symbols.ts'
import type { Symbols } from './stored-elements.ts'

/** Assigns an id to each name that is read or asked for. */
export class SharedSymbols implements Symbols {
  private readonly table = new SymbolTable()

  /** Names are never removed, so the ids that a plan contains stay valid. */
  readonly epoch = 1

  intern(kind: SymbolKind, name: string): SymbolId {
    return this.table.id(kind, name) || this.table.add(kindNumber(kind), name)
  }

  /** As `intern`: a graph in a database server may have any name. */
  find(kind: SymbolKind, name: string): SymbolId {
    return this.intern(kind, name)
  }

  name(kind: SymbolKind, id: SymbolId): string {
    return this.table.name(kind, id)
  }
}
