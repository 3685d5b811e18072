// The kinds of interned names, and the stored form of a name.
import type { SymbolKind } from '../../engine/store.ts'
import type { ValueView } from './bytes.ts'
import { readText } from './text.ts'

/** The kinds of symbols, in the order of their stored numbers. */
export const SYMBOL_KINDS: readonly SymbolKind[] = ['label', 'type', 'property']

/** The stored number of a kind of symbol. */
export function kindNumber(kind: SymbolKind): number {
  return kind === 'label' ? 0 : kind === 'type' ? 1 : 2
}

/** Decodes a stored name: its length in bytes, then the text. */
export function symbolText({ view, text }: ValueView): string {
  return readText(text, 4, 4 + view.getUint32(0, true))
}
