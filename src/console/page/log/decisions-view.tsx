// Decisions as they are made: filter, pause, and the detail of one.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { linkTo, replaceParameters } from '../address.ts'
import { findNodes, parseNodeName } from '../graph-api.ts'
import { LiveList } from '../live-list.ts'
import { Combobox, type Suggestion } from '../parts/combobox.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Detail, Fields, WithDetail } from '../parts/detail.tsx'
import { Empty, Failure } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { JsonText, PlainText } from '../parts/plain-text.tsx'
import { RowList } from '../parts/row-list.tsx'
import { rowText } from '../parts/row-text.tsx'
import { durationText, Time } from '../parts/time.tsx'
import { useStore } from '../store.ts'
import { type FeedState, type LineFilter, useDecisionFeed } from './decision-feed.ts'
import { entityText, isMasked, outcomeOf, questionLink, type ReceivedLine } from './logged-decision.ts'

const TYPING_PAUSE_MS = 400
/** Characters of a name in a row. */

const decisions = [
  { value: '', title: 'All' },
  { value: 'granted', title: 'Granted' },
  { value: 'denied', title: 'Denied' },
] as const

function filterOf(parameters: URLSearchParams): LineFilter {
  const text = (name: string): string => parameters.get(name) ?? ''
  return { decision: text('decision'), subject: text('subject'), action: text('action'), resource: text('resource') }
}

/** The view. */
export function DecisionsView(props: { readonly projectId: string; readonly parameters: URLSearchParams }) {
  const { projectId, parameters } = props
  const [form, setForm] = useState<LineFilter>(() => filterOf(parameters))
  const [filter, setFilter] = useState(form)
  const [search, setSearch] = useState('')
  const [open, setOpen] = useState<ReceivedLine | null>(null)
  const list = useMemo(() => new LiveList<ReceivedLine>(), [])
  const feed = useDecisionFeed(projectId, filter, list)
  const { items, isPaused, waiting, received, dropped } = useStore(list.state)
  // The service filters: what does not match would take the place of what does.
  useEffect(() => {
    if (JSON.stringify(form) === JSON.stringify(filter)) return
    const timer = setTimeout(() => {
      replaceParameters({ tab: 'decisions', ...form })
      setFilter(form)
    }, TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [form])
  // After the stream of the filter before has ended, which would add to the list.
  useEffect(() => list.clear(), [filter])
  const wanted = search.trim().toLowerCase()
  const shown = useMemo(
    () => (wanted === '' ? items : items.filter(({ text }) => text.includes(wanted))),
    [items, wanted],
  )
  if (feed.status === 'refused' && feed.error?.status === 409) return <LogIsOff message={feed.error.message} />
  return (
    <div class="stack">
      <FilterFields projectId={projectId} form={form} onChange={setForm} search={search} onSearch={setSearch} />
      {feed.error !== null && <Failure error={feed.error} retry={feed.retry} />}
      <div class="row live-bar">
        <Status status={isPaused && feed.status === 'live' ? 'paused' : feed.status} />
        <span class="counts" role="status">
          {shown.length === items.length ? '' : `${shown.length.toLocaleString('en')} of `}
          {items.length.toLocaleString('en')} shown
          {received > items.length && `, ${received.toLocaleString('en')} received`}
          {dropped > 0 && `, ${dropped.toLocaleString('en')} older ones dropped`}
          {feed.percent < 100 && `; the log has ${feed.percent} % of the calls`}
          {feed.skippedBytes > 0 &&
            `; the service left out ${Math.ceil(feed.skippedBytes / 1024).toLocaleString('en')} KiB because this page reads too slowly`}
        </span>
        <button type="button" aria-pressed={isPaused} onClick={() => list.setPaused(!isPaused)}>
          <Icon name={isPaused ? 'play' : 'pause'} />
          {isPaused ? `Continue${waiting > 0 ? ` (${waiting.toLocaleString('en')} new)` : ''}` : 'Pause'}
        </button>
      </div>
      <WithDetail
        detail={open === null ? null : <DecisionDetail key={open.key} received={open} onClose={() => setOpen(null)} />}
      >
        {shown.length === 0 ? (
          <Empty icon="log" title={items.length === 0 ? 'No decision yet' : 'No decision contains this text'}>
            <p>Decisions appear here as programs ask for them.</p>
            <p>
              Or <a href={linkTo('ask')}>ask a question</a> in another tab.
            </p>
          </Empty>
        ) : (
          <RowList
            label="Decisions, newest first"
            class="decision-rows"
            head={['Time', 'Answer', 'Subject', 'Action', 'Resource', 'Took']}
            rows={shown}
            keyOf={({ key }) => key}
            cells={cellsOf}
            openKey={open?.key ?? null}
            onOpen={setOpen}
          />
        )}
      </WithDetail>
    </div>
  )
}

function cellsOf({ line }: ReceivedLine) {
  const outcome = outcomeOf(line)
  return (
    <>
      <span class="when">
        <Time value={line.time} isExact={true} />
      </span>
      <span class="outcome">
        <span class={`badge ${outcome.class}`}>{outcome.title}</span>
      </span>
      {rowText('subject', entityText(line.subject))}
      {rowText('action', line.action ?? (line.kind === 'action search' ? 'any action' : ''))}
      {rowText('resource', entityText(line.resource))}
      <span class="took">{durationText(line.duration_ms)}</span>
    </>
  )
}

const statuses: Readonly<Record<FeedState['status'] | 'paused', string>> = {
  connecting: 'Connecting',
  live: 'Live',
  away: 'Reconnecting',
  refused: 'Not connected',
  paused: 'Paused',
}

function Status({ status }: { readonly status: FeedState['status'] | 'paused' }) {
  return (
    <span class={`live-status is-${status}`} role="status">
      {statuses[status]}
    </span>
  )
}

function LogIsOff({ message }: { readonly message: string }) {
  const command = 'VERDIGRAPH_DECISION_LOG=./decisions.log npm start'
  return (
    <Empty icon="log" title="The service keeps no decision log">
      <p>{message}. Start it with a file, for example:</p>
      <div class="code">
        <pre>
          <code>{command}</code>
        </pre>
        <CopyButton text={command} label="Copy the command" />
      </div>
    </Empty>
  )
}

function FilterFields(props: {
  readonly projectId: string
  readonly form: LineFilter
  readonly onChange: (form: LineFilter) => void
  readonly search: string
  readonly onSearch: (text: string) => void
}) {
  const { projectId, form, onChange, search, onSearch } = props
  const suggest = async (text: string, signal: AbortSignal): Promise<readonly Suggestion[]> => {
    const found = await findNodes(projectId, parseNodeName(text), signal)
    const types = [...new Set(found.map(({ type }) => type))].map((type) => ({ value: type, note: 'all of this type' }))
    const nodes = found.map(({ type, id, title }) => ({ value: `${type}:${id}`, ...(title !== '' && { note: title }) }))
    return [...types, ...nodes].filter(({ value }) => value !== text)
  }
  return (
    <form class="card search-fields" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <fieldset class="log-choice">
        <legend>Answer</legend>
        <div>
          {decisions.map(({ value, title }) => (
            <label key={value}>
              <input
                type="radio"
                name="decision"
                checked={form.decision === value}
                onChange={() => onChange({ ...form, decision: value })}
              />
              {title}
            </label>
          ))}
        </div>
      </fieldset>
      <Combobox
        label="Subject"
        placeholder="Person or Person:ann"
        value={form.subject}
        onInput={(subject) => onChange({ ...form, subject })}
        suggest={suggest}
      />
      <div class="field">
        <label for="filter-action">Action</label>
        <input
          id="filter-action"
          placeholder="read"
          value={form.action}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => onChange({ ...form, action: event.currentTarget.value })}
        />
      </div>
      <Combobox
        label="Resource"
        placeholder="Car or Car:c1"
        value={form.resource}
        onInput={(resource) => onChange({ ...form, resource })}
        suggest={suggest}
      />
      <div class="field">
        <label for="filter-text">Text</label>
        <input
          id="filter-text"
          type="search"
          placeholder="name, policy, request id"
          value={search}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => onSearch(event.currentTarget.value)}
        />
      </div>
    </form>
  )
}

