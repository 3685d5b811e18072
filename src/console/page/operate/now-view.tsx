// The current state of the service: rates, times, workers, lanes and the sizes of the databases.
import { ApiError } from '../api.ts'
import { amountText, bytesText, secondsText, spanText } from '../parts/amounts.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { TimeChart } from '../parts/time-chart.tsx'
import { projects, projectTitle } from '../project.ts'
import { useStore } from '../store.ts'
import { SHOWN_MIN_S, useSamples } from './samples.ts'
import type { IntervalRates, ReadStatus, ReadWorker } from './service-status.ts'

/** The figures of the service. */
export function NowView() {
  const { status, rates, error } = useSamples()
  if (error instanceof ApiError && error.status === 404)
    return (
      <Empty icon="operate" title="Figures are off">
        <p>
          The setting <code>metrics_access</code> is <code>off</code>.
        </p>
      </Empty>
    )
  if (error instanceof ApiError) return <Failure error={error} />
  if (status === null) return error === null ? <Loading /> : <Failure error={error} />
  return (
    <div class="stack gap-16">
      <Tiles status={status} rates={rates} />
      <div class="operate-charts">
        <section class="card" aria-labelledby="chart-decisions">
          <h2 id="chart-decisions">Decisions per second</h2>
          <TimeChart
            label="Decisions per second in the last five minutes"
            times={rates.map(({ time }) => time)}
            spanS={SHOWN_MIN_S}
            text={amountText}
            lines={[
              { title: 'Granted', colour: '--good', isFilled: true, values: rates.map(({ granted }) => granted) },
              { title: 'Denied', colour: '--bad', values: rates.map(({ denied }) => denied) },
            ]}
          />
        </section>
        <section class="card" aria-labelledby="chart-times">
          <h2 id="chart-times">Time of a decision</h2>
          <TimeChart
            label="Time of a decision in the last five minutes"
            times={rates.map(({ time }) => time)}
            spanS={SHOWN_MIN_S}
            text={secondsText}
            lines={[
              { title: 'p99', colour: '--warn', isFilled: true, values: rates.map(({ p99 }) => p99) },
              { title: 'p50', colour: '--accent', values: rates.map(({ p50 }) => p50) },
            ]}
          />
        </section>
      </div>
      <Workers status={status} />
      <Storage status={status} />
    </div>
  )
}

function Tiles({ status, rates }: { readonly status: ReadStatus; readonly rates: readonly IntervalRates[] }) {
  const last = rates.at(-1)
  // Answers may be rare: the last known quantile is more useful than none.
  const latest = (member: 'p50' | 'p99'): number | null =>
    rates.findLast((one) => one[member] !== null)?.[member] ?? null
  const sum = (of: (worker: NonNullable<ReadWorker['figures']>) => number): number =>
    status.workers.reduce((total, { figures }) => total + (figures === null ? 0 : of(figures)), 0)
  const rate = last?.granted == null || last.denied === null ? null : last.granted + last.denied
  const decided = sum(({ granted, denied }) => granted + denied)
  const denied = sum((figures) => figures.denied)
  const errors = sum((figures) => figures.server_errors)
  const waiting = sum(({ lanes }) => lanes?.waiting ?? 0)
  const tiles = [
    {
      title: 'Decisions / s',
      value: rate === null ? '–' : amountText(rate),
      note: `${amountText(decided)} since the start`,
    },
    {
      title: 'Denied',
      value: decided === 0 ? '–' : `${amountText((100 * denied) / decided)} %`,
      note: `${amountText(denied)} since the start`,
    },
    { title: 'Time, p50', value: textOr(latest('p50'), secondsText), note: 'the median' },
    { title: 'Time, p99', value: textOr(latest('p99'), secondsText), note: '1 % is slower' },
    { title: 'Lane queue', value: String(waiting), note: `${sum(({ lanes }) => lanes?.running ?? 0)} running` },
    { title: 'Errors', value: String(errors), note: 'status 500 or more', isBad: errors > 0 },
  ]
  return (
    <ul class="tiles">
      {tiles.map(({ title, value, note, isBad }) => (
        <li key={title} class={isBad === true ? 'card is-bad' : 'card'}>
          <span>{title}</span>
          <b>{value}</b>
          <small>{note}</small>
        </li>
      ))}
    </ul>
  )
}

