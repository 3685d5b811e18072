// The result as a table. Elements are buttons that show them in the picture.
import { useState } from 'preact/hooks'
import { plainValue } from '../exact-json.ts'
import type { GraphRows } from '../graph-api.ts'
import { PlainText } from '../parts/plain-text.tsx'
import { isElement, nodeKey } from './elements.ts'
import { elementText } from './result-files.ts'

const PAGE = 200
const TEXT_MAX = 400

/** The table. */
export function ResultTable({
  result,
  onNode,
}: {
  readonly result: GraphRows
  readonly onNode: (key: string) => void
}) {
  const { columns, rows } = result
  const [shown, setShown] = useState(PAGE)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section class="table-scroll" tabIndex={0} aria-label="Rows">
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, index) => (
              // Rows have no other identity.
              <tr key={index}>
                {row.map((value, at) => (
                  <td key={columns[at]} class={typeof value === 'number' ? 'is-number' : undefined}>
                    <Cell value={value} onNode={onNode} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > shown && (
        <button type="button" onClick={() => setShown(shown + PAGE)}>
          Show {Math.min(PAGE, rows.length - shown)} more of {rows.length.toLocaleString('en')} rows
        </button>
      )}
    </>
  )
}

function Cell({ value, onNode }: { readonly value: unknown; readonly onNode: (key: string) => void }) {
  if (value === null) return <span class="is-null">null</span>
  if (!isElement(value)) return <PlainText text={plainValue(value)} max={TEXT_MAX} />
  const key =
    value.kind === 'node'
      ? nodeKey(value.type, value.external_id, value.location ?? null)
      : value.kind === 'relationship'
        ? value.id
        : null
  const text = <PlainText text={elementText(value)} max={TEXT_MAX} isCut />
  return key === null ? (
    text
  ) : (
    <button type="button" class="quiet element" onClick={() => onNode(key)}>
      {text}
    </button>
  )
}
