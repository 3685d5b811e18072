// The symbols that a batch adds. They become visible in the environment when the batch is applied.
import type { SymbolId, SymbolKind } from '../../engine/store.ts'
import type { ByteWriter } from '../format/bytes.ts'
import type { EnvironmentHeader } from '../format/header.ts'
import type { SymbolKey } from '../format/keys.ts'
import { kindNumber } from '../format/symbol-names.ts'
import type { Database } from '../lmdb/database.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import type { SymbolInterner } from './property-edits.ts'
import type { SymbolTable } from './symbols.ts'

interface NewSymbol {
  readonly kind: number
  readonly symbol: SymbolId
  readonly name: string
}

/** The symbols of a batch: those of the environment and the new ones. */
export class NewSymbols implements SymbolInterner {
  private readonly database: Database<SymbolKey>
  private readonly existing: SymbolTable
  private readonly header: EnvironmentHeader
  private readonly added: NewSymbol[] = []
  private readonly ids = new Map<string, SymbolId>()

  constructor(database: Database<SymbolKey>, existing: SymbolTable, header: EnvironmentHeader) {
    this.database = database
    this.existing = existing
    this.header = header
  }

  /** The id of a name, or 0. */
  find(kind: SymbolKind, name: string): SymbolId {
    return this.existing.id(kind, name) || (this.ids.get(`${kind} ${name}`) ?? 0)
  }

  intern(kind: SymbolKind, name: string): SymbolId {
    const found = this.find(kind, name)
    if (found !== 0) return found
    const number = kindNumber(kind)
    this.header.symbols[number]! += 1
    const symbol = this.header.symbols[number]!
    this.added.push({ kind: number, symbol, name })
    this.ids.set(`${kind} ${name}`, symbol)
    return symbol
  }

  name(kind: SymbolKind, id: SymbolId): string {
    const number = kindNumber(kind)
    const added = this.added.find((one) => one.kind === number && one.symbol === id)
    return added?.name ?? this.existing.name(kind, id)
  }

  encode(writer: ByteWriter, operations: PendingWrites): void {
    for (const { kind, symbol, name } of this.added) {
      operations.begin(writer)
      writer.text(name)
      operations.put(this.database, { kind, symbol }, writer)
    }
  }

  /** Adds the new symbols to the table of the environment. Call it when the batch is applied. */
  publish(): void {
    for (const { kind, name } of this.added) this.existing.add(kind, name)
  }
}
