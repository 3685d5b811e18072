// The settings of the service with their origin.
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { useData } from '../use-data.ts'

interface ReadSetting {
  readonly name: string
  readonly section: string
  readonly description: string
  readonly value: string | number | null
  readonly default: string | number
  readonly origin: 'default' | 'file' | 'environment' | 'flag' | 'program'
  readonly source: string | null
  readonly is_secret: boolean
  readonly is_set: boolean
}

/** The settings. */
export function SettingsView() {
  const list = useData(
    (signal) => call<{ readonly settings: readonly ReadSetting[] }>('GET', '/operations/v1/settings', { signal }),
    [],
  )
  const [search, setSearch] = useState('')
  const [isChanged, setChanged] = useState(false)
  if (list.error !== null && list.value === null) return <Failure error={list.error} retry={list.reload} />
  if (list.value === null) return <Loading />
  const wanted = search.trim().toLowerCase()
  const found = list.value.settings.filter(
    ({ name, description, is_set, origin }) =>
      (!isChanged || is_set || origin !== 'default') &&
      (name.includes(wanted.replaceAll(' ', '_')) || description.toLowerCase().includes(wanted)),
  )
  const sections = [...new Set(found.map(({ section }) => section))]
  return (
    <div class="stack gap-16 operate-settings">
      <div class="filters">
        <div class="field">
          <label for="settings-search">Search</label>
          <input
            id="settings-search"
            type="search"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </div>
        <label class="tick">
          <input type="checkbox" checked={isChanged} onChange={(event) => setChanged(event.currentTarget.checked)} />
          Only what differs from the default
        </label>
      </div>
      {sections.length === 0 && <Empty icon="search" title="No setting matches" />}
      {sections.map((section) => (
        <section class="card" key={section} aria-label={section}>
          <h2>{section}</h2>
          <DataTable
            label={section}
            rows={found.filter((one) => one.section === section)}
            keyOf={({ name }) => name}
            columns={[
              {
                title: 'Setting',
                cell: ({ name, description }) => (
                  <>
                    <code>{name}</code>
                    <small>{description.replaceAll('`', '')}</small>
                  </>
                ),
              },
              { title: 'Value', cell: (setting) => <code>{valueText(setting)}</code> },
              {
                title: 'Origin',
                cell: ({ origin, source }) => (
                  <>
                    <span class={origin === 'default' ? 'badge' : 'badge is-accent'}>{origin}</span>
                    {source !== null && <small>{source}</small>}
                  </>
                ),
              },
            ]}
          />
        </section>
      ))}
    </div>
  )
}

function valueText({ value, is_secret, is_set }: ReadSetting): string {
  if (is_secret) return is_set ? 'set, not shown' : 'not set'
  return value === '' || value === null ? 'empty' : String(value)
}
