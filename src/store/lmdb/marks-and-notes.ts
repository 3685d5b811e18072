// What a batch leaves beside the graph: marks, which say what the environment is, and notes, for whoever must go on where a
// crash may come in between.
import type { Sink } from '../bytes.ts'
import type { SymbolKey } from '../keys.ts'
import type { Database } from './database.ts'
import { type Mark, META } from './databases.ts'
import type { Operations } from './operations.ts'

export class MarkEdits {
  private readonly meta: Database<SymbolKey>
  private readonly marks = new Map<Mark, boolean>()

  constructor(meta: Database<SymbolKey>) {
    this.meta = meta
  }

  has(mark: Mark): boolean {
    return this.marks.get(mark) ?? this.meta.get({ kind: META.mark, symbol: mark }) !== null
  }

  set(mark: Mark): void {
    this.marks.set(mark, true)
  }

  remove(mark: Mark): void {
    this.marks.set(mark, false)
  }

  encode(sink: Sink, operations: Operations): void {
    for (const [mark, isSet] of this.marks) {
      const key = { kind: META.mark, symbol: mark }
      if (!isSet) operations.remove(this.meta, key)
      else {
        operations.begin(sink)
        sink.u32(1)
        operations.put(this.meta, key, sink)
      }
    }
  }
}

export class NoteEdits {
  private readonly meta: Database<SymbolKey>
  /** By number; null removes. */
  private readonly notes = new Map<number, string | null>()

  constructor(meta: Database<SymbolKey>) {
    this.meta = meta
  }

  /** Numbers are drawn at random. */
  put(number: number, text: string): void {
    this.notes.set(number, text)
  }

  remove(number: number): void {
    this.notes.set(number, null)
  }

  encode(sink: Sink, operations: Operations): void {
    for (const [number, text] of this.notes) {
      const key = { kind: META.note, symbol: number }
      if (text === null) operations.remove(this.meta, key)
      else {
        operations.begin(sink)
        sink.text(text)
        operations.put(this.meta, key, sink)
      }
    }
  }
}
