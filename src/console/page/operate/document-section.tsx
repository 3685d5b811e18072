// A card with a table of the documents of one kind.
import { DataTable, type TableColumn } from '../parts/data-table.tsx'

interface ShownDocument {
  readonly id: string
  readonly name: string
  readonly display_name: string
}

/**
 * The card. `id`: of its heading. `noun`: the title of the first column, which has the names. `empty`: shown without documents.
 * `onReload`: for the button that reads them again; absent: the card has none.
 */
export function DocumentSection<T extends ShownDocument>(props: {
  readonly id: string
  readonly title: string
  readonly noun: string
  readonly empty: string
  readonly documents: readonly T[]
  readonly columns: readonly TableColumn<T>[]
  readonly onReload?: () => void
}) {
  const { id, title, noun, empty, documents, columns, onReload } = props
  const heading = <h2 id={id}>{title}</h2>
  return (
    <section class="card" aria-labelledby={id}>
      {onReload === undefined ? (
        heading
      ) : (
        <div class="card-head">
          {heading}
          <button type="button" class="quiet" onClick={onReload}>
            Read again
          </button>
        </div>
      )}
      {documents.length === 0 ? (
        <p class="soft">{empty}</p>
      ) : (
        <DataTable
          label={title}
          rows={documents}
          keyOf={(document) => document.id}
          columns={[{ title: noun, cell: ({ name, display_name }) => display_name || name }, ...columns]}
        />
      )}
    </section>
  )
}
