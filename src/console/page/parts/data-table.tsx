// A table of data. On a phone each row becomes a block with the titles of its columns.
import type { ComponentChildren } from 'preact'

/** A column: its title, and the content of its cells. */
export interface TableColumn<T> {
  readonly title: string
  /** True: numbers, aligned at the right. */
  readonly isNumber?: boolean
  cell(row: T): ComponentChildren
}

/** `label`: names the table. The first column is the heading of each row. */
export function DataTable<T>(props: {
  readonly label: string
  readonly columns: readonly TableColumn<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
}) {
  const { label, columns, rows, keyOf } = props
  return (
    <table class="data-table" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, isNumber }) => (
            <th key={title} scope="col" class={isNumber === true ? 'is-number' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, isNumber, cell }, at) => {
              const className = isNumber === true ? 'is-number' : undefined
              return at === 0 ? (
                <th key={title} scope="row" class={className}>
                  {cell(row)}
                </th>
              ) : (
                <td key={title} class={className} data-title={title}>
                  {cell(row)}
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