function DecisionDetail({ received, onClose }: { readonly received: ReceivedLine; readonly onClose: () => void }) {
  const { line } = received
  const outcome = outcomeOf(line)
  const link = questionLink(line)
  const text = (value: string | undefined) => (value === undefined ? null : <PlainText text={value} />)
  const policies = line.policies ?? []
  return (
    <Detail title={line.kind === 'evaluation' ? 'Decision' : 'Search'} onClose={onClose}>
      <p>
        <span class={`badge ${outcome.class}`}>{outcome.title}</span> <Time value={line.time} isExact={true} /> in{' '}
        {durationText(line.duration_ms)}
      </p>
      {link !== null && (
        <p class="row">
          <a class="button primary" href={link}>
            <Icon name="ask" />
            Open in Ask
          </a>
          {isMasked(line) && <small>Values of parameters are masked in the log: fill them in.</small>}
        </p>
      )}
      <Fields
        fields={[
          ['Subject', text(line.subject && entityText(line.subject))],
          ['Action', text(line.action)],
          ['Resource', text(line.resource && entityText(line.resource))],
          ['Parameters', line.parameters === undefined ? null : <JsonText value={line.parameters} />],
          ['Policy tags', text(line.policy_tags?.join(', '))],
          ['Error', line.error === undefined ? null : text([line.error.kind, line.error.message ?? ''].join(' '))],
          ['User', text(line.user && entityText(line.user))],
          ['Agent', text(line.agent_id)],
          ['Application', text(line.application_id)],
          ['Service account', text(line.service_account_id)],
          ['Decision id', text(line.id)],
          ['Request id', text(line.request_id)],
          ['Index in the batch', line.item === undefined ? null : String(line.item)],
        ]}
      />
      {line.kind === 'evaluation' && (
        <>
          <h3>Policies</h3>
          {policies.length === 0 ? (
            <p>No active policy is for this subject type, action and resource type.</p>
          ) : (
            <ul class="line-policies">
              {policies.map(({ id, name, revision }) => (
                <li key={id}>
                  <PlainText text={name} /> <small>revision {revision}</small>
                  {id === line.granted_by && <span class="badge is-granted">granted</span>}
                  {id === line.forbidden_by && <span class="badge is-denied">forbade</span>}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
      <details>
        <summary>The line of the log</summary>
        <JsonText value={line} />
      </details>
    </Detail>
  )
}
