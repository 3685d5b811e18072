// Tables for people: columns of equal width, and a line below the heading.
import { colours } from './colours.ts'

const GAP = '  '
/** Only to see that cells of the terminal are counted, not characters. */
const widthOf = (text: string): number => Bun.stringWidth(text)

/** The lines of a table. Cells have one line each; the last column is not padded. */
export function tableLines(columns: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = columns.map((column, at) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? '')), widthOf(column)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === cells.length - 1 ? cell : cell + ' '.repeat(widths[at]! - widthOf(cell))))
      .join(GAP)
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP)
  return [colours.bold(line(columns)), colours.dim(rule), ...rows.map(line)]
}