function textOr(value: number | null, text: (value: number) => string): string {
  return value === null ? '–' : text(value)
}

function Workers({ status }: { readonly status: ReadStatus }) {
  const now = Date.parse(status.time)
  const figure = (of: (figures: NonNullable<ReadWorker['figures']>) => string) => (worker: ReadWorker) =>
    worker.figures === null ? '–' : of(worker.figures)
  const lane = (member: 'ready' | 'running' | 'waiting' | 'killed') =>
    figure(({ lanes }) => (lanes === null ? '–' : String(lanes[member])))
  return (
    <section class="card" aria-labelledby="workers">
      <div class="card-head">
        <h2 id="workers">Workers and lanes</h2>
        <small>Verdigraph {status.version}</small>
      </div>
      <DataTable
        label="Workers"
        rows={status.workers}
        keyOf={({ worker }) => String(worker)}
        columns={[
          {
            title: 'Worker',
            cell: ({ worker, figures }) => (
              <>
                Worker {worker} {figures === null && <span class="badge is-denied">does not answer</span>}
              </>
            ),
          },
          {
            title: 'Up',
            isNumber: true,
            cell: figure(({ start_time }) => spanText((now - Date.parse(start_time)) / 1000)),
          },
          { title: 'Memory', isNumber: true, cell: figure(({ resident_bytes }) => bytesText(resident_bytes)) },
          { title: 'Decisions', isNumber: true, cell: figure(({ granted, denied }) => amountText(granted + denied)) },
          { title: 'Open graphs', isNumber: true, cell: figure(({ graphs_open }) => String(graphs_open)) },
          { title: 'Hot cache', isNumber: true, cell: figure(({ cache_bytes }) => bytesText(cache_bytes)) },
          { title: 'Lanes ready', isNumber: true, cell: lane('ready') },
          { title: 'Running', isNumber: true, cell: lane('running') },
          { title: 'Waiting', isNumber: true, cell: lane('waiting') },
          { title: 'Killed', isNumber: true, cell: lane('killed') },
        ]}
      />
    </section>
  )
}

const kindTitles = { configuration: 'Configuration', events: 'Events', audit: 'Audit index' } as const

function Storage({ status }: { readonly status: ReadStatus }) {
  const known = useStore(projects) ?? []
  const { bytes, environments, environments_total } = status.storage
  const largest = environments[0]?.bytes ?? 1
  const titleOf = (environment: ReadStatus['storage']['environments'][number]): string => {
    if (environment.kind !== 'graph') return kindTitles[environment.kind]
    const project = known.find(({ id }) => id === environment.project_id)
    const part = environment.path.split('/').slice(2).join('/')
    return `${project === undefined ? environment.project_id : projectTitle(project)}${part === 'default' ? '' : ` (${part})`}`
  }
  const others = environments_total - environments.length
  return (
    <section class="card" aria-labelledby="storage">
      <div class="card-head">
        <h2 id="storage">Storage</h2>
        <small>{bytesText(bytes)} in the data folder</small>
      </div>
      <ul class="stack gap-8 bars">
        {environments.map((environment) => (
          <li key={environment.path}>
            <span>{titleOf(environment)}</span>
            <i aria-hidden="true">
              <i style={{ width: `${Math.max(1, (100 * environment.bytes) / largest)}%` }} />
            </i>
            <b class="is-number">{bytesText(environment.bytes)}</b>
          </li>
        ))}
      </ul>
      {others > 0 && <small>{others} smaller databases are not listed.</small>}
    </section>
  )
}
