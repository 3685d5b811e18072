// The audit log: its state, a search, and records with their proofs.
import { useEffect, useState } from 'preact/hooks'
import { replaceParameters } from '../address.ts'
import { Combobox } from '../parts/combobox.tsx'
import { Detail, Fields, WithDetail } from '../parts/detail.tsx'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { JsonText, PlainText } from '../parts/plain-text.tsx'
import { RowList } from '../parts/row-list.tsx'
import { rowText } from '../parts/row-text.tsx'
import { Time } from '../parts/time.tsx'
import { useData } from '../use-data.ts'
import { exportLink, type ListedRecord, type RecordChoice, readRecords } from './audit-api.ts'
import { actorText, changesOf, shortType, valueText } from './record-text.ts'
import { VerdictView } from './verdict-view.tsx'
import { verifyLog, verifyRecord } from './verify-record.ts'

/** Pages without a match that are read before the user is asked whether to go on. */
const EMPTY_PAGES_MAX = 5

/** Frequent filters. */
const types: readonly (readonly [type: string, note: string])[] = [
  ['svc.audit.config.*', 'reads and changes of the configuration'],
  ['svc.audit.config.update', 'changes with before and after'],
  ['svc.audit.config.create', 'new documents'],
  ['svc.audit.config.delete', 'deleted documents'],
  ['svc.audit.config.permission.*', 'permissions of agents'],
  ['svc.audit.capture.*', 'changes of the graph'],
  ['svc.audit.authorization.*', 'decisions, if they are recorded'],
  ['svc.audit.request.*', 'other requests, and refused ones'],
  ['svc.audit.operations.*', 'starts, stops and commands'],
  ['svc.audit.log.*', 'the log itself'],
]

const noFilter: RecordChoice = { type: '', actor: '', resource: '', from: '', to: '', order: '' }

function filterOf(parameters: URLSearchParams): RecordChoice {
  const entries = Object.keys(noFilter).map((name) => [name, parameters.get(name) ?? ''])
  return Object.fromEntries(entries) as unknown as RecordChoice
}

interface RecordsRead {
  readonly records: readonly ListedRecord[]
  /** Of the next page; null: this is the last one. */
  readonly cursor: string | null
}

