// The interned names of one environment, in memory. Names are only added, so the table is complete if its count is right.
import type { SymbolId, SymbolKind } from '../../engine/store.ts'
import { TRUST_SCORE_LABEL } from '../../kernel/element-rules.ts'
import type { ValueView } from '../format/bytes.ts'
import type { SymbolCounts } from '../format/header.ts'
import type { SymbolKey } from '../format/keys.ts'
import { kindNumber, symbolText } from '../format/symbol-names.ts'
import { requireStored } from './stored-rules.ts'

/** A map grows in one native step, which takes about 1 ms at this size, and 50 ms for 200,000 names. */
const NAMES_PER_MAP = 16_384

const LABEL = kindNumber('label')

/** How often a read with a time limit checks the time. */
const NAMES_PER_TIME_CHECK = 32

// Per process, not per environment: the epochs of two environments must differ.
let lastEpoch = 0

/** Reads a stored name; null if it does not exist. The key is reused after the call. */
export type SymbolReader = (key: SymbolKey) => ValueView | null

/** Names and ids of the symbols of one environment. `epoch` changes with each added name. */
export class SymbolTable {
  epoch = ++lastEpoch
  /** The label whose nodes are not in the property index; 0: the graph does not have it. */
  unindexedLabel: SymbolId = 0
  /** By kind. A name is in one of the maps; most graphs have one map for each kind. */
  private readonly ids: readonly Map<string, SymbolId>[][] = [[new Map()], [new Map()], [new Map()]]
  private readonly names: readonly string[][] = [[''], [''], ['']]

  id(kind: SymbolKind, name: string): SymbolId {
    const maps = this.ids[kindNumber(kind)]!
    for (let i = 0; i < maps.length; i++) {
      const id = maps[i]!.get(name)
      if (id !== undefined) return id
    }
    return 0
  }

  name(kind: SymbolKind, id: SymbolId): string {
    const name = this.names[kindNumber(kind)]![id]
    requireStored(name !== undefined, 'a symbol id comes from this environment')
    return name
  }

  /** All names, in the order of their ids. */
  *allNames(kind: SymbolKind): Iterable<string> {
    const names = this.names[kindNumber(kind)]!
    for (let id = 1; id < names.length; id++) yield names[id]!
  }

  count(kind: number): number {
    return this.names[kind]!.length - 1
  }

  add(kind: number, name: string): SymbolId {
    const names = this.names[kind]!
    const id = names.length
    names.push(name)
    const maps = this.ids[kind]!
    if (maps.at(-1)!.size === NAMES_PER_MAP) maps.push(new Map())
    maps.at(-1)!.set(name, id)
    if (kind === LABEL && name === TRUST_SCORE_LABEL) this.unindexedLabel = id
    this.epoch = ++lastEpoch
    return id
  }

  isComplete(counts: SymbolCounts): boolean {
    return this.count(0) === counts[0] && this.count(1) === counts[1] && this.count(2) === counts[2]
  }

  /** The number of names that the table lacks. */
  missing(counts: SymbolCounts): number {
    return counts[0] - this.count(0) + (counts[1] - this.count(1)) + (counts[2] - this.count(2))
  }

  /**
   * Adds the names that any process has stored since, until `untilMs` (of `performance.now()`). `read` returns a stored name, or
   * null. Returns false if some are missing in the database, or not read yet.
   */
  complete(counts: SymbolCounts, read: SymbolReader, untilMs = Number.POSITIVE_INFINITY): boolean {
    for (let kind = 0; kind < 3; kind++) {
      const key = { kind, symbol: this.count(kind) + 1 }
      for (; key.symbol <= counts[kind]!; key.symbol++) {
        const valueView = read(key)
        if (valueView === null) break
        this.add(kind, symbolText(valueView))
        if (key.symbol % NAMES_PER_TIME_CHECK === 0 && performance.now() > untilMs) return this.isComplete(counts)
      }
    }
    return this.isComplete(counts)
  }
}
