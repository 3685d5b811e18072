// The list of policies, and of knowledge queries: search, status, order.
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { linkTo } from '../address.ts'
import { Empty } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import type { DocumentKindView, PageStatusDocument } from './document-kind.ts'
import { StatusBadge } from './status-badge.tsx'
import { dateText } from './times.ts'

const orders = [
  { id: 'name', title: 'Name' },
  { id: 'time', title: 'Last change' },
  { id: 'status', title: 'Status' },
] as const
type Order = (typeof orders)[number]['id']

const statusFilters = ['ALL', 'ACTIVE', 'DRAFT', 'INACTIVE'] as const
const filterTitles = { ALL: 'All', ACTIVE: 'Active', DRAFT: 'Draft', INACTIVE: 'Inactive' } as const

/** `describe`: the second line of a row; `text`: what the search finds besides the names. */
export function DocumentList<T extends PageStatusDocument>(props: {
  readonly kind: DocumentKindView<T>
  readonly documents: readonly T[]
  readonly describe: (document: T) => ComponentChildren
  readonly textOf: (document: T) => string
  readonly canCreate: boolean
}) {
  const { kind, documents, describe, textOf, canCreate } = props
  const [search, setSearch] = useState('')
  const [status, setStatus] = useState<(typeof statusFilters)[number]>('ALL')
  const [order, setOrder] = useState<Order>('name')
  const list = useRef<HTMLUListElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = documents
    .filter((document) => {
      const { name, display_name, description } = document
      const text = [name, display_name, description, document.status, textOf(document)].join('\n').toLowerCase()
      return (status === 'ALL' || document.status === status) && words.every((word) => text.includes(word))
    })
    .sort(comparator(order))
  const countOf = (one: (typeof statusFilters)[number]): number =>
    one === 'ALL' ? documents.length : documents.filter((document) => document.status === one).length
  const move = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    const links = [...(list.current?.querySelectorAll<HTMLElement>('a') ?? [])]
    const at = links.indexOf(event.target as HTMLElement)
    const next = links[at + (event.key === 'ArrowDown' ? 1 : -1)] ?? (event.key === 'ArrowUp' ? field.current : null)
    if (next == null) return
    event.preventDefault()
    next.focus()
  }
  return (
    <div class="stack">
      <div class="row list-tools">
        <div class="search">
          <Icon name="search" />
          <input
            ref={field}
            type="search"
            aria-label={`Search for a ${kind.noun}`}
            placeholder="Name, action, type, text"
            value={search}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => setSearch(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'ArrowDown' && move(event)}
          />
        </div>
        <div class="segments" role="radiogroup" aria-label="Status">
          {statusFilters.map((one) => (
            <label key={one}>
              <input
                type="radio"
                name={`status-${kind.path}`}
                checked={status === one}
                onChange={() => setStatus(one)}
              />
              {filterTitles[one]} <small>{countOf(one)}</small>
            </label>
          ))}
        </div>
        <select aria-label="Order" value={order} onChange={(event) => setOrder(event.currentTarget.value as Order)}>
          {orders.map(({ id, title }) => (
            <option key={id} value={id}>
              By {title.toLowerCase()}
            </option>
          ))}
        </select>
        {canCreate && (
          <a class="button primary" href={linkTo('policies', { [kind.parameter]: 'new' })}>
            <Icon name="plus" />
            New {kind.noun}
          </a>
        )}
      </div>
      <p class="visually-hidden" role="status">
        {shown.length} of {documents.length}
      </p>
      {shown.length === 0 ? (
        <Empty icon="search" title={documents.length === 0 ? 'There is nothing yet' : 'Nothing is found'}>
          {documents.length > 0 && <p>Change the search or the status.</p>}
        </Empty>
      ) : (
        // Arrow keys move between the links.
        <ul class="card document-rows" ref={list} onKeyDown={move}>
          {shown.map((document) => (
            <li key={document.id}>
              <a href={linkTo('policies', { [kind.parameter]: document.id })}>
                <span class="row-title">
                  <b>{document.name}</b>
                  {document.display_name !== '' && <small>{document.display_name}</small>}
                </span>
                <span class="quiet-text row-text">{describe(document)}</span>
                <StatusBadge status={document.status} />
                <small class="row-time">{dateText(document.update_time)}</small>
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

const statusRank = { ACTIVE: 0, DRAFT: 1, INACTIVE: 2 } as const

function comparator(order: Order): (a: PageStatusDocument, b: PageStatusDocument) => number {
  const byName = (a: PageStatusDocument, b: PageStatusDocument): number =>
    a.name < b.name ? -1 : a.name > b.name ? 1 : 0
  if (order === 'time')
    return (a, b) => (a.update_time < b.update_time ? 1 : a.update_time > b.update_time ? -1 : byName(a, b))
  if (order === 'status') return (a, b) => statusRank[a.status] - statusRank[b.status] || byName(a, b)
  return byName
}