/** The view. */
export function RecordsView(props: {
  readonly projectId: string
  readonly organizationId: string
  readonly parameters: URLSearchParams
}) {
  const { projectId, organizationId, parameters } = props
  const isOrganization = projectId === '' || parameters.get('of') === 'organization'
  const log = isOrganization ? organizationId : projectId
  const address = parameters.toString()
  const [form, setForm] = useState<RecordChoice>(() => filterOf(parameters))
  const [open, setOpen] = useState<ListedRecord | null>(null)
  const [more, setMore] = useState<readonly RecordsRead[]>([])
  const [moreError, setMoreError] = useState<Error | null>(null)
  const [isReading, setReading] = useState(false)
  const filter = filterOf(parameters)
  const first = useData((signal) => find(log, filter, '', signal), [log, address])
  const verdict = useData((signal) => verifyLog(log, signal), [log, first.value])
  useEffect(() => {
    setMore([])
    setMoreError(null)
    setForm(filter)
  }, [log, address])

  const goTo = (next: RecordChoice, of: string): void => {
    replaceParameters({ tab: 'audit', of, ...next })
  }
  const of = isOrganization ? 'organization' : ''
  const pages = first.value === null ? [] : [first.value, ...more]
  const records = pages.flatMap((page) => page.records)
  const cursor = pages.at(-1)?.cursor ?? null
  const readMore = (): void => {
    if (cursor === null || isReading) return
    setReading(true)
    setMoreError(null)
    find(log, filter, cursor, new AbortController().signal)
      .then((page) => setMore((before) => [...before, page]), setMoreError)
      .finally(() => setReading(false))
  }
  return (
    <div class="stack">
      <div class="row log-bar">
        {projectId !== '' && (
          <fieldset class="log-choice">
            <legend class="visually-hidden">Log</legend>
            <div>
              {[
                { value: '', title: 'Project' },
                { value: 'organization', title: 'Organization' },
              ].map(({ value, title }) => (
                <label key={value}>
                  <input type="radio" name="log" checked={of === value} onChange={() => goTo(form, value)} />
                  {title}
                </label>
              ))}
            </div>
          </fieldset>
        )}
        <VerdictView
          log={log}
          verdict={verdict}
          titles={{
            good: logTitle(verdict.value?.size ?? 0),
            bad: 'The log is not what this browser has seen, or not signed',
            unknown: 'The log could not be verified completely',
          }}
        />
      </div>
      <SearchFields form={form} records={records} onChange={setForm} onSubmit={() => goTo(form, of)} />
      {first.error !== null && <Failure error={first.error} retry={first.reload} />}
      <WithDetail
        detail={
          open === null ? null : (
            <RecordDetail
              key={`${open.generation} ${open.index}`}
              log={log}
              record={open}
              onClose={() => setOpen(null)}
            />
          )
        }
      >
        {first.value === null && first.isLoading && <Loading />}
        {first.value !== null && records.length === 0 && cursor === null && (
          <Empty icon="log" title="No record matches">
            <p>Records appear about a second after what they record.</p>
          </Empty>
        )}
        {records.length > 0 && (
          <RowList
            label="Records"
            class="record-rows"
            head={['Time', 'Type', 'Subject', 'Actor']}
            rows={records}
            keyOf={keyOf}
            cells={cellsOf}
            openKey={open === null ? null : keyOf(open)}
            onOpen={setOpen}
          />
        )}
        {moreError !== null && <Failure error={moreError} />}
        <div class="row list-foot">
          <span role="status">
            {records.length.toLocaleString('en')} {records.length === 1 ? 'record' : 'records'}
            {cursor === null ? '' : ', and more'}
          </span>
          {cursor !== null && (
            <button type="button" disabled={isReading} onClick={readMore}>
              Show more
            </button>
          )}
          <button type="button" class="quiet" onClick={first.reload}>
            <Icon name="refresh" />
            Read again
          </button>
          <a class="button quiet" href={exportLink(log, filter)} download="audit-log.ndjson">
            <Icon name="download" />
            Export with proofs
          </a>
        </div>
      </WithDetail>
    </div>
  )
}

function logTitle(size: number): string {
  return size === 0
    ? 'The log has no entries yet'
    : `The log is signed and continuous: ${size.toLocaleString('en')} entries`
}

/** A page may be empty although more records match: some further pages are then read at once. */
async function find(log: string, filter: RecordChoice, start: string, signal: AbortSignal): Promise<RecordsRead> {
  let cursor: string | null = start
  for (let pages = 0; pages < EMPTY_PAGES_MAX && cursor !== null; pages += 1) {
    const page: Awaited<ReturnType<typeof readRecords>> = await readRecords(log, filter, cursor, signal)
    cursor = page.has_more ? page.next_cursor : null
    if (page.items.length > 0) return { records: page.items, cursor }
  }
  return { records: [], cursor }
}

function keyOf({ generation, index }: ListedRecord): string {
  return `${generation}-${index}`
}

function cellsOf({ entry }: ListedRecord) {
  return (
    <>
      <span class="when">
        <Time value={entry.time} />
      </span>
      {rowText('type', shortType(entry))}
      {rowText('subject', entry.subject)}
      {rowText('actor', actorText(entry))}
    </>
  )
}

