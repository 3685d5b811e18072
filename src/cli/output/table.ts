// Tables for people: columns of equal width, and a line below the heading.
import { colours } from './colours.ts'

const GAP = '  '
/** Only to see that cells of the terminal are counted, not characters. */
const widthOf = (text: string): number => Bun.stringWidth(text)

type TableRow = readonly string[]

/** The lines of a table. Cells have one line each; the last column is not padded. */
export function tableLines(columns: TableRow, rows: readonly TableRow[]): readonly string[] {
  const widths = widthsOf([columns, ...rows])
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP)
  return [colours.bold(lineOf(columns, widths)), colours.dim(rule), ...rows.map((row) => lineOf(row, widths))]
}

/** As `tableLines`, without a heading. */
export function columnLines(rows: readonly TableRow[]): readonly string[] {
  const widths = widthsOf(rows)
  return rows.map((row) => lineOf(row, widths))
}

function widthsOf(rows: readonly TableRow[]): readonly number[] {
  return (rows[0] ?? []).map((_, at) => rows.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? '')), 0))
}

function lineOf(cells: TableRow, widths: readonly number[]): string {
  return cells
    .map((cell, at) => (at === cells.length - 1 ? cell : cell + ' '.repeat(widths[at]! - widthOf(cell))))
    .join(GAP)
    .trimEnd()
}
