// A text in a cell of a list of rows: one line, cut, with its invisible characters shown.
import { PlainText } from './plain-text.tsx'

/** Longer texts are cut: the detail of the row has all of it. */
const ROW_TEXT_MAX = 160

/** `name`: the class of the cell, which the style sheet places. */
export function rowText(name: string, text: string) {
  return (
    <span class={name}>
      <PlainText text={text} max={ROW_TEXT_MAX} isCut={true} />
    </span>
  )
}