/** RFC 3339 from the value of a field of the type `datetime-local`, and the reverse. */
function instantOf(local: string): string {
  const date = new Date(local)
  return local === '' || Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

function localOf(instant: string): string {
  const date = new Date(instant)
  if (instant === '' || Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function SearchFields(props: {
  readonly form: RecordChoice
  readonly records: readonly ListedRecord[]
  readonly onChange: (form: RecordChoice) => void
  readonly onSubmit: () => void
}) {
  const { form, records, onChange, onSubmit } = props
  const suggest = async (text: string) => {
    const seen = [...new Set(records.map(({ entry }) => entry.type))].sort().map((value) => ({ value }))
    const all = [...types.map(([value, note]) => ({ value, note })), ...seen]
    return all.filter(
      ({ value }, index) =>
        value.includes(text.trim()) && value !== text && all.findIndex((one) => one.value === value) === index,
    )
  }
  const field = (name: 'actor' | 'resource', label: string, placeholder: string) => (
    <div class="field">
      <label for={`record-${name}`}>{label}</label>
      <input
        id={`record-${name}`}
        placeholder={placeholder}
        value={form[name]}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => onChange({ ...form, [name]: event.currentTarget.value })}
      />
    </div>
  )
  const time = (name: 'from' | 'to', label: string) => (
    <div class="field is-wide">
      <label for={`record-${name}`}>{label}</label>
      <input
        id={`record-${name}`}
        type="datetime-local"
        value={localOf(form[name])}
        onInput={(event) => onChange({ ...form, [name]: instantOf(event.currentTarget.value) })}
      />
    </div>
  )
  return (
    <form
      class="card search-fields"
      aria-label="Search"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <Combobox
        label="Type"
        placeholder="svc.audit.config.*"
        value={form.type}
        onInput={(type) => onChange({ ...form, type })}
        onEnter={onSubmit}
        suggest={suggest}
        inputs={[records]}
      />
      {field('resource', 'Resource', 'Car/c1 or an id')}
      {field('actor', 'Actor', 'id of an account, agent or user')}
      {time('from', 'From')}
      {time('to', 'Before')}
      <div class="field is-narrow">
        <label for="record-order">Order</label>
        <select
          id="record-order"
          value={form.order}
          onChange={(event) => onChange({ ...form, order: event.currentTarget.value })}
        >
          <option value="">Newest first</option>
          <option value="oldest">Oldest first</option>
        </select>
      </div>
      <button type="submit" class="primary">
        Search
      </button>
    </form>
  )
}

function RecordDetail(props: { readonly log: string; readonly record: ListedRecord; readonly onClose: () => void }) {
  const { log, record, onClose } = props
  const { entry } = record
  const verdict = useData((signal) => verifyRecord(log, record, signal), [log, record])
  const changes = changesOf(entry)
  const { data } = entry
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? <PlainText text={value} /> : null)
  return (
    <Detail title="Record" onClose={onClose}>
      <p class="record-type">
        <code>
          <PlainText text={entry.type} />
        </code>
      </p>
      <VerdictView
        log={log}
        verdict={verdict}
        titles={{
          good: 'Proven: the log contains this record unchanged',
          bad: 'This record is not proven',
          unknown: 'The proof could not be verified completely',
        }}
      />
      <Fields
        fields={[
          ['Time', <Time key="time" value={entry.time} isExact={true} />],
          ['Subject', text(entry.subject)],
          ['Actor', text(actorText(entry))],
          ['Address', text(data?.address)],
          ['Operation', text(data?.operation)],
          ['Request id', text(data?.requestId)],
          ['Entry', `${record.index} of generation ${record.generation}`],
        ]}
      />
      {changes !== null && changes.length > 0 && (
        <>
          <h3>Changes</h3>
          <ul class="stack gap-10 record-changes">
            {changes.map(({ name, before, after }) => (
              <li key={name}>
                <b>
                  <PlainText text={name} />
                </b>
                {before !== undefined && (
                  <pre class="is-before">
                    <span class="visually-hidden">before: </span>
                    <PlainText text={valueText(before)} />
                  </pre>
                )}
                {after !== undefined && (
                  <pre class="is-after">
                    <span class="visually-hidden">after: </span>
                    <PlainText text={valueText(after)} />
                  </pre>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      <details>
        <summary>The entry as JSON</summary>
        <JsonText value={entry} />
      </details>
    </Detail>
  )
}
